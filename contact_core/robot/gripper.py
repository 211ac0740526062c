"""What a gripper is asked to do, free of any message type."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class GripperCommand:
    """What the gripper should do.

    Attributes:
        position: Finger position [m], half the opening; angle of a joint that turns [rad].
        max_effort: Force of one finger it may use [N or Nm].
        max_speed: Speed of one finger, at most that of the gripper [m/s or rad/s].
        stop: Whether it ends a motion where it is: the position is that of the fingers.
    """

    position: float
    max_effort: float
    max_speed: float = math.inf
    stop: bool = False
