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

FIELDS = {
    "Header": "1 identifier uint32 required, 2 sequence uint32 required, "
    "3 reflected uint32 required",
    "Joints": "1 values double repeated",
    "Time": "1 seconds uint32, 2 nanoseconds uint32",
    "Robot": "1 joints int32, 2 safety int32, 5 drives int32 repeated, 6 operation int32, "
    "7 control int32",
    "Measured": "1 position Joints, 2 torque Joints, 3 commanded Joints, "
    "4 commanded_torque Joints, 5 external Joints, 15 stamp Time",
    "Connection": "1 session int32, 2 quality int32, 3 period uint32, 4 multiplier uint32",
    "Interpolator": "1 position Joints, 10 command_mode int32, 11 overlay int32, "
    "12 tracking double",
    "Monitoring": "1 header Header required, 2 robot Robot, 3 measured Measured, "
    "4 connection Connection, 5 interpolator Interpolator",
    "Data": "1 position Joints",
    "Command": "1 header Header required, 2 data Data",
}
"""Message -> its fields: tag, name and type, and whether it is required or repeated."""


UNTOLD = -1
"""Safety state, operation mode or control mode that a cabinet does not tell."""


class SessionState(IntEnum):
    """What the cabinet and its client are about to do."""

    IDLE = 0
    MONITORING_WAIT = 1
    MONITORING_READY = 2
    COMMANDING_WAIT = 3
    COMMANDING_ACTIVE = 4


class LinkQuality(IntEnum):
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
    VALUE = "one that cannot be true: restart the application on the robot, and report it"
    SENDER = "foreign: stop the other sender, or set the parameter host to the robot's address"
    ORDER = "old or repeated: stop whoever repeats datagrams"
    CLOCK = (
        "of another time: stop whoever repeats datagrams; was the robot's clock set, start again"
    )

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
class CabinetMessage:
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
        safety: 0 for normal operation, or UNTOLD, as the next and the last one.
        operation: 0 T1, 1 T2, 2 automatic.
        drives: 1 in transition, 2 active; in transition unless all joints agree.
        control: 0 position, 1 cartesian impedance, 2 joint impedance, 3 none.
    """

    sequence: int
    reflected: int
    session: SessionState
    quality: LinkQuality
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


def decode(data: bytes, version: str) -> CabinetMessage:
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
    if not message.HasField("connection"):
        raise DatagramError(Refusal.VALUE, "nothing of its connection")
    try:
        session = SessionState(message.connection.session)
        quality = LinkQuality(message.connection.quality)
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

    def joints(part: Any, name: str, largest: float) -> NDArray[np.float64]:
        return _joints(getattr(part, name), name, largest, idle)

    return CabinetMessage(
        sequence=header.sequence,
        reflected=header.reflected,
        session=session,
        quality=quality,
        period=period,
        multiplier=multiplier,
        stamp=measured.stamp.seconds * NANOSECONDS + measured.stamp.nanoseconds,
        position=joints(measured, "position", MAX_ANGLE),
        torque=joints(measured, "torque", MAX_TORQUE),
        commanded=joints(measured, "commanded", MAX_ANGLE) if reports else None,
        commanded_torque=joints(measured, "commanded_torque", MAX_TORQUE),
        external=joints(measured, "external", MAX_TORQUE),
        interpolated=joints(ipo, "position", MAX_ANGLE) if ipo.HasField("position") else None,
        command_mode=ipo.command_mode,
        overlay=ipo.overlay,
        tracking=ipo.tracking,
        safety=_told(message.robot, "safety"),
        operation=_told(message.robot, "operation"),
        drives=drives.pop() if len(drives) == 1 else 1,
        control=_told(message.robot, "control"),
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
        for field in fields.split(", "):
            tag, field_name, kind, *label = field.split()
            added = described.field.add(name=field_name, number=int(tag))
            added.label = getattr(kinds, f"LABEL_{(*label, 'optional')[0].upper()}")
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


def _told(part: Any, name: str) -> int:
    """Return a number; what is left out is not the first of its kind."""
    return int(getattr(part, name)) if part.HasField(name) else UNTOLD


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
