"""Poses against Pinocchio, velocities and accelerations by finite differences."""

import numpy as np
import pinocchio as pin
import pytest
from builders import arm_instance, engine_of, mug_instance

from contact_core.robot.description import RobotDescription


@pytest.fixture(scope="module")
def engine():
    return engine_of([arm_instance(), mug_instance()], touch=lambda a, b: False)


def at(engine, q, v):
    engine.q[:], engine.v[:] = q, v
    engine.evaluate()
    return engine.work


def moved(q, v, h):
    """Return the configuration after moving at a constant velocity for h."""
    new = q.copy()
    new[:8] += h * v[:8]
    new[8:11] += h * v[8:11]
    turn = pin.Quaternion(pin.exp3(h * v[11:])) * pin.Quaternion(q[11:].copy())
    new[11:] = turn.coeffs()
    return new


def states(count):
    rng = np.random.default_rng(0)
    for _ in range(count):
        q = rng.uniform(-1, 1, 15)
        q[11:] /= np.linalg.norm(q[11:])
        yield q, rng.uniform(-1, 1, 14)


def test_poses_against_pinocchio(engine):
    model = pin.buildModelFromXML(RobotDescription.load("iiwa14_wsg50").urdf)
    data = model.createData()
    for q, v in states(10):
        work = at(engine, q, v)
        pin.forwardKinematics(model, data, np.append(q[:8], q[7]))
        for body in range(9):
            expected = data.oMi[body + 1]
            np.testing.assert_allclose(
                work.kinematics.rotation[body], expected.rotation, atol=1e-12
            )
            np.testing.assert_allclose(
                work.kinematics.position[body], expected.translation, atol=1e-12
            )
        expected = pin.Quaternion(q[11:].copy()).matrix()
        np.testing.assert_allclose(work.kinematics.rotation[9], expected, atol=1e-12)


def test_velocities_are_the_rates_of_the_poses(engine):
    h = 1e-6
    for q, v in states(5):
        work = at(engine, q, v)
        velocity, rotation = work.kinematics.velocity.copy(), work.kinematics.rotation.copy()
        position = work.kinematics.position.copy()
        work = at(engine, moved(q, v, h), v)
        for body in range(10):
            angular = pin.log3(work.kinematics.rotation[body] @ rotation[body].T) / h
            linear = (work.kinematics.position[body] - position[body]) / h
            # Linear part: velocity of the body's point at the world origin.
            linear = linear - np.cross(angular, position[body])
            np.testing.assert_allclose(velocity[body], [*angular, *linear], atol=1e-5)


def test_accelerations_at_constant_velocity_are_the_rates_of_the_velocities(engine):
    h = 1e-6
    for q, v in states(5):
        work = at(engine, q, v)
        velocity, acceleration = (
            work.kinematics.velocity.copy(),
            work.kinematics.acceleration.copy(),
        )
        work = at(engine, moved(q, v, h), v)
        np.testing.assert_allclose(
            acceleration, (work.kinematics.velocity - velocity) / h, atol=1e-4
        )
