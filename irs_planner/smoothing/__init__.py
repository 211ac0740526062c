"""Randomised smoothing: bundles of scalar gradients and of Jacobians."""

from irs_planner.smoothing.gradient_bundle import (
    bundled_objective,
    first_order_bundle,
    reconstruct,
    zero_order_bundle,
)
from irs_planner.smoothing.jacobian_bundle import (
    GradientMode,
    Perturbations,
    draw_perturbations,
    linearize,
)

__all__ = [
    "GradientMode",
    "Perturbations",
    "bundled_objective",
    "draw_perturbations",
    "first_order_bundle",
    "linearize",
    "reconstruct",
    "zero_order_bundle",
]
