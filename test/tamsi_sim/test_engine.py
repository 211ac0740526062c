"""The Python face of the engine: contacts, settings, one call for many steps."""

import numpy as np
import pytest
from builders import GRAVITY, body_urdf, engine_of, ground_instance, pose, sphere

from contact_core.base.config import from_mapping
from contact_core.base.errors import ConfigError
from contact_core.robot.scene import Instance
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Surface
from tamsi_sim.arrays.status import StepStatus


def ball_engine(**settings):
    ball = Instance("ball", body_urdf("ball", sphere(0.05)), pose(z=0.0495), True, GRAVITY)
    solver = SolverConfig(**settings)
    return engine_of([ball, ground_instance()], 1e-3, Surface(2e4, 5.0, 0.4), solver)


def test_contact_of_a_sliding_ball():
    engine = ball_engine()
    engine.v[0] = 1.0
    engine.step(1)
    (contact,) = engine.contacts()
    assert (contact.instance_a, contact.instance_b) == ("ball", "ground")
    assert contact.shape_a == "ball_shape"
    np.testing.assert_allclose(contact.normal, [0.0, 0.0, 1.0])
    np.testing.assert_allclose(contact.point, [0.0, 0.0, -2.5e-4], atol=1e-12)
    assert contact.depth == pytest.approx(5e-4)
    assert contact.force[0] == pytest.approx(-0.4 * contact.force[2])
    assert contact.slip == pytest.approx(1.0, abs=0.05)
    assert contact.force[2] == pytest.approx(engine.work.contact_impulse[2] / 1e-3)


def test_bodies_apart_have_no_contacts():
    engine = ball_engine()
    engine.q[2] = 1.0
    engine.step(1)
    assert engine.contacts() == []


def test_roll_records_every_state():
    engine, twin = ball_engine(), ball_engine()
    forces = np.zeros((20, 6))
    forces[:, 0] = np.linspace(0.0, 3.0, 20)
    status, positions, velocities = engine.roll(forces)
    assert status == StepStatus.OK
    for k, force in enumerate(forces):
        np.testing.assert_array_equal(positions[k], twin.q)
        np.testing.assert_array_equal(velocities[k], twin.v)
        twin.applied[:] = force
        twin.step(1)
    np.testing.assert_array_equal(positions[-1], twin.q)


def test_roll_stops_at_a_failed_step():
    engine = ball_engine()
    forces = np.zeros((10, 6))
    forces[4, 0] = np.nan
    status, positions, _ = engine.roll(forces)
    assert status == StepStatus.NOT_FINITE
    assert np.isfinite(positions[:5]).all()
    assert np.isnan(positions[5:]).all()


@pytest.mark.parametrize(
    "settings",
    [
        {"stiction_velocity": 1e-2},
        {"relative_tolerance": 1.0},
        {"friction_law": "quadratic"},
        {"soft_norm": 0.5},
    ],
)
def test_every_setting_of_the_contact_law_has_an_effect(settings):
    results = []
    for engine in (ball_engine(), ball_engine(**settings)):
        engine.v[:] = [3e-3, 0.0, 0.1, 0.0, 0.0, 0.0]
        engine.applied[0] = 0.5
        engine.step(40)
        results.append(engine.v.copy())
    assert np.abs(results[0] - results[1]).max() > 0.0


def test_settings_out_of_range_are_refused():
    with pytest.raises(ConfigError, match="friction_law"):
        from_mapping(SolverConfig, {"friction_law": "sticky"})
    with pytest.raises(ConfigError, match="max_iterations"):
        from_mapping(SolverConfig, {"max_iterations": 0})
