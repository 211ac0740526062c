"""Guarded moves onto a table whose height nobody has told."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactReport
from contact_aware_control.control_loop import ControlLoop
from contact_aware_control.estimation import EstimatorConfig, make_estimator
from contact_aware_control.guarded_move import GuardedMove
from contact_aware_control.loop_state import LoopInputs
from contact_aware_control.reference import Goal
from contact_aware_control.safety.status import Mode
from contact_aware_control.targets import StreamConfig, StreamedTargets
from contact_core.arm_state import ArmState
from contact_core.config import from_mapping
from contact_core.errors import TrajectoryError
from contact_core.robot import Robot
from contact_core.scene import Scene
from contact_core.scene_config import ObjectConfig
from tamsi_sim.robot.plant import Plant

DOWN = np.array([0.0, 0.0, -1.0])


class GuardedRun:
    """The simulated arm, calibrated and tared, over a table."""

    def __init__(self, height, seed=0):
        scene = Scene.load("mug_placement")
        table = ObjectConfig(urdf="urdf/table.urdf", xyz=(1.0, 0.0, height))
        scene = dataclasses.replace(scene, objects={"table": table})
        self.plant = Plant(scene, seed)
        self.arm = Robot.from_description(scene.robot)
        self.config = ControllerConfig()
        self.loop = ControlLoop(Robot.from_description(scene.robot), self.config)
        known = from_mapping(EstimatorConfig, {"errors": {"calibration": "exact"}})
        self.estimator = make_estimator(Robot.from_description(scene.robot), known)
        self.estimator.reset(seed)
        self.loop_state = self.loop.start()
        self.report = self.plant.reset(seed)
        for _ in range(200):
            self.tick(None)

    def tick(self, goal):
        sensed = self.report
        state = ArmState(
            sensed.time_ns, sensed.position, sensed.velocity, sensed.commanded_position,
            sensed.external_torque,
        )  # fmt: skip
        found = self.estimator.update(state.stamp, state.position, state.external_torque)
        report = ContactReport(state.stamp, found.contacts, found.torque, calibrated=True)
        inputs = LoopInputs(state.stamp, state, report, goal)
        self.loop_state, passed, status = self.loop.tick(self.loop_state, inputs)
        command = sensed.commanded_position if passed is None else passed.position
        self.report = dataclasses.replace(self.plant.tick(command), commanded_position=command)
        return state.position, found, status

    def pressing(self):
        return sum(float(np.linalg.norm(c.force)) for c in self.plant.truth().contacts)

    def move(self, force, speed=0.02, distance=0.15, direction=DOWN):
        """Return the last touch, the distance of the tool when it really touched, and forces."""
        bounds = StreamedTargets(self.arm, self.config, StreamConfig()).tool_bounds
        guarded = GuardedMove(
            self.arm, self.loop_state.command, direction, speed, distance, force, bounds,
            self.config.period,
        )  # fmt: skip
        goal = Goal(guarded.reference, guarded.force_limits)
        real, forces = np.nan, []
        for _ in range(round((distance / speed + 1.0) / self.config.period)):
            position, found, status = self.tick(goal)
            touch = guarded.watch(position, found.torque, found.contacts)
            assert status.mode in (Mode.TRACKING, Mode.CONSERVATIVE)
            forces.append(self.pressing())
            if np.isnan(real) and forces[-1] > 0.0:
                real = touch.distance
            if guarded.touched:
                break
        for _ in range(200):
            self.tick(None)
            forces.append(self.pressing())
        return guarded, touch, real, np.array(forces)


@pytest.mark.parametrize(
    ("seed", "force"),
    [
        (0, 10.0),
        (1, 20.0),
        *(
            pytest.param(seed, force, marks=pytest.mark.verify)
            for seed in range(2, 8)
            for force in (10.0, 15.0, 30.0)
        ),
    ],
)
def test_height_and_force_on_a_table_of_unknown_height(seed, force):
    height = np.random.default_rng(seed).uniform(0.42, 0.46)
    guarded, touch, real, forces = GuardedRun(height, seed).move(force)
    assert guarded.touched
    assert touch.surface == pytest.approx(real, abs=1e-3)
    assert forces.max() <= 1.3 * force


def test_nothing_in_the_way_is_no_touch():
    guarded, touch, real, _ = GuardedRun(0.3).move(10.0, speed=0.05, distance=0.05)
    assert not guarded.touched
    assert np.isnan(real)
    assert np.isnan(touch.surface)
    assert touch.distance == pytest.approx(0.05, abs=2e-3)
    assert touch.force < 3.0


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


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"direction": np.zeros(3)}, "direction"),
        ({"speed": -0.1}, "speed"),
        ({"distance": np.inf}, "distance"),
        ({"force": np.nan}, "force"),
    ],
)
def test_what_is_no_move_is_refused(robot, change, said):
    bounds = StreamedTargets(robot, ControllerConfig(), StreamConfig()).tool_bounds
    asked = {"direction": DOWN, "speed": 0.02, "distance": 0.1, "force": 10.0, **change}
    with pytest.raises(TrajectoryError, match=said):
        GuardedMove(robot, np.zeros(7), **asked, bounds=bounds, period=0.005)
