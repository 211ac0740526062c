"""The clock of a reference: it slows down and stops where the arm cannot follow.

A trajectory is a path with a time law. What holds the arm back, contact, a limit, or springs
that do not follow, holds back the command as well, for the controller bounds forces and the
distance to the measured joints. If time ran on, the reference would be far away when the arm is
free again. So the rate of its time depends on how far the command is behind: 1 up to half the
tolerance, then falling, and 0 at the tolerance.

The distance is that of the command, not of the measured joints: contact and sensor delay would
close a loop through them.
"""

from __future__ import annotations

import math

import numpy as np

from contact_aware_control.chain import ArmPlace
from contact_aware_control.config import GovernorConfig
from contact_aware_control.reference.base import Goal, JointReference, PoseReference, Reference

RATE_TIME = 0.1
"""The rate takes this long from 1 to 0 or back [s]."""

NEARING = 1.0
"""What is behind comes nearer if it makes up a tolerance in less than a second [1/s]."""


class ReferenceClock:
    """Tells how fast reference time passes."""

    def __init__(self, config: GovernorConfig, period: float) -> None:
        """Take the tolerances.

        Args:
            config: Tolerances.
            period: Time between ticks [s].
        """
        self._config = config
        self._period = period
        self._change = period / RATE_TIME

    def rate(
        self, rate: float, goal: Goal, time: float, command: np.ndarray, tool: ArmPlace
    ) -> float:
        """Return the rate of the next tick.

        Args:
            rate: Of the last one.
            goal: What is followed; a stream has no end to be late for, its rate is 1.
            time: Reference time [s].
            command: (n) the present command q_cmd [rad].
            tool: Where it has the tool, world frame.

        Returns:
            In [0, 1]; it changes by a bounded amount.
        """
        if not self._config.enabled or goal.refreshed is not None:
            return 1.0
        wanted = min(max(2.0 - 2.0 * self._lag(goal.reference, time, command, tool), 0.0), 1.0)
        return min(max(wanted, rate - self._change), rate + self._change)

    def is_held(
        self,
        goal: Goal,
        time: float,
        command: np.ndarray,
        tool: ArmPlace,
        after: np.ndarray,
        tool_after: ArmPlace,
    ) -> bool:
        """Tell whether the command stays behind a stream, whose time passes all the same.

        Args:
            goal: What is followed.
            time: Reference time [s].
            command: (n) the present command q_cmd [rad].
            tool: Where it has the tool, world frame.
            after: (n) the next command [rad].
            tool_after: Where that has the tool.

        Returns:
            Whether it is behind by more than the tolerance, and comes no nearer.
        """
        if not self._config.enabled or goal.refreshed is None:
            return False
        lag = self._lag(goal.reference, time, command, tool)
        if lag < 1.0:
            return False
        return lag - self._lag(goal.reference, time, after, tool_after) < NEARING * self._period

    def _lag(self, reference: Reference, time: float, command: np.ndarray, tool: ArmPlace) -> float:
        """Return how far the command is from the reference, as a share of the tolerance."""
        if isinstance(reference, JointReference):
            return float(np.abs(reference.sample(time) - command).max()) / self._config.joint
        assert isinstance(reference, PoseReference)
        wanted = reference.sample(time)
        shift = wanted.translation - tool.translation
        # tr(R_a^T R_b) = 1 + 2 cos(angle), without a logarithm.
        cosine = 0.5 * (float(np.vdot(wanted.rotation, tool.rotation)) - 1.0)
        angle = math.acos(min(max(cosine, -1.0), 1.0))
        distance = math.sqrt(shift @ shift)
        return max(distance / self._config.position, angle / self._config.rotation)
