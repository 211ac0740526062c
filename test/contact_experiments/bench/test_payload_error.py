"""A payload that is not what was declared moves the command by no more than its bounds."""

import numpy as np
import pytest

from contact_aware_control.safety.status import Status
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from contact_experiments.bench import payload_error
from contact_experiments.bench.payload_error import (
    ARMS,
    POSES,
    PayloadCase,
    Turn,
    all_cases,
    measure,
    render,
    run,
)

FEW = [
    PayloadCase("iiwa14_wsg50", "at rest", "declared", True, 0, 2.0),
    PayloadCase("iiwa14_wsg50", "in contact", "real", True, 0, 2.0),
    PayloadCase("iiwa14_wsg50", "in contact", "declared", True, 0, 5.0),
]
"""1.2 m at 2.2 m/s before, each of them."""


@pytest.fixture
def times(monkeypatch):
    """Set when the error comes, is put right and its fault reset, and when a run ends [s]."""

    def set_times(wrong, right, reset, end):
        for name, moment in (("WRONG_AT", wrong), ("RIGHT_AT", right), ("RESET_AT", reset)):
            monkeypatch.setattr(payload_error, name, moment)
        monkeypatch.setattr(payload_error.Rest, "duration", end)

    return set_times


@pytest.mark.parametrize(
    "case",
    [*FEW[:2], pytest.param(FEW[2], marks=pytest.mark.verify)],
    ids=lambda case: f"{case.situation}, {case.how}",
)
def test_a_wrong_payload_does_not_make_the_arm_fly(case, times):
    times(3.2, 3.7, 4.0, 5.0)  # as soon as the arm presses
    travel = measure(case)
    assert travel.bounded, travel
    assert travel.recovers
    if case.situation == "at rest":
        assert Status.AMBIGUOUS_LOAD in travel.reported
    assert "**" not in render([travel])


@pytest.mark.verify
@pytest.mark.parametrize("arm", ["iiwa14_wsg50", "fr3_wsg50"])
@pytest.mark.parametrize("moment", [1.0, 1.5, 2.0])
def test_what_is_dropped_as_the_tool_touches_is_yielded_to_as_to_a_hand(arm, moment, times):
    """For a tenth of a second nothing tells it from the force of the new contact."""
    times(moment, moment + 2.0, moment + 2.5, moment + 4.0)
    travel = measure(PayloadCase(arm, "in contact", "real", True, 0, 2.0))
    assert travel.command <= 0.1
    assert travel.speed <= 0.75
    assert travel.recovers


@pytest.mark.verify
def test_a_contact_on_the_fingers_is_not_lost_while_it_lasts():
    """Its place was left for one between two modes: 109 ticks were spent on finding it again."""
    case = PayloadCase("iiwa7_wsg50", "in contact", "real", True, 1, -5.0)
    loop, _ = run(case, happens=False)
    lost = sum(tick.status is Status.CONTACT_UNIDENTIFIABLE for tick in loop.status[400:])
    assert lost < 20


@pytest.mark.parametrize("arm", ARMS)
def test_every_arm_can_turn_from_every_pose(arm):
    scene = Scene.load("free_space", arm)
    robot = Robot.from_description(scene.robot)
    lowest, highest = robot.position_limits
    for pose in POSES:
        start = np.array(scene.config.robot.initial_positions)
        start[: len(pose)] += pose
        motion = Turn().motion(robot, start)
        for q in motion.samples(np.linspace(0.0, motion.duration, 50)):
            assert ((lowest < q) & (q < highest)).all()


@pytest.mark.verify
@pytest.mark.parametrize(
    "case", [c for c in all_cases() if c.how == "declared"], ids=lambda case: repr(case)
)
def test_no_declaration_moves_a_command(case):
    assert measure(case).bounded
