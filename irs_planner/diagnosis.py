"""Why a plan failed, in terms a person can act on."""

from __future__ import annotations

import numpy as np

from irs_planner.dynamics.dynamics import ContactDynamics
from irs_planner.problem import PlanningProblem
from irs_planner.result import IterationReport, Trajectory
from irs_planner.status import PlanStatus

# Share of saturated inputs beyond which bounds are what keeps the goal away.
SATURATED = 0.9
TOUCH = 1e-6  # [N]


def goal_reached(problem: PlanningProblem, best: Trajectory) -> bool:
    """Return whether a trajectory ends within the tolerances, if there are any.

    Args:
        problem: Goal and tolerances.
        best: The trajectory.
    """
    error = np.abs(best.states[-1] - problem.goal)
    return bool(np.isfinite(problem.tolerance).any() and (error <= problem.tolerance).all())


def check_start(problem: PlanningProblem) -> PlanStatus | None:
    """Return what makes planning pointless from the start, or None.

    Args:
        problem: The problem.
    """
    if isinstance(problem.dynamics, ContactDynamics):
        depth = problem.dynamics.penetration(problem.initial_state)
        if depth > problem.allowed_penetration:
            return PlanStatus.INITIAL_PENETRATION
    return None


def diagnose(
    problem: PlanningProblem,
    best: Trajectory,
    reports: tuple[IterationReport, ...],
    stopped: PlanStatus,
) -> PlanStatus:
    """Explain how planning ended.

    Args:
        problem: The problem.
        best: The best iterate.
        reports: All iterations.
        stopped: Why the loop ended.

    Returns:
        ``stopped``, unless a more specific failure explains a missed goal. Interrupted
        plans are not diagnosed.
    """
    if not np.isfinite(best.cost):
        return PlanStatus.NOT_FINITE
    if stopped in (PlanStatus.CANCELLED, PlanStatus.TIME_BUDGET) or not reports:
        return stopped
    if goal_reached(problem, best):
        return stopped
    if all(report.flat for report in reports):
        return PlanStatus.GRADIENT_FLAT
    if isinstance(problem.dynamics, ContactDynamics) and not _touches(problem.dynamics, best):
        return PlanStatus.NO_CONTACT
    if not np.isfinite(problem.tolerance).any():
        return stopped
    if _saturation(problem, best) >= SATURATED:
        return PlanStatus.UNREACHABLE
    return PlanStatus.GOAL_MISSED


def link_forces(problem: PlanningProblem, best: Trajectory) -> dict[str, np.ndarray]:
    """Return the contact force on every robot link along a trajectory.

    Args:
        problem: The problem.
        best: The trajectory.

    Returns:
        Link name -> (T, D) force [N] of everything but the robot itself; empty
        for systems without contact.
    """
    dynamics = problem.dynamics
    if not isinstance(dynamics, ContactDynamics):
        return {}
    contacts = dynamics.contact_forces(best.states[:-1], best.inputs)
    none = np.zeros((len(best.inputs), contacts.force.shape[2]))
    total = {name: none.copy() for name in dynamics.link_names}
    for i, (first, second) in enumerate(contacts.pairs):
        if first in total and second not in total:
            total[first] += contacts.force[:, i]
        if second in total and first not in total:
            total[second] -= contacts.force[:, i]
    return total


def _touches(dynamics: ContactDynamics, best: Trajectory) -> bool:
    """Return whether a link ever pushes an object."""
    contacts = dynamics.contact_forces(best.states[:-1], best.inputs)
    for i, (first, second) in enumerate(contacts.pairs):
        links = (first in dynamics.link_names) + (second in dynamics.link_names)
        if links == 1 and first and second and np.abs(contacts.force[:, i]).max() > TOUCH:
            return True
    return False


def _saturation(problem: PlanningProblem, best: Trajectory) -> float:
    """Return the share of inputs at a bound."""
    bounds, inputs = problem.bounds, best.inputs
    commanded = list(problem.dynamics.commanded_states)
    at_bound = np.zeros(inputs.shape, dtype=bool)
    if bounds.input_low.size:
        at_bound |= inputs <= bounds.input_low + 1e-6
    if bounds.input_high.size:
        at_bound |= inputs >= bounds.input_high - 1e-6
    # MPC counts the first increment of every solve from the actual positions.
    for limit in (bounds.increment, bounds.around_actual):
        if limit.size:
            deflection = np.abs(inputs - best.states[:-1, commanded])
            at_bound |= deflection >= limit * (1.0 - 1e-3)
    return float(at_bound.any(axis=1).mean())
