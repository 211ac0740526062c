"""Bounds on the change of the command in one tick."""

from __future__ import annotations

import numpy as np

from contact_aware_control.config import LimitsConfig
from contact_core.robot import Robot


class CommandLimits:
    """The box of commands that are allowed next, whatever controller asks.

    Bounds on step and velocity are never exceeded. Within them joint limits win over the
    bound on the spring torque; a bound that is already violated is approached as fast as
    the stronger ones allow, so the box is never empty.
    """

    def __init__(
        self, robot: Robot, stiffness: np.ndarray, config: LimitsConfig, period: float
    ) -> None:
        """Take the limits of the arm.

        Args:
            robot: Has the position and velocity limits.
            stiffness: (n) diagonal of K [Nm/rad].
            config: Margins and bounds.
            period: Time between ticks [s].
        """
        self._step = np.minimum(
            config.step, config.velocity_fraction * robot.velocity_limits * period
        )
        self._lowest = robot.position_limits[0] + config.position_margin
        self._highest = robot.position_limits[1] - config.position_margin
        self._braking = min(1.0, config.braking_rate * period)
        self._distance = np.array(config.spring_torque) / stiffness

    def box(
        self, q: np.ndarray, command: np.ndarray, step_fraction: float = 1.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the bounds on q_cmd+ - q_cmd.

        Args:
            q: (n) measured configuration [rad].
            command: (n) present command q_cmd [rad].
            step_fraction: Share of the step bound to use.

        Returns:
            (lower, upper), each (n) [rad].
        """
        upper = step_fraction * self._step
        lower = -upper
        bounds = (
            (
                self._braking * (self._lowest - command),
                self._braking * (self._highest - command),
            ),
            (q - self._distance - command, q + self._distance - command),
        )
        for low, high in bounds:
            lower, upper = (
                np.minimum(np.maximum(low, lower), upper),
                np.minimum(np.maximum(high, lower), upper),
            )
        return lower, upper

    def reached(
        self,
        change: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        step_fraction: float = 1.0,
    ) -> bool:
        """Tell whether a limit other than the step bound holds a joint back.

        Args:
            change: (n) q_cmd+ - q_cmd [rad].
            lower: (n) from :meth:`box`.
            upper: (n) from :meth:`box`.
            step_fraction: Given to :meth:`box`.

        Returns:
            True if so.
        """
        step = step_fraction * self._step
        limited_below = lower > -step
        limited_above = upper < step
        if not (limited_below.any() or limited_above.any()):
            return False
        held = (limited_below & (change <= lower)) | (limited_above & (change >= upper))
        return bool(held.any())
