"""The gripper's motion ends once, by force or stall detection, cancelled or replaced."""

from __future__ import annotations

import math
from typing import Any

import pytest
from sensor_msgs.msg import JointState

from contact_core.robot.gripper import GripperCommand
from contact_ros.gripper import Ending, GripperMotion
from contact_ros.validation import MessageError
from tamsi_sim.node.gripper import STANDSTILL_TICKS, Standstill

WIDEST = 0.055
CLOSE = GripperCommand(position=0.0, max_effort=20.0)


class Client:
    """Notes what it hears."""

    def __init__(self) -> None:
        self.cancels = False
        self.heard = 0
        self.endings: list[tuple[Ending, float]] = []

    def moving(self, state: JointState) -> None:
        self.heard += 1

    def ended(self, ending: Ending, state: JointState) -> None:
        self.endings.append((ending, state.position[0]))


def state(position: float, velocity: float) -> JointState:
    return JointState(position=[position], velocity=[velocity], effort=[0.0])


@pytest.fixture
def motion() -> GripperMotion:
    return GripperMotion(WIDEST, state(0.04, 0.0), Standstill())


def test_a_motion_begins_at_its_time(motion: GripperMotion) -> None:
    motion.begin(CLOSE, 100, Client())
    assert motion.command(99) is None
    assert motion.command(100) is CLOSE


def test_a_motion_ends_where_it_was_to_go(motion: GripperMotion) -> None:
    client = Client()
    motion.begin(CLOSE, 0, client)
    motion.update(1, state(0.02, -0.1))
    assert client.heard == 1
    motion.update(2, state(0.0005, -0.1))
    assert client.endings == [(Ending.REACHED, 0.0005)]
    assert motion.command(3) is None


def test_a_motion_that_stands_still_elsewhere_has_stalled(motion: GripperMotion) -> None:
    """Not at once: a finger needs a moment to begin."""
    client = Client()
    motion.begin(CLOSE, 0, client)
    for tick in range(STANDSTILL_TICKS - 1):
        motion.update(tick, state(0.04, 0.0))
    assert not client.endings
    motion.update(STANDSTILL_TICKS, state(0.04, 0.0))
    assert client.endings == [(Ending.STALLED, 0.04)]


def test_a_slow_motion_has_not_stalled(motion: GripperMotion) -> None:
    client = Client()
    motion.begin(GripperCommand(0.0, 20.0, max_speed=5e-4), 0, client)
    for tick in range(5 * STANDSTILL_TICKS):
        motion.update(tick, state(0.04, -5e-4))
    assert not client.endings


def test_a_newer_command_takes_over(motion: GripperMotion) -> None:
    clients = Client(), Client()
    newer = GripperCommand(0.05, 10.0)
    motion.begin(CLOSE, 0, clients[0])
    motion.begin(newer, 0, clients[1])
    assert clients[0].endings == [(Ending.REPLACED, 0.04)]
    assert motion.command(1) is newer
    motion.update(1, state(0.05, 0.1))
    assert len(clients[0].endings) == len(clients[1].endings) == 1


def test_a_motion_is_canceled_without_a_tick(motion: GripperMotion) -> None:
    """There may be none: the simulator is paused, or the gripper's node waits for an answer."""
    client = Client()
    motion.begin(CLOSE, 1000, client)
    motion.cancel()
    assert not client.endings
    client.cancels = True
    motion.cancel()
    motion.cancel()
    assert client.endings == [(Ending.CANCELED, 0.04)]
    assert motion.command(2000) is None


def test_a_motion_that_is_canceled_stops_where_it_is(motion: GripperMotion) -> None:
    client = Client()
    motion.begin(CLOSE, 1000, client)
    assert motion.command(2000) is CLOSE
    motion.update(2000, state(0.03, -0.1))
    client.cancels = True
    motion.cancel()
    assert client.endings == [(Ending.CANCELED, 0.03)]
    stop = motion.command(3000)
    assert stop == GripperCommand(0.03, CLOSE.max_effort, stop=True)
    motion.begin(CLOSE, 4000, Client())
    assert motion.command(5000) is CLOSE


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"position": 0.06}, r"position \[m\] is 0\.06 \(valid: 0 \.\. 0\.056\)"),
        ({"position": -0.01}, r"position \[m\] is -0\.01"),
        ({"position": math.nan}, r"position \[m\] is nan"),
        ({"max_effort": math.inf}, r"effort \[N\] is inf"),
        ({"max_speed": -0.1}, r"speed \[m/s\] is -0\.1"),
    ],
)
def test_a_bad_command_is_refused_with_the_reason(
    motion: GripperMotion, change: dict[str, Any], text: str
) -> None:
    with pytest.raises(MessageError, match=text):
        motion.check(GripperCommand(**{"position": 0.0, "max_effort": 20.0, **change}))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"position": 0.9}, r"position \[rad\] is 0\.9 \(valid: 0 \.\. 0\.851\)"),
        ({"max_effort": math.inf}, r"effort \[Nm\] is inf"),
        ({"max_speed": -0.1}, r"speed \[rad/s\] is -0\.1"),
    ],
)
def test_a_joint_that_turns_is_refused_in_its_units(change: dict[str, Any], text: str) -> None:
    motion = GripperMotion(0.85, state(0.04, 0.0), Standstill(), turns=True)
    with pytest.raises(MessageError, match=text):
        motion.check(GripperCommand(**{"position": 0.0, "max_effort": 20.0, **change}))


def test_a_gripper_that_cannot_refuses_and_gives_up_what_it_does() -> None:
    problem = ""
    motion = GripperMotion(WIDEST, state(0.04, 0.0), Standstill(), lambda _: problem)
    client = Client()
    motion.begin(CLOSE, 0, client)
    motion.fail()
    assert client.endings == [(Ending.FAILED, 0.04)]
    assert motion.command(1) is None
    problem = "not connected"
    with pytest.raises(MessageError, match="not connected"):
        motion.check(CLOSE)


def test_a_gripper_that_cannot_any_more_fails_what_it_had_accepted() -> None:
    motion = GripperMotion(WIDEST, state(0.04, 0.0), Standstill(), lambda _: "not connected")
    client = Client()
    motion.begin(CLOSE, 0, client)
    assert client.endings == [(Ending.FAILED, 0.04)]
    assert motion.command(1) is None
