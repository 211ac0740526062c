"""Accuracy and robustness against what mechanics says: bouncing, rolling, stacking, tumbling."""

import numpy as np
import pinocchio as pin
import pytest
from builders import (
    GRAVITY,
    body_urdf,
    box,
    cylinder,
    engine_of,
    ground_instance,
    pose,
    sphere,
)
from scipy.integrate import solve_ivp

from contact_core.robot.scene import Instance
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Surface
from contact_experiments.tamsi.cases import ParallelGripper
from tamsi_sim.arrays.status import StepStatus

STIFF = Surface(2e4, 0.0, 0.5)


def free(name, geometry, placement, inertia=(1.67e-3,) * 3, capsule=False, gravity=GRAVITY):
    return Instance(
        name, body_urdf(name, geometry, 1.0, inertia, capsule), placement, True, gravity
    )


def slope(steps, errors):
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


def test_a_bounce_converges_at_first_order_to_the_hunt_crossley_ode():
    """Height after a bounce against the contact law (5) integrated to 1e-10."""
    stiffness, dissipation = 1e4, 0.3

    def rate(t, x):
        depth, inward = 0.05 - x[0], -x[1]
        push = stiffness * max(depth, 0.0) * max(1.0 + dissipation * inward, 0.0)
        return x[1], push - 9.81

    reference = solve_ivp(rate, (0.0, 0.4), (0.2, 0.0), rtol=1e-10, atol=1e-12, max_step=1e-4)
    steps, errors = np.array([4e-4, 2e-4, 1e-4]), []
    for h in steps:
        ball = free("ball", sphere(0.05), pose(z=0.2))
        surface = Surface(2 * stiffness, dissipation, 0.5)
        engine = engine_of([ball, ground_instance()], h, surface)
        assert engine.step(round(0.4 / h)) == StepStatus.OK
        errors.append(abs(engine.q[2] - reference.y[0, -1]))
    assert 0.9 < slope(steps, errors) < 1.1


@pytest.mark.parametrize(
    ("geometry", "inertia", "points"),
    [(sphere(0.05), 1e-3, 1), (cylinder(0.05, 0.1), 1.25e-3, 2)],
    ids=["ball", "cylinder"],
)
def test_rolling_without_slipping_has_the_textbook_acceleration(geometry, inertia, points):
    """a = g sin(alpha) / (1 + I / m r^2) on an incline; gravity is inclined here.

    The force acts midway between the surfaces, so r is less than the radius by half the
    penetration: 1 % of it on one contact point, which makes 0.6 % of a.
    """
    angle, radius = 0.2, 0.05
    gravity = (9.81 * np.sin(angle), 0.0, -9.81 * np.cos(angle))
    body = free("body", geometry, pose(z=0.0497, roll=np.pi / 2), (inertia,) * 3, gravity=gravity)
    engine = engine_of([body, ground_instance()], 1e-3)
    assert engine.step(1000) == StepStatus.OK
    lever = radius - 0.5 * 9.81 * np.cos(angle) / (points * 1e4)
    expected = 9.81 * np.sin(angle) / (1.0 + inertia / lever**2)
    assert engine.v[0] == pytest.approx(expected, rel=1e-4)
    assert max(contact.slip for contact in engine.contacts()) < 1e-4


def test_sliding_ball_starts_to_roll_at_five_sevenths_of_its_speed():
    ball = free("ball", sphere(0.05), pose(z=0.0499), (1e-3,) * 3)
    engine = engine_of([ball, ground_instance()], 1e-3, Surface(2e4, 5.0, 0.3))
    engine.v[0] = 2.0
    assert engine.step(1000) == StepStatus.OK
    assert engine.v[0] == pytest.approx(2.0 * 5.0 / 7.0, rel=1e-2)


def test_incline_error_shrinks_with_the_time_step():
    """A brick slides above atan(mu): its error is a t h / 2, that of the position update.

    Exact is x = v_0 t + a t^2 / 2 with a = g (sin - mu cos), for the brick has already sunk in by
    what carries its weight. It starts at a speed, since from rest its corners slide back and forth
    as it tilts, faster than long steps can follow.
    """
    friction, angle, stiffness, speed, time = 0.4, np.arctan(0.4) * 1.3, 4e5, 0.05, 0.5
    gravity = (9.81 * np.sin(angle), 0.0, -9.81 * np.cos(angle))
    acceleration = gravity[0] + friction * gravity[2]
    sinking = -gravity[2] / stiffness
    exact = speed * time + 0.5 * acceleration * time**2
    for h in (2e-2, 1e-2, 5e-3, 2e-3, 1e-3):
        brick = free("brick", box(0.1, 0.1, 0.1), pose(z=0.05 - sinking), gravity=gravity)
        # Four corners, each of two surfaces in series.
        engine = engine_of([brick, ground_instance()], h, Surface(stiffness / 2, 5.0, friction))
        engine.v[0] = speed
        assert engine.step(round(time / h)) == StepStatus.OK
        assert engine.q[0] - exact == pytest.approx(0.5 * acceleration * time * h, rel=1e-4)


def test_a_tower_of_five_stands_and_carries_its_weight():
    boxes = [free(f"box_{k}", box(0.1, 0.1, 0.1), pose(z=0.05 + 0.1 * k)) for k in range(5)]
    engine = engine_of([*boxes, ground_instance()], 2e-3)
    assert engine.step(2000) == StepStatus.OK
    assert np.abs(engine.v).max() < 1e-4
    for k in range(5):
        carried = sum(
            c.force[2] * (1 if c.instance_a == f"box_{k}" else -1)
            for c in engine.contacts()
            if f"box_{k}" in (c.instance_a, c.instance_b)
        )
        assert carried == pytest.approx(9.81, rel=1e-4)


def energy_beyond_free_flight(engine, steps):
    """Return how far the energy rises above its start, less what the stepping itself adds."""
    start = engine.observer.energy().total
    highest = start
    for _ in range(steps):
        assert engine.step(1) == StepStatus.OK
        highest = max(highest, engine.observer.energy().total)
    return highest - start


@pytest.mark.parametrize("name", ["ball", "lying_capsule", "standing_cylinder", "box_corner"])
def test_contact_adds_no_energy_without_dissipation(name):
    """Falling 2 cm on hard ground without damping, the implicit law only loses energy."""
    body = {
        "ball": free("ball", sphere(0.05), pose(z=0.07)),
        "lying_capsule": free(
            "capsule", cylinder(0.04, 0.1), pose(z=0.06, pitch=np.pi / 2), capsule=True
        ),
        "standing_cylinder": free("cylinder", cylinder(0.05, 0.1), pose(z=0.07)),
        "box_corner": free("box", box(0.1, 0.1, 0.1), pose(z=0.11, roll=0.7, pitch=0.6)),
    }[name]
    engine = engine_of([body, ground_instance()], 5e-4, STIFF)
    # Symplectic Euler's own energy error in free flight is m g v h / 2; elastic energy is
    # evaluated half a step before it is felt, which shows as k delta v h / 2 at most.
    speed = np.sqrt(2 * 9.81 * 0.02)
    own = 0.5 * 5e-4 * speed * (9.81 + np.sqrt(4e4) * speed)
    assert energy_beyond_free_flight(engine, 1000) < own


def tumbling(count, seed):
    rng = np.random.default_rng(seed)
    bodies = []
    for k in range(count):
        turn = pin.exp3(rng.uniform(-2.0, 2.0, 3))
        x, y = divmod(k, 10)
        place = pin.SE3(turn, np.array([0.16 * x, 0.16 * y, 0.15 + 0.3 * rng.random()]))
        bodies.append(free(f"box_{k}", box(0.1, 0.08, 0.06), place, (1e-3, 1.2e-3, 1.5e-3)))
    engine = engine_of(
        [*bodies, ground_instance()],
        2e-3,
        solver=SolverConfig(max_contacts=8 * count),
        touch=lambda a, b: "ground" in (a[0], b[0]),
    )
    engine.v[:] = rng.uniform(-2.0, 2.0, len(engine.v))
    return engine


def check_tumbling(engine, seconds):
    assert engine.step(round(seconds / engine.time_step)) == StepStatus.OK
    for i, _ in engine.built.free_bodies.values():
        assert np.linalg.norm(engine.q[i + 3 : i + 7]) == pytest.approx(1.0, abs=1e-14)
        assert 0.02 < engine.q[i + 2] < 0.2


def test_ten_tumbling_boxes_never_fail_a_step():
    check_tumbling(tumbling(10, 0), 2.0)


@pytest.mark.verify
def test_two_hundred_tumbling_boxes_for_five_seconds():
    check_tumbling(tumbling(200, 1), 5.0)


@pytest.mark.verify
@pytest.mark.parametrize("stiffness", [1e3, 1e4, 1e5])
@pytest.mark.parametrize("step", [1e-3, 2e-3, 5e-3, 1e-2, 2e-2])
def test_the_gripper_never_fails_a_step(stiffness, step):
    """The whole grid of the paper's robustness study, 5 s each."""
    case = ParallelGripper(stiffness=stiffness, time_step=step)
    status, positions, _ = case.engine().roll(case.forces(round(5.0 / step)))
    assert status == StepStatus.OK
    assert np.isfinite(positions).all()


@pytest.mark.verify
def test_a_mug_shaken_for_ten_minutes_stays_in_the_gripper():
    """mu 0.3; the mug creeps by less than 5 mm against the pads."""
    case = ParallelGripper(friction=0.3)
    engine = case.engine()
    lift, mug = engine.built.joints["lift"], engine.built.free_bodies["mug"][0] + 2
    start = engine.q[mug] - engine.q[lift]
    period = round(0.5 / case.time_step)
    forces = case.forces(600 * 333 + 1)
    for k in range(0, len(forces), 10 * period):
        status, q, _ = engine.roll(forces[k : k + 10 * period])
        assert status == StepStatus.OK
        assert np.abs(q[:, mug] - q[:, lift] - start).max() < 5e-3
