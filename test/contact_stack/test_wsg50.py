"""The gripper's language, and what is said to a gripper that behaves and one that does not."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from contact_core.robot.gripper import GripperCommand
from contact_experiments.fake.gripper import ERROR, FAULTS, HOLDING, FakeGripper
from contact_ros.validation import MessageError
from contact_stack.wsg50.device import (
    CommandOutcome,
    GripperConnection,
    GripperReading,
    GripperStatus,
    Wsg50,
)
from contact_stack.wsg50.gcl import Answer, GripState, Line, LineReader, parse

CLOSE = GripperCommand(0.0, 20.0, 0.1)
OPEN = GripperCommand(0.05, 20.0, 0.1)
TICK = 0.002


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("POS=20.0", Line(Answer.VALUE, "POS", 20.0)),
        ("@SPEED=-142.0", Line(Answer.VALUE, "SPEED", -142.0)),
        ("GRIPSTATE=4", Line(Answer.VALUE, "GRIPSTATE", 4.0)),
        ("ACK MOVE", Line(Answer.ACKNOWLEDGED, "MOVE")),
        ("FIN GRIP", Line(Answer.FINISHED, "GRIP")),
        ("ERR MOVE 29", Line(Answer.ERROR, "MOVE", 29.0)),
        ("ERR GRIP E_CMD_FAILED", Line(Answer.ERROR, "GRIP", 18.0)),
        ("ERR 14", Line(Answer.ERROR, "", 14.0)),
        ("ERR MOVE 29 (axis blocked)", Line(Answer.ERROR, "MOVE", 29.0)),
    ],
)
def test_a_line_is_understood(text: str, line: Line) -> None:
    assert parse(text) == line


@pytest.mark.parametrize(
    "text",
    [
        *("POS=nan", "POS=inf", "POS=5000", "POS=1e999", "POS=", "POS", "POS=2_0.x"),
        *("GRIPSTATE=9", "GRIPSTATE=1.5", "FIN", "ACK 5", "BATTERY=5", "ERRMOVE 3", "\x00"),
    ],
)
def test_what_cannot_be_true_is_rejected_with_its_text(text: str) -> None:
    with pytest.raises(MessageError):
        parse(text)


def test_lines_are_put_together_and_endless_ones_are_told_once() -> None:
    reader = LineReader()
    assert reader.read(b"POS=2") == []
    assert reader.read(b"0.0\r\nFIN MO") == ["POS=20.0"]
    assert reader.read(b"VE\n") == ["FIN MOVE"]
    endless = [line for _ in range(5) for line in reader.read(300 * b"x")]
    assert len(endless) == 1
    assert reader.read(b"POS=3.0\nPOS=4.0\n") == ["POS=4.0"]


class Bench:
    """The device over a real connection to the fake, ticked as fast as it answers.

    Its clock counts ticks: a busy machine is no silent gripper.
    """

    def __init__(self, gripper: FakeGripper) -> None:
        self.gripper = gripper
        self.rejected: list[str] = []
        self.now = 0.0
        self.device = Wsg50(
            GripperConnection("127.0.0.1", gripper.port),
            self.rejected.append,
            timeout=0.3,
            retry=0.05,
        )

    def until(self, condition: Callable[[], object], command: GripperCommand | None = None) -> None:
        """Tick until a condition holds."""
        end = self.now + 20.0
        while not condition():
            assert self.now < end, (self.device.status, self.device.problem)
            self.now += TICK
            self.device.tick(self.now, command)
            time.sleep(TICK)

    def follow(self, command: GripperCommand) -> tuple[CommandOutcome, GripperReading]:
        """Follow a command to its end."""
        assert self.device.refusal(command) == ""
        self.until(lambda: self.device.outcome(command), command)
        outcome, reading = self.device.outcome(command), self.device.reading
        assert outcome is not None
        assert reading is not None
        return outcome, reading


@pytest.fixture
def gripper() -> Iterator[FakeGripper]:
    gripper = FakeGripper()
    gripper.start()
    yield gripper
    gripper.stop()


@pytest.fixture
def bench(gripper: FakeGripper) -> Iterator[Bench]:
    bench = Bench(gripper)
    bench.until(lambda: bench.device.reading)
    yield bench
    bench.device.leave()


def test_it_opens_and_closes_where_nothing_is(bench: Bench) -> None:
    for position in (0.05, 0.02, 0.0, 0.03):
        outcome, reading = bench.follow(GripperCommand(position, 20.0, 0.1))
        assert outcome is CommandOutcome.DONE
        assert reading.position == pytest.approx(position, abs=6e-4)
    assert not bench.rejected


def test_a_part_is_held_and_let_go_of(bench: Bench) -> None:
    bench.gripper.part = 40.0
    outcome, reading = bench.follow(CLOSE)
    assert (outcome, reading.state) == (CommandOutcome.DONE, GripState.HOLDING)
    assert reading.position == pytest.approx(0.02, abs=1e-4)
    assert reading.effort == pytest.approx(-20.0)
    assert bench.follow(GripperCommand(0.0, 25.0))[0] is CommandOutcome.BLOCKED
    assert "holds something with 20 N" in bench.device.refusal(GripperCommand(0.0, 10.0))
    answers: list[str] = []
    bench.device.ask("HOME", answers.append)
    bench.until(lambda: answers)
    assert "holds something" in answers[0]
    outcome, reading = bench.follow(OPEN)
    assert reading.position == pytest.approx(0.05, abs=1e-4)
    assert [line.split("(")[0] for line in bench.gripper.heard[2:]] == ["GRIP", "RELEASE"]


def test_a_newer_command_stops_the_one_before(bench: Bench) -> None:
    slow = GripperCommand(0.0, 20.0, 0.005)
    bench.until(lambda: bench.gripper.state == 1, slow)
    outcome, reading = bench.follow(OPEN)
    assert outcome is CommandOutcome.DONE
    assert reading.position == pytest.approx(0.05, abs=1e-4)
    assert "STOP()" in bench.gripper.heard


def test_a_part_that_is_lost_is_told(bench: Bench) -> None:
    bench.gripper.part = 40.0
    bench.follow(CLOSE)
    bench.gripper.fault = "loses_part"
    bench.until(lambda: bench.device.status is GripperStatus.PART_LOST)
    assert bench.follow(OPEN)[0] is CommandOutcome.DONE


def test_nothing_moves_before_it_is_referenced_on_request() -> None:
    gripper = FakeGripper(referenced=False)
    gripper.start()
    bench = Bench(gripper)
    bench.until(lambda: bench.device.reading)
    assert bench.follow(OPEN)[0] is CommandOutcome.FAILED
    assert bench.device.status is GripperStatus.NOT_REFERENCED
    assert "wsg50/home" in bench.device.refusal(OPEN)
    answers: list[str] = []
    bench.device.ask("HOME", answers.append)
    bench.until(lambda: answers)
    assert answers == [""]
    assert bench.follow(GripperCommand(0.02, 20.0))[0] is CommandOutcome.DONE
    bench.device.leave()
    gripper.stop()


def test_a_gripper_that_stopped_waits_for_an_acknowledgement(bench: Bench) -> None:
    bench.gripper.fault = "fast_stop"
    bench.until(lambda: bench.device.status is GripperStatus.STOPPED)
    assert "wsg50/acknowledge" in bench.device.refusal(OPEN)
    answers: list[str] = []
    bench.device.ask("FSACK", answers.append)
    bench.until(lambda: answers)
    assert answers == [""]
    assert bench.device.status is GripperStatus.READY
    assert bench.follow(OPEN)[0] is CommandOutcome.DONE


def test_who_takes_leave_leaves_the_gripper_as_it_is(bench: Bench) -> None:
    bench.gripper.part = 40.0
    bench.follow(CLOSE)
    bench.device.leave()
    assert bench.gripper.state == HOLDING


@pytest.mark.parametrize("silence", [0.5, 4.0])
def test_a_part_is_held_while_the_gripper_does_not_answer(bench: Bench, silence: float) -> None:
    bench.gripper.part = 40.0
    bench.follow(CLOSE)
    bench.gripper.fault = "silent"
    end = bench.now + silence
    bench.until(lambda: bench.now > end)
    assert bench.device.status is GripperStatus.NO_CONNECTION
    assert "(no sound answer to " in bench.device.refusal(OPEN)
    bench.gripper.fault = ""
    bench.until(lambda: bench.device.reading)
    assert bench.device.status is GripperStatus.READY
    # It was not hung up on at first, and then with a farewell.
    assert bench.device.connections == (1 if silence < 1.0 else 2)
    assert bench.gripper.state == HOLDING


def test_a_cancelled_motion_ends_where_the_fingers_are(bench: Bench) -> None:
    slow = GripperCommand(0.0, 20.0, 0.005)
    bench.until(lambda: bench.gripper.state == 1, slow)
    stop = GripperCommand(0.03, 20.0, stop=True)
    bench.until(lambda: bench.device.outcome(slow), stop)
    assert bench.device.outcome(slow) is CommandOutcome.FAILED
    bench.until(lambda: bench.device.reading.state is GripState.IDLE, stop)
    before = bench.device.reading
    end = bench.now + 0.3
    bench.until(lambda: bench.now > end, stop)
    assert bench.device.reading.position == before.position
    assert [line.split("(")[0] for line in bench.gripper.heard[2:]] == ["GRIP", "STOP"]


def test_a_stop_by_itself_ends_a_motion_at_once(bench: Bench) -> None:
    slow = GripperCommand(0.0, 20.0, 0.005)
    bench.until(lambda: bench.gripper.state == 1, slow)
    begun = bench.now
    bench.gripper.fault = "fast_stop"
    bench.until(lambda: bench.device.outcome(slow), slow)
    assert bench.device.outcome(slow) is CommandOutcome.FAILED
    assert bench.device.status is GripperStatus.STOPPED
    assert bench.now - begun < 1.0


def test_a_gripper_that_died_comes_back_stopped_and_with_our_settings(bench: Bench) -> None:
    port = bench.gripper.port
    bench.gripper.stop()
    bench.until(lambda: bench.device.status is GripperStatus.NO_CONNECTION, OPEN)
    answers: list[str] = []
    bench.device.ask("HOME", answers.append)
    bench.until(lambda: answers)
    assert "not connected" in answers[0]
    again = FakeGripper(port)
    again.state = ERROR
    again.start()
    bench.until(lambda: bench.device.status is GripperStatus.STOPPED)
    assert again.heard == ["PWT=220.0", "CLT=2.0"]
    bench.device.leave()
    again.stop()


@pytest.mark.parametrize("fault", ["nan", "absurd", "silent", "half_lines", "hangs_up"])
def test_a_gripper_that_makes_no_sense_is_not_connected(bench: Bench, fault: str) -> None:
    bench.gripper.fault = fault
    bench.until(lambda: bench.device.status is GripperStatus.NO_CONNECTION)
    assert "not connected" in bench.device.refusal(OPEN)
    bench.gripper.fault = ""
    bench.until(lambda: bench.device.reading is not None)


@pytest.mark.parametrize("fault", ["garbage", "unasked", "pieces"])
def test_noise_on_the_line_does_no_harm(bench: Bench, fault: str) -> None:
    bench.gripper.fault = fault
    for command in (CLOSE, OPEN):
        assert bench.follow(command)[0] is CommandOutcome.DONE
    assert bool(bench.rejected) == (fault != "pieces")


def test_a_motion_that_never_ends_is_given_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contact_stack.wsg50.device.PATIENCE", 0.1)
    bench.gripper.fault = "stuck"
    assert bench.follow(OPEN)[0] is CommandOutcome.FAILED
    assert "MOVE took longer" in bench.device.problem


def test_every_fault_is_under_test() -> None:
    tested = {"nan", "absurd", "silent", "half_lines", "hangs_up", "garbage", "unasked"}
    assert tested | {"pieces", "stuck", "fast_stop", "loses_part"} == set(FAULTS)
