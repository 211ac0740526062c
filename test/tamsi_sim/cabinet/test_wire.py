"""The messages are those of the protocol: by two other implementations, and by hand."""

from __future__ import annotations

import random
import zlib
from typing import Any

import numpy as np
import pytest
from fri_datagrams import Datagram

from contact_stack.fri import wire as client
from tamsi_sim.cabinet.wire import (
    COMMAND_IDENTIFIER,
    MESSAGES,
    MONITORING_IDENTIFIER,
    VERSIONS,
    ClientAnswer,
    Monitoring,
    WireError,
    decode_answer,
    encode,
    encode_monitoring,
    frame,
)

SPOKEN = (1.15, 2.5, 2.7)
PLACES = (0.25, -1.5, 0.75, 2.0, -0.125, 1.0, -0.5)
HELD = tuple(place + 0.03125 for place in PLACES)
STAMP = 1_234_567_890_000_000_321


def message(version: float, moving: bool) -> tuple[Monitoring, Datagram]:
    """Return one message as the cabinet's and as another hand's."""
    same: dict[str, Any] = {
        "sequence": 1_000_003, "reflected": 77, "session": 4 if moving else 2, "quality": 2,
        "period": 10, "multiplier": 3, "safety": 1, "operation": 1, "control": 2 if moving else 3,
        "torque": tuple(10.0 * place for place in PLACES),
        "commanded_torque": tuple(9.0 * place for place in PLACES),
        "external": tuple(0.5 * place for place in PLACES), "stamp": STAMP,
        "command_mode": 1 if moving else None, "overlay": 1 if moving else None,
        "tracking": 0.875 if moving else None, "drives": (2, 2, 2, 1, 2, 2, 2),
        "position": PLACES,
    }  # fmt: skip
    held = HELD if moving else None
    ours = Monitoring(**same, commanded=HELD, interpolator=held)
    commanded = HELD if VERSIONS[version].reports_command else None
    return ours, Datagram(str(version), **same, commanded=commanded, interpolated=held)


def answer(version: float, position: Any, **header: int) -> bytes:
    """Return the datagram of an answer."""
    fields = {"identifier": COMMAND_IDENTIFIER, "sequence": 1, "reflected": 2, **header}
    data = {"header": fields, "data": {"position": position}}
    return frame(VERSIONS[version], encode("command", data))


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("version", SPOKEN)
def test_writes_what_another_hand_writes_byte_by_byte(version: float, moving: bool) -> None:
    ours, theirs = message(version, moving)
    assert encode_monitoring(VERSIONS[version], ours) == theirs.encode()


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("version", SPOKEN)
def test_a_client_of_another_hand_reads_it(version: float, moving: bool) -> None:
    ours, _ = message(version, moving)
    read = client.decode(encode_monitoring(VERSIONS[version], ours), str(version))
    assert (read.sequence, read.reflected, read.session) == (1_000_003, 77, ours.session)
    assert (read.quality, read.period, read.multiplier, read.safety) == (2, 10, 3, 1)
    assert read.stamp == STAMP
    assert tuple(read.position) == PLACES
    assert tuple(read.external) == ours.external
    assert (read.commanded is not None) == VERSIONS[version].reports_command
    assert (read.interpolated is not None) == moving


@pytest.mark.parametrize("position", [None, PLACES])
@pytest.mark.parametrize("version", SPOKEN)
def test_reads_the_answer_of_such_a_client(version: float, position: Any) -> None:
    told = None if position is None else np.array(position)
    datagram = client.encode(300, 2**32 - 2, told, str(version))
    expected = ClientAnswer(300, 2**32 - 2, position=position)
    assert decode_answer(VERSIONS[version], datagram) == expected


def test_reads_an_answer_as_it_is_on_the_wire() -> None:
    # Header: identifier 0x34001, number 5 to message 6; data: wrench (1, 0, 0, 0, 0, -2).
    numbers = "09000000000000f03f" + 4 * "090000000000000000" + "0900000000000000c0"
    datagram = bytes.fromhex("0a080881800d10051806" + "12381236" + numbers)
    answer = decode_answer(VERSIONS[2.5], datagram)
    assert answer == ClientAnswer(5, 6, wrench=(1.0, 0.0, 0.0, 0.0, 0.0, -2.0))


@pytest.fixture(scope="module")
def classes() -> dict[str, Any]:
    """The messages in Google's implementation, after the public field numbers."""
    pytest.importorskip("google.protobuf")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds = {"uint": 13, "uints": 13, "number": 1, "message": 11}
    file = descriptor_pb2.FileDescriptorProto(name="cabinet.proto", package="cabinet")
    numbers = file.message_type.add(name="numbers")
    numbers.field.add(name="values", number=1, type=1, label=3)
    for message, fields in MESSAGES.items():
        made = file.message_type.add(name=message)
        for field, (number, kind) in fields.items():
            label = 3 if kind == "uints" else 2 if message == "header" else 1
            item = made.field.add(name=field, number=number, label=label)
            item.type = kinds.get(kind, 11)
            if item.type == 11:
                item.type_name = f".cabinet.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        message: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"cabinet.{message}"))
        for message in MESSAGES
    }


def test_writes_what_another_implementation_reads_and_would_write(classes: Any) -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        sent = Monitoring(
            *rng.integers(2**32, size=2).tolist(),
            *rng.integers(5, size=7).tolist(),
            drives=rng.integers(3, size=7).tolist(),
            position=rng.normal(size=7), torque=rng.normal(size=7),
            commanded=rng.normal(size=7), commanded_torque=rng.normal(size=7),
            external=rng.normal(size=7), stamp=int(rng.integers(2**61)),
            interpolator=rng.normal(size=7) if rng.random() < 0.5 else None,
            command_mode=1, overlay=1, tracking=float(rng.random()),
        )  # fmt: skip
        datagram = encode_monitoring(VERSIONS[1.15], sent)
        read = classes["monitoring"].FromString(datagram)
        assert read.SerializeToString(deterministic=True) == datagram
        assert list(read.measured.commanded.values) == list(sent.commanded)
        assert read.header.sequence == sent.sequence
        assert read.measured.stamp.nanoseconds == sent.stamp % 1_000_000_000
        assert read.HasField("interpolator") == (sent.interpolator is not None)


def test_reads_what_another_implementation_writes(classes: Any) -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        written = classes["command"]()
        written.header.identifier = COMMAND_IDENTIFIER
        written.header.sequence, written.header.reflected = rng.integers(2**32, size=2).tolist()
        expected: dict[str, Any] = {}
        for field, size in (("position", 7), ("wrench", 6), ("torque", 7)):
            if rng.random() < 0.5:
                expected[field] = tuple(rng.normal(size=size))
                getattr(written.data, field).values.extend(expected[field])
        read = decode_answer(VERSIONS[2.5], written.SerializeToString())
        header = (written.header.sequence, written.header.reflected)
        assert read == ClientAnswer(*header, **expected)


def test_packed_numbers_and_unknown_fields_are_read_as_every_parser_does() -> None:
    header = b"\x0a\x08" + b"\x08\x81\x80\x0d\x10\x04\x18\x05"
    packed = b"\x0a\x10" + np.array([1.5, -2.0]).tobytes()
    data = b"\x12" + bytes([len(packed) + 2]) + b"\x0a" + bytes([len(packed)]) + packed
    unknown = b"\x7a\x02ab" + b"\x68\x07" + b"\x65abcd"
    read = decode_answer(VERSIONS[1.11], header + unknown + data)
    assert read == ClientAnswer(4, 5, position=(1.5, -2.0))


@pytest.mark.parametrize(
    ("datagram", "reason"),
    [
        (b"", "without identifier, reflected, sequence"),
        (answer(1.15, None, identifier=MONITORING_IDENTIFIER), "another identifier"),
        (answer(1.15, 7 * [0.0])[:-3], "ends too early"),
        (bytes(1501), "more than 1500 bytes"),
        (b"\x0b", "unknown type"),
        (b"\x00\x00", "without a number"),
        (b"\x80" * 20, "does not end"),
        (b"\x08", "does not end"),
        (b"\x08\x01", "header of command is of another type"),
        (b"\x12\x04\x0a\x02\x08\x01", "numbers of another type"),
        (b"\x12\x05\x0a\x03\x0a\x01\x00", "numbers of another type"),
    ],
)  # fmt: skip
def test_says_why_a_datagram_is_no_answer(datagram: bytes, reason: str) -> None:
    with pytest.raises(WireError, match=reason):
        decode_answer(VERSIONS[1.15], datagram)


def test_checks_length_and_checksum_where_there_are_some() -> None:
    sound = answer(2.7, 7 * [0.0])
    assert int.from_bytes(sound[-4:], "little") == zlib.crc32(sound[4:-4])
    for datagram, reason in (
        (sound[:-1] + bytes([sound[-1] ^ 1]), "checksum"),
        (sound[:9] + bytes([sound[9] ^ 1]) + sound[10:], "checksum"),
        (sound[:-1], "length"),
        (sound + b"\0", "length"),
        (b"\0\0\0", "length"),
        (answer(2.5, 7 * [0.0]), "length"),
    ):
        with pytest.raises(WireError, match=reason):
            decode_answer(VERSIONS[2.7], datagram)


def test_versions_of_another_framing_are_told_apart() -> None:
    with pytest.raises(WireError):
        decode_answer(VERSIONS[1.15], answer(2.7, 7 * [0.0]))


def damaged(rng: random.Random, datagram: bytes) -> bytes:
    """Return a datagram with wrong, missing or additional bytes, or none of the old ones."""
    data = bytearray(datagram)
    kind = rng.randrange(5)
    if kind == 0:
        return rng.randbytes(rng.randrange(1600))
    if kind == 1:
        del data[rng.randrange(len(data)) :]
    elif kind == 2:
        data += rng.randbytes(rng.randrange(1, 40))
    else:
        for _ in range(rng.choice((1, 1, 2, 10))):
            data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def survive(count: int, seed: int) -> None:
    """Read damaged datagrams of all versions: an answer or a WireError, nothing else."""
    rng = random.Random(seed)
    sources = {v: [answer(v, place, reflected=k) for k, place in enumerate((None, PLACES, HELD))]
               for v in SPOKEN}  # fmt: skip
    read = 0
    for k in range(count):
        version = (1.15, 2.5, 2.7)[k % 3]
        source = rng.choice(sources[version])
        datagram = damaged(rng, source)
        try:
            decode_answer(VERSIONS[version], datagram)
        except WireError:
            continue
        read += 1
        assert version != 2.7 or datagram == source
    assert 0 < read < 0.7 * count


def test_damaged_datagrams_are_refused_or_read() -> None:
    survive(15_000, 0)


@pytest.mark.verify
def test_a_million_damaged_datagrams_are_refused_or_read() -> None:
    survive(1_000_000, 1)
