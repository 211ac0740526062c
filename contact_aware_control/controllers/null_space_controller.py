"""The paper's second baseline: null-space projection with a force equality.

In contact the force has priority and is set to its limit f_max; the tracking torque
K (q_ref+ - q) is projected into the null space of the contacts, (10) with the
stiffness-consistent W = K. The torque K (q_cmd+ - q) of the springs is then, (13),

    K (q_cmd+ - q) = -J^T f_max + P_N K (q_ref+ - q),   P_N = I - J^T (J#K)^T

or, because K^-1 P_N K = N of (9b),

    q_cmd+ = q - K^-1 J^T f_max + N (q_ref+ - q).

An equality cannot give way gradually: where the reference leaves the contact, (30), it is
dropped at once and q_cmd+ = q_ref+ (contact_aware_control Sec. VI-B). At that moment
J (q_ref+ - q) = 0, so N (q_ref+ - q) = q_ref+ - q: the command jumps by K^-1 J^T f_max, no
matter how far inside the obstacle the reference was before. The force is gone within the
arm's own response time; fast motion follows only where the estimated direction u is wrong
and (30) comes early.
"""

from __future__ import annotations

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.controllers.base import Controller, ControllerInput, ControllerOutput
from contact_aware_control.controllers.contact_jacobian import ContactConstraint, ContactSet
from contact_aware_control.controllers.quasistatic import QuasistaticModel
from contact_aware_control.reference.base import Reference
from contact_aware_control.tracking import ReferenceConfiguration, TrackingTask, make_tracking
from contact_core.robot import Robot


class NullSpaceController(Controller):
    """Sets every contact force that the reference pushes into to its limit.

    For comparison in simulation only.
    """

    limits_force = False

    def __init__(self, robot: Robot, config: ControllerConfig) -> None:
        """Set up; :meth:`follow` gives the reference.

        Args:
            robot: The arm, for this controller alone.
            config: Every parameter.
        """
        self._robot = robot
        self._config = config
        self._stiffness = np.array(config.joint_stiffness)
        self._contacts = ContactSet(robot, self._stiffness, config.force, config.period)
        self._force_limits: dict[str, float] = {}
        self._task: TrackingTask | None = None
        self._wanted: ReferenceConfiguration | None = None
        self.bounds_step = config.null_space.step > 0.0

    def follow(
        self, reference: Reference, command: np.ndarray, force_limits: dict[str, float]
    ) -> None:
        """Start to follow a reference, see :meth:`Controller.follow`."""
        self._task = make_tracking(self._robot, reference, command.copy(), self._config)
        self._wanted = ReferenceConfiguration(self._robot, reference)
        self._force_limits = force_limits
        self._contacts.clear()

    def step(self, inputs: ControllerInput) -> ControllerOutput:
        """Compute the next command, see :meth:`Controller.step`."""
        assert self._task is not None and self._wanted is not None
        q = inputs.position
        self._robot.update(q)
        position_error, rotation_error = self._task.error(inputs.time)
        if inputs.contacts is None:
            self._contacts.keep()
        else:
            self._contacts.update(inputs.contacts, self._force_limits)
        reference = self._wanted.at(inputs.time + self._config.period, inputs.command)
        regulated = [c for c in self._contacts.active if not leaves(c, q, reference)]
        rows = np.array([contact.row for contact in regulated]).reshape(-1, self._robot.n)
        model = QuasistaticModel.at(self._stiffness, rows, self._config.force.compliance)
        limits = np.array([contact.limit for contact in regulated])
        wanted = q + model.null_space() @ (reference - q) - model.deflection @ limits
        change = np.clip(wanted - inputs.command, inputs.lower, inputs.upper)
        if self.bounds_step:
            step = self._config.null_space.step
            change = np.clip(change, -step, step)
        command = inputs.command + change
        return ControllerOutput(
            command=command,
            contact_links=tuple(contact.link for contact in regulated),
            measured_force=np.array([contact.force for contact in regulated]),
            predicted_force=model.force(q, command),
            force_limit=limits,
            active_constraints=tuple(f"force {contact.link}" for contact in regulated),
            position_error=position_error,
            rotation_error=rotation_error,
        )


def leaves(contact: ContactConstraint, q: np.ndarray, reference: np.ndarray) -> bool:
    """Tell whether the reference commands a break of contact, (30).

    Args:
        contact: The contact.
        q: (n) measured configuration [rad].
        reference: (n) q_ref+ [rad].

    Returns:
        True if u^T J_C (q_ref+ - q) > 0.
    """
    return float(contact.row @ (reference - q)) > 0.0
