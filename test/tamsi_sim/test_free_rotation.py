"""Free bodies turn as Euler's equations say, at any speed."""

import numpy as np
import pinocchio as pin
import pytest
from builders import GRAVITY, body_urdf, box, engine_of, ground_instance, pose
from scipy.integrate import solve_ivp

from contact_core.robot.scene import Instance
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Surface
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.simulation.world import World

INERTIA = np.array([1.0e-3, 2.2e-3, 2.9e-3])
EXPLICIT = SolverConfig(gyroscopic_terms="explicit")


def top(time_step=1e-3, speed=100.0, center=(0.0, 0.0, 0.0), solver=None):
    """A body with three different moments of inertia that spins about no axis of its own."""
    urdf = body_urdf("top", box(0.1, 0.06, 0.04), 0.5, tuple(INERTIA))
    x, y, z = center
    urdf = urdf.replace("<inertial>", f'<inertial><origin xyz="{x} {y} {z}"/>')
    placement = pose(0.1, 0.2, 0.3, 0.4, -0.8, 1.5)
    engine = engine_of([Instance("top", urdf, placement, True)], time_step, solver=solver)
    direction = np.array([1.0, 2.0, -1.5])
    engine.v[:] = [0.3, -0.2, 0.1, *(speed * direction / np.linalg.norm(direction))]
    return engine


def angular_momentum(engine):
    """Return the angular momentum about the centre of mass, in the world."""
    rotation = pin.Quaternion(engine.q[3:7].copy()).matrix()
    return rotation @ (INERTIA * (rotation.T @ engine.v[3:]))


def center(engine):
    """Return where the centre of mass is, and its velocity."""
    arm = pin.Quaternion(engine.q[3:7].copy()).matrix() @ engine.built.arrays.inertias.center[0]
    return engine.q[:3] + arm, engine.v[:3] + np.cross(engine.v[3:], arm)


@pytest.mark.parametrize("offset", [(0.0, 0.0, 0.0), (0.03, -0.02, 0.01)], ids=["centred", "off"])
@pytest.mark.parametrize(("time_step", "speed"), [(1e-3, 10.0), (1e-3, 100.0), (1e-2, 150.0)])
def test_energy_and_momentum_stay(time_step, speed, offset):
    engine = top(time_step, speed, offset)
    energy, momentum = engine.observer.energy().kinetic, angular_momentum(engine)
    place, velocity = center(engine)
    assert engine.step(round(10.0 / time_step)) == StepStatus.OK
    assert engine.observer.energy().kinetic == pytest.approx(energy, rel=1e-9)
    np.testing.assert_allclose(
        angular_momentum(engine), momentum, atol=1e-9 * np.linalg.norm(momentum)
    )
    arrived, still = center(engine)
    np.testing.assert_allclose(still, velocity, atol=1e-9 * speed)
    np.testing.assert_allclose(arrived, place + 10.0 * velocity, atol=1e-9 * speed)


def test_explicit_terms_are_an_option_and_gain_energy():
    engine = top(speed=10.0, solver=EXPLICIT)
    energy = engine.observer.energy().kinetic
    engine.step(5000)
    assert engine.observer.energy().kinetic > 1.001 * energy


def test_the_attitude_converges_with_the_square_of_the_step():
    """Against Euler's equations and the quaternion's, integrated to 1e-11."""
    rate = pin.Quaternion(top().q[3:7].copy()).matrix().T @ top(speed=20.0).v[3:]

    def motion(_, state):
        x, y, z, w = state[:4]
        a, b, c = state[4:]
        turn = 0.5 * np.array([a * w + c * y - b * z, b * w + a * z - c * x,
                               c * w + b * x - a * y, -a * x - b * y - c * z])  # fmt: skip
        return [*turn, *(np.cross(INERTIA * state[4:], state[4:]) / INERTIA)]

    start = [*top().q[3:7], *rate]
    exact = solve_ivp(motion, (0.0, 1.0), start, rtol=1e-11, atol=1e-12).y[:4, -1]
    exact = pin.Quaternion(exact / np.linalg.norm(exact))
    errors = []
    for steps in (1000, 2000):
        engine = top(1.0 / steps, 20.0)
        engine.step(steps)
        errors.append(exact.angularDistance(pin.Quaternion(engine.q[3:7].copy())))
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


@pytest.mark.parametrize("speed", [2e3, 3e3, 1e4, 1e6])
def test_a_body_too_fast_for_its_step_neither_fails_nor_runs_away(speed):
    """Beyond two radians a step there may be no solution; the energy stays within what I can do."""
    engine = top(1e-3, speed)
    energy = engine.observer.energy().kinetic
    assert engine.step(1000) == StepStatus.OK
    spread = INERTIA.max() / INERTIA.min()
    assert energy / spread / 1.01 < engine.observer.energy().kinetic < 1.01 * spread * energy


def test_one_that_does_not_turn_moves_alike_both_ways():
    engines = [top(speed=0.0), top(speed=0.0, solver=EXPLICIT)]
    for engine in engines:
        engine.applied[2] = 0.7
        engine.step(100)
    np.testing.assert_allclose(engines[0].q, engines[1].q, atol=1e-15)
    np.testing.assert_allclose(engines[0].v, engines[1].v, atol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_an_impact_gives_a_spinning_body_no_energy(seed):
    """It moves with another velocity than the one at the end of the step: contact knows that."""
    rng = np.random.default_rng(seed)
    urdf = body_urdf("top", box(0.1, 0.06, 0.04), 0.5, tuple(INERTIA))
    urdf = urdf.replace("<inertial>", '<inertial><origin xyz="0.01 0 0.005"/>')
    engine = engine_of(
        [Instance("top", urdf, pose(0.0, 0.0, 0.15), True, GRAVITY), ground_instance()],
        2e-4,
        Surface(1e5, 0.0, 0.0),
    )
    engine.v[:] = [*rng.uniform(-1.0, 1.0, 3), *rng.uniform(-60.0, 60.0, 3)]
    before = engine.observer.energy().total
    for _ in range(40):
        assert engine.step(50) == StepStatus.OK
        # Symplectic Euler's own error, h g v / 2 per mass.
        energy = engine.observer.energy().total
        assert energy < before * (1.0 + 1e-6) + 0.5 * 2e-4 * 9.81 * 3.0 * 0.5
        before = min(before, energy)


COIN = """<mujoco><worldbody><geom type="plane" size="0 0 1" friction="{friction}"/>
      <body name="coin" pos="0 0 0.0443" euler="60 0 0"><freejoint/>
        <geom type="cylinder" size="0.05 0.002" friction="{friction}"/></body>
    </worldbody></mujoco>"""


@pytest.mark.parametrize("friction", [0.0, 0.001, 0.1])
@pytest.mark.parametrize("spin", [10.0, 40.0])
def test_a_coin_that_wobbles_on_a_floor_gains_nothing(friction, spin):
    """It bounces first, and its energy there is that of the beginning at most."""
    engine = World().add("coin", COIN.format(friction=friction)).build()
    engine.v[5] = spin
    energies = [engine.observer.energy().total]
    for _ in range(10):
        assert engine.step(1000) == StepStatus.OK
        energies.append(engine.observer.energy().total)
    assert max(energies[1:]) < energies[0]
    assert energies[-1] < 1.01 * min(energies)


@pytest.mark.parametrize("spin", [5.0, 50.0])
def test_a_body_that_is_held_off_its_centre_keeps_its_energy(spin):
    """A top by its tip, with nothing but its own rotation to keep the circle."""
    text = """<mujoco><worldbody><body name="top" euler="30 0 0"><freejoint/>
          <geom type="cylinder" size=".1 .01" pos="0 0 .2" contype="0" conaffinity="0"/></body>
        </worldbody><equality><connect body1="top" anchor="0 0 0"/></equality></mujoco>"""
    engine = World().add("top", text).build()
    engine.v[3:6] = spin * np.array([0.0, -0.5, np.sqrt(0.75)])
    energy = engine.observer.energy().total
    for _ in range(20):
        assert engine.step(100) == StepStatus.OK
        assert engine.observer.energy().total == pytest.approx(energy, rel=0.01)


MASS, ARM, ROUND, ALONG = 0.2, 0.05, 6e-4, 2e-4
"""Of a heavy top: its moments of inertia are those about its tip."""


def heavy_top(tilt, spin, time_step, rpy=(0.0, 0.0, 0.0), solver=None):
    """A top on a ball joint that precesses steadily, and the rate at which it has to."""
    weight = MASS * 9.81 * ARM
    root = (ALONG * spin) ** 2 - 4.0 * ROUND * np.cos(tilt) * weight
    rate = (ALONG * spin - np.sqrt(root)) / (2.0 * ROUND * np.cos(tilt))
    across = ROUND - MASS * ARM**2
    text = f"""<mujoco><compiler angle="radian"/><worldbody><body name="top" euler="0 {tilt} 0">
      <joint name="b" type="ball"/><inertial pos="0 0 {ARM}" mass="{MASS}"
      diaginertia="{across} {across} {ALONG}"/></body></worldbody></mujoco>"""
    file = pin.rpy.rpyToMatrix(*rpy)
    upright = file.T @ np.array([0.0, 0.0, 1.0])
    frame = pin.rpy.rpyToMatrix(0.0, tilt, 0.0)
    axis = frame[:, 2]
    omega = frame.T @ (rate * upright + (spin - rate * (axis @ upright)) * axis)
    world = World().add("t", text, rpy=rpy, velocities={"b": tuple(omega)})
    return world.build(time_step, solver), rate


@pytest.mark.parametrize(("tilt", "spin"), [(0.5, 100.0), (1.2, 60.0), (2.5, 300.0)])
def test_a_heavy_top_on_a_ball_joint_precesses_steadily(tilt, spin):
    engine, rate = heavy_top(tilt, spin, 1e-3)
    energy = engine.observer.energy().total
    angles = []
    for _ in range(2000):
        assert engine.step() == StepStatus.OK
        axis = engine.observer.pose("t", "top").rotation[:, 2]
        angles.append(np.arctan2(axis[1], axis[0]))
        assert np.arccos(axis[2]) == pytest.approx(tilt, abs=5e-3)
    assert np.diff(np.unwrap(angles)).mean() / 1e-3 == pytest.approx(rate, rel=2e-3)
    assert engine.observer.energy().total == pytest.approx(energy, rel=2e-3)


def test_the_attitude_of_a_heavy_top_converges_with_the_square_of_the_step():
    ends = []
    for steps in (500, 1000, 8000):
        engine, _ = heavy_top(0.7, 80.0, 0.5 / steps, rpy=(0.2, -0.1, 0.9))
        engine.v[:] += 2.0  # It nods, too.
        engine.step(steps)
        ends.append(engine.observer.pose("t", "top").rotation)
    errors = [np.linalg.norm(pin.log3(ends[2].T @ end)) for end in ends[:2]]
    assert errors[1] < 2e-2
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


def test_explicit_terms_let_a_heavy_top_gain_energy():
    engine, _ = heavy_top(0.5, 100.0, 1e-3, solver=EXPLICIT)
    energy = engine.observer.energy().total
    engine.step(2000)
    assert engine.observer.energy().total > 1.1 * energy
