"""Time stepping: accuracy, conservation, standing and sliding, failures as data."""

import re

import numpy as np
import pinocchio as pin
import pytest
from builders import (
    GRAVITY,
    arm_instance,
    body_urdf,
    box,
    engine_of,
    ground_instance,
    mug_instance,
    pose,
    sphere,
)

from contact_core.robot.description import read_urdf
from contact_core.robot.scene import Instance
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Surface
from contact_experiments.tamsi.cases import ParallelGripper
from tamsi_sim.arrays.data import RETRIES
from tamsi_sim.arrays.status import StepStatus


def brick(placement, gravity=GRAVITY):
    return Instance(
        "brick",
        body_urdf("brick", box(0.1, 0.1, 0.1), 1.0, (1.67e-3,) * 3),
        placement,
        True,
        gravity,
    )


def test_free_flight_is_symplectic_euler():
    engine = engine_of([mug_instance()], 1e-3)
    engine.v[:3] = [1.0, 0.0, 2.0]
    engine.step(100)
    v = 2.0 - 9.81 * 0.1
    np.testing.assert_allclose(engine.v[:3], [1.0, 0.0, v], atol=1e-12)
    # The centre of mass is 10 mm off, but nothing turns the mug.
    np.testing.assert_allclose(
        engine.q[:3], [0.1, 0.0, 0.2 - 9.81 * 1e-6 * 100 * 101 / 2], atol=1e-12
    )
    np.testing.assert_allclose(engine.q[3:], [0.0, 0.0, 0.0, 1.0], atol=1e-12)


def test_quaternion_stays_unit_and_follows_the_angular_velocity():
    engine = engine_of([Instance("ball", body_urdf("ball", sphere(0.1)), free=True)], 1e-4)
    omega = np.array([0.3, -0.5, 0.4])
    engine.v[3:] = omega
    engine.step(10000)
    assert np.linalg.norm(engine.q[3:]) == pytest.approx(1.0, abs=1e-14)
    expected = pin.Quaternion(pin.exp3(omega)).coeffs()
    np.testing.assert_allclose(engine.q[3:], expected, atol=1e-6)


@pytest.mark.parametrize("friction", [0.2, 0.5, 0.9])
def test_a_box_stands_below_the_friction_angle_and_slides_above(friction):
    for factor, slides in ((0.95, False), (1.05, True)):
        angle = np.arctan(friction) * factor
        gravity = (9.81 * np.sin(angle), 0.0, -9.81 * np.cos(angle))
        engine = engine_of(
            [brick(pose(z=0.0499), gravity), ground_instance()], 1e-3, Surface(2e4, 5.0, friction)
        )
        assert engine.step(500) == StepStatus.OK
        before = engine.v.copy()
        assert engine.step(500) == StepStatus.OK
        if slides:
            acceleration = 9.81 * (np.sin(angle) - friction * np.cos(angle))
            change = engine.v - before
            # Its corners bounce: friction goes by all that the ground has pressed.
            assert (change[0] + friction * change[2]) / 0.5 == pytest.approx(acceleration, rel=0.01)
        else:
            assert abs(engine.v[0]) < 1e-9


def test_penetration_at_rest_is_weight_over_stiffness():
    engine = engine_of([brick(pose(z=0.05)), ground_instance()], 1e-3, Surface(2e4, 5.0, 0.5))
    engine.step(2000)
    assert engine.q[2] == pytest.approx(0.05 - 9.81 / (4 * 1e4), abs=1e-8)
    contacts = engine.contacts()
    assert len(contacts) == 4
    assert sum(c.force[2] for c in contacts) == pytest.approx(9.81, abs=1e-6)


def test_mug_stands_on_the_cart():
    cart = Instance("cart", read_urdf("urdf/cart.urdf"))
    engine = engine_of([mug_instance(pose(z=0.06, roll=0.05, pitch=-0.03)), cart], 1e-3)
    assert engine.step(3000) == StepStatus.OK
    up = pin.Quaternion(engine.q[3:].copy()).matrix()[2]
    assert up[2] > 1.0 - 1e-5
    assert np.abs(engine.v).max() < 1e-4


def test_contact_never_adds_energy_to_a_bouncing_ball():
    ball = Instance("ball", body_urdf("ball", sphere(0.05)), pose(z=0.4), True, GRAVITY)
    engine = engine_of([ball, ground_instance()], 1e-3, Surface(2e4, 0.5, 0.5))
    _, positions, velocities = engine.roll(np.zeros((3000, 6)))
    energy = 9.81 * positions[:, 2] + 0.5 * velocities[:, 2] ** 2
    # Symplectic Euler's own energy error is h g v / 2.
    assert np.all(energy <= energy[0] + 0.5e-3 * 9.81 * 3.0)
    apexes = positions[1:-1, 2][np.diff(np.sign(velocities[:, 2]))[:-1] < 0]
    assert len(apexes) > 2
    assert np.all(np.diff(apexes) < 0.0)


def test_first_order_convergence():
    """Error of the velocities after 0.3 s of the shaken gripper, as in tamsi Fig. 8."""
    final = {}
    for step in (6e-4, 3e-4, 1.5e-4, 1e-5):
        case = ParallelGripper(time_step=step, stiffness=1e3, dissipation=3.0)
        status, _, velocities = case.engine().roll(case.forces(round(0.3 / step)))
        assert status == StepStatus.OK
        final[step] = velocities[-1]
    errors = [np.linalg.norm(final[h] - final[1e-5]) for h in (6e-4, 3e-4, 1.5e-4)]
    slope = np.polyfit(np.log([6e-4, 3e-4, 1.5e-4]), np.log(errors), 1)[0]
    assert 0.8 < slope < 1.3


def tumbling_brick(time_step, solver):
    engine = engine_of(
        [brick(pose(z=0.12, roll=0.6, pitch=0.4)), ground_instance()], time_step, solver=solver
    )
    engine.v[:] = [1.0, 0.3, -3.0, 5.0, 3.0, 1.0]
    return engine


def test_sub_steps_rescue_a_step_that_needs_too_many_iterations():
    failing = tumbling_brick(5e-3, SolverConfig(max_iterations=6, max_substeps=1))
    assert failing.step(200) == StepStatus.NOT_CONVERGED
    assert re.match(r"; it is stuck where 'brick' .*touches 'ground'.* at \(", failing.trouble())
    rescued = tumbling_brick(5e-3, SolverConfig(max_iterations=6, max_substeps=20))
    assert rescued.step(200) == StepStatus.OK
    assert rescued.trouble() == ""
    assert rescued.work.counters[RETRIES] > 0


@pytest.mark.parametrize("time_step", [1e-3, 5e-3])
def test_thrown_bricks_come_to_rest_without_a_failed_step(time_step):
    rng = np.random.default_rng(0)
    for _ in range(20):
        engine = tumbling_brick(time_step, SolverConfig())
        engine.v[:] = rng.uniform(-4.0, 4.0, 6)
        engine.q[3:] = pin.Quaternion(pin.exp3(rng.uniform(-2.0, 2.0, 3))).coeffs()
        assert engine.step(round(3.0 / time_step)) == StepStatus.OK
        # On one of its faces, at rest.
        assert engine.q[2] == pytest.approx(0.05, abs=1e-3)
        assert np.abs(engine.v).max() < 1e-3


@pytest.mark.parametrize("stiffness", [1e3, 1e4, 1e5])
@pytest.mark.parametrize("step", [1e-3, 3e-3, 1e-2])
def test_the_gripper_never_fails_a_step_and_holds_the_mug(stiffness, step):
    case = ParallelGripper(stiffness=stiffness, time_step=step)
    engine = case.engine()
    status, positions, _ = engine.roll(case.forces(round(5.0 / step)))
    assert status == StepStatus.OK
    lift = engine.built.joints["lift"]
    slip = positions[:, 4] - positions[:, lift]
    assert np.abs(slip).max() < 0.03


def test_contact_impulse_is_the_momentum_that_contacts_give():
    engine = engine_of([brick(pose(z=0.06)), ground_instance()], 1e-3)
    engine.step(400)
    np.testing.assert_allclose(
        engine.v[:3] - [0.0, 0.0, -9.81 * 0.4], engine.work.contact_impulse[:3], atol=1e-12
    )


def test_two_runs_are_bit_identical():
    results = []
    for _ in range(2):
        case = ParallelGripper(stiffness=1e3)
        results.append(case.engine().roll(case.forces(300)))
    assert results[0][1].tobytes() == results[1][1].tobytes()


def test_many_steps_in_one_call_are_the_same_steps():
    engines = [
        engine_of([arm_instance(), mug_instance(pose(x=0.1, z=1.6))], 1e-3) for _ in range(2)
    ]
    for _ in range(100):
        engines[0].step(1)
    engines[1].step(100)
    np.testing.assert_array_equal(engines[0].q, engines[1].q)


def test_nan_is_reported_and_the_state_kept():
    engine = engine_of([brick(pose(z=0.0499)), ground_instance()])
    engine.applied[0] = np.nan
    before = engine.q.copy(), engine.v.copy()
    status = engine.step(3)
    assert status == StepStatus.NOT_FINITE
    assert "NaN" in status.remedy
    np.testing.assert_array_equal(engine.q, before[0])
    np.testing.assert_array_equal(engine.v, before[1])


def test_too_many_contacts_are_reported():
    solver = SolverConfig(max_contacts=2)
    engine = engine_of([brick(pose(z=0.0499)), ground_instance()], solver=solver)
    status = engine.step(1)
    assert status == StepStatus.TOO_MANY_CONTACTS
    assert "max_contacts" in status.remedy
    assert engine.q[2] == pytest.approx(0.0499)
