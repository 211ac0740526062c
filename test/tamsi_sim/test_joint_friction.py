"""Static friction, the Stribeck effect and presliding of joints, against analytic answers."""

import dataclasses

import numpy as np
import pytest
from builders import engine_of
from scipy.integrate import solve_ivp
from test_joint_forces import SLIDER, slider
from test_linearization import EXACT, check

from contact_core.base.errors import ConfigError, ModelError
from contact_core.robot.scene import Instance, Scene
from contact_core.robot.scene_config import SolverConfig
from tamsi_sim.arrays.data import RETRIES
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.robot.physics import build_physics
from tamsi_sim.robot.plant import Plant

MASS = 2.0
KINETIC, STATIC, STRIBECK, SIGMA = 2.0, 3.0, 0.02, 1e4
PRESLIDING = [0.0, SIGMA]


def rough(time_step=1e-3, stiffness=SIGMA, solver=None, **law):
    """Return a 2 kg slider with static friction."""
    instance = Instance("slider", SLIDER.format(friction=0.0, effort=1e6))
    engine = engine_of([instance], time_step, solver=solver)
    law = {"static": STATIC, "stribeck_velocity": STRIBECK} | law
    engine.set_friction("slide", KINETIC, presliding_stiffness=stiffness, **law)
    return engine


def pendulum(stiffness):
    """Return a 1 kg rod whose weight pulls 4.9 Nm at most, held at 45 degrees by 5 Nm."""
    urdf = """<robot name="rod"><link name="base"/><link name="rod"><inertial>
      <origin xyz="0.5 0 0"/><mass value="1"/>
      <inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/>
      <axis xyz="0 1 0"/></joint></robot>"""
    engine = engine_of([Instance("rod", urdf, gravity=(0.0, 0.0, -9.81))])
    engine.set_friction("hinge", 5.0, presliding_stiffness=stiffness)
    engine.q[:] = 0.25 * np.pi
    return engine


@pytest.mark.parametrize("stiffness", PRESLIDING)
@pytest.mark.parametrize(("share", "slides"), [(0.98, False), (1.02, True)])
def test_a_joint_breaks_away_at_static_friction(stiffness, share, slides):
    engine = rough(stiffness=stiffness)
    # Slowly enough for the spring not to swing.
    force = np.minimum(np.linspace(0.0, 2.0, 8000), 1.0) * share * STATIC
    _, q, v = engine.roll(force[:, None])
    assert (v.max() > STRIBECK) == slides
    if not slides and stiffness:
        assert q[-1, 0] == pytest.approx(share * STATIC / SIGMA, rel=0.01)


@pytest.mark.parametrize("stiffness", PRESLIDING)
@pytest.mark.parametrize("speed", [0.01, 0.03, 0.2])
def test_at_constant_speed_friction_is_the_stribeck_curve(stiffness, speed):
    engine = rough(stiffness=stiffness, viscous=4.0)
    engine.drives.stiffness[:], engine.drives.effort_limit[:] = 1e9, np.inf
    engine.drives.target_rate[:] = speed * engine.time_step
    engine.v[:] = speed
    assert engine.step(800) == StepStatus.OK
    held = engine.drives.stiffness[0] * (engine.drives.target[0] - engine.q[0])
    expected = KINETIC + (STATIC - KINETIC) * np.exp(-((speed / STRIBECK) ** 2)) + 4.0 * speed
    assert held == pytest.approx(expected, rel=2e-3)


def test_a_joint_below_breakaway_holds_without_drift_where_regularised_friction_creeps():
    drifts = []
    for stiffness in (0.0, 1e4):
        engine = pendulum(stiffness)
        engine.step(3000)
        start = engine.q[0]
        engine.step(10000)
        drifts.append(engine.q[0] - start)
    # The load is 69 % of friction, so it creeps at 69 % of the stiction velocity, 1e-4 rad/s.
    load = 9.81 * 0.5 * np.cos(0.25 * np.pi) / 5.0
    assert drifts[0] == pytest.approx(load * 1e-4 * 10.0, rel=1e-2)
    assert abs(drifts[1]) < 1e-14


def stick_slip(times, pull, spring):
    """Positions of a mass that a spring pulls at constant speed, with static friction: an ODE."""
    q, now, positions = 0.0, 0.0, []

    def stretch(t, q):
        return spring * (pull * t - q)

    def slide(t, y):
        level = KINETIC + (STATIC - KINETIC) * np.exp(-((y[1] / STRIBECK) ** 2))
        return [y[1], (stretch(t, y[0]) - level) / MASS]

    def rests(t, y):
        return y[1]

    rests.terminal, rests.direction = True, -1.0
    positions = np.zeros(len(times))
    while now < times[-1]:
        # It rests until the spring pulls as hard as static friction holds.
        away = (STATIC / spring + q) / pull
        positions[(times >= now) & (times <= away)] = q
        if away >= times[-1]:
            break
        found = solve_ivp(
            slide, (away, times[-1]), [q, 1e-9], events=rests, rtol=1e-10, atol=1e-13,
            dense_output=True, max_step=1e-3,
        )  # fmt: skip
        inside = (times > away) & (times <= found.t[-1])
        positions[inside] = found.sol(times[inside])[0]
        q, now = found.y[0, -1], found.t[-1]
    return positions


def slips(times, positions):
    """Starts of the slips, and how far each goes."""
    moving = np.concatenate([[False], np.diff(positions) > 1e-3 * np.diff(times)])
    starts = np.flatnonzero(moving[1:] & ~moving[:-1]) + 1
    ends = np.flatnonzero(~moving[1:] & moving[:-1]) + 1
    count = min(len(starts), len(ends))
    jumps = [positions[e] - positions[s - 1] for s, e in zip(starts[:count], ends, strict=False)]
    return times[starts[:count]], np.array(jumps)


@pytest.mark.parametrize(("stiffness", "stiction"), [(1e6, 1e-4), (0.0, 1e-6)])
def test_stick_slip_approaches_the_differential_equation_as_the_step_falls(stiffness, stiction):
    spring, pull, errors = 200.0, 2e-3, []
    for h in (2e-4, 5e-5):
        engine = rough(h, stiffness, solver=SolverConfig(stiction_velocity=stiction))
        engine.drives.stiffness[:], engine.drives.target_rate[:] = spring, pull * h
        found = engine.simulate(16.0)
        assert found.status == StepStatus.OK
        starts, jumps = slips(found.time, found.q[:, 0])
        right_starts, right_jumps = slips(found.time, stick_slip(found.time, pull, spring))
        assert len(starts) == len(right_starts) >= 3
        errors.append((
            np.mean(jumps) / np.mean(right_jumps) - 1.0,
            np.mean(np.diff(starts)) / np.mean(np.diff(right_starts)) - 1.0,
        ))  # fmt: skip
    coarse, fine = np.abs(errors)
    assert (fine < 0.01).all()
    assert (fine < 0.35 * coarse).all()


def test_the_hysteresis_loop_closes_and_encloses_what_is_lost():
    """Prandtl's element: a loop of amplitude a encloses 4 f (a - f / sigma)."""
    engine = rough(stiffness=SIGMA, static=None)
    amplitude, steps = 1e-3, 4000
    drives = engine.drives
    drives.stiffness[:], drives.effort_limit[:] = 1e9, np.inf
    loops = []
    for _ in range(3):
        path = []
        for k in range(1, steps + 1):
            drives.target[:] = amplitude * np.sin(2.0 * np.pi * k / steps)
            assert engine.step() == StepStatus.OK
            path.append((engine.q[0], SIGMA * engine.deflection[0]))
        loops.append(np.array(path))
    np.testing.assert_allclose(loops[1], loops[2], atol=1e-9)
    q, force = loops[2].T
    lost = float(np.sum(force * np.diff(q, prepend=q[-1])))
    assert lost == pytest.approx(4.0 * KINETIC * (amplitude - KINETIC / SIGMA), rel=5e-3)


@pytest.mark.parametrize("stiffness", PRESLIDING)
@pytest.mark.parametrize("time_step", [1e-4, 1e-3, 1e-2])
def test_energy_never_grows(stiffness, time_step):
    """Sliding, sticking and swinging back, whatever the step; the velocity turns at random."""
    engine = rough(time_step, stiffness, static=6.0)
    random = np.random.default_rng(3)
    for _ in range(20):
        engine.v[:] = random.normal(0.0, 0.05)
        engine.q[:] = 0.0
        before = engine.observer.energy().total
        for _ in range(40):
            assert engine.step() == StepStatus.OK
            now = engine.observer.energy().total
            assert now <= before + 1e-15
            before = now


def test_newton_converges_from_sliding_back_into_a_stiff_spring():
    """The update of plain Newton would jump from side to side of the range in which it sticks."""
    engine = rough(1e-2, 1e7)
    engine.v[:] = 1e-3
    engine.drives.stiffness[:], engine.drives.effort_limit[:] = 1e5, np.inf
    for k in range(400):
        engine.drives.target[:] = 0.02 * np.sin(0.1 * k)
        assert engine.step() == StepStatus.OK
    assert engine.counters[RETRIES] == 0


@pytest.mark.parametrize("stiffness", PRESLIDING)
@pytest.mark.parametrize("speed", [0.0, 0.03], ids=["stick", "slip"])
@pytest.mark.parametrize("steps", [1, 3])
def test_derivatives_agree_with_differences_of_steps(stiffness, speed, steps):
    engine = rough(stiffness=stiffness, solver=EXACT)
    engine.drives.stiffness[:], engine.drives.damping[:] = 300.0, 5.0
    engine.applied[:] = 1.0
    if speed:
        engine.deflection[:] = 1.0  # Bent to its end, as by sliding.
        engine.v[:] = speed
        engine.applied[:] = 3.0
    else:
        engine.step(20)
    check(engine, steps, tolerance=2e-5)
    assert (abs(engine.v[0]) > 0.5 * STRIBECK) == bool(speed)


def test_save_restore_rollouts_and_reset_keep_the_deflection():
    engine = rough()
    engine.applied[:] = 2.5
    engine.step(7)
    assert engine.deflection[0] != 0.0
    start = engine.save()
    inputs = np.full((2, 50, 1), 2.5)
    many = engine.rollouts(engine.q, engine.v, inputs, threads=2)
    engine.step(50)
    after = engine.save()
    np.testing.assert_array_equal(many.q[:, -1], np.tile(after.q, (2, 1)))
    engine.restore(start)
    engine.step(50)
    np.testing.assert_array_equal(engine.q, after.q)
    np.testing.assert_array_equal(engine.deflection, after.deflection)
    engine.reset()
    assert engine.deflection[0] == 0.0


@pytest.mark.parametrize(
    ("error", "message", "change"),
    [
        (ModelError, r"no joint 'elbow' \(valid: slide\)", {"joint": "elbow"}),
        (ConfigError, "kinetic of joint 'slide' must be", {"kinetic": np.nan}),
        (ConfigError, "static of joint 'slide' must be >= 2", {"static": 1.0}),
        (ConfigError, "stribeck_velocity of joint 'slide' must be > 0", {"stribeck_velocity": 0}),
        (ConfigError, "presliding_stiffness of joint 'slide'", {"presliding_stiffness": -1.0}),
        (ConfigError, "viscous of joint 'slide'", {"viscous": -1.0}),
    ],
)
def test_what_is_no_friction_is_refused_and_nothing_changes(error, message, change):
    engine = slider()
    with pytest.raises(error, match=message):
        engine.set_friction(**({"joint": "slide", "kinetic": 2.0} | change))
    assert engine.built.arrays.joints.friction[0] == 0.0


FRICTION = {
    "kinetic": (1.0,) * 7,
    "static_ratio": 2.0,
    "stribeck_velocity": 0.1,
    "viscous": (3.0,) * 7,
    "presliding_stiffness": (1e3,) * 7,
}


def with_friction(**values):
    scene = Scene.load("free_space")
    friction = dataclasses.replace(scene.config.robot.friction, **values)
    robot = dataclasses.replace(scene.config.robot, friction=friction)
    return dataclasses.replace(scene, config=dataclasses.replace(scene.config, robot=robot))


@pytest.mark.parametrize("name", list(FRICTION))
def test_a_scene_sets_the_friction_of_the_arm(name):
    less = (
        (0.7 * FRICTION[name][0],) * 7
        if isinstance(FRICTION[name], tuple)
        else 0.7 * FRICTION[name]
    )
    ends = []
    for values in (FRICTION, FRICTION | {name: less}):
        plant = Plant(with_friction(**values))
        start = plant.reset(0).position
        for _ in range(20):
            plant.tick(start + 0.05)
        ends.append(plant.engine.q.copy())
    assert not np.array_equal(*ends)


def test_drake_has_no_friction_in_joints():
    pytest.importorskip("pydrake")
    with pytest.raises(ModelError, match="Drake has no friction in joints"):
        build_physics(with_friction(kinetic=(1.0,) * 7).on("drake"))
