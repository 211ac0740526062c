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
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from contact_aware_control.config import ControllerConfig, DampingConfig
from contact_aware_control.contact import ContactEstimate
from contact_aware_control.controllers.base import (
    Controller,
    ControllerInput,
    ControllerOutput,
    ControllerState,
)
from contact_aware_control.controllers.contact_jacobian import (
    ContactSelection,
    ContactSet,
    magnitude,
)
from contact_aware_control.controllers.quasistatic import ForcePrediction, QuasistaticModel
from contact_aware_control.reference.base import Assignment
from contact_aware_control.safety.status import Status
from contact_aware_control.tracking import TrackingTask, TrackingTasks
from contact_core.quadratic_program import (
    QuadraticProgram,
    QuadraticProgramSolution,
    QuadraticProgramStatus,
    make_solver,
)
from contact_core.robot import Robot

# Where a force cannot be reduced as fast as asked, this share of what is possible is asked.
REACHABLE_SHARE = 0.9

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
        self._stiffness = np.array(config.joint_stiffness)
        self._identity = np.eye(robot.n)
        self._bound_names = [
            f"{side} bound {joint}" for side in ("lower", "upper") for joint in robot.joint_names
        ]
        self._selection = ContactSelection(robot, self._stiffness, config.force, config.period)
        self._prediction = ForcePrediction(config.force.bias_time, config.period)
        self._solver = make_solver(config.solver)
        self._tasks = TrackingTasks(robot, config)
        self._free = QuasistaticModel.at(self._stiffness, np.zeros((0, robot.n)))
        reach = config.limits.velocity_fraction * config.period * robot.velocity_limits
        self._step = np.minimum(config.limits.step, reach)

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
        self, task: TrackingTask, model: QuasistaticModel, inputs: ControllerInput, weight: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return H and g; the weights eps and w are relative to trace(H)/n."""

    def step(
        self, state: ControllerState, inputs: ControllerInput
    ) -> tuple[ControllerState, ControllerOutput]:
        """Compute the next command, see :meth:`Controller.step`."""
        q, command = inputs.position, inputs.command
        assert state.assignment is not None
        self._robot.update(q)
        task = self._tasks.of(state.assignment)
        position_error, rotation_error = task.error(inputs.time)
        contacts = self._contacts(state.contacts, state.assignment, inputs)
        model = QuasistaticModel.at(
            self._stiffness, contacts.jacobian(self._robot.n), self._config.force.compliance
        )
        force, biases = self._prediction.predict(model, contacts, q, command)
        remembered, weight = self._damping_weight(
            state.damping_weight, contacts, blind=inputs.contacts is None
        )
        hessian, gradient = self._objective(task, model, inputs, weight)
        constraint, bound = self._force_constraints(model, contacts, force, inputs)
        solution, slack = self._solve(
            QuadraticProgram(hessian, gradient, constraint, bound, inputs.lower, inputs.upper)
        )
        if not solution.optimal:
            contacts = ContactSet(contacts.active, biases, contacts.predicted, contacts.lost)
            return ControllerState(state.assignment, contacts, remembered), ControllerOutput(
                command=command,
                status=Status.QP_FAILED,
                damping_weight=weight,
                position_error=position_error,
                rotation_error=rotation_error,
            )
        ghost = None
        if len(bound) or inputs.ghost is not None:
            ghost = self._ghost(task, inputs)
            if not len(bound) and np.abs(command + solution.x - ghost).max() < REJOINED:
                ghost = None
        predicted = force - model.force_map @ solution.x
        contacts = ContactSet(contacts.active, biases, tuple(predicted.tolist()), contacts.lost)
        return ControllerState(state.assignment, contacts, remembered), ControllerOutput(
            command=command + solution.x,
            status=Status.QP_INFEASIBLE if slack > 0.0 else Status.OK,
            contact_links=tuple(contact.link for contact in contacts.active),
            measured_force=contacts.forces,
            predicted_force=predicted,
            force_limit=contacts.limits,
            active_constraints=self._names(contacts, solution),
            slack=slack,
            damping_weight=weight,
            iterations=solution.iterations,
            position_error=position_error,
            rotation_error=rotation_error,
            ghost=ghost,
        )

    def _ghost(self, task: TrackingTask, inputs: ControllerInput) -> np.ndarray:
        """Return the next command (n) that there would be without contacts [rad]."""
        ghost = inputs.command if inputs.ghost is None else inputs.ghost
        hessian, gradient = self._objective(task, self._free, replace(inputs, command=ghost), 0.0)
        nothing = self._free.force_map, np.zeros(0)
        solution = self._solver.solve(
            QuadraticProgram(hessian, gradient, *nothing, -self._step, self._step)
        )
        following: np.ndarray = ghost + solution.x if solution.optimal else ghost
        return following

    def _contacts(
        self, before: ContactSet, assignment: Assignment, inputs: ControllerInput
    ) -> ContactSet:
        """Return the contacts (4c) at the measured q."""
        if inputs.contacts is None:
            return self._selection.keep(before)
        explained = [contact for contact in inputs.contacts if self._is_explained(contact)]
        return self._selection.update(before, explained, assignment.force_limits)

    def _force_constraints(
        self,
        model: QuasistaticModel,
        contacts: ContactSet,
        force: np.ndarray,
        inputs: ControllerInput,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return C and d: (22d) at every contact, slow approach to every lost contact.

        A force above its limit right after an impact cannot be removed in one tick: the
        rate at which it is reduced is bounded. Contacts at uncertain places get a smaller
        limit, because the lever arm and so the force are uncertain, too; without present
        contacts nothing pushes further. Where an estimate does not even explain the
        torques, (5) still tells their direction: tau_ext = K (q - q_cmd). Then the springs
        are relaxed, or at least tightened no further.
        """
        config, period = self._config.force, self._config.period
        limit = contacts.limits
        if inputs.conservative:
            limit *= self._config.safety.conservative_force_share
        bound = np.maximum(limit - force, -config.release_rate * period)
        approach = config.approach_speed * period
        if inputs.contacts is None:
            bound = np.minimum(bound, 0.0)
            approach = 0.0
        rows = [contact.row for contact in contacts.lost]
        slow = [approach] * len(rows)
        doubtful = [
            magnitude(c.force_world) for c in inputs.contacts or () if not self._is_explained(c)
        ]
        doubtful_force = max(inputs.unexplained_force, *doubtful, 0.0)
        if doubtful_force > 0.0:
            deflection = inputs.position - inputs.command
            rows.append(self._stiffness * deflection)
            # x = share * deflection would relax the springs by that share.
            slow.append(-self._relaxed_share(doubtful_force) * float(rows[-1] @ deflection))
        if not rows:
            return -model.force_map, bound
        return -np.vstack((model.force_map, rows)), np.concatenate((bound, slow))

    def _relaxed_share(self, force: float) -> float:
        """Return the share of the springs' torque to give up in this tick.

        Args:
            force: Of which only the size is believed [N].
        """
        config = self._config
        if force <= config.safety.conservative_force_share * config.force.limit:
            return 0.0
        return min(1.0, config.force.release_rate * config.period / force)

    def _is_explained(self, contact: ContactEstimate) -> bool:
        """Tell whether an estimated contact explains the measured torques."""
        return contact.residual <= self._config.safety.unexplained_residual

    def _solve(self, problem: QuadraticProgram) -> tuple[QuadraticProgramSolution, float]:
        """Solve; if the forces cannot be reduced as asked, relax that.

        First to nearly what each contact allows within the bounds on the command, then, if
        contacts contradict each other, to no force being increased.

        Returns:
            The solution, and by how much force limits were relaxed [N].
        """
        solution = self._solver.solve(problem)
        if solution.status != QuadraticProgramStatus.INFEASIBLE:
            return solution, 0.0
        asked = problem.constraint_bound
        lowest = np.minimum(
            problem.constraint_matrix * problem.lower, problem.constraint_matrix * problem.upper
        ).sum(axis=1)
        for relaxed in (np.maximum(asked, REACHABLE_SHARE * lowest), np.maximum(asked, 0.0)):
            solution = self._solver.solve(replace(problem, constraint_bound=relaxed))
            if solution.status != QuadraticProgramStatus.INFEASIBLE:
                break
        return solution, float(np.max(relaxed - asked, initial=0.0))

    def _names(self, contacts: ContactSet, solution: QuadraticProgramSolution) -> tuple[str, ...]:
        """Name the active constraints, which are numbered like the multipliers."""
        if not len(solution.active_set):
            return ()
        names = [f"force {contact.link}" for contact in contacts.active]
        names += [f"approach {contact.link}" for contact in contacts.lost]
        names += ["springs"] * (len(solution.multipliers) - len(names) - len(self._bound_names))
        own, bounds = len(names), self._bound_names
        return tuple(names[i] if i < own else bounds[i - own] for i in solution.active_set)


class QpController(CondensedQpController):
    """The QP (24): the command follows the reference, damped where forces surprise."""

    def _damping_weight(
        self, weight: float, contacts: ContactSet, blind: bool
    ) -> tuple[float, float]:
        """Update w by (28)-(29) from the contacts whose force was predicted a tick ago."""
        known = [
            (predicted, contact.force)
            for contact, predicted in zip(contacts.active, contacts.predicted, strict=True)
            if contact.trusted and math.isfinite(predicted)
        ]
        weight = adapted_damping(self._config.damping, weight, known)
        return weight, max(weight, self._config.safety.blind_weight) if blind else weight

    def _objective(
        self, task: TrackingTask, model: QuasistaticModel, inputs: ControllerInput, weight: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return H and g of (24a)."""
        incremental = self._config.tracking.reading == "incremental"
        evaluated = (
            model.equilibrium(inputs.position, inputs.command) if incremental else inputs.command
        )
        hessian, gradient = task.objective(evaluated, inputs.time, inputs.rate)
        scale = hessian.trace() / self._robot.n
        damping = scale * (self._config.tracking.regularization + weight)
        return hessian + damping * self._identity, gradient


class FrictionlessQpController(CondensedQpController):
    """The QP (22): the predicted equilibrium follows the reference."""

    def _damping_weight(
        self, weight: float, contacts: ContactSet, blind: bool
    ) -> tuple[float, float]:
        """Return the weight of |x|^2 beside eps: (22a) has none, unless contacts are old."""
        return weight, self._config.safety.blind_weight if blind else 0.0

    def _objective(
        self, task: TrackingTask, model: QuasistaticModel, inputs: ControllerInput, weight: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return H and g of (22a)."""
        equilibrium = model.equilibrium(inputs.position, inputs.command)
        hessian, gradient = task.objective(equilibrium, inputs.time, inputs.rate)
        scale = hessian.trace() / self._robot.n
        damping = scale * (self._config.tracking.regularization + weight)
        if model.contacts:
            projector = model.null_space()
            hessian = projector.T @ hessian @ projector
            gradient = projector.T @ gradient
        return hessian + damping * self._identity, gradient


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
    squared_error = sum((predicted - measured) ** 2 for predicted, measured in forces)
    discrepancy = 1.0 - math.exp(-config.beta * squared_error)  # (28)
    return weight + config.alpha * (config.weight_max * discrepancy - weight)  # (29)
