"""Fixed tendons: MuJoCo and formulas as oracles; errors, gradients, inputs over time."""

import numpy as np
import pytest
from test_linearization import EXACT, check

from contact_core.base.errors import ModelError, ModelWarning
from contact_core.model.actuator import Actuator
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.world import RUBBER_ON_WOOD, World

# MuJoCo's limits, friction and equalities are springs, too: stiff ones here.
STIFF = 'solreflimit="1e-3 1" solimplimit="0.99 0.999 1e-4"'
ROUGH = 'solreffriction="2e-4 1" solimpfriction="0.9999 0.99999 1e-4"'
FINGER = """<mujoco><compiler angle="radian"/><option timestep="2e-5" integrator="implicitfast"/>
  <default><joint axis="0 1 0" damping="0.004"/><geom type="capsule" contype="0" conaffinity="0"/>
  </default><worldbody>
    <body name="a"><joint name="i"/><geom fromto="0 0 0 0.1 0 0" size="0.01" mass="0.1"/>
      <body name="b" pos="0.1 0 0"><joint name="j"/>
        <geom fromto="0 0 0 0.08 0 0" size="0.01" mass="0.08"/>
        <body name="c" pos="0.08 0 0"><joint name="k"/>
          <geom fromto="0 0 0 0.06 0 0" size="0.008" mass="0.05"/></body></body></body>
  </worldbody>
  <tendon><fixed name="t" {}><joint joint="i" coef="1"/><joint joint="j" coef="-0.5"/>
    <joint joint="k" coef="0.3"/></fixed></tendon>{}</mujoco>"""
SERVO = """<actuator><position name="m" tendon="t" kp="3" kv="0.05" forcerange="-{0} {0}"/>
  </actuator>"""
CASES = {
    "spring": ('stiffness="2" springlength="0.1"', ""),
    "spring with slack": ('stiffness="2" springlength="-0.1 0.2"', ""),
    "damper": ('damping="0.05"', ""),
    "inertia": ('armature="0.01"', ""),
    "friction": (f'frictionloss="0.03" {ROUGH}', ""),
    "range": (f'range="-0.3 0.2" {STIFF}', ""),
    "servo": ("", SERVO.format(9)),
    "servo at its limit": ("", SERVO.format(0.1)),
    "equality": (
        "",
        """<equality><tendon tendon1="t" solref="1e-3 1" solimp="0.99 0.9999 1e-5"/></equality>""",
    ),
    "all": (
        f"""stiffness="1" springlength="-0.05 0.1" damping="0.02" armature="2e-3"
          range="-0.5 0.2" frictionloss="0.01" {ROUGH} {STIFF}""",
        SERVO.format(9),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_finger_moves_as_in_mujoco(name):
    mujoco = pytest.importorskip("mujoco")
    text = FINGER.format(*CASES[name])
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    engine = World().add("finger", text).build(5e-3, accuracy=1e-5)
    free = World().add("finger", FINGER.format("", "")).build(5e-3, accuracy=1e-5)
    data.ctrl[:] = 0.3
    engine.actuators.command(dict.fromkeys(engine.actuators, 0.3))
    deviation = 0.0
    for _ in range(4):
        mujoco.mj_step(model, data, 5000)
        assert engine.step(20) == free.step(20) == StepStatus.OK
        np.testing.assert_allclose(engine.q, data.qpos, atol=2.5e-4)
        assert engine.tendons()["t"].length == pytest.approx(data.ten_length[0], abs=2.5e-4)
        deviation = max(deviation, np.abs(free.q - engine.q).max())
    assert deviation > 0.05


CARTS = """<mujoco><worldbody>
  <body name="a"><joint name="i" type="slide" axis="1 0 0" range="-9 9"/><geom size="0.1" mass="2"/>
  </body><body name="b" pos="0 1 0"><joint name="j" type="slide" axis="1 0 0" range="-9 9"/>
  <geom size="0.1" mass="3"/></body></worldbody>
  <tendon><fixed name="t" {}><joint joint="i" coef="0.02"/><joint joint="j" coef="-0.01"/></fixed>
  </tendon>{}</mujoco>"""


def test_two_carts_swing_about_each_other():
    """M a = -k c (c . q): the length swings with omega^2 = k c M^-1 c, the rest stays."""
    coefficients, mass, stiffness = np.array([0.02, -0.01]), np.array([2.0, 3.0]), 4e5
    engine = (
        World()
        .add("carts", CARTS.format(f'stiffness="{stiffness}"', ""))
        .build(1e-2, accuracy=1e-7)
    )
    engine.v[:] = v = np.array([0.3, 0.1])
    omega = np.sqrt(stiffness * coefficients @ (coefficients / mass))
    along = coefficients / mass / (coefficients @ (coefficients / mass))
    for step in range(1, 80):
        engine.step()
        time = 1e-2 * step
        swing = coefficients @ v * (np.sin(omega * time) / omega - time)
        np.testing.assert_allclose(engine.q, v * time + swing * along, atol=2e-5)
    assert omega * time > 2.0 * np.pi


def test_a_range_bears_what_its_joints_end_stops_would():
    """A push of 40 N on one cart, which the tendon hands on to the other at its own end stop."""
    engine = World().add("carts", CARTS.format('range="-0.1 0"', "")).build()
    engine.q[:], engine.applied[0] = (4.499, 9.0), 40.0
    engine.step(3000)
    assert engine.tendons()["t"].length == pytest.approx(0.0, abs=0.02 * 5e-4)
    assert engine.tendons()["t"].force == pytest.approx(-40.0 / 0.02, rel=1e-3)
    assert engine.q[1] == pytest.approx(9.0, abs=5e-4)


@pytest.mark.parametrize("gear", [1.0, -2.0])
def test_a_motor_pulls_at_all_joints(gear):
    """Its force times gear and coefficients, M v = t f."""
    motor = f'<actuator><motor name="m" tendon="t" gear="{gear}" ctrlrange="-50 50"/></actuator>'
    engine = World().add("carts", CARTS.format("", motor)).build()
    assert engine.built.tendon_efforts.tolist() == [50.0 * abs(gear)]
    engine.actuators.command({"m": 80.0})
    engine.step(100)
    force = 50.0 * gear
    np.testing.assert_allclose(engine.v, 0.1 * force * np.array([0.02 / 2, -0.01 / 3]), rtol=1e-9)
    assert engine.tendons()["t"].force == pytest.approx(force)
    np.testing.assert_allclose(engine.joint_force, [0.02 * force, -0.01 * force])


LAWS = {
    "free": 'stiffness="2" damping="0.05" armature="0.01" springlength="0.1"',
    "sliding": 'frictionloss="0.03"',
    "sticking": 'frictionloss="30"',
    "at its end": 'range="-0.5 0"',
    "slack": 'stiffness="20" springlength="-0.5 0" range="-1 1"',
}


@pytest.mark.parametrize("name", LAWS)
def test_gradients(name):
    text = FINGER.format(LAWS[name], SERVO.format(9))
    engine = World().add("finger", text).build(solver=EXACT)
    engine.actuators.command({"m": 0.3})
    engine.step(20)
    check(engine, 3)


def test_commands_over_time_are_commands_step_by_step():
    engine = World().add("finger", FINGER.format('frictionloss="0.01"', SERVO.format(1))).build()
    engine.actuators.add("j", Actuator.torque("j", limit=0.1))
    engine.actuators.command({"j": 0.05, "m": -0.2})
    engine.step(10)
    commands = np.linspace(-0.3, 0.4, 60).reshape(2, 30)
    start = engine.save()
    runs = engine.rollouts(engine.q, engine.v, {"m": commands})
    for sample in range(2):
        engine.restore(start)
        for step in range(30):
            engine.actuators.command({"m": commands[sample, step]})
            engine.step()
            np.testing.assert_array_equal(runs.q[sample, step + 1], engine.q)
    assert np.abs(runs.q[0, -1] - runs.q[1, -1]).max() > 1e-3


def test_a_snapshot_holds_the_commands_of_tendons():
    engine = World().add("finger", FINGER.format("", SERVO.format(1))).build()
    start = engine.save()
    engine.step(50)
    passive = engine.q.copy()
    engine.restore(start)
    engine.actuators.command({"m": 0.4})
    middle = engine.save()
    engine.step(50)
    driven = engine.q.copy()
    assert np.abs(driven - passive).max() > 1e-3
    for snapshot, expected in ((start, passive), (middle, driven), (start, passive)):
        engine.restore(snapshot)
        engine.step(50)
        np.testing.assert_array_equal(engine.q, expected)


def test_a_start_beyond_a_range_is_refused():
    text = FINGER.format('range="0 1"', "")
    with pytest.raises(ModelError, match=r"finger: tendon 't' starts at -0.2 \(valid: 0 to 1\)"):
        World().add("finger", text, positions={"i": -0.2}).build()
    with pytest.warns(ModelWarning, match="'t' starts at -0.2 .valid: 0 to 1.: taken as valid"):
        engine = World().add("finger", text, positions={"i": -0.2}, repair=True).build()
    assert engine.built.arrays.tendon_laws.lower.tolist() == [pytest.approx(-0.2)]


BOX = '<geom type="box" size="0.05 0.05 0.05" mass="1"/>'
CRANKS = "".join(
    f"""<body name="{name}" pos="0 {y} 0"><freejoint/>{BOX}<body name="{name}2" pos="0.1 0 0">
      <joint name="{joint}" axis="0 1 0"/>{BOX}</body></body>"""
    for name, joint, y in (("a", "i", 0.0), ("b", "j", 0.5))
)


def test_a_tendon_may_tie_joints_of_two_things_that_float():
    """Its torques are internal to each of them: no momentum changes."""
    tendon = """<tendon><fixed name="t" stiffness="5" springlength="0.3"><joint joint="i" coef="1"/>
      <joint joint="j" coef="2"/></fixed></tendon>"""
    text = f"<mujoco><worldbody>{CRANKS}</worldbody>{tendon}</mujoco>"
    engine = World((0.0, 0.0, 0.0)).add("cranks", text).build(accuracy=1e-6)
    assert len(engine.built.arrays.trees.first_dof) == 2
    assert engine.step(200) == StepStatus.OK
    i, j = (engine.built.joints[name] for name in "ij")
    assert engine.v[j] == pytest.approx(2.0 * engine.v[i], rel=1e-3)
    assert abs(engine.v[i]) > 1e-2
    momentum = engine.observer.mass_matrix() @ engine.v
    for _, dof in engine.built.free_bodies.values():
        np.testing.assert_allclose(momentum[dof : dof + 3], 0.0, atol=1e-6)


def test_tendons_of_two_instances_are_told_apart():
    text = FINGER.format('stiffness="1"', SERVO.format(1))
    world = World().add("a", text).add("b", text, xyz=(0.0, 1.0, 0.0))
    engine = world.build()
    assert set(engine.tendons()) == {"a/t", "b/t"}
    engine.actuators.add("own", Actuator.torque("b/t"))
    engine.actuators.command({"own": 0.5})
    engine.step(50)
    alone = World().add("a", text).build()
    alone.step(50)
    np.testing.assert_array_equal(engine.q[:3], alone.q)
    assert np.abs(engine.q[3:] - alone.q).max() > 1e-3


def test_drake_gets_no_tendons():
    pytest.importorskip("pydrake")
    from tamsi_sim.drake.drake_engine import DrakeEngine

    built = World().add("finger", FINGER.format("", "")).build().built
    with pytest.raises(ModelError, match="Drake gets no tendons from us"):
        DrakeEngine(built, 1e-3, lambda *_: RUBBER_ON_WOOD)


def test_joints_without_tendons_have_none():
    engine = World().add("finger", FINGER.format("", "").replace("fixed", "spatial")).build()
    assert isinstance(engine, Engine)
    assert engine.tendons() == {}
