"""Drawings of a plan: its cost over iterations, and for contact problems frames of the motion."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from contact_core.base.figures import save
from contact_stack.plan.request import PlanOutcome, PlanRequest
from irs_planner import IrsProblem
from irs_planner.plots import animate, draw_strip, plot_costs
from irs_planner.quasi_dynamic import PlanarQuasiDynamics, SpatialQuasiDynamics


def draw(
    request: PlanRequest, problem: IrsProblem, outcome: PlanOutcome, folder: Path
) -> Iterator[Path]:
    """Draw a plan.

    Args:
        request: What was asked for.
        problem: The problem.
        outcome: How it went.
        folder: Where the files are written.

    Yields:
        Every file.
    """
    if len(outcome.costs) > 1:  # a search has no iterations
        curves = {request.name: {request.settings.mode: [outcome.costs]}}
        yield save(plot_costs(curves), folder / "cost.png")
    dynamics, states = problem.dynamics, outcome.states
    if not np.isfinite(states).all():
        return
    if isinstance(dynamics, PlanarQuasiDynamics | SpatialQuasiDynamics):
        yield draw_strip(dynamics, states, problem.goal, folder / "frames.png")
        yield animate(dynamics, states, problem.goal, folder / "motion.gif")
