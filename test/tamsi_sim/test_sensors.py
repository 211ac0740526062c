"""Sensors against Pinocchio's inverse dynamics, weights, free fall; their periods and states."""

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
)
from test_joint_forces import SLIDER, slider

from contact_core.base.errors import ConfigError, ModelError
from contact_core.robot.scene import Instance
from tamsi_sim import (
    Actuator,
    ForceTorque,
    Imu,
    JointTorque,
    SensorNoise,
    StepStatus,
    Surface,
    World,
)

TABLE = Instance("table", body_urdf("table", box(0.4, 0.4, 0.4)), pose(x=0.62))
LINK, TOOL = "lbr_link_6", "lbr_link_7"


def arm(weightless=False, table=True):
    """Return the arm in motion, its hand pressing on a table if there is one."""
    instances = [arm_instance((0.0, 0.0, 0.0) if weightless else GRAVITY)]
    engine = engine_of(instances + ([TABLE] if table else []))
    engine.q[:8] = [0.1, 1.2, 0.05, -1.3, 0.1, 0.6, 0.0, 0.02]
    engine.drives.target[:8] = engine.q[:8]
    engine.drives.stiffness[:8] = [800, 600, 600, 600, 400, 200, 200, 2000]
    engine.drives.damping_ratio[:8] = 0.7
    engine.built.arrays.joints.armature[:7] = 0.3
    return engine


def joint_names(engine):
    return [name for name, dof in sorted(engine.built.joints.items(), key=lambda item: item[1])]


def rnea(engine, before):
    """Joint torques of the last step by Pinocchio, contact included, rotors left out."""
    built, bodies = engine.built, engine.built.arrays.bodies
    model = pin.buildModelFromXML(arm_instance().urdf)
    data = model.createData()
    q, v = before
    # Pinocchio's joints are our bodies; the second finger follows the first.
    dofs, ratios = bodies.column_dof[:9], bodies.joint_ratio[:9]
    states = [ratios * x[dofs] for x in (q, v, (engine.v - v) / engine.time_step)]
    pin.forwardKinematics(model, data, states[0])
    outer = [pin.Force.Zero() for _ in range(model.njoints)]
    contacts, shapes = engine.work.contacts, engine.work.pairs.shapes
    for c in range(contacts.number[0]):
        force = contacts.frame[c].T @ engine.work.contact_forces.mean_force[c]
        for shape, sign in zip(shapes[contacts.pair[c]], (1.0, -1.0), strict=True):
            joint = int(built.arrays.geometry.body[shape]) + 1
            wrench = pin.Force(sign * force, sign * np.cross(contacts.point[c], force))
            outer[joint] += data.oMi[joint].actInv(wrench)
    torques = pin.rnea(model, data, *states, outer)
    return model, data, np.bincount(dofs, ratios * torques)


@pytest.mark.parametrize("weightless", [False, True])
@pytest.mark.parametrize("steps", [1, 40, 400])
def test_joint_torques_and_wrenches_are_those_of_pinocchios_inverse_dynamics(weightless, steps):
    engine = arm(weightless)
    for name in joint_names(engine):
        engine.sensors.add(name, JointTorque(name))
    for link in (LINK, TOOL):
        engine.sensors.add(link, ForceTorque("robot", link))
    engine.applied[:3] = [20.0, -10.0, 5.0]
    engine.step(steps - 1)
    before = engine.q.copy(), engine.v.copy()
    assert engine.step() == StepStatus.OK
    assert (steps == 1) or engine.contacts()
    model, data, torques = rnea(engine, before)
    found = np.array([engine.sensors[name][0] for name in joint_names(engine)])
    np.testing.assert_allclose(found, torques, atol=1e-8)
    for link in (LINK, TOOL):
        frame = model.frames[model.getFrameId(link)]
        wrench = frame.placement.actInv(data.f[frame.parentJoint])
        np.testing.assert_allclose(
            engine.sensors[link], np.concatenate([wrench.linear, wrench.angular]), atol=1e-8
        )


def test_a_joint_torque_is_what_drives_the_joint_less_its_rotor():
    """By the equation that the step solved, without Newton and Euler."""
    engine = arm()
    names = joint_names(engine)
    for name in names:
        engine.sensors.add(name, JointTorque(name))
    engine.step(300)
    before = engine.v.copy()
    engine.step()
    rotors = engine.built.arrays.joints.armature * (engine.v - before) / engine.time_step
    expected = engine.joint_force + engine.applied - rotors
    found = [engine.sensors[name][0] for name in names]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_loop_carries_its_own_share():
    """A beam whose tip is tied to the world hangs on both ends, and its hinge moves nothing."""
    urdf = """<robot name="m"><link name="base"/><link name="beam"><inertial>
      <origin xyz="0.5 0 0"/><mass value="2"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="hinge" type="continuous"><parent link="base"/><child link="beam"/>
      <axis xyz="0 1 0"/></joint></robot>"""
    world = World().add("m", urdf)
    world.connect("tied", ("m", "base"), ("m", "beam"), xyz=(1.0, 0.0, 0.0))
    engine = world.build()
    engine.sensors.add("hinge", JointTorque("hinge"))
    engine.sensors.add("wrist", ForceTorque("m", "beam"))
    engine.step(1000)
    np.testing.assert_allclose(engine.sensors["hinge"], 0.0, atol=1e-6)
    np.testing.assert_allclose(engine.sensors["wrist"], [0, 0, 9.81, 0, 0, 0], atol=1e-6)


@pytest.mark.parametrize(("kind", "axis"), [("torsional", "0 0 1"), ("rolling", "0 1 0")])
def test_a_motor_feels_what_resists_turning_at_a_contact(kind, axis):
    ball = f"""<mujoco><worldbody><body name="c" pos="0 0 0.1"><joint name="z" type="slide"/>
      <joint name="s" type="slide" axis="1 0 0"/><inertial pos="0 0 0" mass="1"
      diaginertia="0.01 0.01 0.01"/><body name="w"><joint name="turn" axis="{axis}"/>
      <geom type="sphere" size="0.1" mass="2"/></body></body></worldbody></mujoco>"""
    surface = Surface(stiffness=1e6, dissipation=1.0, friction=1.0, **{kind: 0.02})
    engine = World(surface=surface).add_ground().add("b", ball, surface=surface).build()
    engine.sensors.add("motor", JointTorque("turn"))
    engine.actuators.add("servo", Actuator.velocity("turn", damping=100.0))
    engine.actuators.command({"servo": 5.0})
    engine.step(2000)
    expected = engine.joint_force[engine.built.joints["turn"]]
    np.testing.assert_allclose(engine.sensors["motor"], expected, atol=1e-6)
    assert expected == pytest.approx(0.02 * 3.0 * 9.81, rel=1e-3)


def hanging(**options):
    """Return a 3 kg box on a hinge whose axis is horizontal, with the link it hangs from."""
    urdf = """<robot name="rod"><link name="base"/><link name="rod"><inertial>
      <origin xyz="0 0 -0.5"/><mass value="3"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <link name="tip"/><joint name="hinge" type="continuous"><parent link="base"/>
      <child link="rod"/><axis xyz="0 1 0"/></joint>
      <joint name="end" type="fixed"><parent link="rod"/><child link="tip"/>
      <origin xyz="0 0 -1"/></joint></robot>"""
    engine = engine_of([Instance("rod", urdf, gravity=GRAVITY)], **options)
    engine.sensors.add("wrist", ForceTorque("rod", "rod"))
    engine.sensors.add("tip", ForceTorque("rod", "tip"))
    engine.sensors.add("imu", Imu("rod", "tip"))
    return engine


def test_at_rest_a_wrist_carries_the_weight_in_its_own_axes():
    engine = hanging()
    engine.actuators.add("servo", Actuator.position("hinge", 1e6, 1e4))
    engine.actuators.command({"servo": 0.3})
    engine.q[:] = 0.3
    engine.step(2000)
    weight, sine, cosine = 3.0 * 9.81, np.sin(0.3), np.cos(0.3)
    force = [-weight * sine, 0.0, weight * cosine]
    np.testing.assert_allclose(
        engine.sensors["wrist"], [*force, 0.0, 0.5 * weight * sine, 0.0], atol=1e-3
    )
    # The same wrench about the tip, 1 m further.
    np.testing.assert_allclose(
        engine.sensors["tip"], [*force, 0.0, -0.5 * weight * sine, 0.0], atol=1e-3
    )
    np.testing.assert_allclose(
        engine.sensors["imu"], [-9.81 * sine, 0.0, 9.81 * cosine, 0.0, 0.0, 0.0], atol=1e-3
    )


def test_a_pendulum_pulls_with_its_centripetal_force():
    engine = hanging(time_step=1e-4)
    engine.v[:] = 2.0
    engine.step()
    np.testing.assert_allclose(engine.sensors["wrist"][2], 3.0 * (9.81 + 0.5 * 4.0), rtol=1e-3)
    np.testing.assert_allclose(engine.sensors["imu"][2], 9.81 + 4.0, rtol=1e-3)
    np.testing.assert_allclose(engine.sensors["imu"][3:], [0.0, 2.0, 0.0], atol=1e-3)


def brick(z, **options):
    urdf = body_urdf("brick", box(0.1, 0.12, 0.08), 1.0, (2e-3, 2e-3, 3e-3)).replace(
        "</robot>",
        '<link name="corner"/><joint name="c" type="fixed"><parent link="brick"/>'
        '<child link="corner"/><origin xyz="0.05 0 0" rpy="0 0 1.5707963267948966"/></joint>'
        "</robot>",
    )
    instances = [Instance("brick", urdf, pose(z=z, **options), True, GRAVITY), ground_instance()]
    engine = engine_of(instances)
    for link in ("brick", "corner"):
        engine.sensors.add(link, Imu("brick", link))
    return engine


def test_in_free_fall_an_imu_reads_zero():
    engine = brick(2.0, roll=0.4, pitch=0.2)
    engine.step(100)
    np.testing.assert_allclose(engine.sensors["brick"], np.zeros(6), atol=1e-9)
    with pytest.raises(KeyError, match=r"no sensor 'brik' \(valid: brick, corner\)"):
        engine.sensors["brik"]


def test_at_rest_on_the_ground_an_imu_reads_gravity_upwards():
    engine = brick(0.04)
    engine.step(1000)
    for link in ("brick", "corner"):
        np.testing.assert_allclose(engine.sensors[link], [0.0, 0.0, 9.81, 0.0, 0.0, 0.0], atol=1e-6)


def test_on_a_spinning_body_an_imu_reads_the_centripetal_acceleration():
    engine = brick(2.0)
    engine.v[5] = 7.0
    engine.step(37)
    # Towards the axis: minus x of the brick, minus y of the corner's link, which is turned.
    expected = [0.0, 7.0**2 * 0.05, 0.0, 0.0, 0.0, 7.0]
    np.testing.assert_allclose(engine.sensors["corner"], expected, atol=1e-6)


def test_an_imu_on_what_is_fixed_reads_gravity():
    engine = brick(0.04)
    engine.sensors.add("ground", Imu("ground", "ground"))
    engine.step()
    np.testing.assert_allclose(engine.sensors["ground"], [0.0, 0.0, 9.81, 0.0, 0.0, 0.0])


def test_an_imu_measures_where_nothing_moves():
    engine = World().add_ground().build()
    engine.sensors.add("imu", Imu("ground", "ground"))
    assert engine.step() == StepStatus.OK
    np.testing.assert_allclose(engine.sensors["imu"], [0.0, 0.0, 9.81, 0.0, 0.0, 0.0])


def test_gravity_is_that_of_the_world():
    world = World(gravity=(0.0, 0.0, -1.62))
    world.add("slider", SLIDER.format(friction=0.0, effort=1.0), weightless=True)
    engine = world.build()
    engine.sensors.add("imu", Imu("slider", "cart"))
    engine.sensors.add("wrist", ForceTorque("slider", "cart"))
    engine.step()
    assert engine.sensors["imu"][2] == pytest.approx(1.62)
    assert engine.sensors["wrist"][2] == pytest.approx(2.0 * 1.62)


def test_sensors_sample_at_their_periods_and_change_nothing():
    engine, plain = slider(), slider()
    engine.sensors.add("slow", JointTorque("slide"), period=5e-3)
    engine.sensors.add("fast", JointTorque("slide"))
    assert np.isnan(engine.sensors["slow"]).all()
    for one in (engine, plain):
        one.applied[:] = 3.0
    engine.step(4)
    assert np.isnan(engine.sensors["slow"]).all()
    assert engine.sensors["fast"][0] == pytest.approx(3.0)
    engine.applied[:] = 4.0
    engine.step()
    engine.applied[:] = 5.0
    engine.step(4)
    assert engine.sensors["slow"][0] == pytest.approx(4.0)
    assert engine.sensors["fast"][0] == pytest.approx(5.0)
    for force, steps in ((3.0, 4), (4.0, 1), (5.0, 4)):
        plain.applied[:] = force
        plain.step(steps)
    np.testing.assert_array_equal(engine.q, plain.q)


FAULTS = SensorNoise(cutoff=20.0, delay=0.01, bias=0.3, drift=0.1, noise=0.2)


def noisy(seed=0):
    engine = slider()
    engine.sensors.add("s", JointTorque("slide"), FAULTS, 2e-3, seed)
    engine.applied[:] = 3.0
    return engine


def record(engine, count=30):
    values = []
    for _ in range(count):
        engine.step(2)
        values.append(engine.sensors["s"][0])
    return np.array(values)


def test_noise_is_seeded_and_comes_back_with_save_restore_and_reset():
    engine = noisy()
    first = record(engine)
    np.testing.assert_array_equal(first, record(noisy()))
    assert not np.array_equal(first, record(noisy(1)))
    engine.step()  # Between two samples.
    start = engine.save()
    after = record(engine)
    record(engine)
    engine.restore(start)
    np.testing.assert_array_equal(record(engine), after)
    engine.reset()
    engine.applied[:] = 3.0
    np.testing.assert_array_equal(record(engine), first)


@pytest.mark.parametrize(
    ("error", "message", "arguments"),
    [
        (ModelError, "sensor 's' exists already", ("s", JointTorque("slide"))),
        (ModelError, r"no joint 'elbow' \(valid: slide\)", ("a", JointTorque("elbow"))),
        (ModelError, r"no link 'slider/hand' \(valid: slider/", ("a", Imu("slider", "hand"))),
        (ModelError, "no joint carries 'slider/base'", ("a", ForceTorque("slider", "base"))),
        (ConfigError, "must be a multiple of 0.001 s", ("a", JointTorque("slide"), None, 1.5e-3)),
        (ConfigError, "must be a multiple of 0.001 s", ("a", JointTorque("slide"), None, 0.0)),
        (ConfigError, "seed of sensor 'a'", ("a", JointTorque("slide"), None, None, -1)),
        (
            ConfigError,
            "bias must be 1 or 6",
            ("a", Imu("slider", "cart"), SensorNoise(bias=[1.0] * 3)),
        ),
    ],
)
def test_what_cannot_be_mounted_is_refused(error, message, arguments):
    engine = noisy()
    with pytest.raises(error, match=message):
        engine.sensors.add(*arguments)
    assert list(engine.sensors) == ["s"]


def test_a_floating_body_has_no_joint_to_measure_in():
    engine = engine_of([mug_instance(pose(z=1.0))])
    with pytest.raises(ModelError, match="no joint carries 'mug/mug'"):
        engine.sensors.add("wrist", ForceTorque("mug", "mug"))
