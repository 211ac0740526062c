"""Every state of the session, what leads to it, and what is refused."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tiny_fri_client import LIMITS, START, Bench, TinyClient

from contact_core.base.errors import ConfigError
from contact_core.robot.arm_state import CommandMode
from tamsi_sim.cabinet import Cabinet, CabinetConfig, Quality, Session
from tamsi_sim.cabinet.invented import (
    MAX_EXERTED,
    MIRRORED,
    PATIENCE,
    REOPENED_AFTER,
    RESTARTED_AFTER,
    START_TIME,
    START_TOLERANCE,
    WINDOW,
)
from tamsi_sim.cabinet.wire import COMMAND_IDENTIFIER, VERSIONS, decode, encode, frame, unframe

IDLE, WAIT, READY, COMMANDING_WAIT, ACTIVE = Session
IMPEDANCE = {CommandMode.TORQUE: "joint_impedance", CommandMode.WRENCH: "cartesian_impedance"}


def lost(answer: bytes | None) -> list[bytes]:
    """A cable that is out."""
    return []


def answering(bench: Bench, **data: Any) -> Any:
    """Return a cable that changes the data of every answer."""

    def cable(answer: bytes | None) -> list[bytes]:
        version = VERSIONS[bench.config.version]
        fields = decode("command", unframe(version, answer or b""))
        fields["data"] = {**fields.get("data", {}), **data}
        return [frame(version, encode("command", fields))]

    return cable


def ends_with(bench: Bench, reason: str, state: Session = READY) -> None:
    """Check why a motion has ended, and what comes then."""
    assert bench.cabinet.session is state
    assert bench.lines[-2].startswith("motion ended") and reason in bench.lines[-2]
    assert bench.lines[-1] == state.name
    assert not bench.cabinet.moving


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("multiplier", "period"), [(1, 1), (1, 10), (2, 5), (3, 3)])
def test_becomes_active_in_order_and_follows(version: float, multiplier: int, period: int) -> None:
    bench = Bench(version=version, multiplier=multiplier, period=period).active()
    assert bench.states == [IDLE, WAIT, READY, COMMANDING_WAIT, ACTIVE]
    answers = bench.cabinet.sequence / multiplier
    assert answers == pytest.approx(0.95 * WINDOW + MIRRORED, abs=4)
    bench.client.offset = 0.01 * np.arange(-3.0, 4.0) / 3.0
    bench.run(20 * multiplier)
    np.testing.assert_allclose(bench.position, START + bench.client.offset, atol=1e-12)
    assert bench.cabinet.quality is Quality.EXCELLENT or bench.run(100 * multiplier)
    assert not bench.cabinet.refused


@pytest.mark.parametrize("period", [1, 2, 5, 10, 11, 20, 50, 100])
def test_commands_need_an_answer_every_ten_milliseconds(period: int) -> None:
    bench = Bench(period=period).run(300)
    assert bench.cabinet.session is (ACTIVE if period <= 10 else READY)
    assert bench.cabinet.quality is Quality.EXCELLENT
    assert bench.client.seen["connection"]["period"] == period
    bench = Bench(period=period, multiplier=2).run(600)
    assert bench.cabinet.session is (ACTIVE if period <= 5 else READY)


def test_torques_need_an_answer_every_five_milliseconds() -> None:
    for period, multiplier, state in ((5, 1, ACTIVE), (6, 1, READY), (5, 2, READY), (2, 2, ACTIVE)):
        client = TinyClient(torque=7 * [0.0])
        bench = Bench(CommandMode.TORQUE, client, period=period, multiplier=multiplier).run(400)
        assert bench.cabinet.session is state


def test_starts_no_motion_where_it_only_monitors() -> None:
    bench = Bench(command=False).run(2000)
    assert bench.states == [IDLE, WAIT, READY]
    np.testing.assert_array_equal(bench.position, START)


def test_what_it_says_in_each_state() -> None:
    bench = Bench(multiplier=2, operation="T1").run(3)
    seen = bench.client.seen
    assert seen["robot"] == {
        "joints": 7, "safety": 0, "drives": 7 * [1], "operation": 0, "control": 3
    }  # fmt: skip
    assert seen["connection"] == {"session": 1, "quality": 0, "period": 5, "multiplier": 2}
    assert "interpolator" not in seen
    bench.until(COMMANDING_WAIT).run(1)
    seen = bench.client.seen
    assert seen["robot"]["drives"] == 7 * [2] and seen["robot"]["control"] == 2
    assert seen["interpolator"] == {
        "position": tuple(START), "command_mode": 1, "overlay": 1, "tracking": 0.0
    }  # fmt: skip
    bench.active().run(1)
    assert bench.client.seen["interpolator"]["tracking"] == 1.0
    bench.client.offset = 0.05
    bench.run(10)
    seen = bench.client.seen
    # The motion under the overlay stands still; the robot's own command does not.
    assert seen["interpolator"]["position"] == tuple(START)
    np.testing.assert_allclose(seen["measured"]["commanded"], bench.cabinet.command)
    assert bench.cabinet.command[0] > START[0]


def test_signs_and_units_of_what_is_measured() -> None:
    cabinet = Cabinet(CabinetConfig(), LIMITS, START)
    weight, pushed = np.arange(1.0, 8.0), 0.5 * np.ones(7)
    # At rest the drives carry the weight, less what the environment carries.
    said = cabinet.message(1_700_000_000_123_456_789, START, weight - pushed, pushed)
    np.testing.assert_array_equal(said.torque, pushed - weight)
    np.testing.assert_array_equal(said.commanded_torque, pushed - weight)
    np.testing.assert_array_equal(said.external, pushed)
    np.testing.assert_array_equal(said.position, START)
    assert said.stamp == 1_700_000_000_123_456_789


def test_reflects_the_clients_counter_and_counts_its_own() -> None:
    bench = Bench().run(5)
    before = bench.client.seen["header"]["sequence"]
    bench.run(1)
    header = bench.client.seen["header"]
    assert header["sequence"] == before + 1
    assert header["reflected"] == bench.client.count - 2
    bench.run(3, lost)
    assert bench.client.seen["header"]["reflected"] == header["reflected"] + 1


def test_nothing_is_answered_before_the_session_opens() -> None:
    cabinet = Cabinet(CabinetConfig(), LIMITS, START)
    assert cabinet.session is IDLE
    assert cabinet.take(TinyClient().answer(Bench().run(1).datagram()) or b"") == (
        "an answer without a session"
    )
    assert cabinet.refused["an answer without a session"] == 1


# Quality.


@pytest.mark.parametrize(
    ("missing", "quality"), [(0, 3), (1, 2), (5, 2), (6, 1), (20, 1), (21, 0), (100, 0)]
)  # fmt: skip
@pytest.mark.parametrize("multiplier", [1, 2, 3])
def test_quality_is_the_share_of_the_latest_hundred(
    missing: int, quality: int, multiplier: int
) -> None:
    bench = Bench(command=False, multiplier=multiplier).run(150 * multiplier)
    bench.run(missing * multiplier, lost)
    # The last of them is missed when the next one is due.
    bench.run(multiplier)
    assert bench.cabinet.quality is Quality(quality)


def test_is_rated_by_the_way_to_the_client_as_well() -> None:
    bench = Bench(command=False).run(150)
    bench.cabinet.best_quality = Quality.FAIR
    bench.run(2)
    assert bench.cabinet.quality is Quality.FAIR and bench.cabinet.session is WAIT


def test_monitoring_waits_again_where_the_connection_is_bad() -> None:
    bench = Bench(command=False).until(READY)
    bench.until(WAIT, cable=lost)
    bench.until(READY)
    assert bench.states[-3:] == [READY, WAIT, READY] or bench.states[-2:] == [READY, WAIT]


@pytest.mark.parametrize("period", [5, 100])
def test_without_a_client_the_session_closes_and_opens_again(period: int) -> None:
    bench = Bench(period=period).until(WAIT)
    bench.until(IDLE, cable=lost)
    assert bench.now == pytest.approx(PATIENCE, abs=3e-3 * period)
    assert "no answer for 10 s" in bench.lines[-1]
    closed = bench.now
    bench.run(5)
    assert bench.client.seen["header"]["sequence"] > 1
    bench.until(WAIT)
    assert bench.now - closed == pytest.approx(REOPENED_AFTER, abs=3e-3 * period)
    assert bench.client.seen["header"]["sequence"] == 1
    bench.until(READY)


def test_a_closed_session_gives_the_client_no_answers_to_count() -> None:
    bench = Bench().active()
    bench.cabinet.close("the application has ended", bench.now)
    count = bench.client.count
    bench.run(20)
    assert bench.client.count == count and bench.cabinet.quality is Quality.POOR
    bench.active()
    assert bench.states[-5:] == [IDLE, WAIT, READY, COMMANDING_WAIT, ACTIVE]


# The start of a motion.


def test_waits_for_as_many_mirrored_answers_as_it_says() -> None:
    bench = Bench().until(COMMANDING_WAIT)
    bench.run(MIRRORED - 1)
    assert bench.cabinet.session is COMMANDING_WAIT
    bench.run(1)
    assert bench.cabinet.session is ACTIVE


@pytest.mark.parametrize("distance", [-1.01, -0.99, 0.0, 0.99, 1.01])
def test_the_start_has_a_tolerance(distance: float) -> None:
    bench = Bench().until(COMMANDING_WAIT)
    moved = START + distance * START_TOLERANCE * np.eye(7)[4]
    bench.run(50, answering(bench, position=moved))
    assert bench.cabinet.session is (ACTIVE if abs(distance) < 1.0 else COMMANDING_WAIT)


def test_one_answer_elsewhere_starts_the_count_again() -> None:
    bench = Bench().until(COMMANDING_WAIT)
    bench.run(MIRRORED - 2)
    bench.run(1, answering(bench, position=START + 0.1))
    bench.run(MIRRORED)
    assert bench.cabinet.session is COMMANDING_WAIT
    bench.run(1)
    assert bench.cabinet.session is ACTIVE


@pytest.mark.parametrize("data", [{"position": START + 0.02}, {"position": None}])
def test_a_start_that_nobody_agrees_to_ends(data: dict[str, Any]) -> None:
    bench = Bench().until(COMMANDING_WAIT)
    began = bench.now
    cable = answering(bench, **data)
    bench.run(int(START_TIME / 0.005) - 3, cable)
    assert bench.cabinet.session is COMMANDING_WAIT
    bench.run(5, cable)
    ends_with(bench, "does not answer the interpolator's position")
    assert bench.now - began == pytest.approx(START_TIME, abs=0.02)


def test_a_motion_starts_where_the_arm_is() -> None:
    bench = Bench().until(READY)
    # What the arm rests against has moved it meanwhile.
    bench.position = START + 0.05
    bench.run(1)
    assert bench.cabinet.session is COMMANDING_WAIT
    np.testing.assert_array_equal(bench.cabinet.command, START + 0.05)
    bench.active()
    np.testing.assert_array_equal(bench.client.seen["interpolator"]["position"], START + 0.05)


# The end of a motion.


@pytest.mark.parametrize(
    ("attribute", "value", "reason"),
    [
        ("safety", 1, "a safety stop"),
        ("safety", 2, "a safety stop"),
        ("safety", 3, "a safety stop"),
        ("drives_on", False, "the drives are off"),
        ("enabled", False, "nobody enables"),
        ("cancelled", True, "cancelled"),
    ],
)
@pytest.mark.parametrize("state", [COMMANDING_WAIT, ACTIVE])
def test_the_robot_ends_a_motion_and_starts_the_next(
    attribute: str, value: Any, reason: str, state: Session
) -> None:
    bench = Bench().until(state)
    sound = getattr(bench.cabinet, attribute)
    setattr(bench.cabinet, attribute, value)
    bench.run(2)
    ends_with(bench, reason)
    if attribute == "safety":
        assert bench.client.seen["robot"]["safety"] == value
    bench.run(1000)
    assert bench.cabinet.session is READY
    setattr(bench.cabinet, attribute, sound)
    freed = bench.now
    bench.until(COMMANDING_WAIT)
    assert bench.now - freed == pytest.approx(RESTARTED_AFTER, abs=0.02)
    bench.active()


@pytest.mark.parametrize("attribute", ["drives_on", "enabled"])
def test_no_motion_starts_while_something_hinders_it(attribute: str) -> None:
    bench = Bench()
    setattr(bench.cabinet, attribute, False)
    bench.run(1000)
    assert bench.states == [IDLE, WAIT, READY]


@pytest.mark.parametrize("state", [COMMANDING_WAIT, ACTIVE])
@pytest.mark.parametrize("multiplier", [1, 2])
def test_losses_end_a_motion(state: Session, multiplier: int) -> None:
    bench = Bench(multiplier=multiplier).until(state)
    if state is ACTIVE:
        bench.run(100 * multiplier)
    before = bench.cabinet.sequence
    bench.until(WAIT, cable=lost)
    ends_with(bench, "the connection is not good", WAIT)
    missed = (bench.cabinet.sequence - before) / multiplier
    assert missed == pytest.approx(7, abs=1.0)
    bench.active()


def test_the_arm_brakes_where_answers_end() -> None:
    bench = Bench().active()
    for k in range(100):
        bench.client.offset = 0.004 * k * np.eye(7)[2]
        bench.run(1)
    bench.run(300, lost)
    speed = np.diff(bench.path, axis=0)[:, 2] / 0.005
    assert speed.max() == pytest.approx(0.8)
    assert np.diff(speed)[-300:].min() / 0.005 == pytest.approx(-10.0)
    assert speed[-200:].max() == 0.0


@pytest.mark.parametrize(
    ("mode", "data", "reason"),
    [
        (CommandMode.POSITION, {"position": None}, "without joint positions"),
        (CommandMode.POSITION, {"position": START + 0.5}, "too fast"),
        (CommandMode.POSITION, {"position": START + 3.0}, "beyond the joints' range"),
        (CommandMode.TORQUE, {"torque": None}, "without joint torques"),
        (CommandMode.TORQUE, {"position": None}, "without joint positions"),
        (CommandMode.TORQUE, {"torque": 7 * [1.1 * MAX_EXERTED]}, "to exert"),
        (CommandMode.WRENCH, {"wrench": None}, "and a wrench"),
        (CommandMode.WRENCH, {"wrench": 6 * [-1e300]}, "to exert"),
    ],
)
def test_a_wrong_command_ends_the_motion(
    mode: CommandMode, data: dict[str, Any], reason: str
) -> None:
    extra = {CommandMode.TORQUE: {"torque": 7 * [1.0]}, CommandMode.WRENCH: {"wrench": 6 * [1.0]}}
    control = IMPEDANCE.get(mode, "position")
    bench = Bench(mode, TinyClient(**extra.get(mode, {})), control=control).active()
    bench.run(5)
    if mode is not CommandMode.POSITION:
        np.testing.assert_array_equal(bench.cabinet.overlay, np.ones(len(*extra[mode].values())))
    bench.run(1, answering(bench, **data)).run(1)
    ends_with(bench, reason)
    assert bench.cabinet.overlay is None
    speeds = np.abs(np.diff(bench.path, axis=0)) / 0.005
    assert speeds.max() <= 1.5 * 1.0001
    bench.active()


@pytest.mark.parametrize("mode", [CommandMode.TORQUE, CommandMode.WRENCH])
def test_a_session_becomes_active_only_with_what_its_mode_needs(mode: CommandMode) -> None:
    bench = Bench(mode, control=IMPEDANCE[mode]).until(COMMANDING_WAIT).run(200)
    assert bench.cabinet.session is COMMANDING_WAIT
    assert bench.client.seen["interpolator"]["command_mode"] == (
        3 if mode is CommandMode.TORQUE else 2
    )
    sizes = {CommandMode.TORQUE: {"torque": 7 * [0.0]}, CommandMode.WRENCH: {"wrench": 6 * [0.0]}}
    bench.client.extra = sizes[mode]
    bench.active()


@pytest.mark.parametrize(
    ("mode", "control"),
    [
        (CommandMode.TORQUE, "position"),
        (CommandMode.TORQUE, "cartesian_impedance"),
        (CommandMode.WRENCH, "joint_impedance"),
        (CommandMode.WRENCH, "position"),
    ],
)
def test_modes_that_do_not_go_together_are_refused(mode: CommandMode, control: str) -> None:
    with pytest.raises(ConfigError, match=f"cannot be commanded in the control mode {control}"):
        Cabinet(CabinetConfig(control=control), LIMITS, START, mode)


def test_an_arm_of_six_joints_is_refused() -> None:
    with pytest.raises(ConfigError, match="7 joints, this one has 6"):
        Cabinet(CabinetConfig(), LIMITS, START[:6])


# Answers that are refused.


def refusals(bench: Bench, cable: Any, cycles: int = 5) -> dict[str, int]:
    """Return what is refused with a cable, in motion; the arm must not notice."""
    bench.run(cycles, cable)
    return dict(bench.cabinet.refused)


def test_second_and_old_answers_are_refused() -> None:
    bench = Bench().active().run(100)
    assert refusals(bench, lambda a: [a, a]) == {"a second answer to a message": 5}
    assert bench.cabinet.quality is Quality.EXCELLENT
    record: list[bytes] = []
    bench.run(20, lambda a: record.append(a) or [a])
    bench.cabinet.refused.clear()
    bench.run(20, lambda a: [a, record.pop(0)])
    assert bench.cabinet.refused == {"an old answer": 20}
    assert bench.cabinet.session is ACTIVE


def test_late_answers_are_refused_and_count_as_missing() -> None:
    bench = Bench().active().run(100)
    way: list[bytes] = []

    def late(answer: bytes | None) -> list[bytes]:
        way.append(answer or b"")
        return [way.pop(0)] if len(way) > 1 else []

    bench.until(WAIT, cable=late)
    ends_with(bench, "the connection is not good", WAIT)
    assert set(bench.cabinet.refused) == {"a late answer"}


def test_with_a_multiplier_an_answer_may_take_as_long_as_the_next_is_due() -> None:
    bench = Bench(multiplier=3, period=3).active().run(300)
    way: list[bytes | None] = [None]

    def late(answer: bytes | None) -> list[bytes]:
        way.append(answer)
        return [item for item in [way.pop(0)] if item]

    bench.run(300, lambda a: late(a))
    assert bench.cabinet.session is ACTIVE and not bench.cabinet.refused


def test_with_a_multiplier_answers_that_come_in_pairs_are_all_in_time() -> None:
    bench = Bench(multiplier=2).active().run(300)
    way: list[bytes] = []

    def paired(answer: bytes | None) -> list[bytes]:
        # Of every two answers the first takes a cycle, and so on: from turn to turn.
        out = list(way)
        way.clear()
        if answer is not None and bench.client.count % 2:
            way.append(answer)
        elif answer is not None:
            out.append(answer)
        return out

    bench.run(400, paired)
    assert bench.cabinet.session is ACTIVE and bench.cabinet.quality >= Quality.GOOD
    assert not bench.cabinet.refused


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"position": 6 * [0.0]}, "an answer with 6 numbers instead of 7"),
        ({"position": 8 * [0.0]}, "an answer with 8 numbers instead of 7"),
        ({"position": []}, "an answer with 0 numbers instead of 7"),
        ({"wrench": 7 * [0.0]}, "an answer with 7 numbers instead of 6"),
        ({"torque": 5 * [0.0]}, "an answer with 5 numbers instead of 7"),
        ({"position": [*6 * [0.0], np.nan]}, "an answer that is not finite"),
        ({"position": [*6 * [0.0], -np.inf]}, "an answer that is not finite"),
        ({"torque": [*6 * [0.0], np.nan]}, "an answer that is not finite"),
    ],
)
def test_answers_of_another_kind_are_refused(data: dict[str, Any], reason: str) -> None:
    bench = Bench().active().run(100)
    assert refusals(bench, answering(bench, **data), 3) == {reason: 3}
    assert bench.cabinet.session is ACTIVE
    np.testing.assert_array_equal(bench.position, START)
    bench.run(10, answering(bench, **data))
    assert bench.cabinet.session is WAIT


def test_answers_to_nothing_are_refused() -> None:
    bench = Bench().active().run(100)
    for reflected in (0, bench.cabinet.sequence + 1, 2**32 - 1):
        header = {"identifier": COMMAND_IDENTIFIER, "sequence": 0, "reflected": reflected}
        bench.cabinet.take(encode("command", {"header": header}))
    assert bench.cabinet.refused == {"an answer to a message that was not sent": 3}


def damage(bench: Bench, cycles: int, seed: int) -> None:
    """Command a motion while other versions of every answer arrive before it, all damaged."""
    rng = random.Random(seed)
    framed = VERSIONS[bench.config.version].framed

    def cable(answer: bytes | None) -> list[bytes]:
        data = bytearray(answer or b"")
        for _ in range(rng.choice((1, 3))):
            data[rng.randrange(len(data))] ^= rng.randrange(1, 256)
        noise = rng.randbytes(rng.randrange(200))
        cut = bytes(answer or b"")[: rng.randrange(len(answer or b"x"))]
        return [bytes(data), noise, cut, *([answer] if answer else [])]

    for k in range(cycles):
        if bench.client.seen.get("connection", {}).get("session") == IDLE:
            bench.run(1)
            continue
        bench.client.offset = 0.1 * np.sin(0.01 * k)
        bench.run(1, cable)
    speeds = np.abs(np.diff(bench.path, axis=0)) / (1e-3 * bench.config.period)
    assert speeds.max() <= 1.5 * 1.0001
    assert sum(bench.cabinet.refused.values()) > cycles
    if framed:
        # A checksum leaves nothing that could be taken for an answer.
        assert bench.cabinet.session is ACTIVE


@pytest.mark.parametrize("version", [1.15, 2.5, 2.7])
def test_damaged_answers_raise_nothing_and_move_nothing_too_fast(version: float) -> None:
    damage(Bench(version=version).active(), 1000, 3)


@pytest.mark.verify
@pytest.mark.parametrize("version", [1.15, 2.5, 2.7])
def test_a_million_damaged_answers(version: float) -> None:
    damage(Bench(version=version).active(), 120_000, 4)


def test_two_benches_do_the_same() -> None:
    first, second = (Bench().active().run(50) for _ in range(2))
    assert first.lines == second.lines
    assert first.datagram() == second.datagram()


def test_the_configuration_is_checked_and_never_changed() -> None:
    for wrong in ({"version": 1.13}, {"period": 0}, {"period": 101}, {"control": "torque"}):
        from contact_core.base.config import from_mapping

        with pytest.raises(ConfigError):
            from_mapping(CabinetConfig, wrong)
    config = CabinetConfig()
    Bench().active()
    assert config == replace(config)
