"""What the cabinet does and no public document says: to be replaced by what a robot does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True)
class Invented:
    """One value or rule of the cabinet that is not known of a robot.

    Attributes:
        value: The value with its unit.
        meaning: What it stands for.
        reason: Why it is this one.
    """

    value: str
    meaning: str
    reason: str


INVENTED: dict[str, Invented] = {}
"""Name -> what is invented, in the order of the session; the documentation shows this table."""


def _invented(name: str, value: Value, unit: str, meaning: str, reason: str) -> Value:
    shown = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    INVENTED[name] = Invented(f"{shown} {unit}".strip(), meaning, reason)
    return value


def _rule(name: str, meaning: str, reason: str) -> None:
    INVENTED[name] = Invented("", meaning, reason)


# fmt: off
PATIENCE = _invented("PATIENCE", 10.0, "s",
    "without an answer a session that waits for its client is closed",
    "both public applications wait so long")
REOPENED_AFTER = _invented("REOPENED_AFTER", 2.0, "s",
    "a closed session says IDLE in its messages; then one opens, and counts its messages from 1",
    "somebody would start the application again")
WINDOW = _invented("WINDOW", 100, "answers",
    "the quality is that of so many latest answers; before the first ones all are missing",
    "half a second at 5 ms")
SHARES = _invented("SHARES", (0.8, 0.95, 0.995), "of the answers",
    "smallest shares in time for FAIR, GOOD and EXCELLENT; latency and jitter do not count",
    "a few losses have to do no harm, one in ten must")
_rule("in time",
    "an answer is in time before the next message that is to be answered; a late one is dropped",
    "the simplest deadline that a period sets")
_rule("refused",
    "an answer that cannot be read, is not of 7 finite joints, answers an old message or one "
    "already answered, or comes from elsewhere than its client, counts as missing",
    "nothing that is damaged or foreign moves the arm")
RESTARTED_AFTER = _invented("RESTARTED_AFTER", 1.0, "s",
    "after a motion has ended, and what hinders it too, the next one starts; the first at once",
    "one public application starts it at once; somebody would start it again")
_rule("where it starts",
    "the motion under the overlay holds the position that is measured when it starts",
    "brakes have held the arm until then")
START_TOLERANCE = _invented("START_TOLERANCE", 0.01, "rad",
    "how far an answer may be from the interpolator's position before a session is active",
    "there is a tolerance: public clients answer the measured position, which 5 Nm move so far")
MIRRORED = _invented("MIRRORED", 10, "answers",
    "so many answers in a row within this tolerance make a session active",
    "client and cabinet have to agree, not by chance")
START_TIME = _invented("START_TIME", 10.0, "s",
    "a motion ends if its session is not active by then",
    "the same patience as with the client")
_rule("between answers",
    "with a receive multiplier the command goes evenly to what was answered, until the next answer",
    "a jump in one cycle would be too fast")
EXTRAPOLATED = _invented("EXTRAPOLATED", 3, "answers",
    "so many missing answers in a row are replaced by the speed of the last one; then it brakes",
    "one lost datagram must not shake the arm")
BRAKING = _invented("BRAKING", 10.0, "rad/s^2",
    "deceleration of every joint where answers are missing or a motion has ended",
    "stops 1 rad/s within 0.1 s")
_rule("too fast",
    "no joint goes faster than the robot's data sheet says; tracking performance is the share of "
    "the speed that was asked for; acceleration and jerk have no bound",
    "the speeds are the only public numbers")
MAX_LAG = _invented("MAX_LAG", 0.1, "rad",
    "a motion ends if the command lags so far behind the answer for that reason",
    "a client that jumps has to be stopped")
MAX_EXERTED = _invented("MAX_EXERTED", 1e3, "N or Nm",
    "a motion ends at a commanded wrench or torque with a number beyond it",
    "no robot of this kind is so strong")
_rule("wrong commands",
    "a motion ends with an error at an answer without what its command mode needs, or beyond a "
    "joint's range",
    "the public headers ask for both in every answer")
_rule("after an error",
    "the session stays open, in MONITORING_WAIT or MONITORING_READY, and the arm holds its command",
    "an application that ends would leave nothing to test")
_rule("commanded torque",
    "it is the measured one",
    "the simulated drives exert what they are told to")
_rule("wrench",
    "6 numbers, of a force and a torque at the tool along the axes of the base",
    "the simulator's own")
_rule("operation mode",
    "T1, T2 and AUT differ in what is reported alone; enabling is one switch, which is on",
    "T1 limits the speed of the flange, which is not simulated")
