"""Modes, links, statuses and requests of the controller.

The numbers of modes, links and statuses are those of ControllerStatus.msg.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    FIND_WRONG_ROBOT = 9


class Mode(IntEnum):
    """What the controller is doing."""

    INACTIVE = 0
    HOLD = 1
    TRACKING = 2
    CONSERVATIVE = 3
    FAULT = 4


FOLLOWING = (Mode.TRACKING, Mode.CONSERVATIVE)
"""Modes in which a reference is followed."""


class LinkState(IntEnum):
    """State of the link to the robot."""

    LOST = 0
    SYNC = 1
    ARMED = 2


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
    NOT_ARMED = 17
    STATE_IMPLAUSIBLE = 18
    STATE_FROZEN = 19
    STATE_OUT_OF_ORDER = 20
    ENCODER_STUCK = 21
    DRIVES_OFF = 22
    SAFETY_VIOLATED = 23
    WRONG_CONTROL_MODE = 24
    CONNECTION_POOR = 25
    FOREIGN_COMMAND = 26
    FOREIGN_STATE = 27
    WRONG_ROBOT = 28
    COMMAND_REFUSED = 29
    TORQUE_EXCEEDED = 30
    REFERENCE_SLOWED = 31
    UNBALANCED = 32
    AMBIGUOUS_LOAD = 33

    @property
    def remedy(self) -> str:
        """What a person can do about it; empty if nothing is needed."""
        return _REMEDIES[self]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong, and its numbers.

    Attributes:
        status: What.
        detail: Where and how much, in words.
    """

    status: Status
    detail: str


_REMEDIES = {
    Status.OK: "",
    Status.STATE_STALE: "check the driver and the network; call resume if the arm stays held",
    Status.CONTACTS_STALE: "check that the contact estimator runs",
    Status.REFERENCE_STALE: "keep streaming the target, or send a trajectory goal",
    Status.QP_INFEASIBLE: "the force limit cannot be met within the step bound: move more slowly, "
    "or raise the step bound or the force limit",
    Status.QP_FAILED: "the arm gives way; check the parameters and the reported contacts",
    Status.FORCE_EXCEEDED: "free the arm, then call reset; raise the force limit of the link if "
    "the contact is planned",
    Status.BAD_INPUT: "a message had NaN, a wrong length or wrong names: repair its sender; "
    "call reset after a fault",
    Status.LIMIT_REACHED: "a joint is at a position, velocity or torque limit, or tool or elbow "
    "at its speed: change the reference",
    Status.STOPPED: "call reset to go on",
    Status.WAITING_FOR_STATE: "check that the driver or the simulator runs and is discovered, "
    "see the report on /diagnostics",
    Status.DEADLINE_MISSED: "free the processor or lower the rate",
    Status.CONTACT_UNIDENTIFIABLE: "the torques do not tell where the contact is: tare, set the "
    "payload, or let the arm touch with an outer link",
    Status.SELF_COLLISION: "two links of the arm are too close to each other: change the reference "
    "or self_collision.distance",
    Status.WORKSPACE: "the tool is at the edge of its workspace: change the reference or the "
    "workspace",
    Status.EXTERNAL_STOP: "release the external stop, then call reset",
    Status.NOT_COMMANDING: "the robot does not follow commands: restart its session, then call "
    "resume",
    Status.NOT_ARMED: "the link to the robot was lost: look at the arm, then call resume",
    Status.STATE_IMPLAUSIBLE: "joint states are beyond the arm's limits: check units, joint order "
    "and encoders, then call resume",
    Status.STATE_FROZEN: "the driver repeats one state: restart its session, then call resume",
    Status.STATE_OUT_OF_ORDER: "stamps go back or jump: check for a second driver, a replayed "
    "recording or a wrong clock, then call resume",
    Status.ENCODER_STUCK: "one joint does not move though it should: check its encoder and "
    "brake, then call resume",
    Status.DRIVES_OFF: "switch the drives on, then call resume",
    Status.SAFETY_VIOLATED: "clear the robot's own safety stop, then call resume",
    Status.WRONG_CONTROL_MODE: "select joint impedance control on the robot, then call resume",
    Status.CONNECTION_POOR: "check the cable, the network card and the load of the driver's "
    "computer, then call resume",
    Status.FOREIGN_COMMAND: "the robot follows somebody else's commands: stop the other "
    "publisher, then call resume",
    Status.FOREIGN_STATE: "another node publishes states of this arm: stop it, then call resume",
    Status.WRONG_ROBOT: "this is not the expected robot, see the detail: give all nodes the same "
    "robot, or stop the simulator, then call reset",
    Status.COMMAND_REFUSED: "a command was beyond the limits of the gate and was held: the "
    "detail names the rule; report it",
    Status.TORQUE_EXCEEDED: "free the arm, then call reset; raise reflex limits if such torques "
    "are expected",
    Status.REFERENCE_SLOWED: "contact, a limit or the end of its reach holds the arm back: a "
    "trajectory waits, a streamed target has to come closer",
    Status.UNBALANCED: "springs and external torque of a joint contradict each other: check the "
    "torque's sign and source, the stiffness in the robot's file, the control mode and the "
    "encoder, then call resume",
    Status.AMBIGUOUS_LOAD: "what looks like contact may be a load, a drift or friction, so the arm "
    "yields no further, or the torques do not show the declared payload: set the payload to what "
    "is held, tare, calibrate, or free the arm",
}
