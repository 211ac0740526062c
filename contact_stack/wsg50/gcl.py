"""The gripper's language, GCL: lines that are sent, and what the lines that come back mean.

Source: Weiss Robotics, GCL Gripper Control Language, Reference Manual, firmware 4.0. A line asks
for a value (``POS?``), sets one (``PWT=4``), or commands (``MOVE(20,100)``). The gripper answers
with the value (``POS=20.0``), or with ``ACK MOVE`` at once and ``FIN MOVE`` or ``ERR MOVE 29`` in
the end. Lengths are those of the opening, twice the position of a finger; the outside of this
module is in SI units and speaks of one finger.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, IntEnum

from contact_ros.validation import MessageError, number

MAX_LINE = 200
"""What is longer is no line of the gripper [bytes]."""

MILLIMETRES = 2000.0
"""Of the opening in a metre of one finger."""

STROKE = 0.055
"""Largest position of a finger [m]."""

SLOWEST, FASTEST = 0.0025, 0.21
"""Speed of a finger [m/s]."""

WEAKEST, STRONGEST = 5.0, 80.0
"""Force of a finger [N]."""

PLAUSIBLE = {
    "POS": (-2.0, MILLIMETRES * STROKE + 2.0),
    "SPEED": (-1000.0, 1000.0),
    "FORCE": (-200.0, 200.0),
    "GRIPSTATE": (0.0, 7.0),
    "PWT": (0.0, 1000.0),
    "CLT": (0.0, 1000.0),
}
"""Value -> what is believed of it [mm, mm/s, N]."""

ERRORS = (
    *("SUCCESS", "NOT_AVAILABLE", "NO_SENSOR", "NOT_INITIALIZED", "ALREADY_RUNNING"),
    *("FEATURE_NOT_SUPPORTED", "INCONSISTENT_DATA", "TIMEOUT", "READ_ERROR", "WRITE_ERROR"),
    *("INSUFFICIENT_RESOURCES", "CHECKSUM_ERROR", "NO_PARAM_EXPECTED", "NOT_ENOUGH_PARAMS"),
    *("CMD_UNKNOWN", "CMD_FORMAT_ERROR", "ACCESS_DENIED", "ALREADY_OPEN", "CMD_FAILED"),
    *("CMD_ABORTED", "INVALID_HANDLE", "NOT_FOUND", "NOT_OPEN", "IO_ERROR", "INVALID_PARAMETER"),
    *("INDEX_OUT_OF_BOUNDS", "CMD_PENDING", "OVERRUN", "RANGE_ERROR", "AXIS_BLOCKED"),
    "FILE_EXISTS",
)
"""Names of the gripper's errors, by number."""

NOT_INITIALIZED, CMD_FAILED, AXIS_BLOCKED = (
    ERRORS.index(name) for name in ("NOT_INITIALIZED", "CMD_FAILED", "AXIS_BLOCKED")
)

_VALUE = re.compile(r"@?([A-Z]+)=(\S+)")
_DONE = re.compile(r"(ACK|FIN) ([A-Z]+)")
_ERROR = re.compile(r"ERR(?: ([A-Z]+)\b)?(?: (?:(\d{1,3})|E_([A-Z_]+)))?(?:\W.*)?")


class GripState(IntEnum):
    """What the gripper says of its grip."""

    IDLE = 0
    GRIPPING = 1
    NO_PART = 2
    PART_LOST = 3
    HOLDING = 4
    RELEASING = 5
    POSITIONING = 6
    ERROR = 7


class Answer(Enum):
    """Kind of a line from the gripper."""

    VALUE = "="
    ACKNOWLEDGED = "ACK"
    FINISHED = "FIN"
    ERROR = "ERR"


@dataclass(frozen=True)
class Line:
    """A line from the gripper.

    Attributes:
        answer: Its kind.
        word: The value or command it speaks of; empty where an error does not say.
        number: The value in the gripper's units, or the number of the error.
    """

    answer: Answer
    word: str
    number: float = 0.0


def parse(text: str) -> Line:
    """Understand a line.

    Args:
        text: The line without its end.

    Returns:
        What it says; values are finite and plausible.

    Raises:
        MessageError: If it is no line of the gripper's, or its value cannot be true.
    """
    if match := _VALUE.fullmatch(text):
        word, value = match.groups()
        if word in PLAUSIBLE:
            try:
                as_type = int if word == "GRIPSTATE" else float
                return Line(Answer.VALUE, word, number(as_type(value), word, *PLAUSIBLE[word]))
            except ValueError:
                pass
    elif match := _DONE.fullmatch(text):
        return Line(Answer(match[1]), match[2])
    elif match := _ERROR.fullmatch(text):
        word, code, name = match.groups()
        known = ERRORS.index(name) if name in ERRORS else -1
        return Line(Answer.ERROR, word or "", float(known if code is None else code))
    raise MessageError(f"'{text[:80]}' is no line of the gripper")


def error_name(code: float) -> str:
    """Name an error of the gripper.

    Args:
        code: Its number.
    """
    return f"E_{ERRORS[int(code)]}" if 0 <= code < len(ERRORS) else "an unknown error"


def move(position: float, speed: float) -> str:
    """Return the command to move free fingers.

    Args:
        position: Where to [m].
        speed: How fast [m/s].
    """
    return f"MOVE({_mm(position)},{_mm(speed)})"


def grip(force: float, position: float, speed: float) -> str:
    """Return the command to close until something is held.

    Args:
        force: Of a finger [N].
        position: Where to, if there is nothing [m].
        speed: How fast [m/s].
    """
    return f"GRIP({force:.1f},{_mm(position)},{_mm(speed)})"


def release(distance: float, speed: float) -> str:
    """Return the command to open fingers that hold something.

    Args:
        distance: How far [m].
        speed: How fast [m/s].
    """
    return f"RELEASE({_mm(distance)},{_mm(speed)})"


class LineReader:
    """Puts lines together from what arrives in pieces."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._rest = b""
        self._skipping = False

    def read(self, data: bytes) -> list[str]:
        """Take what has arrived.

        Args:
            data: Bytes, of any number of lines and parts of them.

        Returns:
            The lines that are complete; of one that never ends its beginning, once.
        """
        *lines, self._rest = (self._rest + data).split(b"\n")
        if self._skipping and lines:
            # The end of a line that was too long.
            del lines[0]
            self._skipping = False
        if len(self._rest) > MAX_LINE:
            if not self._skipping:
                lines.append(self._rest[:MAX_LINE])
            self._rest, self._skipping = b"", True
        return [text for line in lines if (text := line.decode("ascii", "replace").strip())]


def _mm(length: float) -> str:
    return f"{MILLIMETRES * length:.2f}"
