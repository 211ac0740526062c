"""What is asked of the controller from outside, between two ticks."""

from __future__ import annotations

from enum import IntEnum


class Request(IntEnum):
    """A request; the numbers are written into flight records."""

    ACTIVATE = 0
    DEACTIVATE = 1
    HOLD = 2
    RESUME = 3
    STOP = 4
    RESET = 5
    PRESS_EXTERNAL_STOP = 6
    RELEASE_EXTERNAL_STOP = 7
    REJECT_INPUT = 8
    ROBOT_LEFT = 9
    ROBOT_BACK = 10
