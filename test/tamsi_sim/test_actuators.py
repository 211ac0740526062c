"""Actuators by name: what they exert, their limits, and MuJoCo's for those of a MJCF."""

import numpy as np
import pytest
from builders import engine_of
from test_joint_forces import slider

from contact_core.base.errors import ConfigError, ModelError, ModelWarning
from contact_core.robot.scene import Instance
from tamsi_sim import Actuator, StepStatus, World


def driven(actuator, **options):
    """Return the 2 kg slider with one actuator, 'a'."""
    engine = slider(**options)
    engine.actuators.add("a", actuator)
    return engine


def test_a_torque_accelerates_up_to_the_limits():
    for limit, command, force in ((np.inf, 3.0, 3.0), (np.inf, -30.0, -10.0), (2.0, 3.0, 2.0)):
        engine = driven(Actuator.torque("slide", limit), effort=10.0)
        engine.actuators.command({"a": command})
        engine.step(100)
        assert engine.v[0] == pytest.approx(force / 2.0 * 0.1)


def test_a_position_servo_gives_way_by_load_over_stiffness():
    engine = driven(Actuator.position("slide", 400.0, 60.0))
    engine.actuators.command({"a": 0.02})
    engine.applied[:] = 8.0
    engine.step(4000)
    assert engine.q[0] == pytest.approx(0.02 + 8.0 / 400.0, abs=1e-9)


def test_a_velocity_servo_is_late_by_load_over_damping():
    engine = driven(Actuator.velocity("slide", 50.0))
    engine.actuators.command({"a": 0.2})
    engine.applied[:] = -5.0
    engine.step(1000)
    assert engine.v[0] == pytest.approx(0.2 - 5.0 / 50.0, rel=1e-6)


@pytest.mark.parametrize("stiffness", [0.0, 1e9])
def test_servos_are_stable_at_any_gain(stiffness):
    actuator = Actuator("slide", 1e6, stiffness=stiffness, damping=1e6)
    engine = driven(actuator, time_step=0.01, effort=1e12)
    engine.actuators.command({"a": 0.1})
    for _ in range(100):
        assert engine.step() == StepStatus.OK
        assert abs(engine.v[0]) < 0.2


def test_what_was_never_commanded_changes_nothing():
    engine, plain = driven(Actuator.position("slide", 400.0)), slider()
    for one in (engine, plain):
        one.applied[:] = 1.0
        one.step(50)
    np.testing.assert_array_equal(engine.q, plain.q)


def test_those_of_one_joint_add_up():
    engine = slider()
    engine.actuators.add("spring", Actuator.position("slide", 300.0, 50.0))
    engine.actuators.add("other", Actuator.position("slide", 100.0))
    engine.actuators.add("motor", Actuator.torque("slide"))
    engine.actuators.command({"spring": 0.1, "other": 0.3, "motor": 4.0})
    engine.step(4000)
    assert engine.q[0] == pytest.approx((300.0 * 0.1 + 100.0 * 0.3 + 4.0) / 400.0, abs=1e-9)
    engine.actuators.command({"motor": 0.0})
    engine.step(4000)
    assert engine.q[0] == pytest.approx((300.0 * 0.1 + 100.0 * 0.3) / 400.0, abs=1e-9)


def test_several_springs_with_limits_share_them_and_say_so():
    engine = slider()
    engine.actuators.add("spring", Actuator.position("slide", 300.0, limit=2.0))
    with pytest.warns(ModelWarning, match="spring, damper drive one joint .*: the sum is limited"):
        engine.actuators.add("damper", Actuator.velocity("slide", 50.0, limit=1.0))
    engine.actuators.command({"spring": 9.0, "damper": 9.0})
    engine.step()
    assert engine.v[0] == pytest.approx((2.0 + 1.0) / 2.0 * engine.time_step)


def test_a_spring_without_a_limit_leaves_others_none_and_says_so():
    engine = slider()
    engine.actuators.add("spring", Actuator.position("slide", 300.0, limit=2.0))
    with pytest.warns(ModelWarning, match="none holds while damper acts without one"):
        engine.actuators.add("damper", Actuator.velocity("slide", 1.0))
    engine.actuators.command({"spring": 9.0})
    engine.step()
    assert engine.v[0] == pytest.approx(2.0 / 2.0 * engine.time_step)
    engine.actuators.command({"damper": 0.0})
    engine.step()
    # The joint's own limit is left.
    assert engine.v[0] == pytest.approx((2.0 + 100.0) / 2.0 * engine.time_step)


def test_an_effort_beside_a_limited_spring_is_commanded_step_by_step():
    engine = slider()
    engine.actuators.add("spring", Actuator.position("slide", 300.0, limit=2.0))
    engine.actuators.add("motor", Actuator.torque("slide"))
    with pytest.raises(ConfigError, match="actuator 'motor' cannot change over time beside"):
        engine.rollouts(engine.q, engine.v, {"motor": np.ones((1, 3))})
    found = engine.rollouts(engine.q, engine.v, {"spring": np.ones((1, 3))})
    assert found.v[0, -1, 0] == pytest.approx(2.0 / 2.0 * 3 * engine.time_step)


def test_a_command_beyond_its_range_counts_as_its_end():
    engine = driven(Actuator("slide", lower=-1.0, upper=2.0))
    engine.actuators.command({"a": 5.0})
    assert engine.actuators.commands == {"a": 2.0}
    engine.step(100)
    assert engine.v[0] == pytest.approx(2.0 / 2.0 * 0.1)


@pytest.mark.parametrize(
    ("error", "message", "commands"),
    [
        (ModelError, r"no actuator 'b' \(valid: a\)", {"a": 1.0, "b": 1.0}),
        (
            ConfigError,
            "the command of actuator 'a' must be a finite number, got nan",
            {"a": np.nan},
        ),
        (ConfigError, "the command of actuator 'a' must be a finite number, got 'x'", {"a": "x"}),
    ],
)
def test_a_wrong_command_is_refused_and_commands_nothing(error, message, commands):
    engine = driven(Actuator.torque("slide"))
    with pytest.raises(error, match=message):
        engine.actuators.command(commands)
    assert engine.actuators.commands == {}
    assert not engine.drives.feedforward.any()


def test_wrong_actuators_are_refused():
    engine = driven(Actuator.torque("slide"))
    with pytest.raises(ModelError, match=r"actuator 'a' exists already \(valid: a\)"):
        engine.actuators.add("a", Actuator.torque("slide"))
    with pytest.raises(ModelError, match=r"no joint 'elbow' \(valid: slide\)"):
        engine.actuators.add("b", Actuator.torque("elbow"))
    with pytest.raises(ConfigError, match="stiffness must be >= 0, got -1"):
        Actuator("slide", stiffness=-1.0)
    with pytest.raises(ConfigError, match="commands from 2 to 1"):
        Actuator("slide", lower=2.0, upper=1.0)
    with pytest.raises(ConfigError, match="gain must be a finite number"):
        Actuator("slide", np.inf)


def test_save_restore_and_reset_keep_commands():
    engine = driven(Actuator.position("slide", 400.0, 10.0))
    engine.actuators.command({"a": 0.1})
    engine.step(20)
    start = engine.save()
    engine.step(20)
    after = engine.q.copy()
    engine.actuators.command({"a": -0.1})
    engine.restore(start)
    assert engine.actuators.commands == {"a": 0.1}
    engine.step(20)
    np.testing.assert_array_equal(engine.q, after)
    engine.reset()
    assert engine.actuators.commands == {}
    assert not engine.drives.stiffness.any()


def test_rollouts_by_actuators_are_steps_under_their_commands():
    engine = slider(effort=10.0)
    engine.actuators.add("servo", Actuator.position("slide", 300.0, 20.0))
    engine.actuators.add("motor", Actuator("slide", 2.0, upper=3.0))
    engine.actuators.command({"servo": 0.05})
    commands = np.random.default_rng(0).normal(0.0, 4.0, (3, 40))
    found = engine.rollouts(engine.q, engine.v, {"motor": commands}, threads=2)
    assert engine.actuators.commands == {"servo": 0.05}
    assert engine.drives.stiffness[0] == 300.0
    start = engine.save()
    for sample, row in enumerate(commands):
        engine.restore(start)
        for k, command in enumerate(row, 1):
            engine.actuators.command({"motor": command})
            engine.step()
            np.testing.assert_allclose(found.q[sample, k], engine.q, rtol=0.0, atol=1e-15)


@pytest.mark.parametrize(
    ("error", "commands"),
    [
        (ModelError, {"b": np.zeros((2, 3))}),
        (ConfigError, {"a": np.zeros(3)}),
        (ConfigError, {"a": np.full((2, 3), np.nan)}),
        (ConfigError, {}),
    ],
)
def test_rollouts_refuse_wrong_commands(error, commands):
    engine = driven(Actuator.torque("slide"))
    with pytest.raises(error):
        engine.rollouts(engine.q, engine.v, commands)


def test_names_of_several_instances_are_told_apart():
    text = """<mujoco><worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody>
      <actuator><motor name="m" joint="j"/></actuator></mujoco>"""
    engine = engine_of([Instance("left", text), Instance("right", text)])
    assert list(engine.actuators) == ["left/m", "right/m"]
    engine.actuators.command({"right/m": 1.0})
    np.testing.assert_array_equal(engine.drives.feedforward, [0.0, 1.0])


ARM = """<mujoco><compiler angle="radian"/><option timestep="1e-4" integrator="RK4"/>
  <default><geom contype="0" conaffinity="0"/><default class="s">
  <position kp="60" kv="4"/></default></default><worldbody><body pos="0 0 1">
    <joint name="a" axis="0 1 0" damping="0.3" stiffness="5" springref="0.4" ref="0.2"/>
    <geom type="capsule" size="0.05" fromto="0 0 0 0.4 0 0"/>
    <body pos="0.4 0 0"><joint name="b" axis="1 1 0" armature="0.02" range="-6 2"/>
      <joint name="c" type="slide" axis="0 0 1" stiffness="300" damping="3"/>
      <geom type="box" size="0.2 0.05 0.1" pos="0.2 0.1 0" euler="0.3 0.2 0.1"/></body>
  </body></worldbody><actuator>{}</actuator></mujoco>"""
# Some beyond their ranges, some with limits of their own.
ACTUATORS = [
    ('<motor name="m" joint="a" gear="3" ctrlrange="-1 2"/>', {"m": 9.0}),
    ('<motor name="m" joint="a" gear="-3" forcerange="-0.5 2"/>', {"m": -1.0}),
    ('<position name="p" joint="a" kp="40" kv="3" gear="0.5"/>', {"p": 0.6}),
    ('<position name="p" joint="b" class="s"/>', {"p": -0.5}),
    ('<position name="p" joint="b" kp="9" inheritrange="0.8"/>', {"p": 3.0}),
    ('<position name="p" joint="b" kp="99" forcerange="-1 1"/>', {"p": -5.0}),
    ('<velocity name="v" joint="c" kv="30" gear="2"/>', {"v": 0.4}),
    (
        '<general name="g" joint="b" gainprm="5" biastype="affine" biasprm="0.5 -7 -2" gear="2"/>'
        '<motor name="m" joint="b" gear="0.1"/><motor joint="c"/>',
        {"g": 0.3, "m": 5.0, "actuator_2": 2.0},
    ),
    (
        '<motor name="m" joint="b" gear="5"/><position name="p" joint="b" kp="99" kv="2" '
        'forcerange="-1 1"/>',
        {"m": 0.3, "p": 1.0},
    ),
    (
        '<motor name="m" joint="b" forcerange="-0.5 0.5"/><velocity name="v" joint="b" kv="2"/>',
        {"m": 9.0, "v": 0.5},
    ),
]


@pytest.mark.parametrize(("actuators", "commands"), ACTUATORS)
def test_those_of_a_mjcf_move_a_model_as_in_mujoco(actuators, commands):
    mujoco = pytest.importorskip("mujoco")
    text = ARM.format(actuators)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    engine = World().add("robot", text).build()
    data.ctrl[:] = [commands[name] for name in engine.actuators]
    mujoco.mj_step(model, data, 5000)
    ends = []
    for time_step in (1e-3, 5e-4):
        engine = World().add("robot", text).build(time_step)
        engine.actuators.command(commands)
        assert engine.step(round(0.5 / time_step)) == StepStatus.OK
        ends.append(engine.q.copy())
    # The scheme is of first order: half the step, half the error.
    np.testing.assert_allclose(2.0 * ends[1] - ends[0], data.qpos, atol=2e-4)


def test_an_actuator_of_a_joint_that_follows_another_one_drives_that_one():
    text = """<mujoco><option gravity="0 0 0"/><worldbody><body>
      <joint name="i" type="slide"/><geom size="0.1" mass="1"/></body>
      <body><joint name="j" type="slide"/><geom size="0.1" mass="1" contype="0" conaffinity="0"/>
      </body></worldbody>
      <equality><joint joint1="j" joint2="i" polycoef="0.1 2 0 0 0"/></equality>
      <actuator><position name="p" joint="j" kp="100" kv="30"/></actuator></mujoco>"""
    engine = World(gravity=(0.0, 0.0, 0.0)).add("robot", text).build()
    engine.actuators.command({"p": 0.5})
    engine.step(8000)
    assert engine.q[0] == pytest.approx((0.5 - 0.1) / 2.0, abs=1e-6)
