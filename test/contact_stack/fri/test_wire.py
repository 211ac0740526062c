"""The messages of FRI, against datagrams that this code has not written."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fri_datagrams import HOME, Datagram, answer, fields, frame

from contact_core.base.errors import ContactStackError
from contact_stack.fri import wire
from contact_stack.fri.wire import VERSIONS, DatagramError, LinkQuality, Refusal, SessionState

VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text())
FROM_CABINET = [vector for vector in VECTORS if vector["direction"] == "from the cabinet"]
FROM_CLIENT = [vector for vector in VECTORS if vector["direction"] == "from the client"]


def name(vector: dict[str, Any]) -> str:
    return f"{vector['fri']} {vector['what']}"


@pytest.mark.parametrize("vector", FROM_CABINET, ids=name)
def test_a_message_says_what_is_in_it(vector: dict[str, Any]) -> None:
    said, message = vector["fields"], wire.decode(bytes.fromhex(vector["bytes"]), vector["fri"])
    assert message.sequence == said["sequence"] and message.reflected == said["reflected"]
    assert message.session == said["session"] and message.quality == said["quality"]
    assert message.period == said["period_ms"] and message.multiplier == said["multiplier"]
    assert message.position.tolist() == said["measured"]
    assert message.torque.tolist() == said["torque"]
    assert message.commanded_torque.tolist() == said["commanded_torque"]
    assert message.external.tolist() == said["external"]
    for found, what in ((message.commanded, "commanded"), (message.interpolated, "ipo")):
        assert (None if found is None else found.tolist()) == said[what]
    assert message.command_mode == (said["command_mode"] or 0)
    assert message.overlay == (said["overlay"] or 0)
    assert message.tracking == (said["tracking"] or 0.0)
    assert message.stamp == said["stamp"][0] * 10**9 + said["stamp"][1]
    assert message.safety == said["safety"] and message.operation == said["operation"]
    assert message.control == said["control"] and message.drives == said["drives"][0]


@pytest.mark.parametrize("vector", FROM_CLIENT, ids=name)
def test_an_answer_has_these_bytes(vector: dict[str, Any]) -> None:
    said, data = vector["fields"], bytes.fromhex(vector["bytes"])
    position = None if said["position"] is None else np.array(said["position"])
    written = wire.encode(said["sequence"], said["reflected"], position, vector["fri"])
    if said["torque"] is None:
        assert written == data
    else:
        # Torques are not spoken here: all but them is the same.
        assert answer(written, vector["fri"]) == answer(data, vector["fri"])


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
