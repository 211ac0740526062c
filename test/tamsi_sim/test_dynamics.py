"""Mass matrix and bias forces against Pinocchio, with mimic joints and free bodies."""

import numpy as np
import pinocchio as pin
import pytest
from builders import GRAVITY, arm_instance, engine_of, mug_instance

from contact_core.robot.description import RobotDescription, read_urdf


@pytest.fixture(scope="module")
def engine():
    return engine_of([arm_instance(), mug_instance()], touch=lambda a, b: False)


def random_state(engine, rng):
    engine.q[:8] = rng.uniform(-1.0, 1.0, 8)
    quaternion = rng.standard_normal(4)
    engine.q[8:11] = rng.uniform(-1.0, 1.0, 3)
    engine.q[11:15] = quaternion / np.linalg.norm(quaternion)
    engine.v[:] = rng.uniform(-2.0, 2.0, 14)
    engine.evaluate()


def coupled_arm():
    """Return Pinocchio's arm with two independent fingers, and what couples them."""
    model = pin.buildModelFromXML(RobotDescription.load("iiwa14_wsg50").urdf)
    coupling = np.vstack([np.eye(8), np.eye(8)[7]])
    return model, model.createData(), coupling


def test_mass_matrix_of_the_arm_with_mimic_fingers(engine):
    model, data, coupling = coupled_arm()
    rng = np.random.default_rng(0)
    for _ in range(20):
        random_state(engine, rng)
        expected = pin.crba(model, data, coupling @ engine.q[:8])
        expected = np.triu(expected) + np.triu(expected, 1).T
        ours = engine.observer.mass_matrix()[:8, :8]
        np.testing.assert_allclose(ours, coupling.T @ expected @ coupling, atol=1e-10)


def test_bias_of_the_arm_with_mimic_fingers(engine):
    model, data, coupling = coupled_arm()
    rng = np.random.default_rng(1)
    for _ in range(20):
        random_state(engine, rng)
        expected = pin.nonLinearEffects(
            model, data, coupling @ engine.q[:8], coupling @ engine.v[:8]
        )
        np.testing.assert_allclose(engine.work.dynamics.bias[:8], coupling.T @ expected, atol=1e-10)


def test_free_body(engine):
    model = pin.buildModelFromXML(read_urdf("urdf/mug.urdf"), pin.JointModelFreeFlyer())
    data = model.createData()
    rng = np.random.default_rng(2)
    for _ in range(20):
        random_state(engine, rng)
        q, v = engine.q[8:], engine.v[8:]
        rotation = pin.Quaternion(q[3:].copy()).matrix()
        # Pinocchio's velocity is in the body's frame; ours = turn @ theirs.
        turn = np.kron(np.eye(2), rotation)
        expected = turn @ pin.crba(model, data, q) @ turn.T
        np.testing.assert_allclose(engine.observer.mass_matrix()[8:, 8:], expected, atol=1e-10)
        assert not engine.observer.mass_matrix()[:8, 8:].any()
        local = turn.T @ v
        # d/dt (R^T v_linear) at constant world velocity is -omega x v in the body.
        drift = np.concatenate([-np.cross(local[3:], local[:3]), np.zeros(3)])
        expected = turn @ pin.rnea(model, data, q, local, drift)
        np.testing.assert_allclose(engine.work.dynamics.bias[8:], expected, atol=1e-10)


def test_armature_adds_to_the_diagonal(engine):
    engine.evaluate()
    before = engine.observer.mass_matrix().copy()
    engine.built.arrays.joints.armature[:3] = [1.0, 2.0, 3.0]
    engine.evaluate()
    change = engine.observer.mass_matrix() - before
    engine.built.arrays.joints.armature[:3] = 0.0
    np.testing.assert_allclose(change, np.diag([1.0, 2.0, 3.0] + [0.0] * 11), atol=1e-12)


def test_only_bodies_without_compensation_weigh(engine):
    engine.q[:8] = [0.0, 0.5, 0.0, -1.0, 0.0, 0.5, 0.0, 0.0]
    engine.v[:] = 0.0
    engine.evaluate()
    assert abs(engine.work.dynamics.bias[1]) > 1.0
    light = engine_of([arm_instance(gravity=(0.0, 0.0, 0.0)), mug_instance()])
    light.q[:8] = engine.q[:8]
    light.evaluate()
    np.testing.assert_allclose(light.work.dynamics.bias[:8], 0.0, atol=1e-12)
    np.testing.assert_allclose(light.work.dynamics.bias[10], -0.1 * GRAVITY[2], atol=1e-12)
