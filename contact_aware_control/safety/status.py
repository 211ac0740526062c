"""Modes, statuses and requests of the controller.

The numbers of modes and statuses are those of ControllerStatus.msg.
"""

from __future__ import annotations

from enum import IntEnum


class Request(IntEnum):
    """What is asked of the controller from outside, between two ticks."""

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


class Mode(IntEnum):
    """What the controller is doing."""

    INACTIVE = 0
    HOLD = 1
    TRACKING = 2
    CONSERVATIVE = 3
    FAULT = 4


class Status(IntEnum):
    """Why it is doing that, or what to pay attention to."""

    OK = 0
    STATE_STALE = 1
    CONTACTS_STALE = 2
    REFERENCE_STALE = 3
    QP_INFEASIBLE = 4
    QP_FAILED = 5
    FORCE_EXCEEDED = 6
    BAD_INPUT = 7
    LIMIT_REACHED = 8
    STOPPED = 9
    WAITING_FOR_STATE = 10
    DEADLINE_MISSED = 11
    CONTACT_UNIDENTIFIABLE = 12
    SELF_COLLISION = 13
    WORKSPACE = 14
    EXTERNAL_STOP = 15
    NOT_COMMANDING = 16

    @property
    def remedy(self) -> str:
        """What a person can do about it; empty if nothing is needed."""
        return _REMEDIES[self]


_REMEDIES = {
    Status.OK: "",
    Status.STATE_STALE: "check the driver and the network; call resume if the arm stays held",
    Status.CONTACTS_STALE: "check that the contact estimator runs",
    Status.REFERENCE_STALE: "keep streaming the reference, or send a trajectory goal",
    Status.QP_INFEASIBLE: "the force limit cannot be met within the step bound: move slower, "
    "raise the step bound or the force limit",
    Status.QP_FAILED: "the arm gives way; check the parameters and the reported contacts",
    Status.FORCE_EXCEEDED: "free the arm, then call reset; raise the force limit of the link if "
    "the contact is planned",
    Status.BAD_INPUT: "a message had NaN, a wrong length or wrong names: repair its sender; "
    "call reset after a fault",
    Status.LIMIT_REACHED: "a joint is at a position, velocity or torque limit: change the "
    "reference",
    Status.STOPPED: "call reset to continue",
    Status.WAITING_FOR_STATE: "start the driver or the simulator",
    Status.DEADLINE_MISSED: "free the processor or lower the rate",
    Status.CONTACT_UNIDENTIFIABLE: "the torques do not tell where the contact is: tare, set the "
    "payload, or let the arm touch with an outer link",
    Status.SELF_COLLISION: "two links of the arm are close to each other: change the reference or "
    "self_collision.distance",
    Status.WORKSPACE: "the tool is at the border of its workspace: change the reference or the "
    "workspace",
    Status.EXTERNAL_STOP: "release the external stop, then call reset",
    Status.NOT_COMMANDING: "the robot does not follow commands: start its session again, then "
    "call resume",
}
