"""Where the motion that is followed has the arm, as its action says to who listens."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from contact_core.robot.description import RobotDescription
from contact_core.robot.inverse_kinematics import InverseKinematics
from contact_core.robot.robot import Robot
from contact_ros.geometry import quaternion_to_array
from contact_ros.validation import MAX_POSITION, named_numbers, numbers, vector

OVER = 0.5
"""After how long without news the motion has ended [s]."""
TOLERANCE, STEPS = 1e-3, 20
"""Of the arm that is drawn at a pose of the tool [m, rad], and how hard it is sought."""


class ShownReference:
    """The latest reference, of a pose of the tool or of the joints."""

    def __init__(self, robot: RobotDescription) -> None:
        """Begin without one.

        Args:
            robot: The arm.
        """
        self._joints = robot.arm_joints
        self._search = InverseKinematics(
            Robot.from_description(robot),
            position_tolerance=TOLERANCE,
            rotation_tolerance=TOLERANCE,
            iterations=STEPS,
        )
        self._latest: pin.SE3 | dict[str, float] | None = None
        self._heard = -np.inf

    def hear(self, topic: str, message: Any) -> None:
        """Take the feedback of an action.

        Args:
            topic: Where it comes from.
            message: The message.

        Raises:
            MessageError: If it cannot be used.
        """
        desired = message.feedback.desired
        if topic.startswith("follow_pose"):
            xyz = vector(desired.position, "desired.position", MAX_POSITION)
            values = quaternion_to_array(desired.orientation).tolist()
            turn = pin.Quaternion(numbers(values, "desired.orientation", 1.01))
            self._latest = pin.SE3(turn.normalized().matrix(), xyz)
        else:
            names, values = message.feedback.joint_names, desired.positions
            self._latest = named_numbers(names, values, "desired.positions", MAX_POSITION)
        self._heard = time.monotonic()

    def arm(self, joints: Mapping[str, float]) -> Sequence[float]:
        """Return joint positions (n) of the reference [rad], by our names; empty without one.

        Args:
            joints: Where the robot is now; of all arms with that pose of the tool, one near it.
        """
        if time.monotonic() - self._heard > OVER or self._latest is None:
            return ()
        if isinstance(self._latest, pin.SE3):
            start = np.array([joints.get(name, 0.0) for name in self._joints])
            positions: list[float] = self._search.solve(self._latest, start).q.tolist()
            return positions
        # Drivers may call the joints otherwise, but count them from the base as we do.
        return [
            self._latest.get(name, value)
            for name, value in zip(self._joints, self._latest.values(), strict=False)
        ]
