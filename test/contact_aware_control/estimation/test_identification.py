"""A calibration finds the errors of an arm that it does not know, and says how sure it is."""

import dataclasses

import numpy as np
import pytest

from contact_aware_control.estimation import EstimatorConfig, make_estimator
from contact_aware_control.estimation.config import ErrorsConfig
from contact_aware_control.estimation.identification import (
    REST,
    TorqueSamples,
    excitation,
    identify,
)
from contact_core.base.errors import TrajectoryError
from contact_core.robot.arm_state import ArmState
from contact_core.robot.description import JointFrictionConfig
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from contact_core.robot.scene_config import ArmErrorsConfig
from tamsi_sim.robot.plant import Plant

PERIOD = 0.005
HOME = np.array([0.0, 0.4, 0.0, -1.7, 0.0, -0.5, 0.0])


def wrong_scene(seed):
    """An arm with friction, wrong masses and a tilted base, in forms that the model lacks."""
    rng = np.random.default_rng(seed)
    scene = Scene.load("free_space")
    errors = ArmErrorsConfig(
        mass_ratio=tuple(rng.uniform(0.95, 1.05, 7)),
        tilt=tuple(0.035 * rng.uniform(-1.0, 1.0, 2)),
        friction_seen=True,
        gear_stiffness=(20000.0,) * 7,
    )
    friction = JointFrictionConfig(
        kinetic=tuple(rng.uniform(0.1, 0.3, 7)),
        static_ratio=1.3,
        stribeck_velocity=0.02,
        presliding_stiffness=(300.0,) * 7,
    )
    sensor = dataclasses.replace(
        scene.config.torque_sensor, bias=tuple(0.5 * rng.uniform(-1.0, 1.0, 7)), drift=0.03
    )
    arm = dataclasses.replace(scene.config.robot, errors=errors, friction=friction)
    config = dataclasses.replace(scene.config, robot=arm, torque_sensor=sensor)
    return dataclasses.replace(scene, config=config)


def record(scene, motion, seed, push=None):
    plant = Plant(scene, seed)
    rows = []
    for k in range(round((REST + motion.duration) / PERIOD)):
        if push is not None:
            plant.push(push if k % 1000 > 500 else np.zeros(7))
        command = motion.sample(max(0.0, k * PERIOD - REST))
        report = plant.tick(command)
        rows.append((k * PERIOD, report.position, command, report.external_torque))
    return TorqueSamples(*(np.array(values) for values in zip(*rows, strict=True)))


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.verify)])
def found(request):
    scene = wrong_scene(request.param)
    robot = Robot.from_description(scene.robot)
    motion = excitation(robot, HOME, 0.4, 0.4, 40.0, request.param)
    samples = record(scene, motion, request.param)
    return scene, robot, identify(robot, samples, EstimatorConfig())


def test_what_is_wrong_is_found(found):
    scene, _, identification = found
    mean = identification.calibration.mean
    deviation = np.sqrt(identification.calibration.covariance.diagonal())
    # More than kinetic friction: Stribeck's adds to it at these speeds.
    np.testing.assert_allclose(mean[7:14], scene.config.robot.friction.kinetic, atol=0.08)
    np.testing.assert_allclose(mean[21:23], scene.config.robot.errors.tilt, atol=0.006)
    assert deviation[7:14].max() < 0.1
    assert deviation[21:23].max() < 0.006


def test_less_is_left_than_after_a_tare(found):
    _, _, identification = found
    assert (identification.after < 0.18).all()
    assert identification.before.max() > 2.0 * identification.after.max()
    assert identification.touched < 0.01


def test_the_springs_are_found_where_they_are_loaded():
    """Without friction, which is part of the balance that they are found by."""
    scene = wrong_scene(1)
    errors = dataclasses.replace(scene.config.robot.errors, tilt=(0.06, 0.06))
    arm = dataclasses.replace(scene.config.robot, errors=errors, friction=JointFrictionConfig())
    scene = dataclasses.replace(scene, config=dataclasses.replace(scene.config, robot=arm))
    robot = Robot.from_description(scene.robot)
    samples = record(scene, excitation(robot, HOME, 0.5, 0.4, 22.0, 1), 1)
    ratio = identify(robot, samples, EstimatorConfig()).stiffness / scene.config.robot.stiffness
    assert np.isfinite(ratio[:2]).all()
    np.testing.assert_allclose(ratio[np.isfinite(ratio)], 1.0, atol=0.2)


def test_a_calibrated_arm_feels_nothing_in_free_space(found, tmp_path):
    scene, robot, identification = found
    path = tmp_path / "arm.json"
    identification.calibration.write(path, robot.joint_names)
    config = EstimatorConfig(errors=ErrorsConfig(calibration=str(path)))
    estimator = make_estimator(Robot.from_description(scene.robot), config)
    motion = excitation(robot, HOME, 0.6, 0.3, 12.0, seed=9)
    samples = record(scene, motion, seed=77)
    outputs = [
        estimator.update(ArmState.recorded(round(1e9 * (time + PERIOD)), q, external_torque=torque))
        for time, q, torque in zip(samples.time, samples.position, samples.torque, strict=True)
    ]
    assert outputs[-1].calibrated
    assert np.mean([bool(output.contacts) for output in outputs[200:]]) <= 0.01


def test_an_arm_that_was_touched_is_told(found):
    scene, robot, _ = found
    motion = excitation(robot, HOME, 0.4, 0.4, 10.0, seed=3)
    samples = record(scene, motion, 3, push=np.array([0.0, 6.0, 0.0, 4.0, 0.0, 2.0, 0.0]))
    assert identify(robot, samples, EstimatorConfig()).touched > 0.05


@pytest.mark.parametrize("seed", range(5))
def test_the_motion_respects_the_joints(robot, seed):
    motion = excitation(robot, HOME, 0.6, 0.35, 20.0, seed)
    q = np.array([motion.sample(t) for t in np.arange(0.0, motion.duration, PERIOD)])
    lower, upper = robot.position_limits
    assert (q >= lower).all()
    assert (q <= upper).all()
    assert np.abs(q - HOME).max() <= 0.6 + 1e-9
    assert np.abs(np.diff(q, axis=0)).max() <= 0.35 * PERIOD * 1.001
    np.testing.assert_allclose(q[[0, -1]], [HOME, HOME], atol=1e-3)


def test_an_arm_at_its_limit_is_not_moved(robot):
    at_limit = HOME.copy()
    at_limit[3] = robot.position_limits[0, 3] + 0.02
    with pytest.raises(TrajectoryError, match="lbr_A4 is too near to its limit"):
        excitation(robot, at_limit, 0.4, 0.4, 20.0, 0)
