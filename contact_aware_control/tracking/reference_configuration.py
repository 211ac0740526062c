"""The joint positions a reference asks for, as the baselines without objective need them."""

from __future__ import annotations

import numpy as np

from contact_aware_control.reference.base import JointReference, PoseReference, Reference
from contact_core.errors import TrajectoryError
from contact_core.inverse_kinematics import InverseKinematics
from contact_core.robot import Robot


class ReferenceConfiguration:
    """q_ref of a joint reference, or the inverse kinematics of a tool reference."""

    def __init__(self, robot: Robot, reference: Reference) -> None:
        """Take the reference.

        Args:
            robot: The arm; its state is not touched.
            reference: The motion.

        Raises:
            TrajectoryError: If it is neither of the joints nor of the tool.
        """
        if not isinstance(reference, JointReference | PoseReference):
            raise TrajectoryError(
                f"cannot follow a {type(reference).__name__} (valid: JointReference, PoseReference)"
            )
        self._reference = reference
        self._inverse_kinematics = InverseKinematics(robot, iterations=10)

    def at(self, time: float, near: np.ndarray) -> np.ndarray:
        """Return q_ref.

        Args:
            time: Reference time [s].
            near: (n) configuration from which inverse kinematics searches [rad].

        Returns:
            (n) [rad].
        """
        if isinstance(self._reference, JointReference):
            return self._reference.sample(time)
        return self._inverse_kinematics.solve(self._reference.sample(time), near).q
