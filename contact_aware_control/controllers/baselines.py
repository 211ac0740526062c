"""What the controllers are compared with, in simulation only: the paper's baselines, impedance.

Greedy: command what inverse kinematics asks for, whatever is in the way.

Impedance: the springs of the joints make the tool one, with a stiffness K_x of its own. With
e = log6(X^-1 X_ref) their torque is J^T K_x e, and towards the posture what the tool does not
feel, so that

    q_cmd+ = q + K^-1 (J^T K_x e + (I - J^T (J+)^T) K_p (q_posture - q)) + T J+ V_ref.

The last term takes the damping of the springs, T = D / K, to the motion relative to the
reference, as impedance control has it. A soft tool presses little and follows little: there is
one number for both.

Null-space projection with a force equality:
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
import pinocchio as pin

from contact_aware_control.config import ControllerConfig
from contact_aware_control.controllers.base import (
    Controller,
    ControllerInput,
    ControllerOutput,
    ControllerState,
)
from contact_aware_control.controllers.contact_selection import ContactConstraint, ContactSelection
from contact_aware_control.controllers.quasistatic import (
    ENVIRONMENT_COMPLIANCE,
    JointDamping,
    QuasistaticModel,
)
from contact_aware_control.reference.base import (
    Assignment,
    JointReference,
    PoseReference,
    Reference,
)
from contact_aware_control.tracking import TrackingTasks, pose_distance
from contact_core.robot.inverse_kinematics import InverseKinematics
from contact_core.robot.robot import Robot

ITERATIONS = 10
"""Most steps of the inverse kinematics of one tick."""


class Baseline(Controller):
    """Commands joint positions that the reference asks for; forces are not bounded."""

    limits_force = False

    def __init__(self, robot: Robot, config: ControllerConfig) -> None:
        """Set up.

        Args:
            robot: The arm, for this controller alone.
            config: Every parameter.
        """
        self._robot = robot
        self._config = config
        self._tasks = TrackingTasks(robot, config)
        self._inverse_kinematics = InverseKinematics(robot, iterations=ITERATIONS)

    def _wanted(self, reference: Reference, inputs: ControllerInput) -> np.ndarray:
        """Return q_ref+ (n) [rad]: of a tool reference by inverse kinematics near q_cmd."""
        time = inputs.time + inputs.rate * self._config.period
        if isinstance(reference, JointReference):
            return reference.sample(time)
        assert isinstance(reference, PoseReference)
        return self._inverse_kinematics.solve(reference.sample(time), inputs.command).q


class GreedyController(Baseline):
    """Minimises the tracking error without contact model and force limit."""

    def step(
        self, state: ControllerState, inputs: ControllerInput
    ) -> tuple[ControllerState, ControllerOutput]:
        """Command q_cmd+ = IK(X_ref+), see :meth:`Controller.step`."""
        assert state.assignment is not None
        self._robot.update(inputs.position)
        position_error, rotation_error = self._tasks.of(state.assignment).error(inputs.time)
        wanted = self._wanted(state.assignment.reference, inputs)
        change = np.clip(wanted - inputs.command, inputs.lower, inputs.upper)
        return state, ControllerOutput(
            command=inputs.command + change,
            position_error=position_error,
            rotation_error=rotation_error,
        )


class ImpedanceController(Controller):
    """Makes the tool a spring about the reference: Cartesian impedance control."""

    limits_force = False

    def __init__(self, robot: Robot, config: ControllerConfig) -> None:
        """Set up.

        Args:
            robot: The arm, for this controller alone.
            config: Every parameter.
        """
        self._robot = robot
        self._period = config.period
        self._stiffness = robot.stiffness
        own = config.impedance
        self._tool_stiffness = np.repeat([own.translation, own.rotation], 3)
        self._posture_stiffness = own.posture
        self._damping = JointDamping(robot, config)
        self._data = robot.model.createData()
        self._tool = robot.model.getFrameId(robot.tool_link, pin.FrameType.BODY)

    def step(
        self, state: ControllerState, inputs: ControllerInput
    ) -> tuple[ControllerState, ControllerOutput]:
        """Compute the next command, see :meth:`Controller.step`."""
        assert state.assignment is not None
        q, time, robot = inputs.position, inputs.time, self._robot
        robot.update(q)
        pose, jacobian = robot.tool_pose(), robot.tool_jacobian()
        inverse = np.linalg.pinv(jacobian)
        wanted, posture = self._wanted(state.assignment, time)
        following, _ = self._wanted(state.assignment, time + inputs.rate * self._period)
        error = pin.log6(pose.actInv(wanted)).vector
        velocity = inverse @ pin.log6(wanted.actInv(following)).vector / self._period
        unfelt = self._posture_stiffness * (posture - q)
        torque = unfelt + jacobian.T @ (self._tool_stiffness * error - inverse.T @ unfelt)
        command = q + torque / self._stiffness + self._damping.time(q) * velocity
        change = np.clip(command - inputs.command, inputs.lower, inputs.upper)
        position_error, rotation_error = pose_distance(pose, wanted)
        return state, ControllerOutput(
            command=inputs.command + change,
            position_error=position_error,
            rotation_error=rotation_error,
        )

    def _wanted(self, assignment: Assignment, time: float) -> tuple[pin.SE3, np.ndarray]:
        """Return X_ref and q_posture (n) [rad]."""
        reference = assignment.reference
        if isinstance(reference, PoseReference):
            return reference.sample(time), assignment.posture
        assert isinstance(reference, JointReference)
        posture = reference.sample(time)
        pin.forwardKinematics(self._robot.model, self._data, posture)
        return pin.updateFramePlacement(self._robot.model, self._data, self._tool).copy(), posture


class NullSpaceController(Baseline):
    """Sets every contact force that the reference pushes into to its limit."""

    def __init__(self, robot: Robot, config: ControllerConfig) -> None:
        """Set up, see :class:`Baseline`."""
        super().__init__(robot, config)
        self._stiffness = robot.stiffness
        self._selection = ContactSelection(robot, self._stiffness, config.force, config.period)
        self.bounds_step = config.null_space.step > 0.0

    def step(
        self, state: ControllerState, inputs: ControllerInput
    ) -> tuple[ControllerState, ControllerOutput]:
        """Compute the next command, see :meth:`Controller.step`."""
        assert state.assignment is not None
        q = inputs.position
        self._robot.update(q)
        position_error, rotation_error = self._tasks.of(state.assignment).error(inputs.time)
        contacts = (
            self._selection.keep(state.contacts)
            if inputs.contacts is None
            else self._selection.update(
                state.contacts, inputs.contacts, state.assignment.force_limits
            )
        )
        reference = self._wanted(state.assignment.reference, inputs)
        regulated = [c for c in contacts.active if not leaves(c, q, reference)]
        rows = np.array([contact.row for contact in regulated]).reshape(-1, self._robot.n)
        model = QuasistaticModel.at(self._stiffness, rows, ENVIRONMENT_COMPLIANCE)
        limits = np.array([contact.limit for contact in regulated])
        wanted = q + model.null_space() @ (reference - q) - model.deflection @ limits
        change = np.clip(wanted - inputs.command, inputs.lower, inputs.upper)
        if self.bounds_step:
            step = self._config.null_space.step
            change = np.clip(change, -step, step)
        command = inputs.command + change
        return ControllerState(state.assignment, contacts), ControllerOutput(
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
