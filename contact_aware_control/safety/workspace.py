"""The box that the tool does not leave."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from contact_aware_control.safety_config import WorkspaceConfig
from contact_core.robot import Robot


class Workspace:
    """Measures how far inside its box the tool is."""

    def __init__(self, robot: Robot, config: WorkspaceConfig) -> None:
        """Take the box.

        Args:
            robot: The arm; it is not changed.
            config: The box.
        """
        self._model = robot.model
        self._data = robot.model.createData()
        self._tool = robot.model.getFrameId(robot.tool_link)
        self._lowest = np.array(config.lowest)
        self._highest = np.array(config.highest)

    def clearance(self, q: np.ndarray) -> float:
        """Return the tool's distance to the closest face at a configuration.

        Args:
            q: (n) joint positions [rad].

        Returns:
            The distance [m], negative outside.
        """
        pin.forwardKinematics(self._model, self._data, q)
        return self.clearance_at(
            pin.updateFramePlacement(self._model, self._data, self._tool).translation
        )

    def clearance_at(self, point: np.ndarray) -> float:
        """Return the distance of a point to the closest face.

        Args:
            point: (3) world frame [m].

        Returns:
            The distance [m], negative outside.
        """
        return float(min((point - self._lowest).min(), (self._highest - point).min()))
