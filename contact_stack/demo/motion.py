"""The motions of demos, poses on their way, and the gate of those that stream commands."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin

from contact_aware_control.config import ControllerConfig
from contact_aware_control.reference import JointTrajectory, PoseTrajectory
from contact_aware_control.safety.command_gate import CommandGate, GateState
from contact_core.arm_state import SoundCommand
from contact_core.config import from_mapping
from contact_core.errors import CommunicationError, TrajectoryError
from contact_core.inverse_kinematics import InverseKinematics, InverseKinematicsStatus
from contact_core.robot import Robot
from contact_core.scene import Scene

Motion = PoseTrajectory | JointTrajectory
"""Of the tool for ``follow_pose_trajectory``, or of the joints for ``follow_joint_trajectory``."""


def tool_at(motion: Motion, robot: Robot, time: float) -> pin.SE3:
    """Return the tool pose that a motion asks for, world frame.

    Args:
        motion: The motion.
        robot: The arm; may be updated.
        time: Since the start of the motion [s].
    """
    wanted = motion.sample(time)
    return wanted if isinstance(wanted, pin.SE3) else tool_pose(robot, wanted)


def tool_pose(robot: Robot, q: np.ndarray) -> pin.SE3:
    """Return the tool's pose at joint positions q (n) [rad], world frame; moves the robot there."""
    robot.update(q)
    return robot.tool_pose()


def tilt(pose: pin.SE3) -> float:
    """Return the angle between an object's z axis and the vertical [rad], from its pose."""
    return float(np.arccos(np.clip(pose.rotation[2, 2], -1.0, 1.0)))


def joints_along(
    robot: Robot, q_start: np.ndarray, times: np.ndarray, tool: Callable[[float], pin.SE3]
) -> list[np.ndarray]:
    """Return joint positions (n) [rad] along a motion of the tool, each near the one before.

    Args:
        robot: The arm.
        q_start: (n) at the first time [rad].
        times: When the others are wanted, after the first [s].
        tool: Returns the tool's pose at a time, world frame.

    Raises:
        TrajectoryError: If a pose is out of reach.
    """
    search = InverseKinematics(robot)
    positions = [np.asarray(q_start)]
    for time in times[1:]:
        found = search.solve(tool(float(time)), positions[-1])
        if found.status is not InverseKinematicsStatus.CONVERGED:
            raise TrajectoryError(f"keyframe motion, {time:.2f} s: {found.status.value}")
        positions.append(found.q)
    return positions


class SetpointGate:
    """Passes joint positions that a demo streams to the arm, past the controller."""

    def __init__(self, scene: Scene) -> None:
        """Take the limits: the joints' own speed, for a bottle is shaken fast.

        Args:
            scene: Has the arm, its stiffness and the period of commands.
        """
        limits = {"step": 0.05, "velocity_fraction": 1.0, "position_margin": 0.0}
        values = {
            "rate": 1.0 / scene.config.period,
            "joint_stiffness": scene.config.robot.stiffness,
            "limits": limits,
        }
        robot = Robot.from_description(scene.robot)
        self._gate = CommandGate(robot, from_mapping(ControllerConfig, values))
        self._passed: GateState | None = None

    def judge(self, stamp: int, wanted: np.ndarray, measured: np.ndarray) -> SoundCommand:
        """Pass a command.

        Args:
            stamp: Time of the period [ns].
            wanted: (n) commanded joint positions [rad].
            measured: (n) measured ones; the first command has to be near them [rad].

        Returns:
            What may be sent.

        Raises:
            CommunicationError: If it breaks a rule.
        """
        before = self._passed or self._gate.start(measured)
        self._passed, command, refusal = self._gate.judge(before, stamp, wanted, measured)
        if refusal:
            raise CommunicationError(f"the gate refused a command: {refusal}")
        return command
