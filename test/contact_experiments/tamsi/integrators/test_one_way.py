"""Semi-implicit Euler, tamsi Sec. V-A: explicit normal forces, and their stability."""

import numpy as np
import pytest
from builders import GRAVITY, body_urdf, engine_of, ground_instance, pose, sphere

from contact_core.robot.scene import Instance
from contact_core.robot.surface import Surface
from contact_experiments.tamsi.integrators.integrator import make_integrator
from tamsi_sim.arrays.status import StepStatus

MASS, STIFFNESS, DISSIPATION = 2.0, 1e4, 5.0
OMEGA = np.sqrt(STIFFNESS / MASS)


def ball(time_step, dissipation=DISSIPATION, depth=None):
    """Return a ball pressed into the ground, by its weight unless told otherwise."""
    depth = MASS * 9.81 / STIFFNESS if depth is None else depth
    instance = Instance(
        "ball",
        body_urdf("ball", sphere(0.1), MASS, (0.01,) * 3),
        pose(z=0.1 - depth),
        True,
        GRAVITY,
    )
    surface = Surface(2.0 * STIFFNESS, dissipation, 0.5)
    return engine_of([instance, ground_instance()], time_step, surface)


def test_one_step_takes_the_normal_force_of_its_start():
    """tamsi (11): m v = m v0 + h (m g + k delta_0 (1 - d v_n0))."""
    engine = ball(1e-3, depth=3e-3)
    engine.v[2] = -0.02
    assert make_integrator("semi_implicit", engine).step() == StepStatus.OK
    force = STIFFNESS * 3e-3 * (1.0 + DISSIPATION * 0.02)
    assert engine.v[2] == pytest.approx(-0.02 + 1e-3 * (force / MASS - 9.81), rel=1e-12)


def test_friction_is_bounded_by_the_frozen_normal_force():
    engine = ball(1e-3)
    engine.v[:2] = 0.3, -0.4
    make_integrator("semi_implicit", engine).step()
    change = (engine.v[:2] - [0.3, -0.4]) / 1e-3
    np.testing.assert_allclose(change, -0.5 * 9.81 * np.array([0.6, -0.8]), rtol=1e-6)


@pytest.mark.parametrize("dissipation", [0.0, 5.0, 50.0])
@pytest.mark.parametrize(("ratio", "stable"), [(1.8, True), (2.2, False)])
def test_it_is_unstable_from_two_on_and_says_so_before(ratio, stable, dissipation):
    """Stable up to h^2 k + 2 h c = 4 m, where c = d m g is the damping of a ball at rest."""
    damping = dissipation * 9.81
    step = (np.sqrt(damping**2 + (ratio * OMEGA) ** 2) - damping) / OMEGA**2
    engine = ball(step, dissipation)
    engine.v[2] = 1e-4
    moved = make_integrator("semi_implicit", engine)
    moved.step()
    (warning,) = moved.warnings()
    assert warning.ratio == pytest.approx(ratio, rel=1e-6)
    _, positions, _ = moved.roll(100)
    lifted = np.abs(positions[:, 2] - positions[0, 2]).max()
    assert (lifted < 1e-4) == stable
    assert ("close to" in warning.remedy) == stable
    assert "tamsi" in warning.remedy


def test_small_steps_are_no_reason_to_warn():
    engine = ball(0.5 / OMEGA, dissipation=0.0)
    moved = make_integrator("semi_implicit", engine)
    moved.step(20)
    assert moved.warnings() == ()


def test_the_stiffest_mode_is_that_of_all_contacts_together():
    """Two contacts on one body: k doubles, and the estimate never exceeds the true mode."""
    shape = body_urdf("pair", sphere(0.1), MASS, (1e6,) * 3)
    ball = '<origin xyz="0.3 0 0"/><geometry><sphere radius="0.1"/></geometry>'
    foot = f'<collision name="second_foot">{ball}</collision>'
    shape = shape.replace("</link>", foot + "</link>")
    depth = MASS * 9.81 / STIFFNESS
    engine = engine_of(
        [Instance("pair", shape, pose(z=0.1 - depth), True, GRAVITY), ground_instance()],
        1e-3,
        Surface(2.0 * STIFFNESS, 0.0, 0.5),
    )
    moved = make_integrator("semi_implicit", engine)
    moved.step()
    assert moved.normal_ratio == pytest.approx(1e-3 * np.sqrt(2.0) * OMEGA, rel=1e-6)
