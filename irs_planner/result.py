"""What planning reports at every iteration and at the end, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contact_core.base.planning import PlanStatus
from contact_core.robot.scene import ENVIRONMENT
from irs_planner.dynamics import ContactDynamics
from irs_planner.feasibility import find_impossibility, lifted_states, too_heavy
from irs_planner.problem import IrsProblem, PlannerSettings
from irs_planner.quasi_dynamic import QuasiDynamics, SpatialQuasiDynamics

USABLE = (
    PlanStatus.SUCCEEDED,
    PlanStatus.REACHED_IN_MODEL,
    PlanStatus.CONVERGED_SHORT,
    PlanStatus.ITERATIONS_REACHED,
    PlanStatus.TIME_BUDGET_REACHED,
)
"""Statuses of plans that may be executed: every iterate obeys the dynamics."""
IMPOSSIBLE = (PlanStatus.INITIAL_PENETRATION, PlanStatus.GOAL_UNREACHABLE)
"""Statuses of plans that reach nothing, wherever they end."""


@dataclass(frozen=True)
class Rollout:
    """A simulated motion.

    Attributes:
        states: (T + 1, n) x.
        inputs: (T, m) u.
        cost: Its reported cost.
    """

    states: np.ndarray
    inputs: np.ndarray
    cost: float


@dataclass(frozen=True)
class IterationTimes:
    """Where the time of one iteration went [s]."""

    linearisation: float
    mpc: float
    rollout: float

    @property
    def total(self) -> float:
        """Their sum [s]."""
        return self.linearisation + self.mpc + self.rollout


@dataclass(frozen=True)
class IterationReport:
    """One iteration of Algorithm 1, as the callback sees it.

    Attributes:
        iteration: k, starting at 1.
        cost: Cost of this iterate, inf if its simulation failed.
        best_cost: Lowest cost so far.
        std: Largest standard deviation of the samples; 0 for exact derivatives.
        goal_error: Norm of the final error of the planned states of the best iterate.
        elapsed: Time since planning began [s].
        times: How this iteration spent it.
        mpc_failures: MPC problems of this iteration that were not solved to optimality.
        flat: Whether no input changed any planned state anywhere.
        final_error: (n) x_T - goal of the best iterate.
    """

    iteration: int
    cost: float
    best_cost: float
    std: float
    goal_error: float
    elapsed: float
    times: IterationTimes
    mpc_failures: int
    flat: bool
    final_error: np.ndarray


TRANSIT, CONTACT = "transit", "contact"
"""Kinds of segments."""


@dataclass(frozen=True)
class Segment:
    """A part of a plan.

    Attributes:
        kind: TRANSIT, where the robot moves and no object does, or CONTACT.
        start: First of its inputs.
        stop: The one after its last input.
    """

    kind: str
    start: int
    stop: int


@dataclass(frozen=True)
class IrsPlan:
    """The best iterate, and how planning went.

    Attributes:
        status: Why planning stopped, or why the result cannot be used.
        message: The status and its remedy, for a person.
        states: (T + 1, n) predicted states, the robot's actual positions among them.
        inputs: (T, m) inputs; commanded positions are what to send to a robot.
        cost: Reported cost of the best iterate.
        costs: Reported cost of the first guess and of every iterate.
        final_error: (n) x_T - goal.
        goal_reached: Whether every final error is within its tolerance; False if all
            tolerances are infinite.
        iterations: One report per iteration.
        link_forces: Link name -> (T, D) sum of the contact forces on it [N]; empty
            for systems without contact.
        seconds: Planning time [s].
        segments: Transits and contact in their order, where global planning found the motion;
            empty for local plans, which do not tell.
        verdict: What went wrong where a judge carried the plan out, or why none did; empty if
            it arrived.
    """

    status: PlanStatus
    message: str
    states: np.ndarray
    inputs: np.ndarray
    cost: float
    costs: tuple[float, ...]
    final_error: np.ndarray
    goal_reached: bool
    iterations: tuple[IterationReport, ...]
    link_forces: dict[str, np.ndarray]
    seconds: float
    segments: tuple[Segment, ...] = ()
    verdict: str = ""

    @property
    def usable(self) -> bool:
        """Whether the planner did its work and the plan may be executed."""
        return self.status in USABLE and (
            bool(self.iterations) or self.status is not PlanStatus.TIME_BUDGET_REACHED
        )


INTERRUPTED = (PlanStatus.CANCELED, PlanStatus.TIME_BUDGET_REACHED)

# Share of saturated inputs beyond which bounds are what keeps the goal away.
SATURATED = 0.9
TOUCH = 1e-6
"""Smallest force that counts as contact [N]."""


def goal_reached(problem: IrsProblem, best: Rollout) -> bool:
    """Return whether a trajectory ends within the tolerances, if there are any.

    Args:
        problem: Goal and tolerances.
        best: The trajectory.
    """
    error = np.abs(best.states[-1] - problem.goal)
    return bool(np.isfinite(problem.tolerance).any() and (error <= problem.tolerance).all())


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
    if status in IMPOSSIBLE:
        impossible = find_impossibility(problem)
        if impossible is not None:
            return f"{impossible.reason}: {impossible.remedy}"
    if status is PlanStatus.REACHED_IN_MODEL:
        remedy, dynamics = status.remedy, problem.dynamics
        if not isinstance(dynamics, SpatialQuasiDynamics):
            remedy = f"{remedy.partition(':')[0]}: carry it out by looks (ClosedLoop)"
        elif lifted_states(problem, dynamics):
            remedy = f"{remedy.partition(':')[0]}, and no push lifts: allow more time"
        return f"{result.verdict}: {remedy}"
    missed, remedy = missed_state(problem, result.final_error), status.remedy
    if status is PlanStatus.TIME_BUDGET_REACHED and not result.iterations:
        remedy = "allow more time, or a larger tolerance"  # there is no iterate to start from
    if not missed:
        return remedy
    if status is PlanStatus.ITERATIONS_REACHED:
        remedy = PlanStatus.CONVERGED_SHORT.remedy  # more iterations alone are not what helps
    if heavy := too_heavy(problem):
        return f"{missed}; {heavy}: see to its mass and friction, or choose a lighter thing"
    return f"{missed}: {remedy}"


def missed_state(problem: IrsProblem, error: np.ndarray) -> str:
    """Name the state that is farthest from its goal, empty if none is beyond its tolerance.

    Args:
        problem: Its tolerances.
        error: (n) distance from the goal.
    """
    error, tolerance = np.abs(error), problem.tolerance
    if not (error > tolerance).any():
        return ""
    i = int(np.argmax(error / tolerance))
    name = problem.dynamics.state_names[i]
    return f"{name} ends {error[i]:.4g} from its goal (tolerance {tolerance[i]:g})"


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
                groups.setdefault((link, other or ENVIRONMENT), []).append((i, sign))
    contacts = []
    for (link, other), members in groups.items():
        pairs = [i for i, _ in members]
        none = np.zeros_like(found.force[:, 0])
        force = sum((sign * found.force[:, i] for i, sign in members), none)
        if np.abs(found.force[:, pairs]).max(initial=0.0) > TOUCH:
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
