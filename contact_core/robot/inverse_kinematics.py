"""Inverse kinematics to a tool pose, by damped least squares."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import pinocchio as pin

from contact_core.robot.robot import Robot


class InverseKinematicsStatus(Enum):
    """How a search ended; the value says what to do about it."""

    CONVERGED = "the tool is at the pose"
    JOINT_LIMIT = "joint limits keep the tool away: start elsewhere or move the pose"
    NOT_REACHED = "the tool did not get to the pose: move it into the reach of the arm"


@dataclass(frozen=True)
class InverseKinematicsResult:
    """The configuration found.

    Attributes:
        q: (n) joint positions [rad], within the limits, the best found.
        status: How the search ended.
        position_error: Distance of the tool to the pose [m].
        rotation_error: Angle between tool and pose [rad].
        iterations: Newton steps made.
    """

    q: np.ndarray
    status: InverseKinematicsStatus
    position_error: float
    rotation_error: float
    iterations: int


class InverseKinematics:
    """Finds joint positions for a tool pose, near a start configuration."""

    def __init__(
        self,
        robot: Robot,
        *,
        position_tolerance: float = 1e-6,
        rotation_tolerance: float = 1e-6,
        damping: float = 1e-6,
        step_limit: float = 0.2,
        iterations: int = 100,
    ) -> None:
        """Set up a search; the robot's own state is not touched by it.

        Args:
            robot: The arm.
            position_tolerance: Converged below this distance [m].
            rotation_tolerance: Converged below this angle [rad].
            damping: Levenberg-Marquardt term added to J J^T.
            step_limit: Largest joint step of one iteration [rad].
            iterations: Most steps made.
        """
        self._model = robot.model
        self._data = robot.model.createData()
        self._tool = robot.model.getFrameId(robot.tool_link, pin.FrameType.BODY)
        self._limits = robot.position_limits
        self._tolerances = position_tolerance, rotation_tolerance
        self._damping = damping * np.eye(6)
        self._step_limit = step_limit
        self._iterations = iterations

    def solve(self, target: pin.SE3, q_start: np.ndarray) -> InverseKinematicsResult:
        """Search from a start configuration.

        Args:
            target: Wanted tool pose, world frame.
            q_start: (n) where the search starts [rad].

        Returns:
            The configuration and how the search ended.
        """
        low, high = self._limits
        q = np.clip(q_start, low, high)
        for iteration in range(self._iterations + 1):
            error = self._error(q, target)
            position, rotation = float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:]))
            if position < self._tolerances[0] and rotation < self._tolerances[1]:
                status = InverseKinematicsStatus.CONVERGED
                return InverseKinematicsResult(q, status, position, rotation, iteration)
            if iteration < self._iterations:
                q = np.clip(q + self._step(q, error), low, high)
        at_limit = bool(np.any((q <= low) | (q >= high)))
        status = (
            InverseKinematicsStatus.JOINT_LIMIT if at_limit else InverseKinematicsStatus.NOT_REACHED
        )
        return InverseKinematicsResult(q, status, position, rotation, self._iterations)

    def _error(self, q: np.ndarray, target: pin.SE3) -> np.ndarray:
        """Twist log6(X^-1 X_ref) that takes the tool to the target, tool frame."""
        pin.computeJointJacobians(self._model, self._data, q)
        pin.updateFramePlacement(self._model, self._data, self._tool)
        return np.asarray(pin.log6(self._data.oMf[self._tool].actInv(target)).vector)

    def _step(self, q: np.ndarray, error: np.ndarray) -> np.ndarray:
        """Damped least-squares step over the joints that no limit blocks."""
        jacobian = pin.getFrameJacobian(self._model, self._data, self._tool, pin.LOCAL)
        low, high = self._limits
        pull = jacobian.T @ error
        blocked = ((q <= low) & (pull < 0)) | ((q >= high) & (pull > 0))
        free = np.where(blocked, 0.0, jacobian)
        step = free.T @ np.linalg.solve(free @ free.T + self._damping, error)
        return np.asarray(step * min(1.0, self._step_limit / max(np.abs(step).max(), 1e-12)))
