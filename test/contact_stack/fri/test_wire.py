"""The messages of FRI, against datagrams that this code has not written."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
import pytest
from fri_datagrams import HOME, Datagram, answer, fields, frame

from contact_core.base.errors import ContactStackError
from contact_stack.fri import wire
from contact_stack.fri.wire import VERSIONS, DatagramError, LinkQuality, Refusal, SessionState

SPOKEN = ("1.15", "2.5", "2.7")


def test_what_is_left_out_is_not_the_first_of_its_kind() -> None:
    message = wire.decode(Datagram(safety=None, control=None).encode(), "1.15")
    assert (message.safety, message.operation, message.control) == (wire.UNTOLD, 2, wire.UNTOLD)


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("version", SPOKEN)
def test_a_message_says_what_is_in_it(version: str, moving: bool) -> None:
    held = tuple(place + 0.0625 for place in HOME)
    overlaid = {"interpolated": held, "command_mode": 1, "overlay": 1, "tracking": 0.75}
    said = Datagram(
        version, sequence=4_000_000_000, reflected=12, session=3, quality=1, period=2,
        multiplier=5, safety=2, operation=0, control=1, drives=(1,) * 7,
        commanded=held if version == "1.15" else None, **(overlaid if moving else {}),
    )  # fmt: skip
    message = wire.decode(said.encode(), version)
    assert (message.sequence, message.reflected) == (4_000_000_000, 12)
    assert (message.session, message.quality) == (3, 1)
    assert (message.period, message.multiplier, message.stamp) == (2, 5, said.stamp)
    assert (message.safety, message.operation, message.control) == (2, 0, 1)
    assert message.drives == 1
    for found, sent in (
        (message.position, said.position),
        (message.torque, said.torque),
        (message.commanded_torque, said.commanded_torque),
        (message.external, said.external),
        (message.commanded, said.commanded),
        (message.interpolated, held if moving else None),
    ):
        assert (None if found is None else tuple(found)) == sent
    assert (message.command_mode, message.overlay) == ((1, 1) if moving else (0, 0))
    assert message.tracking == (0.75 if moving else 0.0)


def test_an_answer_has_these_bytes() -> None:
    # Header: identifier 0x34001, number 5 to message 6; data: seven positions.
    header, numbers = "0a080881800d10051806", "09000000000000f03f" + 6 * "090000000000000000"
    position = np.array([1.0, *[0.0] * 6])
    written = wire.encode(5, 6, position, "2.5")
    assert written.hex() == header + "12410a3f" + numbers
    assert wire.encode(5, 6, None, "2.5").hex() == header
    assert wire.encode(5, 6, position, "2.7") == frame(written)


@pytest.mark.parametrize("version", VERSIONS)
def test_versions_differ_in_frame_and_commanded_position(version: str) -> None:
    message = wire.decode(Datagram(version).encode(), version)
    assert message.position.tolist() == list(HOME)
    assert (message.commanded is not None) == version.startswith("1.")
    data = wire.encode(7, 2**32 - 1, np.array(HOME), version)
    assert answer(data, version).position == HOME
    assert answer(data, version).reflected == 2**32 - 1
    assert answer(data, version).identifier == 212993


@pytest.mark.parametrize("version", ["1.15", "2.5", "2.7"])
@pytest.mark.parametrize("sent", ["1.15", "2.5", "2.7"])
def test_another_version_is_refused_by_name(sent: str, version: str) -> None:
    data = Datagram(sent).encode()
    if sent == version:
        assert wire.decode(data, version)
        return
    with pytest.raises(DatagramError, match="set the parameter version") as refused:
        wire.decode(data, version)
    assert refused.value.refusal is Refusal.VERSION


LONG = (*HOME, 0.0)


@pytest.mark.parametrize(
    ("changes", "refusal", "text"),
    [
        ({"identifier": 212993}, Refusal.IDENTIFIER, "identifier 0x34001"),
        ({"joints": 6}, Refusal.JOINTS, "6 joints"),
        ({"position": HOME[:6]}, Refusal.JOINTS, "position has 6 values"),
        ({"external": LONG}, Refusal.JOINTS, "external has 8 values"),
        ({"commanded": ()}, Refusal.JOINTS, "commanded has 0 values"),
        ({"interpolated": HOME[1:]}, Refusal.JOINTS, "position has 6 values"),
        ({"position": (*HOME[:6], float("nan"))}, Refusal.VALUE, "position nan"),
        ({"commanded": (float("inf"), *HOME[1:])}, Refusal.VALUE, "commanded inf"),
        ({"interpolated": (50.0, *HOME[1:])}, Refusal.VALUE, "position 50"),
        ({"torque": (*HOME[:6], -1e300)}, Refusal.VALUE, "torque -1e\\+300"),
        ({"tracking": float("nan")}, Refusal.VALUE, "tracking performance nan"),
        ({"session": 5}, Refusal.VALUE, "5 is not a valid SessionState"),
        ({"session": -1}, Refusal.VALUE, "-1 is not a valid SessionState"),
        ({"quality": 4}, Refusal.VALUE, "4 is not a valid LinkQuality"),
        ({"period": 0}, Refusal.VALUE, "period 0 ms"),
        ({"period": 101}, Refusal.VALUE, "period 101 ms"),
        ({"multiplier": 0}, Refusal.VALUE, "multiplier 0"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], refusal: Refusal, text: str) -> None:
    with pytest.raises(DatagramError, match=text) as refused:
        wire.decode(Datagram(**changes).encode(), "1.15")
    assert refused.value.refusal is refusal and refusal.remedy in str(refused.value)


@pytest.mark.parametrize(
    ("data", "version", "refusal"),
    [
        (b"", "1.15", Refusal.DAMAGED),
        (b"", "2.7", Refusal.DAMAGED),
        (b"POS=20.0\n", "2.5", Refusal.DAMAGED),
        (frame(b"hello"), "2.7", Refusal.DAMAGED),
        (Datagram(extra=2000 * b"\0").encode(), "1.15", Refusal.DAMAGED),
        (Datagram("2.7").encode()[:-1] + b"\0", "2.7", Refusal.CHECKSUM),
        (Datagram("2.7").encode()[:-1], "2.7", Refusal.DAMAGED),
    ],
)
def test_what_is_no_message_is_refused(data: bytes, version: str, refusal: Refusal) -> None:
    with pytest.raises(DatagramError) as refused:
        wire.decode(data, version)
    assert refused.value.refusal is refusal


def test_drives_that_do_not_agree_are_in_transition() -> None:
    def drives(*each: int) -> int:
        return wire.decode(Datagram(drives=each).encode(), "1.15").drives

    assert drives(*(2,) * 7) == 2 and drives(*(1,) * 7) == 1
    assert drives(2, 2, 2, 1, 2, 2, 2) == 1
    assert drives() == 1


def test_what_nothing_reads_does_no_harm() -> None:
    """IO values, transformations and the end of a message are tags that we do not name."""
    unknown = bytes([7 << 3 | 2, 3]) + b"abc" + bytes([15 << 3 | 2, 4, 8, 1, 16, 2])
    message = wire.decode(Datagram(extra=unknown).encode(), "1.15")
    assert message.session is SessionState.MONITORING_READY
    assert message.quality is LinkQuality.EXCELLENT


def test_an_idle_session_need_not_tell_of_an_arm() -> None:
    full = Datagram(session=0).encode()
    parts = [(tag, part) for tag, part in fields(full) if tag in (1, 4)]
    data = b"".join(bytes([tag << 3 | 2, len(part)]) + part for tag, part in parts)
    assert wire.decode(data, "1.15").session is SessionState.IDLE
    with pytest.raises(DatagramError):
        wire.decode(data.replace(bytes([8, 0]), bytes([8, 2])), "1.15")


def test_without_protobuf_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    wire.message_class.cache_clear()
    for module in [m for m in sys.modules if m.startswith("google")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "google", None)
    with pytest.raises((ContactStackError, ImportError), match="google"):
        wire.message_class("Command")
    monkeypatch.undo()
    wire.message_class.cache_clear()
    assert wire.message_class("Command")


@pytest.mark.parametrize("version", ["1.15", "2.5", "2.7"])
@pytest.mark.parametrize("count", [3000, pytest.param(400_000, marks=pytest.mark.verify)])
def test_damaged_datagrams_are_refused_or_plausible(version: str, count: int, damaged: Any) -> None:
    chance = random.Random(version)
    overlaid = {"interpolated": HOME, "command_mode": 1, "overlay": 1, "tracking": 1.0}
    whole = [Datagram(version, session=s, **overlaid).encode() for s in range(5)]
    taken = 0
    for _ in range(count):
        data = damaged(chance.choice(whole), chance)
        try:
            message = wire.decode(data, version)
        except DatagramError:
            continue
        taken += data not in whole
        for values in (message.position, message.commanded, message.interpolated):
            assert values is None or (values.shape == (7,) and np.abs(values).max() <= 10.0)
    # A checksum finds them all; without one some can be believed.
    assert (taken == 0) == (version == "2.7")
