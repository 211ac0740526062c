"""The contact-aware controller: QP (24) with adaptive damping, in condensed form.

The equality constraints (22b)-(22c) are solved for q+ and lam+ by (9), which leaves the
change x = q_cmd+ - q_cmd of the command as the only unknown (7 numbers):

    minimise    |x - x_ref|^2_W + (eps + w) |x|^2                  (24a)
    subject to  lam_hat - A x <= f_max                              (22d)
                |x| <= dq_max, and joint limits                     (22e)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactEstimate
from contact_aware_control.controllers.base import Controller, ControllerInput, ControllerOutput
from contact_aware_control.controllers.contact_jacobian import (
    ContactConstraint,
    ContactSet,
    magnitude,
)
from contact_aware_control.controllers.damping import AdaptiveDamping
from contact_aware_control.controllers.force_prediction import ForcePrediction
from contact_aware_control.controllers.quasistatic import QuasistaticModel
from contact_aware_control.reference.base import Reference
from contact_aware_control.safety.status import Status
from contact_aware_control.tracking import TrackingTask, make_tracking
from contact_core.quadratic_program import (
    QuadraticProgram,
    QuadraticProgramSolution,
    QuadraticProgramStatus,
    make_solver,
)
from contact_core.robot import Robot

# Where a force cannot be reduced as fast as asked, this share of what is possible is asked.
REACHABLE_SHARE = 0.9


class QpController(Controller):
    """Follows a reference while it bounds every contact force."""

    limits_force = True

    def __init__(self, robot: Robot, config: ControllerConfig) -> None:
        """Set up; :meth:`follow` gives the reference.

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
        self._contacts = ContactSet(robot, self._stiffness, config.force, config.period)
        self._prediction = ForcePrediction(config.force.bias_time, config.period)
        self._damping = AdaptiveDamping(config.damping)
        self._solver = make_solver(config.solver)
        self._task: TrackingTask | None = None
        self._force_limits: dict[str, float] = {}

    def follow(
        self, reference: Reference, command: np.ndarray, force_limits: dict[str, float]
    ) -> None:
        """Start to follow a reference, see :meth:`Controller.follow`."""
        self._task = make_tracking(self._robot, reference, command.copy(), self._config)
        self._force_limits = force_limits
        self._contacts.clear()
        self._damping.reset()

    def step(self, inputs: ControllerInput) -> ControllerOutput:
        """Compute the next command, see :meth:`Controller.step`."""
        q, command = inputs.position, inputs.command
        assert self._task is not None
        self._robot.update(q)
        position_error, rotation_error = self._task.error(inputs.time)
        model = self._quasistatic_model(inputs)
        contacts = self._contacts.active
        blind = inputs.contacts is None
        force = self._prediction.update(model, contacts, q, command)
        weight = self._damping_weight(contacts, blind)
        hessian, gradient = self._objective(model, inputs, weight)
        constraint, bound = self._force_constraints(model, force, inputs)
        solution, slack = self._solve(
            QuadraticProgram(hessian, gradient, constraint, bound, inputs.lower, inputs.upper)
        )
        if not solution.optimal:
            return ControllerOutput(
                command=command,
                status=Status.QP_FAILED,
                damping_weight=weight,
                position_error=position_error,
                rotation_error=rotation_error,
            )
        predicted = force - model.force_map @ solution.x
        for contact, value in zip(contacts, predicted, strict=True):
            contact.predicted = value
        return ControllerOutput(
            command=command + solution.x,
            status=Status.QP_INFEASIBLE if slack > 0.0 else Status.OK,
            contact_links=tuple(contact.link for contact in contacts),
            measured_force=self._contacts.forces,
            predicted_force=predicted,
            force_limit=np.array([contact.limit for contact in contacts]),
            active_constraints=self._names(solution),
            slack=slack,
            damping_weight=weight,
            iterations=solution.iterations,
            position_error=position_error,
            rotation_error=rotation_error,
        )

    def _quasistatic_model(self, inputs: ControllerInput) -> QuasistaticModel:
        """Update the contacts (4c) and build the model (9), both at the measured q."""
        if inputs.contacts is None:
            self._contacts.keep()
        else:
            self._contacts.update(
                [contact for contact in inputs.contacts if self._is_explained(contact)],
                self._force_limits,
            )
        return QuasistaticModel.at(
            self._stiffness, self._contacts.jacobian, self._config.force.compliance
        )

    def _damping_weight(self, contacts: list[ContactConstraint], blind: bool) -> float:
        """Update w by (28)-(29) from the contacts whose force was predicted a tick ago."""
        known = [c for c in contacts if c.trusted and math.isfinite(c.predicted)]
        weight = self._damping.update([c.predicted for c in known], [c.force for c in known])
        return max(weight, self._config.safety.blind_weight) if blind else weight

    def _objective(
        self, model: QuasistaticModel, inputs: ControllerInput, weight: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return H and g of (24a); the weights eps and w are relative to trace(H)/n."""
        assert self._task is not None
        incremental = self._config.tracking.reading == "incremental"
        evaluated = (
            model.equilibrium(inputs.position, inputs.command) if incremental else inputs.command
        )
        hessian, gradient = self._task.objective(evaluated, inputs.time)
        scale = np.trace(hessian) / self._robot.n
        damping = scale * (self._config.tracking.regularization + weight)
        return hessian + damping * self._identity, gradient

    def _force_constraints(
        self, model: QuasistaticModel, force: np.ndarray, inputs: ControllerInput
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
        limit = np.array([contact.limit for contact in self._contacts.active])
        if inputs.conservative:
            limit *= self._config.safety.conservative_force_share
        bound = np.maximum(limit - force, -config.release_rate * period)
        approach = config.approach_speed * period
        if inputs.contacts is None:
            bound = np.minimum(bound, 0.0)
            approach = 0.0
        rows = [contact.row for contact in self._contacts.lost]
        slow = [approach] * len(rows)
        doubtful = [c for c in inputs.contacts or () if not self._is_explained(c)]
        if doubtful:
            deflection = inputs.position - inputs.command
            rows.append(self._stiffness * deflection)
            # x = share * deflection would relax the springs by that share.
            slow.append(-self._relaxed_share(doubtful) * float(rows[-1] @ deflection))
        if not rows:
            return -model.force_map, bound
        return -np.vstack((model.force_map, rows)), np.concatenate((bound, slow))

    def _relaxed_share(self, contacts: Sequence[ContactEstimate]) -> float:
        """Return the share of the springs' torque to give up in this tick.

        Args:
            contacts: Contacts of which only the size of the force is believed.
        """
        config = self._config
        force = max(magnitude(contact.force_world) for contact in contacts)
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

    def _names(self, solution: QuadraticProgramSolution) -> tuple[str, ...]:
        """Name the active constraints."""
        active, lost = self._contacts.active, self._contacts.lost
        names = [f"force {contact.link}" for contact in active]
        names += [f"approach {contact.link}" for contact in lost]
        names += ["springs"] * (len(solution.multipliers) - len(names) - len(self._bound_names))
        names += self._bound_names
        return tuple(names[i] for i in solution.active_set)
