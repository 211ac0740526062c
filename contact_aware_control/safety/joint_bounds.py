"""How fast a command may be: one table of bounds on step, acceleration and jerk of the joints."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_core.robot.robot import Robot

BRAKING_RATE = 5.0
"""Speed towards a limit per distance to it [1/s]."""


class Bound(Enum):
    """How fast a command may be."""

    TRACKING = "of the step bound"
    YIELDING = "of the joints, to give way"
    JOINING = "from one motion to the next, where a reference jumps"
    NONE = "none, for a baseline whose abrupt motion is to be seen"


class JointBounds(NamedTuple):
    """A row of the table.

    Attributes:
        step: (n) largest change of the command in a tick [rad].
        acceleration: Of the command, at most [rad/s^2].
        jerk: Of the command, at most [rad/s^3].
    """

    step: np.ndarray
    acceleration: float
    jerk: float


def joint_bounds(robot: Robot, config: ControllerConfig) -> dict[Bound, JointBounds]:
    """Return the table.

    Args:
        robot: Has the velocity limits.
        config: The section ``limits``, and ``transition``.
    """
    limits, joining = config.limits, config.transition
    reach = config.period * robot.velocity_limits
    tracking = np.minimum(limits.step, limits.velocity_fraction * reach)
    yielding = limits.yielding_fraction * reach
    unbounded = np.full(robot.n, np.inf)
    return {
        Bound.TRACKING: JointBounds(tracking, limits.acceleration, limits.jerk),
        Bound.YIELDING: JointBounds(yielding, limits.acceleration, limits.jerk),
        Bound.JOINING: JointBounds(tracking, joining.acceleration, joining.jerk),
        Bound.NONE: JointBounds(unbounded, np.inf, np.inf),
    }
