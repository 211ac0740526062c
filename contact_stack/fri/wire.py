"""The messages of FRI: what the cabinet sends, what it is answered, and what is refused.

Each datagram is one message in protobuf's encoding; FRI 2.7 puts its length before and a checksum
after it. Tags and numbers are those of the interface, the names are our own. Left out is what
nothing here reads: IO values, transformations, poses and redundancy.
"""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contact_core.base.lazy import needs
from contact_ros.stamps import NANOSECONDS
from contact_ros.validation import MessageError

VERSIONS = ("1.11", "1.14", "1.15", "1.16", "2.5", "2.7")
"""Versions of FRI that are spoken."""

FRAMED = ("2.7",)
"""Those that put length and checksum around a message."""

JOINTS = 7

MAX_DATAGRAM = 1500
"""What is longer is no message of FRI [bytes]."""

MONITORING_ID, COMMAND_ID = 0x245142, 0x34001
"""Identifiers of the cabinet's messages and of their answers."""

MAX_PERIOD = 100
"""Of the cabinet's messages [ms]."""

MAX_ANGLE, MAX_TORQUE = 10.0, 2000.0
"""What is believed of a joint [rad], [Nm]."""

LENGTH = struct.Struct("<I")
"""Of length and checksum of a framed message."""

FIELDS: dict[str, dict[str, tuple[int, str]]] = {
    "Header": {
        "identifier": (1, "uint32 required"),
        "sequence": (2, "uint32 required"),
        "reflected": (3, "uint32 required"),
    },
    "Joints": {"values": (1, "double repeated")},
    "Time": {"seconds": (1, "uint32"), "nanoseconds": (2, "uint32")},
    "Robot": {
        "joints": (1, "int32"),
        "safety": (2, "int32"),
        "drives": (5, "int32 repeated"),
        "operation": (6, "int32"),
        "control": (7, "int32"),
    },
    "Measured": {
        "position": (1, "Joints"),
        "torque": (2, "Joints"),
        "commanded": (3, "Joints"),
        "commanded_torque": (4, "Joints"),
        "external": (5, "Joints"),
        "stamp": (15, "Time"),
    },
    "Connection": {
        "session": (1, "int32"),
        "quality": (2, "int32"),
        "period": (3, "uint32"),
        "multiplier": (4, "uint32"),
    },
    "Interpolator": {
        "position": (1, "Joints"),
        "command_mode": (10, "int32"),
        "overlay": (11, "int32"),
        "tracking": (12, "double"),
    },
    "Monitoring": {
        "header": (1, "Header required"),
        "robot": (2, "Robot"),
        "measured": (3, "Measured"),
        "connection": (4, "Connection"),
        "interpolator": (5, "Interpolator"),
    },
    "Commanded": {"position": (1, "Joints")},
    "Command": {"header": (1, "Header required"), "data": (2, "Commanded")},
}
"""Message -> field -> (tag, type)."""


class SessionState(IntEnum):
    """What the cabinet and its client are about to do."""

    IDLE = 0
    MONITORING_WAIT = 1
    MONITORING_READY = 2
    COMMANDING_WAIT = 3
    COMMANDING_ACTIVE = 4


class Quality(IntEnum):
    """How well the cabinet thinks that it is answered; commands need GOOD."""

    POOR = 0
    FAIR = 1
    GOOD = 2
    EXCELLENT = 3


class Refusal(Enum):
    """Why a datagram is not taken; the value says what to do about it."""

    DAMAGED = "no message of FRI: find out what else sends to this port"
    CHECKSUM = "damaged on its way: check the cable"
    VERSION = "not of the version that is set: set the parameter version to that of the robot"
    IDENTIFIER = "of an unknown kind: let the robot's application talk to this port, nobody else"
    JOINTS = f"not about {JOINTS} joints: only arms of {JOINTS} joints speak FRI"
    VALUE = "cannot be true: restart the application on the robot, and report it"
    SENDER = "foreign: stop the other sender, or set the parameter host to the robot's address"
    ORDER = "old or repeated: stop whoever repeats datagrams"

    @property
    def remedy(self) -> str:
        """What is wrong with it, and what to do about it."""
        return self.value


class DatagramError(MessageError):
    """A datagram is not taken.

    Do what its text says; it is the one of the refusal.
    """

    def __init__(self, refusal: Refusal, detail: str) -> None:
        """Name the reason.

        Args:
            refusal: The reason.
            detail: What was found.
        """
        super().__init__(f"{detail}: a datagram is {refusal.remedy}")
        self.refusal = refusal


@dataclass(frozen=True, slots=True, eq=False)
class Monitoring:
    """A message of the cabinet's.

    Attributes:
        sequence: Its number.
        reflected: Number of the answer that the cabinet had got last.
        session: State of the session.
        quality: Of the connection.
        period: Time between two messages [ms].
        multiplier: So many messages get one answer.
        stamp: Robot's clock, Unix time [ns].
        position: (7) measured joint positions [rad].
        torque: (7) measured joint torques, as the robot signs them [Nm].
        commanded: (7) the robot's own last command [rad]; None in FRI 2.
        commanded_torque: (7) as the robot signs them [Nm].
        external: (7) estimated torques of the environment [Nm].
        interpolated: (7) the motion below the commands [rad]; None where there is none.
        command_mode: What the client commands: 0 nothing, 1 positions, 2 wrenches, 3 torques,
            4 poses.
        overlay: Of its motion: 0 none, 1 of joints, 2 cartesian.
        tracking: How well commands are followed, 0 to 1.
        safety: 0 for normal operation.
        operation: 0 T1, 1 T2, 2 automatic.
        drives: 1 in transition, 2 active; in transition unless all joints agree.
        control: 0 position, 1 cartesian impedance, 2 joint impedance, 3 none.
    """

    sequence: int
    reflected: int
    session: SessionState
    quality: Quality
    period: int
    multiplier: int
    stamp: int
    position: NDArray[np.float64]
    torque: NDArray[np.float64]
    commanded: NDArray[np.float64] | None
    commanded_torque: NDArray[np.float64]
    external: NDArray[np.float64]
    interpolated: NDArray[np.float64] | None
    command_mode: int
    overlay: int
    tracking: float
    safety: int
    operation: int
    drives: int
    control: int


def decode(data: bytes, version: str) -> Monitoring:
    """Read a datagram of the cabinet's.

    Args:
        data: The datagram.
        version: One of VERSIONS.

    Returns:
        The message; a session that is idle may leave out the arm, which is then all zeros.

    Raises:
        DatagramError: If it is damaged, contradicts the version, or cannot be true.
        ContactStackError: If protobuf is not installed.
    """
    message = _parsed(data, version)
    header, measured, ipo = message.header, message.measured, message.interpolator
    if header.identifier != MONITORING_ID:
        raise DatagramError(Refusal.IDENTIFIER, f"identifier {header.identifier:#x}")
    try:
        session = SessionState(message.connection.session)
        quality = Quality(message.connection.quality)
    except ValueError as error:
        raise DatagramError(Refusal.VALUE, str(error)) from error
    idle = session is SessionState.IDLE
    reports = version.startswith("1.")
    if measured.HasField("commanded") != reports and not (idle and reports):
        found = "no commanded position" if reports else "a commanded position"
        raise DatagramError(Refusal.VERSION, f"{found}, which is not FRI {version}")
    if not idle and message.robot.joints != JOINTS:
        raise DatagramError(Refusal.JOINTS, f"{message.robot.joints} joints")
    period, multiplier = message.connection.period, message.connection.multiplier
    if not idle and not (1 <= period <= MAX_PERIOD and 1 <= multiplier <= MAX_PERIOD):
        raise DatagramError(Refusal.VALUE, f"period {period} ms, multiplier {multiplier}")
    if not math.isfinite(ipo.tracking):
        raise DatagramError(Refusal.VALUE, f"tracking performance {ipo.tracking}")
    drives = set(message.robot.drives)
    torques = [
        _joints(getattr(measured, name), name, MAX_TORQUE, idle)
        for name in ("torque", "commanded_torque", "external")
    ]
    return Monitoring(
        sequence=header.sequence,
        reflected=header.reflected,
        session=session,
        quality=quality,
        period=period,
        multiplier=multiplier,
        stamp=measured.stamp.seconds * NANOSECONDS + measured.stamp.nanoseconds,
        position=_joints(measured.position, "position", MAX_ANGLE, idle),
        torque=torques[0],
        commanded=_joints(measured.commanded, "commanded", MAX_ANGLE, idle) if reports else None,
        commanded_torque=torques[1],
        external=torques[2],
        interpolated=_joints(ipo.position, "interpolated", MAX_ANGLE, idle)
        if ipo.HasField("position")
        else None,
        command_mode=ipo.command_mode,
        overlay=ipo.overlay,
        tracking=ipo.tracking,
        safety=message.robot.safety,
        operation=message.robot.operation,
        drives=drives.pop() if len(drives) == 1 else 1,
        control=message.robot.control,
    )


def encode(
    sequence: int, reflected: int, position: NDArray[np.float64] | None, version: str
) -> bytes:
    """Write an answer.

    Args:
        sequence: Its number.
        reflected: Number of the message that it answers.
        position: (7) commanded joint positions [rad]; None for none.
        version: One of VERSIONS.

    Returns:
        The datagram.
    """
    header = {"identifier": COMMAND_ID, "sequence": sequence, "reflected": reflected}
    message = message_class("Command")(header=header)
    if position is not None:
        message.data.position.values.extend(position.tolist())
    return framed(message.SerializeToString(), version)


def framed(message: bytes, version: str) -> bytes:
    """Put length and checksum around a message, where the version has them.

    Args:
        message: The message.
        version: One of VERSIONS.
    """
    if version not in FRAMED:
        return message
    return LENGTH.pack(len(message)) + message + LENGTH.pack(zlib.crc32(message))


@cache
def message_class(name: str) -> Any:
    """Return the class of a message in protobuf.

    Args:
        name: One of FIELDS.

    Raises:
        ContactStackError: If protobuf is not installed.
    """
    with needs("fri"):
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="fri", package="fri", syntax="proto2")
    for message, fields in FIELDS.items():
        described = file.message_type.add(name=message)
        for field, (tag, words) in fields.items():
            kind, _, label = words.partition(" ")
            added = described.field.add(name=field, number=tag)
            added.label = getattr(kinds, f"LABEL_{(label or 'optional').upper()}")
            if kind in FIELDS:
                added.type, added.type_name = kinds.TYPE_MESSAGE, f".fri.{kind}"
            else:
                added.type = getattr(kinds, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"fri.{name}"))


@cache
def _decode_error() -> type[Exception]:
    """Return what protobuf raises where it cannot read a message."""
    from google.protobuf.message import DecodeError

    error: type[Exception] = DecodeError
    return error


def _parsed(data: bytes, version: str) -> Any:
    """Take the frame off, and protobuf's encoding."""
    if len(data) > MAX_DATAGRAM:
        raise DatagramError(Refusal.DAMAGED, f"{len(data)} bytes")
    frame = 2 * LENGTH.size
    is_framed = len(data) >= frame and LENGTH.unpack_from(data)[0] == len(data) - frame
    content = data[LENGTH.size : -LENGTH.size] if is_framed else data
    if is_framed and version in FRAMED:
        (checksum,) = LENGTH.unpack_from(data, len(data) - LENGTH.size)
        if checksum != zlib.crc32(content):
            raise DatagramError(Refusal.CHECKSUM, f"checksum {checksum:#010x}")
    message = _message(content)
    if message is None:
        raise DatagramError(Refusal.DAMAGED, f"{len(data)} bytes")
    if is_framed != (version in FRAMED):
        found = "the frame of FRI 2.7" if is_framed else "no frame, which FRI 2.7 has"
        raise DatagramError(Refusal.VERSION, found)
    return message


def _message(data: bytes) -> Any:
    """Read a message; None if it is none."""
    try:
        message = message_class("Monitoring").FromString(data)
    except _decode_error():
        return None
    return message if message.IsInitialized() else None


def _joints(message: Any, what: str, largest: float, idle: bool) -> NDArray[np.float64]:
    """Read one number a joint."""
    values = list(message.values)
    if idle and not values:
        return np.zeros(JOINTS)
    if len(values) != JOINTS:
        raise DatagramError(Refusal.JOINTS, f"{what} has {len(values)} values")
    # Not "is larger": what cannot be compared cannot be true.
    for value in values:
        if not math.fabs(value) <= largest:
            raise DatagramError(Refusal.VALUE, f"{what} {value:g}")
    return np.array(values)
