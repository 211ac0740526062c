"""Smoothing modes by name: how derivatives are made that Algorithm 1 plans with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from contact_core.base.errors import ConfigError, choices
from contact_core.base.registry import Registry
from irs_planner.dynamics import ContactDynamics, Dynamics, Jacobians
from irs_planner.smoothing import (
    Perturbations,
    first_order_jacobians,
    map_batch,
    zero_order_jacobians,
)

ModeJacobians = Callable[[Dynamics, np.ndarray, np.ndarray, Perturbations, int], Jacobians]
"""(system, (T, n) states, (T, m) inputs, perturbations, threads) -> A_t and B_t."""


@dataclass(frozen=True)
class SmoothingMode:
    """A way to make the derivatives that Algorithm 1 plans with.

    Attributes:
        title: Its name in legends.
        jacobians: Makes them; NaN where there are none. The number of threads changes nothing.
        sampled: Whether it takes samples; to others perturbations are standard deviations alone.
        smooth: Whether the standard deviation changes them.
        contact: Whether it takes nothing but :class:`ContactDynamics`.
    """

    title: str
    jacobians: ModeJacobians
    sampled: bool = True
    smooth: bool = True
    contact: bool = False

    def fits(self, dynamics: Dynamics) -> bool:
        """Return whether a system can be planned with in this mode."""
        return not self.contact or isinstance(dynamics, ContactDynamics)


def exact_jacobians(
    dynamics: Dynamics,
    states: np.ndarray,
    inputs: np.ndarray,
    perturbations: Perturbations,
    workers: int = 1,
) -> Jacobians:
    """Differentiate at the nominal points, equation (12).

    Args:
        dynamics: The system.
        states: (T, n) nominal x_t.
        inputs: (T, m) nominal u_t.
        perturbations: They do not matter.
        workers: Number of threads.

    Returns:
        A_t and B_t.
    """
    return Jacobians(*map_batch(dynamics.jacobians, workers, states, inputs))


def log_barrier_jacobians(
    dynamics: Dynamics,
    states: np.ndarray,
    inputs: np.ndarray,
    perturbations: Perturbations,
    workers: int = 1,
) -> Jacobians:
    """Differentiate the contact model whose constraints are log barriers, without samples.

    Args:
        dynamics: A system with contact.
        states: (T, n) nominal x_t.
        inputs: (T, m) nominal u_t.
        perturbations: Their standard deviation is the width of the barriers.
        workers: Number of threads.

    Returns:
        A_t and B_t.
    """
    assert isinstance(dynamics, ContactDynamics)
    width, barrier = perturbations.input_std, dynamics.barrier_jacobians
    return Jacobians(*map_batch(lambda x, u: barrier(x, u, width), workers, states, inputs))


SMOOTHING_MODES: Registry[SmoothingMode] = Registry(
    "smoothing mode",
    {
        "exact": SmoothingMode("exact", exact_jacobians, sampled=False, smooth=False),
        "first": SmoothingMode("first order", first_order_jacobians),
        "zero": SmoothingMode("zero order", zero_order_jacobians),
        "log_barrier": SmoothingMode(
            "log barrier", log_barrier_jacobians, sampled=False, contact=True
        ),
    },
    group="contact_stack.smoothing_modes",
)
"""Name -> mode: (12), (15) and (16) of bundled_gradients, and one without samples."""

DEFAULT_MODE = "first"


def mode_names(dynamics: Dynamics | None = None, sampled: bool = False) -> tuple[str, ...]:
    """Return the names of smoothing modes.

    Args:
        dynamics: Only those that fit this system.
        sampled: Only those that take samples.
    """
    return tuple(
        name
        for name, mode in SMOOTHING_MODES.items()
        if (dynamics is None or mode.fits(dynamics)) and (mode.sampled or not sampled)
    )


def linearize(
    dynamics: Dynamics,
    mode: str,
    states: np.ndarray,
    inputs: np.ndarray,
    perturbations: Perturbations,
    workers: int = 1,
) -> Jacobians:
    """Compute A_t and B_t around every point of a trajectory.

    Args:
        dynamics: The system.
        mode: One of SMOOTHING_MODES.
        states: (T, n) nominal x_t.
        inputs: (T, m) nominal u_t.
        perturbations: Samples, or standard deviations alone.
        workers: Number of threads; it does not change the result.

    Returns:
        A_t (T, n, n) and B_t (T, n, m); NaN where no sample could be evaluated.

    Raises:
        ConfigError: If there is no such mode, or it does not fit the system.
    """
    chosen = SMOOTHING_MODES[mode]
    if not chosen.fits(dynamics):
        raise ConfigError(
            f"mode '{mode}' is not available for {type(dynamics).__name__} "
            f"({choices(mode_names(dynamics))})"
        )
    return chosen.jacobians(dynamics, states, inputs, perturbations, workers)
