"""What the arm's model has wrong is found in free space, and counted where it is not known."""

import itertools

import numpy as np
import pinocchio as pin
import pytest

from contact_aware_control.estimation.calibration import (
    EXACT,
    Calibration,
    link_masses,
    prior,
    read_calibration,
)
from contact_aware_control.estimation.config import ErrorsConfig
from contact_aware_control.estimation.torque_errors import ErrorRegressor, TorqueErrors
from contact_core.base.errors import ConfigError
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot

PERIOD = 0.005
BIAS = 1.0
NOISE = np.full(7, 0.1)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def wrong_arm(robot, theta):
    """The arm with the errors of masses, first moments and tilt that theta names."""
    model = robot.model.copy()
    for joint, error in enumerate(theta[23:].reshape(7, 4), start=1):
        inertia = model.inertias[joint]
        mass = inertia.mass + error[0]
        moment = inertia.mass * inertia.lever + error[1:]
        inertia.mass, inertia.lever = mass, moment / mass
    model.gravity.linear = pin.rpy.rpyToMatrix(*theta[21:23], 0.0).T @ model.gravity.linear
    return model


def errors_of(robot, config):
    return TorqueErrors(robot, config, BIAS, prior(robot, config))


def random_theta(rng):
    masses = rng.uniform(-1, 1, (7, 4)) * np.array([0.2, 0.02, 0.02, 0.02])
    return np.concatenate([
        0.5 * rng.standard_normal(7), rng.uniform(0.0, 0.3, 14), 0.01 * rng.standard_normal(2),
        masses.ravel(),
    ])  # fmt: skip


def motion(rng, ticks):
    """Joint positions that go to and fro with different periods."""
    time = PERIOD * np.arange(ticks)[:, None]
    rates = rng.uniform(0.3, 0.9, 7)
    center = np.array([0.0, 0.4, 0.0, -1.4, 0.0, 0.4, 0.0])
    return center + 0.5 * np.sin(rates * time + rng.uniform(0, 6, 7))


def error_torque(robot, theta, q, velocity):
    """What a driver reports of an arm that nothing touches: described less true torque."""
    described, true = robot.model, wrong_arm(robot, theta)
    weight = pin.computeGeneralizedGravity(described, described.createData(), q)
    weight -= pin.computeGeneralizedGravity(true, true.createData(), q)
    return theta[:7] - theta[7:14] * np.sign(velocity) - theta[14:21] * velocity + weight


def test_the_regressor_against_another_arm(robot, rng):
    regressor = ErrorRegressor(robot)
    for _ in range(20):
        theta, q, velocity = random_theta(rng), rng.uniform(-1, 1, 7), rng.uniform(-1, 1, 7)
        theta[21:] *= 1e-3  # where tilt and masses do not multiply each other
        found = regressor.at(q, -np.sign(velocity), velocity) @ theta
        np.testing.assert_allclose(found, error_torque(robot, theta, q, velocity), atol=1e-5)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.verify) for seed in (1, 2))]
)
def test_errors_are_learnt_and_their_torque_is_expected(robot, seed):
    rng = np.random.default_rng(seed)
    theta, errors = random_theta(rng), errors_of(robot, ErrorsConfig())
    positions = motion(rng, 6000)
    trues, missed, doubts = [], [], []
    for before, q in itertools.pairwise(positions):
        true = error_torque(robot, theta, q, (q - before) / PERIOD)
        expected, covariance = errors.expect(q, PERIOD)
        errors.learn(true + NOISE * rng.standard_normal(7) - expected, NOISE, PERIOD)
        trues.append(true)
        missed.append(true - expected)
        doubts.append(np.sqrt(covariance.diagonal()))
    assert np.sqrt(np.mean(np.square(trues[-2000:]))) > 0.5
    assert np.sqrt(np.mean(np.square(missed[-2000:]))) < 0.1
    # Nor is the filter surer than it may be: errors lie within its own deviations.
    normalized = np.array(missed)[:, :] / np.hypot(doubts, NOISE)
    assert np.sqrt(np.mean(normalized**2)) < 1.2
    assert np.mean(np.abs(normalized) > 4.0) < 0.01


def test_an_exact_arm_has_nothing_but_a_bias(robot, rng):
    errors = errors_of(robot, ErrorsConfig(calibration=EXACT))
    errors.expect(rng.uniform(-1, 1, 7), PERIOD)
    _, covariance = errors.expect(rng.uniform(-1, 1, 7), PERIOD)
    np.testing.assert_allclose(covariance, np.diag(np.full(7, BIAS**2)), rtol=1e-3, atol=1e-9)
    assert prior(robot, ErrorsConfig(calibration=EXACT)).of_this_arm
    assert not prior(robot, ErrorsConfig()).of_this_arm


def test_what_is_known_survives_a_file(robot, rng, tmp_path):
    root = rng.standard_normal((51, 51))
    known = Calibration(rng.standard_normal(51), root @ root.T, of_this_arm=True)
    known.write(tmp_path / "arm.json", robot.joint_names)
    found = read_calibration(tmp_path / "arm.json", robot)
    np.testing.assert_array_equal(found.mean, known.mean)
    np.testing.assert_array_equal(found.covariance, known.covariance)
    config = ErrorsConfig(calibration=str(tmp_path / "arm.json"))
    assert prior(robot, config).of_this_arm
    errors = errors_of(robot, config)
    # The bias will have drifted by the time somebody reads the file.
    np.testing.assert_array_equal(errors.knowledge().mean, [*np.zeros(7), *known.mean[7:]])


def test_what_is_no_calibration_of_this_arm_is_named(robot, tmp_path):
    path = tmp_path / "arm.json"
    with pytest.raises(ConfigError, match=r"no calibration of an arm: .*No such file"):
        read_calibration(path, robot)
    path.write_text("nonsense")
    with pytest.raises(ConfigError, match="no calibration of an arm"):
        read_calibration(path, robot)
    small = Calibration(np.zeros(3), np.zeros((3, 3)), of_this_arm=True)
    small.write(path, robot.joint_names)
    with pytest.raises(ConfigError, match="needs a mean of 51 finite numbers"):
        read_calibration(path, robot)
    size = 7 * robot.n + 2
    whole = Calibration(np.zeros(size), np.zeros((size, size)), of_this_arm=True)
    # Its joints have the same names.
    other = link_masses(Robot.from_description(RobotDescription.load("iiwa7_wsg50")))
    whole.write(path, robot.joint_names, other.tolist())
    with pytest.raises(ConfigError, match=r"links of 3.394, 4.032, .* kg \(valid: 5.76, 6.35, "):
        read_calibration(path, robot)
    other_tool = [*link_masses(robot)[:-1], 1.0]
    whole.write(path, robot.joint_names, other_tool)
    assert read_calibration(path, robot).of_this_arm
    small.write(path, ("left", "right"))
    with pytest.raises(ConfigError, match="with the joints left, right"):
        read_calibration(path, robot)
