"""Datagrams of a robot's cabinet, written byte by byte, and a script of them; no simulator."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

MONITORING_ID = 2380098
PEER = ("192.170.10.2", 30200)
HOME = (0.0, 0.4, 0.0, -1.7, 0.0, -0.5, 0.0)
STAMP = 1_700_000_000_000_000_000

IDLE, MONITORING_WAIT, MONITORING_READY, COMMANDING_WAIT, COMMANDING_ACTIVE = range(5)


@dataclass(frozen=True)
class Datagram:
    """What the cabinet says; a value of None is left out."""

    version: str = "1.15"
    sequence: int = 1
    reflected: int = 0
    session: int = MONITORING_READY
    quality: int = 3
    period: int = 5
    multiplier: int = 1
    joints: int = 7
    position: Sequence[float] = HOME
    torque: Sequence[float] = (0.0, -30.0, 0.0, 10.0, 0.0, 0.5, 0.0)
    commanded: Sequence[float] | None = None
    commanded_torque: Sequence[float] = (0.0, -29.0, 0.0, 9.0, 0.0, 0.25, 0.0)
    external: Sequence[float] = (0.5, 1.0, 0.0, -1.0, 0.0, 0.0, 0.25)
    interpolated: Sequence[float] | None = None
    command_mode: int | None = None
    overlay: int | None = None
    tracking: float | None = None
    stamp: int = STAMP
    safety: int | None = 0
    operation: int = 2
    control: int | None = 2
    drives: Sequence[int] = (2,) * 7
    identifier: int = MONITORING_ID
    extra: bytes = b""

    def encode(self) -> bytes:
        """Write it, with what the version needs."""
        commanded = self.commanded
        if commanded is None and self.version.startswith("1."):
            commanded = self.position
        seconds, nanoseconds = divmod(self.stamp, 1_000_000_000)
        header = _message(_number(1, self.identifier), _number(2, self.sequence))
        header += _number(3, self.reflected)
        robot = _message(
            _number(1, self.joints),
            *(_number(2, value) for value in (self.safety,) if value is not None),
            *(_number(5, drive) for drive in self.drives),
            _number(6, self.operation),
            *(_number(7, value) for value in (self.control,) if value is not None),
        )
        measured = _message(
            _joints(1, self.position),
            _joints(2, self.torque),
            b"" if commanded is None else _joints(3, commanded),
            _joints(4, self.commanded_torque),
            _joints(5, self.external),
            _part(15, _message(_number(1, seconds), _number(2, nanoseconds))),
        )
        connection = _message(
            *(_number(1 + i, value) for i, value in enumerate((self.session, self.quality))),
            _number(3, self.period),
            _number(4, self.multiplier),
        )
        interpolator = _message(
            b"" if self.interpolated is None else _joints(1, self.interpolated),
            *(
                b"" if value is None else _number(tag, value)
                for tag, value in ((10, self.command_mode), (11, self.overlay))
            ),
            b"" if self.tracking is None else _key(12, 1) + struct.pack("<d", self.tracking),
        )
        message = b"".join(
            _part(tag, part)
            for tag, part in enumerate((header, robot, measured, connection), start=1)
        )
        message += (_part(5, interpolator) if interpolator else b"") + self.extra
        return frame(message) if self.version == "2.7" else message


def frame(message: bytes) -> bytes:
    """Put length and checksum around a message."""
    return struct.pack("<I", len(message)) + message + struct.pack("<I", zlib.crc32(message))


@dataclass
class Script:
    """Datagrams one after the other, as a cabinet would number and stamp them."""

    version: str = "1.15"
    period: int = 5
    multiplier: int = 1
    sequence: int = 0
    stamp: int = STAMP
    changes: dict[str, Any] = field(default_factory=dict)

    def next(self, session: int, **changes: Any) -> Datagram:
        """Return the next one.

        Args:
            session: State of the session.
            changes: What differs from a cabinet that is well and takes positions.
        """
        self.sequence = (self.sequence + 1) % 2**32
        self.stamp += 1_000_000 * self.period
        overlaid: dict[str, Any] = {}
        if session >= COMMANDING_WAIT:
            tracking = float(session == COMMANDING_ACTIVE)
            overlaid = {
                "interpolated": HOME,
                "command_mode": 1,
                "overlay": 1,
                "tracking": tracking,
            }
        datagram = Datagram(
            version=self.version,
            sequence=self.sequence,
            session=session,
            period=self.period,
            multiplier=self.multiplier,
            stamp=self.stamp,
            **overlaid,
        )
        return replace(datagram, **{**self.changes, **changes})


def fields(data: bytes) -> list[tuple[int, Any]]:
    """Take a message of protobuf's apart: (tag, number, bytes or eight bytes) in its order."""
    found: list[tuple[int, Any]] = []
    place = 0
    while place < len(data):
        key, place = _varint_at(data, place)
        kind = key & 7
        value: Any
        if kind == 0:
            value, place = _varint_at(data, place)
        elif kind == 1:
            value, place = data[place : place + 8], place + 8
        else:
            size, place = _varint_at(data, place)
            value, place = data[place : place + size], place + size
        found.append((key >> 3, value))
    return found


@dataclass(frozen=True)
class Answer:
    """What a client answered."""

    identifier: int
    sequence: int
    reflected: int
    position: tuple[float, ...] | None


def answer(data: bytes, version: str = "1.15") -> Answer:
    """Read an answer of the client's."""
    if version == "2.7":
        message = data[4:-4]
        assert frame(message) == data
        data = message
    parts = dict(fields(data))
    header = dict(fields(parts[1]))
    position = None
    if 2 in parts:
        joints = dict(fields(parts[2]))[1]
        position = tuple(struct.unpack("<d", value)[0] for _, value in fields(joints))
    return Answer(header[1], header[2], header[3], position)


def _varint_at(data: bytes, place: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place


def _varint(value: int) -> bytes:
    value %= 2**64
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    return bytes([*written, value])


def _key(tag: int, kind: int) -> bytes:
    return _varint(tag << 3 | kind)


def _number(tag: int, value: int) -> bytes:
    return _key(tag, 0) + _varint(value)


def _part(tag: int, content: bytes) -> bytes:
    return _key(tag, 2) + _varint(len(content)) + content


def _joints(tag: int, values: Iterable[float]) -> bytes:
    return _part(tag, b"".join(_key(1, 1) + struct.pack("<d", value) for value in values))


def _message(*parts: bytes) -> bytes:
    return b"".join(parts)
