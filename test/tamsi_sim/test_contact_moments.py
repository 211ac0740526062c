"""Torsional and rolling friction: balls with known decelerations, gradients, MuJoCo's files."""

import numpy as np
import pytest
from builders import GRAVITY, body_urdf, box, engine_of, ground_instance, pose, sphere
from test_linearization import check, check_sub_steps

from contact_core.base.errors import ConfigError
from contact_core.robot.scene import Instance
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Material, Surface, combine
from contact_experiments.tamsi.integrators.integrator import make_integrator
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.simulation.world import World

RADIUS, MASS, G = 0.05, 1.0, 9.81
INERTIA = 0.4 * MASS * RADIUS**2
# Deep enough by its weight to touch, far less than a radius.
HEIGHT = RADIUS - MASS * G / 2e4


def ball(inertia=INERTIA, z=HEIGHT, **placed):
    urdf = body_urdf("ball", sphere(RADIUS), MASS, (inertia,) * 3)
    return Instance("ball", urdf, pose(z=z, **placed), True, GRAVITY)


def on_ground(torsional=0.0, rolling=0.0, time_step=1e-3, solver=None, **placed):
    """Return a ball on the ground, at rest."""
    surface = Surface(4e4, 5.0, 0.5, torsional, rolling)
    instances = [ball(**placed), ground_instance()]
    return engine_of(instances, time_step, surface, solver)


def test_a_spinning_ball_stops_after_its_momentum_by_the_moment():
    """I w0 / (mu_t m g); the moment of the contact is mu_t m g."""
    torsional, spin = 0.002, 20.0
    engine = on_ground(torsional)
    engine.v[5] = spin
    stop = INERTIA * spin / (torsional * MASS * G)
    for part in (0.25, 0.5, 0.75):
        engine.step(round(0.25 * stop / engine.time_step))
        assert engine.v[5] == pytest.approx((1.0 - part) * spin, rel=2e-2)
        (contact,) = engine.contacts()
        np.testing.assert_allclose(contact.moment, [0, 0, -torsional * MASS * G], atol=1e-9)
    engine.step(round(0.26 * stop / engine.time_step))
    assert abs(engine.v[5]) < 1e-9
    assert abs(engine.q[0]) < 1e-12


def test_a_rolling_ball_decelerates():
    """m a = -F and I a / r = F r - mu_r m g, so a = -5/7 mu_r g / r."""
    rolling, speed = 0.001, 0.5
    engine = on_ground(rolling=rolling)
    direction = np.array([0.6, 0.8, 0.0])
    engine.v[:3] = speed * direction
    engine.v[3:] = speed / RADIUS * np.cross([0.0, 0.0, 1.0], direction)
    deceleration = 5.0 / 7.0 * rolling * G / RADIUS
    for time in (1.0, 2.0, 3.0):
        engine.step(1000)
        expected = (speed - deceleration * time) * direction
        np.testing.assert_allclose(engine.v[:3], expected, atol=5e-3 * speed)
    engine.step(1000)
    assert np.linalg.norm(engine.v) < 1e-6


@pytest.mark.parametrize(("share", "stays"), [(0.9, True), (2.0, False)])
def test_a_ball_on_a_slope_stays_below_the_rolling_limit(share, stays):
    """tan(slope) = mu_r / r; beyond, it rolls with 5/7 g (sin - mu_r / r cos)."""
    rolling, time = 0.002, 1.0
    slope = np.arctan(share * rolling / RADIUS)
    engine = on_ground(rolling=rolling)
    engine.applied[:3] = MASS * G * np.array([np.sin(slope), 0.0, 1.0 - np.cos(slope)])
    engine.step(round(time / engine.time_step))
    acceleration = 5.0 / 7.0 * G * (np.sin(slope) - rolling / RADIUS * np.cos(slope))
    if stays:
        # It creeps, slower than the rate below which the law is linear.
        assert 0.0 < engine.v[4] < 1e-4
    else:
        assert engine.v[0] == pytest.approx(acceleration * time, rel=2e-2)


def test_a_drifting_spinning_ball_never_gains_energy():
    """A throw onto the ground with spin in all directions, through bounces to rest."""
    engine = on_ground(0.003, 0.002, z=0.3)
    engine.v[:] = [1.0, -0.5, 0.0, 30.0, 20.0, -40.0]
    energy = engine.observer.energy()
    before = energy.total + 1e-3
    for _ in range(400):
        assert engine.step(20) == StepStatus.OK
        energy = engine.observer.energy()
        assert energy.total < before + 2e-4
        before = min(before, energy.total)
    assert energy.kinetic < 1e-6


def test_torsion_of_a_patch_adds_to_what_its_corners_give():
    """A box that spins about the vertical: sliding at its corners, and their own moments."""
    rates = []
    for torsional in (0.0, 0.05):
        urdf = body_urdf("box", box(0.1, 0.1, 0.1), 1.0, (1.0, 1.0, 1.0))
        instances = [Instance("box", urdf, pose(z=0.05 - 1e-4), True, GRAVITY), ground_instance()]
        engine = engine_of(instances, 1e-3, Surface(4e4, 5.0, 0.3, torsional))
        engine.v[5] = 2.0
        engine.step(500)
        rates.append(2.0 - engine.v[5])
    assert rates[1] - rates[0] == pytest.approx(0.05 * G * 0.5 / 1.0, rel=1e-2)


def test_impulses_are_those_that_change_the_momentum():
    engine = on_ground(0.002, 0.001)
    engine.v[:] = [0.3, 0.1, 0.0, -2.0, 5.0, 8.0]
    before = engine.v.copy()
    engine.step(100)
    change = (engine.v - before)[3:] * INERTIA
    np.testing.assert_allclose(engine.contact_impulse[3:], change, rtol=1e-6, atol=1e-9)
    engine.contact_impulse[:] = 0.0
    record = engine.simulate(0.01)
    total = record.contact_force.sum(axis=0) * engine.time_step
    np.testing.assert_allclose(total, engine.contact_impulse, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("law", ["linear", "quadratic"])
@pytest.mark.parametrize("rates", [(0.0, 0.0, 0.0), (-2.0, 10.0, 7.0), (3e-5, 2e-5, 4e-5)])
def test_gradients(law, rates):
    """At rest, turning, and within the rate below which the law is linear."""
    solver = SolverConfig(relative_tolerance=1e-9, max_iterations=50, friction_law=law)
    engine = on_ground(0.003, 0.002, solver=solver)
    engine.step(200)
    engine.v[3:] = rates
    engine.v[:2] = [RADIUS * rates[1] + 1e-6, -RADIUS * rates[0]]
    engine.applied[0] = 0.05
    check(engine, tolerance=2e-3 if law == "quadratic" else 1e-4)


def test_gradients_of_a_step_that_needs_sub_steps():
    solver = SolverConfig(relative_tolerance=1e-9, max_iterations=6)
    engine = on_ground(0.01, 0.01, 5e-3, solver, z=0.06)
    engine.v[:] = [1.0, 0.3, -3.0, 5.0, 30.0, 10.0]
    check_sub_steps(engine, 20)


def test_surfaces_that_have_none_keep_every_bit():
    """The same scene beside one whose surface has them."""
    slider = Instance(
        "box", body_urdf("box", box(0.1, 0.1, 0.1)), pose(0.5, z=0.049), True, GRAVITY
    )
    states = []
    for rolling in (0.0, 0.01):
        engine = engine_of(
            [slider, ball(), ground_instance()],
            surface_of=lambda name, link, rolling=rolling: Surface(
                4e4, 5.0, 0.5, rolling=rolling if name == "ball" else 0.0
            ),
        )
        engine.v[:] = [1.0, 0.5, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 5.0, 6.0, 7.0]
        engine.step(200)
        states.append((engine.q[:7].copy(), engine.v[:6].copy(), engine.v[6:].copy()))
    np.testing.assert_array_equal(states[0][0], states[1][0])
    np.testing.assert_array_equal(states[0][1], states[1][1])
    assert np.abs(states[0][2] - states[1][2]).max() > 0.1


def test_the_greater_of_two_surfaces_counts():
    rough, smooth = Surface(1e4, 1.0, 0.5, 0.003, 0.001), Surface(1e4, 1.0, 0.5, 0.0, 0.002)
    assert combine(rough, smooth)[3:5] == (0.003, 0.002)
    with pytest.raises(ConfigError, match="rolling of the default surface must be >= 0 m, got -1"):
        World(surface=smooth._replace(rolling=-1))


def test_other_integrators_refuse_them():
    with pytest.raises(ConfigError, match="only the engine knows torsional and rolling friction"):
        make_integrator("tamsi", on_ground(0.001))


CONDIMS = [
    ('condim="6" friction="1 0.01 0.002"', "", (1.0, 0.01, 0.002)),
    ('condim="4" friction="1 0.01 0.002"', "", (1.0, 0.01, 0.0)),
    ('friction="1 0.01 0.002"', "", (1.0, 0.0, 0.0)),
    ('condim="4"', 'friction="1 0.01 0.002"', (1.0, 0.01, 0.0)),
    ('condim="4" friction="2"', 'condim="6" friction="0.5 0.001"', (2.0, 0.005, 0.0001)),
    ('condim="1"', 'condim="1"', (0.0, 0.0, 0.0)),
    ('condim="1" friction="0.7"', 'friction="0.8"', (0.8, 0.0, 0.0)),
    ('friction="0.1" priority="1"', 'friction="0.8" condim="6"', (0.1, 0.0, 0.0)),
    ('friction="0.1" priority="-1"', 'friction="0.05" condim="4"', (0.05, 0.005, 0.0)),
    ('condim="1" priority="2"', 'friction="0.8" priority="1"', (0.0, 0.0, 0.0)),
]


def floor_and_ball(one, other):
    return f"""<mujoco><worldbody><geom type="plane" size="1 1 1" {other}/>
      <body pos="0 0 0.0995"><freejoint/><geom size="0.1" {one}/></body></worldbody></mujoco>"""


@pytest.mark.parametrize(("one", "other", "expected"), CONDIMS)
def test_a_mjcf_gives_what_its_geoms_say(one, other, expected):
    """MuJoCo's own contacts have the same coefficients: of the priority, or the greater ones."""
    mujoco = pytest.importorskip("mujoco")
    text = floor_and_ball(one, other)
    engine = World().add("m", text).build()
    engine.evaluate()
    pairs = engine.work.pairs
    assert (pairs.friction[0], pairs.torsional[0], pairs.rolling[0]) == expected
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    contact = data.contact[0]
    sliding = contact.friction[0] if contact.dim >= 3 else 0.0
    torsional = contact.friction[2] if contact.dim >= 4 else 0.0
    rolling = contact.friction[3] if contact.dim >= 6 else 0.0
    assert (sliding, torsional, rolling) == pytest.approx(expected)


def test_a_surface_that_is_asked_for_holds_against_the_file():
    text, slippery = floor_and_ball('friction="0.7"', ""), Surface(1e4, 1.0, 0.02)
    worlds = (
        World(surface=slippery).add("m", text),
        World().add("m", text, surface=slippery),
        World().add("m", text).set_material("m", "m", Material(1e4, 1.0, 0.3)),
    )
    found = []
    for world in worlds:
        engine = world.build()
        engine.evaluate()
        found.append(engine.work.pairs.friction[0])
    assert found == pytest.approx([1.0, 0.02, 0.3])
