"""Steps as long as an accuracy allows, against motions that are known."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from contact_core.base.errors import ConfigError
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Material, Surface
from tamsi_sim import JointTorque, StepStatus, World
from tamsi_sim.arrays.data import REJECTED

GRAVITY = 9.81
INERTIAL = (
    '<inertial><mass value="{m}"/><inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" '
    'iyz="0"/></inertial>'
)
PENDULUM = """<robot name="arm"><link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 -0.3"/><mass value="1.5"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/></joint></robot>"""
CART = """<robot name="cart"><link name="rail"/>
  <link name="cart"><inertial><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="slide" type="prismatic"><parent link="rail"/><child link="cart"/>
    <axis xyz="1 0 0"/><limit lower="-9" upper="9" effort="100" velocity="100"/></joint></robot>"""


def _thing(geometry: str, mass: float = 0.5, inertia: float = 5e-4) -> str:
    return (
        f'<robot name="t"><link name="t">{INERTIAL.format(m=mass, i=inertia)}<collision><geometry>'
        f"{geometry}</geometry></collision></link></robot>"
    )


def _ball(accuracy: float, k: float, d: float, height: float = 1.0, time_step: float = 1e-3):
    world = (
        World()
        .add_ground()
        .add("b", _thing('<sphere radius="0.05"/>'), (0, 0, 0.05 + height), free=True)
    )
    return world.set_material("ground", "b", Material(k, d, 0.5)).build(
        time_step, accuracy=accuracy
    )


@pytest.mark.parametrize("accuracy", [1e-2, 1e-3, 1e-5])
def test_what_falls_falls_as_far_as_it_should_whatever_the_time_step(accuracy):
    for time_step in (1e-3, 0.25):
        engine = (
            World()
            .add("b", _thing('<sphere radius="0.05"/>'), free=True)
            .build(time_step, accuracy=accuracy)
        )
        assert engine.step(round(1.0 / time_step)) == StepStatus.OK
        assert engine.q[2] == pytest.approx(-0.5 * GRAVITY, abs=accuracy)
        assert engine.v[2] == pytest.approx(-GRAVITY, abs=accuracy)


def _bounce(k: float, d: float) -> float:
    """Speed after an impact relative to that before, by the contact law, with the ball's weight."""
    speed = math.sqrt(2 * GRAVITY)

    def rate(t, y):
        return [y[1], GRAVITY - max(0.0, k * y[0] * (1.0 + d * y[1])) / 0.5]

    def leaves(t, y):
        return y[0] + 1e-12

    leaves.terminal, leaves.direction = True, -1
    end = solve_ivp(rate, (0, 0.2), [0.0, speed], rtol=1e-9, atol=1e-12, events=leaves)
    return -end.y[1, -1] / speed


@pytest.mark.parametrize("k", [2e4, 1e6])
@pytest.mark.parametrize("d", [0.0, 0.05, 0.2, 1.0])
def test_a_ball_bounces_as_the_contact_law_says(k, d):
    engine = _ball(1e-4, k, d)
    apex = 0.0
    engine.step(470)
    for _ in range(600):
        engine.step()
        apex = max(apex, engine.q[2] - 0.05)
    assert math.sqrt(apex) == pytest.approx(_bounce(k, d), abs=3e-3)


def test_no_bounce_gains_energy():
    for height in (0.05, 0.3, 1.0):
        for k in (1e4, 3e5):
            engine = _ball(1e-3, k, 0.0, height)
            start = engine.observer.energy().total
            for _ in range(200):
                assert engine.step(10) == StepStatus.OK
                # A velocity's share of the accuracy, 1e-2 m/s, per bounce.
                assert engine.observer.energy().total < start * 1.02


@pytest.mark.parametrize("accuracy", [1e-3, 1e-5])
def test_a_pendulum_swings_as_its_equation_says(accuracy):
    engine = (
        World().add("arm", PENDULUM, positions={"shoulder": 2.0}).build(0.02, accuracy=accuracy)
    )
    inertia = 0.02 + 1.5 * 0.3**2
    exact = solve_ivp(
        lambda t, y: [y[1], -1.5 * GRAVITY * 0.3 / inertia * math.sin(y[0])], (0, 2), [2.0, 0.0],
        rtol=1e-10, atol=1e-10,
    )  # fmt: skip
    assert engine.step(100) == StepStatus.OK
    assert engine.q[0] == pytest.approx(exact.y[0, -1], abs=20 * accuracy)


@pytest.mark.parametrize("time_step", [1e-3, 1e-2])
def test_contact_forces_of_a_trajectory_are_means_over_its_steps(time_step):
    """A ball bounces within a step: what it was given is what its momentum changed by."""
    engine = _ball(1e-4, 1e5, 0.1, 0.2, time_step)
    found = engine.simulate(1.0)
    given = found.contact_force[:, 2].sum() * time_step
    assert given == pytest.approx(0.5 * (found.v[-1, 2] + GRAVITY * 1.0), rel=5e-3)


@pytest.mark.parametrize("accuracy", [1e-2, 1e-4])
def test_forces_are_those_that_move_what_they_act_on(accuracy):
    """A box is carried around on a turntable, beside a ball that rests, and one that jumps off."""
    radius, rate, mass = 0.3, 2.0, 1.0
    box = _thing('<box size="0.1 0.1 0.1"/>', mass, 2e-3)
    ball = _thing('<sphere radius="0.05"/>')
    world = World().add("table", _thing('<box size="2 2 0.1"/>', 1.0, 0.1), (0, 0, -0.05),
                        kinematic=True, angular=(0, 0, rate))  # fmt: skip
    world.add("box", box, (radius, 0, 0.05), free=True, linear=(0, radius * rate, 0),
              angular=(0, 0, rate))  # fmt: skip
    engine = world.add("ball", ball, (0, 0, 0.05), free=True, angular=(0, 0, rate)).build(
        accuracy=accuracy
    )
    engine.step(500)
    first, jumper = (engine.built.free_bodies[name][1] for name in ("box", "ball"))
    engine.v[jumper + 2] = 0.5
    before, engine.contact_impulse[:] = engine.v.copy(), 0.0
    assert engine.step(50) == StepStatus.OK
    gained = mass * (engine.v - before)[first : first + 3] + [0, 0, mass * GRAVITY * 0.05]
    np.testing.assert_allclose(engine.contact_impulse[first : first + 3], gained, rtol=2e-3)
    forces = [contact.force for contact in engine.contacts() if "box" in contact.instance_a]
    forces += [-contact.force for contact in engine.contacts() if "box" in contact.instance_b]
    total = np.sum(forces, axis=0)
    assert len(engine.contacts()) == len(forces) == 4
    assert np.hypot(*total[:2]) == pytest.approx(mass * rate**2 * radius, rel=0.03)
    assert total[2] == pytest.approx(mass * GRAVITY, rel=0.01)


def test_what_rests_keeps_its_forces_beside_what_rocks():
    """Points of one pair come and go, and those of the next have other numbers then."""
    box, tilt = _thing('<box size="0.1 0.1 0.1"/>', 1.0, 2e-3), 0.03
    world = World().add_ground().add("rocks", box, (0, 0, 0.05), free=True)
    engine = world.add("rests", box, (1, 0, 0.05), free=True).build(accuracy=1e-3)
    engine.step(300)
    (q, _), (_, v) = engine.built.free_bodies["rocks"], engine.built.free_bodies["rests"]
    engine.q[q + 2] = 0.05 * (math.cos(tilt) + math.sin(tilt)) - 3e-4
    engine.q[q + 3 : q + 7] = 0.0, math.sin(0.5 * tilt), 0.0, math.cos(0.5 * tilt)
    for _ in range(200):
        engine.contact_impulse[:] = 0.0
        assert engine.step(1) == StepStatus.OK
        found = [c for c in engine.contacts() if "rests" in (c.instance_a, c.instance_b)]
        force = sum(abs(contact.force[2]) for contact in found)
        assert force == pytest.approx(1e3 * engine.contact_impulse[v + 2], abs=0.3)


@pytest.mark.parametrize("accuracy", [1e-2, 1e-4])
def test_a_closure_pulls_as_hard_as_the_swing_of_what_hangs_on_it(accuracy):
    """m g (1 + 2 (1 - cos 60 degrees)) at the lowest point, nearly, for a ball of 5 cm on 1 m."""
    start = math.radians(60.0)
    ball = _thing('<sphere radius="0.05"/>', 5.0, 0.4 * 5.0 * 0.05**2)
    place = math.sin(start), 0.0, -math.cos(start)
    world = World().add("wall", '<robot name="w"><link name="l"/></robot>')
    world.add("bob", ball, place, free=True).connect("pin", ("wall", "l"), ("bob", "t"))
    engine = world.build(accuracy=accuracy)
    most = 0.0
    while engine.q[0] > -0.05:
        assert engine.step(1) == StepStatus.OK
        if abs(engine.q[0]) < 0.05:
            most = max(most, float(np.linalg.norm(engine.closures()[0].force)))
    assert most == pytest.approx(2.0 * 5.0 * GRAVITY, rel=0.01)


@pytest.mark.parametrize("time_step", [1e-3, 1e-2])
def test_a_free_hinge_transmits_no_torque(time_step):
    arm = World().add("arm", PENDULUM, positions={"shoulder": 2.0})
    engine = arm.build(time_step, accuracy=1e-5)
    engine.sensors.add("torque", JointTorque("shoulder"))
    for _ in range(round(0.5 / time_step)):
        engine.step()
        assert abs(engine.sensors["torque"][0]) < 0.005 * 1.5 * GRAVITY * 0.3


def test_the_error_falls_with_the_accuracy():
    def end(accuracy: float) -> np.ndarray:
        world = World(surface=Surface(2e4, 1.0, 0.4)).add_ground()
        world.add(
            "b",
            _thing('<box size="0.2 0.1 0.1"/>', 1.0, 4e-3),
            (0, 0, 0.3),
            (0.3, 0.5, 0.0),
            free=True,
        )
        engine = world.build(0.01, accuracy=accuracy)
        engine.v[:3] = 1.0, 0.2, 0.0
        assert engine.step(60) == StepStatus.OK
        return engine.q[:3].copy()

    exact = end(1e-8)
    coarse, fine = (np.linalg.norm(end(a) - exact) for a in (1e-3, 1e-6))
    assert coarse < 1e-2
    assert fine < coarse / 20


def test_targets_move_at_their_rate_over_the_period():
    ends = []
    for accuracy in (None, 1e-5):
        engine = World().add("cart", CART).build(1e-3, accuracy=accuracy)
        drives = engine.drives
        drives.stiffness[0], drives.damping_ratio[0], drives.target_rate[0] = 1e4, 1.0, 2e-4
        engine.step(500)
        assert drives.target[0] == pytest.approx(0.1, abs=1e-12)
        ends.append(engine.q[0])
    assert ends[0] == pytest.approx(ends[1], abs=2e-4)


def test_what_is_fast_and_thin_is_met():
    plate = (
        '<robot name="p"><link name="p"><collision><geometry><box size="1 1 0.002"/></geometry>'
        "</collision></link></robot>"
    )
    bead = _thing('<sphere radius="0.0025"/>', 5e-4, 1e-9)
    engine = World().add("p", plate).add("b", bead, (0, 0, 0.5), free=True).build(accuracy=1e-3)
    engine.v[2] = -10.0
    assert engine.step(100) == StepStatus.OK
    assert engine.q[2] > 0.0


def test_what_sticks_does_not_creep():
    slope = math.atan(0.5) * 0.98
    gravity = (GRAVITY * math.sin(slope), 0.0, -GRAVITY * math.cos(slope))
    world = World(gravity, Surface(2e4, 5.0, 0.5)).add_ground()
    engine = world.add(
        "b", _thing('<box size="0.1 0.1 0.1"/>', 1.0, 2e-3), (0, 0, 0.05), free=True
    ).build(accuracy=1e-3)
    engine.step(2000)
    start = engine.q.copy()
    assert engine.step(60_000) == StepStatus.OK
    assert np.abs(engine.q - start).max() < 1e-8


def test_it_may_be_asked_for_one_period_or_for_many():
    whole, pieces = _ball(1e-4, 2e4, 0.2), _ball(1e-4, 2e4, 0.2)
    whole.step(600)
    for _ in range(600):
        pieces.step()
    assert whole.q[2] == pytest.approx(pieces.q[2], abs=1e-3)


def test_saved_states_are_gone_on_with_bit_by_bit():
    engine = _ball(1e-3, 2e4, 0.1)
    engine.step(450)
    saved, ends = engine.save(), []
    for _ in range(2):
        engine.restore(saved)
        engine.step(300)
        ends.append(np.concatenate([engine.q, engine.v]))
    np.testing.assert_array_equal(ends[0], ends[1])


def test_more_contacts_than_there_is_room_for_lose_no_time():
    world = World().add_ground()
    for i in range(9):
        for j in range(9):
            world.add(
                f"b{i}_{j}",
                _thing('<box size="0.1 0.1 0.1"/>', 1.0, 2e-3),
                (0.0999 * i, 0.0999 * j, 0.06),
                free=True,
            )
    engine = world.build(accuracy=1e-3)
    room = len(engine.work.contacts.depth)
    assert engine.step(200) == StepStatus.OK
    assert len(engine.work.contacts.depth) > room
    assert engine.step(100) == StepStatus.OK
    assert engine.q[2::7] == pytest.approx(0.05 - GRAVITY / 4e4, abs=1e-4)


def test_trajectories_and_rollouts_are_accurate_too():
    engine = _ball(1e-4, 2e4, 0.0)
    there = engine.simulate(0.85)
    assert there.status == StepStatus.OK
    speed = math.sqrt(2 * GRAVITY)
    late = 0.85 - 2 * speed / GRAVITY
    samples = _ball(1e-4, 2e4, 0.0)
    found = samples.rollouts(samples.q, samples.v, np.zeros((1, 850, 6)))
    for q in (there.q[-1], found.q[0, -1]):
        # Back up, a contact of pi / omega later, where it was before the fall.
        assert q[2] == pytest.approx(1.05 - 0.5 * GRAVITY * (late - math.pi / 200) ** 2, abs=0.03)


def test_a_step_that_fails_leaves_the_last_good_state():
    engine = _ball(1e-3, 2e4, 0.1)
    engine.step(100)
    engine.applied[2] = np.nan
    before = engine.q.copy()
    assert engine.step(10) == StepStatus.NOT_FINITE
    np.testing.assert_array_equal(engine.q, before)
    engine.applied[2] = 0.0
    assert engine.step(300) == StepStatus.OK
    assert engine.counters[REJECTED] > 0


def test_the_accuracy_is_checked():
    world = World().add_ground()
    for wrong in (-1e-3, 2.0, math.nan, "fine"):
        with pytest.raises(ConfigError, match="accuracy"):
            world.build(accuracy=wrong)
    assert world.build(solver=SolverConfig(accuracy=1e-4)).solver.accuracy == 1e-4
    assert world.build(solver=SolverConfig(accuracy=1e-4), accuracy=0.0).solver.accuracy == 0.0


@pytest.mark.parametrize("law", ["elastic", "linear", "quadratic"])
def test_every_law_of_friction_knows_what_touched(law):
    # What touches for the first time at every step would never be met.
    world = World(surface=Surface(4e4, 0.2, 0.5)).add_ground()
    world.add("b", _thing('<sphere radius="0.05"/>'), (0, 0, 0.15), free=True)
    engine = world.build(solver=SolverConfig(accuracy=1e-4, friction_law=law))
    assert engine.step(300) == StepStatus.OK
    assert engine.counters[REJECTED] < 100
    assert engine.q[2] > 0.05


def test_halves_and_wholes_go_by_one_rule_however_fast_bodies_turn():
    # Fixed steps take the terms of fast trees by another rule, which depends on the step.
    second = PENDULUM.replace("</robot>", "") + (
        '<link name="lower"><inertial><origin xyz="0 0 -0.2"/><mass value="0.5"/>'
        '<inertia ixx="4e-3" iyy="4e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>'
        '<origin xyz="0 0 -0.5"/><axis xyz="0 1 0"/></joint></robot>'
    )

    def end(accuracy: float) -> np.ndarray:
        world = World().add("arm", second, positions={"shoulder": 1.5, "elbow": 0.5})
        engine = world.build(0.01, accuracy=accuracy)
        engine.v[:] = 3.0, -25.0
        assert engine.step(40) == StepStatus.OK
        return engine.q.copy()

    exact = end(1e-8)
    errors = [np.abs(end(a) - exact).max() for a in (1e-3, 1e-4, 1e-5)]
    assert errors[0] < 0.02
    assert errors[1] < 0.3 * errors[0]
    assert errors[2] < 0.3 * errors[1]
