"""The contact-aware controllers: QP (24) with adaptive damping, and QP (22), in condensed form.

The equality constraints (22b)-(22c) are solved for q+ and lam+ by (9), which leaves the
change x = q_cmd+ - q_cmd of the command as the only unknown (7 numbers):

    minimise    |x - x_ref|^2_W + (eps + w) |x|^2                  (24a)
    subject to  lam_hat - A x <= f_max                              (22d)
                |x| <= dq_max, and joint limits                     (22e)

(22a), for frictionless contacts, minimises the error of the predicted equilibrium itself.
With q+ = q + N (q_cmd+ - q), (9b), the equilibrium moves by N x:

    minimise    |q_eq + N x - q_ref+|^2_W + eps |x|^2               (22a)

What x does along the contacts' normals shows in the forces alone; (22a) has no opinion on
it but eps, which is why (24a) is the better objective where there is friction
(contact_aware_control Sec. V-B1).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from contact_aware_control.config import ControllerConfig, DampingConfig
from contact_aware_control.contact import ContactEstimate
from contact_aware_control.controllers.base import (
    Controller,
    ControllerInput,
    ControllerOutput,
    ControllerState,
)
from contact_aware_control.controllers.contact_selection import (
    TINY,
    ContactConstraint,
    ContactSelection,
    ContactSet,
)
from contact_aware_control.controllers.quasistatic import (
    BIAS_TIME,
    ENVIRONMENT_COMPLIANCE,
    ForcePrediction,
    JointDamping,
    QuasistaticModel,
)
from contact_aware_control.lever_arms import LeverArms
from contact_aware_control.safety.joint_bounds import Bound, joint_bounds
from contact_aware_control.safety.status import Status
from contact_aware_control.tracking import TrackingTask, TrackingTasks
from contact_core.base.kernel import kernel
from contact_core.base.low_pass import followed_share
from contact_core.quadratic_program import (
    QuadraticProgram,
    QuadraticProgramSolution,
    QuadraticProgramStatus,
    make_solver,
    solve_relaxed,
)
from contact_core.robot.robot import Robot

APPROACH_SPEED = 0.02
"""Speed towards the place of a lost contact [m/s]."""

MIN_RELEASE_RATE = 200.0
"""Rate at which a force above its limit is reduced at least [N/s]."""

RELEASE_TIME = 0.02
"""Time constant with which a force that is far above its limit is reduced, as fast as the arm may
move [s]."""

MAX_RESIDUAL = 10.0
"""A contact with a larger torque residual is not believed: the arm only stops pressing against its
joint springs."""

BLIND_WEIGHT = 20.0
"""Damping weight while the contacts are too old, relative to the tracking term."""

CONSERVATIVE_SHARE = 0.7
"""Share of the force limits that is used where contacts are not trusted."""

IN_CONTACT = 4.0
"""A force that is bounded bounds the way back, too: there it may be so much faster."""

MAX_DOUBTED = 4.0
"""A contact at a doubtful place is taken to have a lever arm of at least this share^-1."""

REJOINED = 1e-3
"""A command this close to the one without contacts is that again [rad]."""


class CondensedQpController(Controller):
    """Follows a reference while it bounds every contact force; objectives differ."""

    limits_force = True

    def __init__(self, robot: Robot, config: ControllerConfig) -> None:
        """Set up.

        Args:
            robot: The arm, for this controller alone.
            config: Every parameter.
        """
        self._robot = robot
        self._config = config
        self._stiffness = robot.stiffness
        self._reach_gain = followed_share(config.period, BIAS_TIME)
        self._levers = LeverArms(robot, config.reflex.held_reach)
        self._identity = np.eye(robot.n)
        self._bound_names = [
            f"{side} bound {joint}" for side in ("lower", "upper") for joint in robot.joint_names
        ]
        self._selection = ContactSelection(robot, self._stiffness, config.force, config.period)
        self._prediction = ForcePrediction(config.force, config.period, JointDamping(robot, config))
        self._period = config.period
        self._release_share = followed_share(config.period, RELEASE_TIME)
        self._least_release = MIN_RELEASE_RATE * config.period
        self._approach = APPROACH_SPEED * config.period
        self._solver = make_solver(config.solver)
        self._tasks = TrackingTasks(robot, config)
        self._free = QuasistaticModel.at(self._stiffness, np.zeros((0, robot.n)))
        self._step = joint_bounds(robot, config)[Bound.TRACKING].step

    @abstractmethod
    def _damping_weight(
        self, weight: float, contacts: ContactSet, blind: bool
    ) -> tuple[float, float]:
        """Return (the weight w that is remembered, the one of this tick's objective).

        Args:
            weight: The weight that was remembered.
            contacts: The contacts, with the forces predicted a tick ago.
            blind: Whether the contacts are old.
        """

    @abstractmethod
    def _objective(
        self,
        task: TrackingTask,
        model: QuasistaticModel,
        inputs: ControllerInput,
        command: np.ndarray,
        weight: float,
        returns: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return H and g about a command; the weights eps and w are relative to trace(H)/n."""

    def step(
        self, state: ControllerState, inputs: ControllerInput
    ) -> tuple[ControllerState, ControllerOutput]:
        """Compute the next command, see :meth:`Controller.step`."""
        command = inputs.command
        assert state.assignment is not None
        self._robot.update(inputs.position)
        task = self._tasks.of(state.assignment)
        contacts, model, force = self._forces(state, inputs)
        remembered, weight = self._damping_weight(
            state.damping_weight, contacts, blind=inputs.contacts is None
        )
        returns = _return_speed(inputs, contacts)
        hessian, gradient = self._objective(task, model, inputs, command, weight, returns)
        constraint, bound = self._force_constraints(model, contacts, force, inputs)
        lower, upper, wide = _step_bounds(inputs, bound)
        if wide:
            # What is followed meanwhile is followed no faster than before.
            gradient = self._slowed(hessian, gradient)
        problem = QuadraticProgram(hessian, gradient, constraint, bound, lower, upper)
        solution, slack = solve_relaxed(self._solver, problem, len(contacts.active))
        position_error, rotation_error = task.error(inputs.time)
        about: dict[str, Any] = {
            "damping_weight": weight,
            "position_error": position_error,
            "rotation_error": rotation_error,
        }
        if solution.status is not QuadraticProgramStatus.OPTIMAL:
            return ControllerState(state.assignment, contacts, remembered), ControllerOutput(
                command=command, status=Status.QP_FAILED, **about
            )
        contacts, output = _moved(
            contacts,
            force - model.force_map @ solution.x,
            command=command + solution.x,
            status=Status.QP_INFEASIBLE if slack > 0.0 else Status.OK,
            active_constraints=self._names(contacts, solution),
            slack=slack,
            iterations=solution.iterations,
            nominal=self._nominal(task, inputs, command + solution.x, len(bound) > 0),
            yields=wide and _exceeds(solution.x, inputs.lower, inputs.upper),
            **about,
        )
        return ControllerState(state.assignment, contacts, remembered), output

    def give_way(
        self, state: ControllerState, inputs: ControllerInput
    ) -> tuple[ControllerState, ControllerOutput]:
        """Move as little as (22d) asks for, see :meth:`Controller.give_way`.

        Minimises x^T K x, so that the command goes where the contacts push the springs.
        """
        self._robot.update(inputs.position)
        contacts, model, force = self._forces(state, inputs)
        constraint, bound = self._force_constraints(model, contacts, force, inputs)
        x, status, slack = np.zeros(self._robot.n), Status.OK, 0.0
        if min(bound.tolist(), default=0.0) < 0.0:
            problem = QuadraticProgram(
                np.diag(self._stiffness), x, constraint, bound, inputs.lower, inputs.upper
            )
            solution, slack = solve_relaxed(self._solver, problem, len(contacts.active))
            x, status = (solution.x, Status.OK) if solution.optimal else (x, Status.QP_FAILED)
        contacts, output = _moved(
            contacts,
            force - model.force_map @ x,
            command=inputs.command + x,
            status=status,
            slack=slack,
        )
        return replace(state, contacts=contacts), output

    def _forces(
        self, state: ControllerState, inputs: ControllerInput
    ) -> tuple[ContactSet, QuasistaticModel, np.ndarray]:
        """Return the contacts at the measured q, their model and lam_hat under q_cmd."""
        limits = {} if state.assignment is None else state.assignment.force_limits
        blind = inputs.contacts is None and inputs.unexplained_force == 0.0
        if blind:
            contacts = self._selection.keep(state.contacts)
        else:
            contacts = self._contacts(state.contacts, limits, inputs)
        model, unloaded = self._free, inputs.command
        if contacts.active:
            jacobian = contacts.jacobian(self._robot.n)
            model = QuasistaticModel.at(self._stiffness, jacobian, ENVIRONMENT_COMPLIANCE)
        if inputs.offset is not None:
            unloaded = unloaded + inputs.offset / self._stiffness
        force, contacts = self._prediction.predict(
            model, contacts, inputs.position, unloaded, blind
        )
        return contacts, model, force

    def _nominal(
        self, task: TrackingTask, inputs: ControllerInput, command: np.ndarray, bounded: bool
    ) -> np.ndarray | None:
        """Return the next command that there would be without contacts.

        Args:
            task: What is tracked.
            inputs: The tick's.
            command: (n) the next command [rad].
            bounded: Whether a force is.

        Returns:
            (n) [rad]; None where it is the next command.
        """
        if not bounded and inputs.nominal is None:
            return None
        before = inputs.command if inputs.nominal is None else inputs.nominal
        hessian, gradient = self._objective(task, self._free, inputs, before, 0.0, math.inf)
        nothing = self._free.force_map, np.zeros(0)
        solution = self._solver.solve(
            QuadraticProgram(hessian, gradient, *nothing, -self._step, self._step)
        )
        solved = solution.status is QuadraticProgramStatus.OPTIMAL
        following: np.ndarray = before + solution.x if solved else before
        joined = not bounded and np.abs(command - following).max() < REJOINED
        return None if joined else following

    def _contacts(
        self, before: ContactSet, limits: Mapping[str, float], inputs: ControllerInput
    ) -> ContactSet:
        """Return the contacts (4c) at the measured q."""
        located: list[ContactEstimate] = []
        doubtful: list[ContactEstimate] = []
        for contact in inputs.contacts or ():
            # Located is a contact where it explains the measured torques.
            explains = contact.residual <= MAX_RESIDUAL and contact.wrench_known
            (located if explains else doubtful).append(contact)
        if not doubtful and inputs.unexplained_force == 0.0:
            return self._selection.update(before, located, limits)._replace(reach=math.nan)
        unlocated, reach = self._unlocated(before.reach, located, doubtful, inputs, limits)
        return self._selection.update(before, located, limits, unlocated)._replace(reach=reach)

    def _unlocated(
        self,
        reach: float,
        located: Sequence[ContactEstimate],
        doubtful: Sequence[ContactEstimate],
        inputs: ControllerInput,
        limits: Mapping[str, float],
    ) -> tuple[ContactConstraint, float]:
        """Return one contact for all torque that no located contact explains, and its reach.

        Its force is the estimated one, within bounds: the least force that explains the torque,
        of a contact with the links up to the estimated one, and MAX_DOUBTED times that. The
        estimate may jump from tick to tick, the scale of a force must not: it is low-passed.
        """
        torque = inputs.torque
        if torque is None or not np.isfinite(torque).all():
            # The springs tell of it, (5).
            torque = self._stiffness * (inputs.position - inputs.command)
        for contact in located:
            torque = torque - self._robot.torque_of_force(
                contact.link, contact.point_world, contact.force_world
            )
        default = self._config.force.limit
        likely = max(doubtful, key=lambda c: c.force, default=None)
        if likely is None:
            link, limit, links = "", max(default, *limits.values(), 0.0), self._robot.n
            claimed = 0.0
        else:
            link, limit = likely.link, limits.get(likely.link, default)
            links, claimed = likely.joints_moving, likely.force
        anywhere, there = (
            self._levers.least_force(inputs.position, torque, count) for count in (None, links)
        )
        now = anywhere / max(min(max(claimed, there), MAX_DOUBTED * there), TINY)
        reach = now if math.isnan(reach) else reach + self._reach_gain * (now - reach)
        return self._selection.unlocated(torque, anywhere / max(reach, TINY), link, limit), reach

    def _force_constraints(
        self,
        model: QuasistaticModel,
        contacts: ContactSet,
        force: np.ndarray,
        inputs: ControllerInput,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return C and d: (22d) at every contact, slow approach to every lost contact.

        A force above its limit right after an impact cannot be removed in one tick: the
        rate at which it is reduced is bounded, and grows with what is to be removed. What the
        motion of the touched thing adds meanwhile is given way to as well. In conservative mode
        limits are smaller; without present contacts nothing pushes further.
        """
        share = CONSERVATIVE_SHARE if inputs.conservative else 1.0
        bounds = []
        for contact, memory, pressing in zip(
            contacts.active, contacts.memories, force.tolist(), strict=True
        ):
            excess = pressing - share * contact.limit
            quickest = max(self._least_release, excess * self._release_share)
            bounds.append(-min(excess, quickest) - self._period * max(memory.rate, 0.0))
        approach = self._approach
        if inputs.contacts is None:
            bounds, approach = [min(bound, 0.0) for bound in bounds], 0.0
        matrix = model.force_map
        if contacts.lost:
            matrix = np.array([*matrix, *(contact.row for contact in contacts.lost)])
            bounds += [approach] * len(contacts.lost)
        return -matrix, np.array(bounds)

    def _slowed(self, hessian: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return a gradient whose unconstrained optimum is within the step bound."""
        wanted = np.abs(np.linalg.solve(hessian, gradient))
        slowed: np.ndarray = gradient / max(1.0, float((wanted / self._step).max()))
        return slowed

    def _names(self, contacts: ContactSet, solution: QuadraticProgramSolution) -> tuple[str, ...]:
        """Name the active constraints, which are numbered like the multipliers."""
        active, lost, names = contacts.active, contacts.lost, []
        for i in solution.active_set.tolist():
            if i < len(active):
                names.append(f"force {active[i].link or 'somewhere'}")
            elif i < len(active) + len(lost):
                names.append(f"approach {lost[i - len(active)].link}")
            else:
                names.append(self._bound_names[i - len(active) - len(lost)])
        return tuple(names)


class QpController(CondensedQpController):
    """The QP (24): the command follows the reference, damped where forces surprise."""

    def _damping_weight(
        self, weight: float, contacts: ContactSet, blind: bool
    ) -> tuple[float, float]:
        """Update w by (28)-(29) from the contacts whose force was predicted a tick ago."""
        known = []
        for contact, predicted in zip(contacts.active, contacts.predicted, strict=True):
            if contact.trusted and math.isfinite(predicted):
                known.append((predicted, contact.force))
        weight = adapted_damping(self._config.damping, weight, known)
        return weight, max(weight, BLIND_WEIGHT) if blind else weight

    def _objective(
        self,
        task: TrackingTask,
        model: QuasistaticModel,
        inputs: ControllerInput,
        command: np.ndarray,
        weight: float,
        returns: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return H and g of (24a)."""
        if self._config.tracking.reading == "incremental":
            command = model.equilibrium(inputs.position, command)
        hessian, gradient = task.objective(command, inputs.time, inputs.rate, returns)
        _dampen(hessian, self._config.tracking.regularization + weight)
        return hessian, gradient


class FrictionlessQpController(CondensedQpController):
    """The QP (22): the predicted equilibrium follows the reference."""

    def _damping_weight(
        self, weight: float, contacts: ContactSet, blind: bool
    ) -> tuple[float, float]:
        """Return the weight of |x|^2 beside eps: (22a) has none, unless contacts are old."""
        return weight, BLIND_WEIGHT if blind else 0.0

    def _objective(
        self,
        task: TrackingTask,
        model: QuasistaticModel,
        inputs: ControllerInput,
        command: np.ndarray,
        weight: float,
        returns: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return H and g of (22a)."""
        equilibrium = model.equilibrium(inputs.position, command)
        hessian, gradient = task.objective(equilibrium, inputs.time, inputs.rate, returns)
        scale = hessian.trace() / self._robot.n
        damping = scale * (self._config.tracking.regularization + weight)
        if model.contacts:
            projector = model.null_space()
            hessian = projector.T @ hessian @ projector
            gradient = projector.T @ gradient
        return hessian + damping * self._identity, gradient


def _return_speed(inputs: ControllerInput, contacts: ContactSet) -> float:
    """Return how much faster than its reference a command may go back to it."""
    if inputs.nominal is None:
        return math.inf
    return IN_CONTACT if contacts.active else 1.0


def _step_bounds(inputs: ControllerInput, bound: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return (lower, upper) (n) of x [rad], and whether they are wide.

    They are where to stay at the present command would break a constraint on force.
    """
    if inputs.widest is None or min(bound.tolist(), default=0.0) >= 0.0:
        return inputs.lower, inputs.upper, False
    lower, upper = inputs.widest
    return np.minimum(inputs.lower, lower), np.maximum(inputs.upper, upper), True


def _moved(
    contacts: ContactSet, predicted: np.ndarray, **output: Any
) -> tuple[ContactSet, ControllerOutput]:
    """Return the contacts with their predicted forces (nc) [N], and the output that tells them."""
    contacts = contacts._replace(predicted=tuple(predicted.tolist()))
    return contacts, ControllerOutput(
        contact_links=tuple(map(attrgetter("link"), contacts.active)),
        measured_force=contacts.forces,
        predicted_force=predicted,
        force_limit=contacts.limits,
        **output,
    )


@kernel
def _exceeds(x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> bool:
    exceeds = False
    for i in range(x.size):
        exceeds = exceeds or x[i] < lower[i] or x[i] > upper[i]
    return exceeds


@kernel
def _dampen(hessian: np.ndarray, weight: float) -> None:
    """Add a weight of |x|^2 that is relative to trace(H)/n."""
    n, trace = len(hessian), 0.0
    for i in range(n):
        trace += hessian[i, i]
    for i in range(n):
        hessian[i, i] += trace / n * weight


def adapted_damping(
    config: DampingConfig, weight: float, forces: Sequence[tuple[float, float]]
) -> float:
    """Update the weight w of the second term of (24a): move less where forces surprise.

    Args:
        config: beta, alpha and w_max.
        weight: w, relative to the tracking term.
        forces: For each contact the force predicted for this tick one tick ago, and the force
            measured now [N].

    Returns:
        The new weight. With no contact the error is zero, and the weight decays.
    """
    squared_error = 0.0
    for predicted, measured in forces:
        squared_error += (predicted - measured) ** 2
    discrepancy = 1.0 - math.exp(-config.beta * squared_error)  # (28)
    return weight + config.alpha * (config.weight_max * discrepancy - weight)  # (29)
