"""The messages of the Fast Robot Interface (FRI), as the robot's cabinet writes and reads them.

A datagram holds one message of Protocol Buffers (proto2, repeated numbers unpacked); in version 2.7
its length goes before it and a checksum after it. Requested transformations and values of inputs
and outputs are neither sent nor read, so 1.11 to 1.16 are alike here.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contact_core.base.errors import ContactStackError

MONITORING_IDENTIFIER = 0x245142
COMMAND_IDENTIFIER = 0x34001

MAX_DATAGRAM = 1500
"""Longest datagram either way [bytes]."""

JOINTS = 7

# fmt: off
MESSAGES: dict[str, dict[str, tuple[int, str]]] = {
    "monitoring": {"header": (1, "header"), "robot": (2, "robot"), "measured": (3, "measured"),
                   "connection": (4, "connection"), "interpolator": (5, "interpolator")},
    "command": {"header": (1, "header"), "data": (2, "data")},
    "header": {"identifier": (1, "uint"), "sequence": (2, "uint"), "reflected": (3, "uint")},
    "robot": {"joints": (1, "uint"), "safety": (2, "uint"), "drives": (5, "uints"),
              "operation": (6, "uint"), "control": (7, "uint")},
    "measured": {"position": (1, "numbers"), "torque": (2, "numbers"), "commanded": (3, "numbers"),
                 "commanded_torque": (4, "numbers"), "external": (5, "numbers"),
                 "stamp": (15, "stamp")},
    "stamp": {"seconds": (1, "uint"), "nanoseconds": (2, "uint")},
    "connection": {"session": (1, "uint"), "quality": (2, "uint"), "period": (3, "uint"),
                   "multiplier": (4, "uint")},
    "interpolator": {"position": (1, "numbers"), "command_mode": (10, "uint"),
                     "overlay": (11, "uint"), "tracking": (12, "number")},
    "data": {"position": (1, "numbers"), "wrench": (2, "numbers"), "torque": (3, "numbers")},
}
# fmt: on
"""Message -> field -> tag and kind: another message, or one of WIRE_TYPES."""

VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5
WIRE_TYPES = {"uint": VARINT, "uints": VARINT, "number": EIGHT_BYTES, "numbers": BYTES}
"""Kind of a field -> how it is written; ``numbers`` is a message with doubles as its field 1."""

NUMBER = b"\x09"
"""Tag and wire type before each double of ``numbers``."""


Numbers = Sequence[float] | NDArray[np.float64]


class WireError(ContactStackError):
    """A datagram is no answer of a client.

    Check that the client speaks the version that the cabinet was told.
    """


@dataclass(frozen=True)
class Version:
    """What differs between versions.

    Attributes:
        reports_command: Whether messages have the robot's commanded position.
        framed: Whether length and checksum are around a message.
    """

    reports_command: bool
    framed: bool


VERSIONS = {
    1.11: Version(True, False),
    1.14: Version(True, False),
    1.15: Version(True, False),
    1.16: Version(True, False),
    2.5: Version(False, False),
    2.7: Version(False, True),
}


@dataclass(frozen=True)
class Monitoring:
    """What the cabinet says in one cycle; units and signs are those on the wire.

    Attributes:
        sequence: Counter of these messages.
        reflected: The client's counter of the answer that came last.
        session: State of the session.
        quality: Of the connection.
        period: Send period [ms].
        multiplier: Every so many messages are to be answered.
        safety: Safety state.
        operation: Operation mode.
        control: Control mode.
        drives: State of each drive.
        position: (7) measured [rad].
        torque: (7) measured, negated against positive where it accelerates the joint [Nm].
        commanded: (7) the robot's own command [rad], for versions that report it.
        commanded_torque: (7) signed as the measured one [Nm].
        external: (7) positive where the environment pushes the joint positive [Nm].
        stamp: The robot's clock, Unix time [ns].
        interpolator: (7) position of the motion below the client's commands [rad]; None while
            there is no such motion.
        command_mode: What the client is to command; None without a motion.
        overlay: Kind of overlay; None without a motion.
        tracking: Tracking performance, 0 to 1; None without a motion.
        identifier: Of the kind of message.
        joints: How many joints the robot has.
    """

    sequence: int
    reflected: int
    session: int
    quality: int
    period: int
    multiplier: int
    safety: int
    operation: int
    control: int
    drives: Sequence[int]
    position: Numbers
    torque: Numbers
    commanded: Numbers
    commanded_torque: Numbers
    external: Numbers
    stamp: int
    interpolator: Numbers | None = None
    command_mode: int | None = None
    overlay: int | None = None
    tracking: float | None = None
    identifier: int = MONITORING_IDENTIFIER
    joints: int = JOINTS


@dataclass(frozen=True)
class ClientAnswer:
    """What a client answers.

    Attributes:
        sequence: The client's counter of its answers.
        reflected: Counter of the message that is answered.
        position: Commanded joint positions [rad]; None without.
        wrench: Commanded wrench [N, Nm]; None without.
        torque: Commanded joint torques, positive where they accelerate the joint [Nm]; None
            without.
    """

    sequence: int
    reflected: int
    position: tuple[float, ...] | None = None
    wrench: tuple[float, ...] | None = None
    torque: tuple[float, ...] | None = None


def encode_monitoring(version: Version, message: Monitoring) -> bytes:
    """Return the datagram of a message.

    Args:
        version: Of FRI.
        message: What it says.
    """
    seconds, nanoseconds = divmod(message.stamp, 1_000_000_000)
    measured = {
        "position": message.position,
        "torque": message.torque,
        "commanded": message.commanded if version.reports_command else None,
        "commanded_torque": message.commanded_torque,
        "external": message.external,
        "stamp": {"seconds": seconds, "nanoseconds": nanoseconds},
    }
    interpolator = None
    if message.interpolator is not None:
        interpolator = {
            "position": message.interpolator,
            "command_mode": message.command_mode,
            "overlay": message.overlay,
            "tracking": message.tracking,
        }
    flat = vars(message)
    groups = {name: flat for name in ("header", "robot", "connection")}
    fields = groups | {"measured": measured, "interpolator": interpolator}
    return frame(version, encode("monitoring", fields))


def decode_answer(version: Version, datagram: bytes) -> ClientAnswer:
    """Read the datagram of a client.

    Args:
        version: Of FRI.
        datagram: What has arrived.

    Raises:
        WireError: If it is too long, damaged, of another version or no answer.
    """
    fields = decode("command", unframe(version, datagram))
    header = fields.get("header", {})
    if missing := MESSAGES["header"].keys() - header.keys():
        raise WireError(f"an answer without {', '.join(sorted(missing))}")
    if header["identifier"] != COMMAND_IDENTIFIER:
        raise WireError("an answer with another identifier")
    return ClientAnswer(header["sequence"], header["reflected"], **fields.get("data", {}))


def frame(version: Version, message: bytes) -> bytes:
    """Return the datagram of an encoded message."""
    if not version.framed:
        return message
    return struct.pack(f"<I{len(message)}sI", len(message), message, zlib.crc32(message))


def unframe(version: Version, datagram: bytes) -> bytes:
    """Return the encoded message of a datagram.

    Raises:
        WireError: If it is too long, or length or checksum are wrong.
    """
    if len(datagram) > MAX_DATAGRAM:
        raise WireError(f"a datagram of more than {MAX_DATAGRAM} bytes")
    if not version.framed:
        return datagram
    message = datagram[4:-4]
    if len(datagram) < 8 or datagram[:4] != struct.pack("<I", len(message)):
        raise WireError("a datagram with another length than it says")
    if datagram[-4:] != struct.pack("<I", zlib.crc32(message)):
        raise WireError("a datagram with a wrong checksum")
    return message


def encode(message: str, values: Mapping[str, Any]) -> bytes:
    """Write a message.

    Args:
        message: One of MESSAGES.
        values: Field -> value; what is None or missing is left out, other names are ignored.
    """
    parts = bytearray()
    for name, (tag, kind) in MESSAGES[message].items():
        if (value := values.get(name)) is None:
            continue
        key = _varint(tag << 3 | WIRE_TYPES.get(kind, BYTES))
        if kind in ("uint", "uints"):
            for item in value if kind == "uints" else (value,):
                parts += key + _varint(int(item))
        elif kind == "number":
            parts += key + struct.pack("<d", value)
        else:
            content = _numbers(value) if kind == "numbers" else encode(kind, value)
            parts += key + _varint(len(content)) + content
    return bytes(parts)


def decode(message: str, data: bytes) -> dict[str, Any]:
    """Read a message; fields that it does not know are skipped.

    Args:
        message: One of MESSAGES.
        data: What is in it.

    Returns:
        Field -> value, of the fields that are there; numbers as tuples.

    Raises:
        WireError: If it cannot be read.
    """
    fields = {tag: (name, kind) for name, (tag, kind) in MESSAGES[message].items()}
    values: dict[str, Any] = {}
    for tag, wire_type, value in _split(data):
        name, kind = fields.get(tag, ("", ""))
        if not name:
            continue
        if wire_type != WIRE_TYPES.get(kind, BYTES):
            raise WireError(f"{name} of {message} is of another type")
        if kind == "uints":
            values.setdefault(name, []).append(value)
        elif kind == "numbers":
            values[name] = values.get(name, ()) + _read_numbers(value)
        elif kind in MESSAGES:
            values[name] = values.get(name, {}) | decode(kind, value)
        else:
            values[name] = struct.unpack("<d", value)[0] if kind == "number" else value
    return values


def _numbers(values: Numbers) -> bytes:
    return b"".join(NUMBER + struct.pack("<d", value) for value in values)


def _read_numbers(data: bytes) -> tuple[float, ...]:
    numbers: list[float] = []
    for tag, wire_type, value in _split(data):
        if tag != 1:
            continue
        # One number, or several that are packed.
        if wire_type not in (EIGHT_BYTES, BYTES) or len(value) % 8:
            raise WireError("numbers of another type")
        numbers += struct.unpack(f"<{len(value) // 8}d", value)
    return tuple(numbers)


def _split(data: bytes) -> list[tuple[int, int, Any]]:
    """Return tag, wire type and content of each field."""
    fields = []
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        tag, wire_type = key >> 3, key & 7
        value: Any
        if wire_type == VARINT:
            value, at = _read_varint(data, at)
        else:
            if wire_type == BYTES:
                size, at = _read_varint(data, at)
            elif wire_type in (EIGHT_BYTES, FOUR_BYTES):
                size = 8 if wire_type == EIGHT_BYTES else 4
            else:
                raise WireError("a field of an unknown type")
            if size > len(data) - at:
                raise WireError("a message that ends too early")
            value, at = data[at : at + size], at + size
        if tag == 0:
            raise WireError("a field without a number")
        fields.append((tag, wire_type, value))
    return fields


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of 32 bits, of which there may be more, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFF, at
    raise WireError("a number that does not end")
