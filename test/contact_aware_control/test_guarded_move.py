"""Guarded moves onto a table whose height nobody has told."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from touch_bench import DOWN, TouchBench, guarded_move

from contact_aware_control.config import ControllerConfig
from contact_aware_control.guarded_move import GuardedMove
from contact_aware_control.targets import StreamConfig, StreamedTargets
from contact_core.base.errors import TrajectoryError


# The quick tests look for a table with other arms, see test_other_arms.py.
@pytest.mark.verify
@pytest.mark.parametrize(
    ("seed", "force"),
    [
        (0, 10.0),
        (1, 20.0),
        *((seed, force) for seed in range(2, 8) for force in (10.0, 15.0, 30.0)),
    ],
)
def test_height_and_force_on_a_table_of_unknown_height(seed, force):
    height = np.random.default_rng(seed).uniform(0.42, 0.46)
    # Pressed with 30 N, the arm's springs are up to 5 cm behind the commands.
    guarded, touch, real, forces = guarded_move(TouchBench(height, seed), force, distance=0.2)
    assert guarded.touched
    assert touch.surface == pytest.approx(real, abs=1e-3)
    assert forces.max() <= 1.3 * force


@pytest.mark.parametrize("speed", [0.02, 0.1])
def test_nothing_in_the_way_is_no_touch(speed):
    guarded, touch, real, _ = guarded_move(TouchBench(0.3), 10.0, speed, distance=0.05)
    assert not guarded.touched
    assert np.isnan(real)
    assert np.isnan(touch.surface)
    assert touch.distance == pytest.approx(0.05, abs=2e-3)
    assert touch.force < 3.0


def test_the_arm_yields_to_its_usual_limit_afterwards_and_moves_away():
    bench = TouchBench(0.5)
    _, _, _, forces = guarded_move(bench, 20.0)
    assert forces.max() > 20.0
    for _ in range(200):
        bench.tick(None)
    limit = bench.config.force.limit
    assert 0.8 * limit < bench.pressing() <= limit
    # The command is inside the table: the tool comes as far as it is asked to all the same.
    touch = guarded_move(bench, 10.0, distance=0.015, direction=-DOWN)[1]
    assert touch.distance == pytest.approx(0.015, abs=2e-3)
    assert bench.pressing() == 0.0


def test_an_arm_that_might_have_pressed_yields_to_a_hand_afterwards():
    bench = TouchBench(0.3)
    guarded_move(bench, 60.0, distance=0.01)
    begin = bench.loop_state.command
    for _ in range(300):
        bench.push("lbr_link_7", (0.0, 40.0, 0.0))
        bench.tick(None)
    assert np.abs(bench.loop_state.command - begin).max() > 0.3


def test_it_moves_at_its_speed_along_a_slanted_way(robot):
    config = ControllerConfig()
    bounds = StreamedTargets(robot, config, StreamConfig()).tool_bounds
    direction = np.array([1.0, -2.0, 0.5])
    q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
    guarded = GuardedMove(robot, q, direction, 0.03, 0.1, 10.0, bounds, config.period)
    start, now, later = (guarded.reference.sample(t) for t in (0.0, 1.5, 1.6))
    step = later.translation - now.translation
    np.testing.assert_allclose(step, 0.003 * direction / np.linalg.norm(direction), atol=1e-5)
    end = guarded.reference.sample(60.0).translation - start.translation
    np.testing.assert_allclose(end, 0.1 * direction / np.linalg.norm(direction), atol=1e-6)
    assert guarded.reference.duration == pytest.approx(0.1 / 0.03, abs=0.3)


@pytest.mark.parametrize(("drag", "stiffness"), [(0.0, 2e4), (4.0, 2e4), (4.0, 1e7), (12.0, 2e4)])
def test_what_drags_is_not_the_surface(robot, drag, stiffness):
    """A wall after 50 mm; a body that is too stiff to show a rise, or in the way at once."""
    config = ControllerConfig()
    bounds = StreamedTargets(robot, config, StreamConfig()).tool_bounds
    q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
    ahead = np.array([1.0, 0.0, 0.0])
    guarded = GuardedMove(robot, q, ahead, 0.02, 0.1, 10.0, bounds, config.period)
    begin = guarded.reference.sample(0.0).translation
    noise = np.random.default_rng(0).normal(0.0, 0.3, 2000)
    for k, error in enumerate(noise):
        way = guarded.reference.sample(k * config.period)
        robot.update(q)
        q = q + np.linalg.pinv(robot.tool_jacobian()) @ pin.log6(robot.tool_pose().inverse() * way)
        robot.update(q)
        come = (robot.tool_pose().translation - begin)[0]
        force = drag + error + stiffness * max(0.0, come - 0.05)
        place = robot.tool_pose().translation
        touch = guarded.watch(q, robot.torque_of_force(robot.tool_link, place, -force * ahead))
        if guarded.touched:
            break
        assert np.isnan(touch.surface)
    assert guarded.touched
    assert touch.surface == pytest.approx(0.0 if drag > 10.0 else 0.05, abs=3e-4)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"direction": np.zeros(3)}, "direction"),
        ({"speed": -0.1}, "speed"),
        ({"speed": 1e-5}, "1e.04 s at 1e-05 m/s"),
        ({"distance": np.inf}, "distance"),
        ({"force": np.nan}, "force"),
    ],
)
def test_what_is_no_move_is_refused(robot, change, said):
    bounds = StreamedTargets(robot, ControllerConfig(), StreamConfig()).tool_bounds
    asked = {"direction": DOWN, "speed": 0.02, "distance": 0.1, "force": 10.0, **change}
    with pytest.raises(TrajectoryError, match=said):
        GuardedMove(robot, np.zeros(7), **asked, bounds=bounds, period=0.005)
