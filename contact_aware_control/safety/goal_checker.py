"""Decides whether a goal can be followed, before the arm moves."""

from __future__ import annotations

import math

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.goal import Goal
from contact_aware_control.safety.command_guard import CommandGuard
from contact_core.errors import TrajectoryError, choices
from contact_core.robot import Robot


class GoalChecker:
    """Checks goals; it takes much longer than a tick.

    With a robot of its own it may work beside a running control loop.
    """

    def __init__(self, robot: Robot, config: ControllerConfig) -> None:
        """Take the limits.

        Args:
            robot: The arm; its configuration changes.
            config: Every parameter.

        Raises:
            ConfigError: If a limit does not fit the arm.
        """
        self._robot = robot
        self._start_tolerance = config.safety.start
        self._guard = CommandGuard(robot, config)

    def check(self, goal: Goal, command: np.ndarray) -> None:
        """Check a goal.

        Args:
            goal: The goal.
            command: (n) commanded joint positions now [rad].

        Raises:
            TrajectoryError: If the reference starts too far away or violates a limit, or a
                force limit names an unknown link or is not a force.
        """
        for link, limit in goal.force_limits.items():
            if link not in self._robot.link_names:
                raise TrajectoryError(
                    f"planned contact of unknown link '{link}' ({choices(self._robot.link_names)})"
                )
            if not (math.isfinite(limit) and limit >= 0.0):
                raise TrajectoryError(f"planned contact of '{link}': force limit {limit} N")
        goal.reference.check(self._robot, command, self._start_tolerance)
        self._guard.check(goal.reference)
