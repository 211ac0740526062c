"""What a plan does to its contacts, how planning ended, and what a person can do about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contact_core.base.planning import PlanStatus
from irs_planner.dynamics import ContactDynamics
from irs_planner.problem import IrsProblem, PlannerSettings
from irs_planner.quasi_dynamic import QuasiDynamics
from irs_planner.result import IrsPlan, IterationReport, Rollout

INTERRUPTED = (PlanStatus.CANCELED, PlanStatus.TIME_BUDGET_REACHED)

# Share of saturated inputs beyond which bounds are what keeps the goal away.
SATURATED = 0.9
TOUCH = 1e-6
"""Smallest force that counts as contact [N]."""

FIXED = "fixed"
"""Name of whatever never moves: ground, walls, a robot's base."""


def goal_reached(problem: IrsProblem, best: Rollout) -> bool:
    """Return whether a trajectory ends within the tolerances, if there are any.

    Args:
        problem: Goal and tolerances.
        best: The trajectory.
    """
    error = np.abs(best.states[-1] - problem.goal)
    return bool(np.isfinite(problem.tolerance).any() and (error <= problem.tolerance).all())


def check_start(problem: IrsProblem) -> PlanStatus | None:
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
    problem: IrsProblem,
    settings: PlannerSettings,
    best: Rollout,
    reports: tuple[IterationReport, ...],
    stopped: PlanStatus,
) -> PlanStatus:
    """Explain how planning ended.

    Args:
        problem: The problem.
        settings: How it was planned.
        best: The best iterate.
        reports: All iterations.
        stopped: Why the loop ended.

    Returns:
        ``stopped``, unless a more specific failure explains a missed goal. Interrupted
        plans are not diagnosed.
    """
    if not np.isfinite(best.cost):
        return PlanStatus.SOLVER_FAILED
    if stopped in INTERRUPTED or not reports:
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
        return PlanStatus.GOAL_UNREACHABLE
    converged = len(reports) < settings.iterations
    return PlanStatus.CONVERGED_SHORT if converged else PlanStatus.ITERATIONS_REACHED


def remedy_of(result: IrsPlan, problem: IrsProblem) -> str:
    """Say what a person can do about a plan, with the value that is wrong.

    Args:
        result: The plan.
        problem: What was planned.

    Returns:
        The remedy, empty on success.
    """
    status = result.status
    if status is PlanStatus.SUCCEEDED:
        return ""
    if status is PlanStatus.INITIAL_PENETRATION and isinstance(problem.dynamics, ContactDynamics):
        depth = problem.dynamics.penetration(problem.initial_state)
        allowed = problem.allowed_penetration
        return f"bodies overlap by {depth:.4f} m (allowed {allowed:g} m): {status.remedy}"
    missed = _missed(result, problem)
    if not missed:
        return status.remedy
    if status is PlanStatus.ITERATIONS_REACHED:
        status = PlanStatus.CONVERGED_SHORT  # more iterations alone are not what helps
    return f"{missed}: {status.remedy}"


def relative_error(error: np.ndarray, tolerance: np.ndarray) -> float:
    """Return the largest error relative to its tolerance.

    Args:
        error: (n) final error.
        tolerance: (n) what counts as reached, inf where the error does not matter.

    Returns:
        At most 1 if the goal is reached; NaN if no entry has a tolerance.
    """
    checked = np.isfinite(tolerance)
    if not checked.any():
        return float("nan")
    return float(np.max(np.abs(error[checked]) / tolerance[checked]))


def link_forces(problem: IrsProblem, best: Rollout) -> dict[str, np.ndarray]:
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


@dataclass(frozen=True)
class LinkContact:
    """A link of a robot and another body that touch somewhere along a motion.

    Attributes:
        link: The link.
        other: The other body.
        force: (T, D) force of the other body on the link, world [N]; y, z of a planar scene.
        normal_force: (T) part of it along the contact normals [N].
        distance: (T) signed distance at the end of the step [m], negative inside.
    """

    link: str
    other: str
    force: np.ndarray
    normal_force: np.ndarray
    distance: np.ndarray


def planned_contacts(
    dynamics: QuasiDynamics, states: np.ndarray, inputs: np.ndarray
) -> list[LinkContact]:
    """Find what the links of the robots touch.

    Shapes of the same two bodies are taken together: forces add up, the smallest distance
    counts.

    Args:
        dynamics: The system.
        states: (T + 1, n) x.
        inputs: (T, m) u.

    Returns:
        Every pair of bodies with a force somewhere; a pair of links appears twice.
    """
    found = dynamics.contact_forces(states[:-1], inputs)
    gaps = dynamics.find_contacts(states[1:]).gap
    # The forces of a step belong to the normals at its beginning.
    normals = dynamics.find_contacts(states[:-1]).frame[:, :, 0]
    normal_forces = np.sum(found.force * normals, axis=2)
    groups: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for i, (first, second) in enumerate(found.pairs):
        for link, other, sign in ((first, second, 1.0), (second, first, -1.0)):
            if link in dynamics.link_names:
                groups.setdefault((link, other or FIXED), []).append((i, sign))
    contacts = []
    for (link, other), members in groups.items():
        pairs = [i for i, _ in members]
        none = np.zeros_like(found.force[:, 0])
        force = sum((sign * found.force[:, i] for i, sign in members), none)
        if np.abs(found.force[:, pairs]).max() > TOUCH:
            contacts.append(
                LinkContact(
                    link,
                    other,
                    force,
                    normal_forces[:, pairs].sum(axis=1),
                    gaps[:, pairs].min(axis=1),
                )
            )
    return contacts


def _touches(dynamics: ContactDynamics, best: Rollout) -> bool:
    """Return whether a link ever pushes an object."""
    contacts = dynamics.contact_forces(best.states[:-1], best.inputs)
    for i, (first, second) in enumerate(contacts.pairs):
        links = (first in dynamics.link_names) + (second in dynamics.link_names)
        if links == 1 and first and second and np.abs(contacts.force[:, i]).max() > TOUCH:
            return True
    return False


def _saturation(problem: IrsProblem, best: Rollout) -> float:
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


def _missed(result: IrsPlan, problem: IrsProblem) -> str:
    """Name the state that is farthest from its goal, empty if none is beyond its tolerance."""
    error, tolerance = np.abs(result.final_error), problem.tolerance
    if not (error > tolerance).any():
        return ""
    i = int(np.argmax(error / tolerance))
    name = problem.dynamics.state_names[i]
    return f"{name} ends {error[i]:.4g} from its goal (tolerance {tolerance[i]:g})"
