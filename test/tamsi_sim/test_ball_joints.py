"""Ball joints: mass, bias, motion, energy and momentum as Pinocchio, MuJoCo and Drake have them."""

import numpy as np
import pinocchio as pin
import pytest
from builders import CHAIN, dense

from contact_core.model.articulation import read_articulation
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.simulation.world import World

# A rod on a ball joint at its end, and chains of them.
ROD = """<body name="rod{n}" pos="{x} 0 0"><joint name="ball{n}" type="ball"/>
  <geom type="capsule" size="0.02" fromto="0 0 0 0.25 0 0" mass="0.4"
    contype="0" conaffinity="0"/>{inside}</body>"""
# A ball that is held at its centre, of equal principal inertias.
GIMBAL = """<mujoco><worldbody><body><joint name="turn" type="ball" armature="0.02"/>
  <inertial pos="0 0 0" mass="1" diaginertia="0.08 0.08 0.08"/></body></worldbody></mujoco>"""


def rods(count):
    """Return a chain of rods that hangs from the world."""
    inside = ""
    for n in reversed(range(count)):
        inside = ROD.format(n=n, x=0.25 if n else 0.0, inside=inside)
    return f'<mujoco><compiler angle="radian"/><worldbody>{inside}</worldbody></mujoco>'


def random_state(engine, rng):
    for i in engine.built.quaternions:
        engine.q[i : i + 4] = rng.standard_normal(4)
        engine.q[i : i + 4] /= np.linalg.norm(engine.q[i : i + 4])
    for i in engine.built.joints.values():
        engine.q[engine.built.arrays.joints.q[i]] = rng.uniform(-1.0, 1.0)
    engine.v[:] = rng.uniform(-2.0, 2.0, len(engine.v))
    engine.evaluate()


def turns(engine):
    """Return what takes Pinocchio's and MuJoCo's velocities, in the child's axes, to ours."""
    turn = np.eye(len(engine.v))
    for i, dof in engine.built.ball_joints.values():
        turn[dof : dof + 3, dof : dof + 3] = pin.Quaternion(engine.q[i : i + 4]).matrix()
    return turn


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "chain.xml"
    path.write_text(CHAIN)
    return World().add("robot", path).build(), pin.buildModelFromMJCF(path)


def test_mass_bias_and_poses_are_those_of_pinocchio(chain):
    engine, model = chain
    data, rng = model.createData(), np.random.default_rng(0)
    for _ in range(20):
        random_state(engine, rng)
        turn, work = turns(engine), engine.work
        matrix = pin.crba(model, data, engine.q)
        matrix = np.triu(matrix) + np.triu(matrix, 1).T
        np.testing.assert_allclose(work.dynamics.mass_matrix, turn @ matrix @ turn.T, atol=1e-12)
        bias = pin.nonLinearEffects(model, data, engine.q, turn.T @ engine.v)
        np.testing.assert_allclose(work.dynamics.bias, turn @ bias, atol=1e-11)
        pin.forwardKinematics(model, data, engine.q)
        for body in range(3):
            pose = data.oMi[body + 1]
            np.testing.assert_allclose(work.kinematics.rotation[body], pose.rotation, atol=1e-12)
            np.testing.assert_allclose(work.kinematics.position[body], pose.translation, atol=1e-12)


def test_accelerations_are_those_of_mujoco():
    """Also with losses, and what drives the joints."""
    mujoco = pytest.importorskip("mujoco")
    from mujoco_oracle import MujocoReference, differences, set_random_state

    engine = World().add("robot", CHAIN).build(1e-7)
    model, articulation = mujoco.MjModel.from_xml_string(CHAIN), read_articulation(CHAIN)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    masses, poses = differences(engine, articulation, model)
    assert max(masses, poses) < 1e-12
    reference, rng = MujocoReference(model), np.random.default_rng(1)
    data = reference.data
    for _ in range(10):
        motion = set_random_state(engine, articulation, reference, rng)
        v, force = rng.uniform(-2.0, 2.0, (2, len(engine.v)))
        data.qvel[:], data.qfrc_applied[:] = motion @ v, motion @ force
        mujoco.mj_forward(model, data)
        engine.v[:], engine.applied[:] = v, force
        assert engine.step() == StepStatus.OK
        found = (engine.v - v) / engine.time_step
        np.testing.assert_allclose(found, motion.T @ data.qacc, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("count", "ratio"), [(1, 4.0), (3, 2.0)])
def test_pendulums_keep_their_energy_and_momentum(count, ratio):
    """Gravity exerts no moment about the vertical through the ball that holds them all.

    One alone turns by the midpoint rule, which is of second order; a chain is of first order.
    """
    spin = {f"ball{n}": (1.0, -0.5, 2.0 - n) for n in range(count)}
    worst = []
    for time_step in (1e-3, 5e-4):
        engine = World().add("rods", rods(count), velocities=spin).build(time_step)
        bodies, inertias = engine.work.kinematics, engine.built.arrays.inertias

        def measure(engine=engine, bodies=bodies, inertias=inertias):
            engine.evaluate()
            spin = np.zeros(3)
            for n in range(count):
                center = bodies.position[n] + bodies.rotation[n] @ inertias.center[n]
                omega, at_origin = bodies.velocity[n, :3], bodies.velocity[n, 3:]
                linear = at_origin + np.cross(omega, center)
                inertia = bodies.rotation[n] @ inertias.inertia[n] @ bodies.rotation[n].T
                spin += inertias.mass[n] * np.cross(center, linear) + inertia @ omega
            return np.array([engine.observer.energy().total, spin[2]])

        start, errors = measure(), []
        for _ in range(20):
            assert engine.step(round(0.025 / time_step)) == StepStatus.OK
            errors.append(np.abs(measure() - start))
        worst.append(np.max(errors, axis=0))
    energy = 0.4 * 9.81 * 0.25 * count
    assert worst[0][0] < 0.01 * energy * count
    assert worst[0] / worst[1] == pytest.approx([ratio, ratio], rel=0.15)


def test_motion_approaches_that_of_mujoco():
    mujoco = pytest.importorskip("mujoco")
    text = rods(3).replace("<worldbody>", '<option integrator="RK4" timestep="1e-4"/><worldbody>')
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    # Both have the same axes where nothing has turned yet.
    data.qvel[:] = np.linspace(-2.0, 3.0, 9)
    spin = {f"ball{n}": data.qvel[3 * n : 3 * n + 3].copy() for n in range(3)}
    mujoco.mj_step(model, data, 4000)
    errors = []
    for time_step in (1e-3, 5e-4, 2.5e-4):
        engine = World().add("rods", text, velocities=spin).build(time_step)
        assert engine.step(round(0.4 / time_step)) == StepStatus.OK
        ends = [engine.observer.pose("rods", f"rod{n}").rotation for n in range(3)]
        errors.append(np.abs(np.array(ends).reshape(3, 9) - data.xmat[1:]).max())
    assert errors[2] < 5e-3
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.15)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.15)


def test_torque_and_damping_act_about_each_axis():
    engine = World().add("ball", GIMBAL, velocities={"turn": (1.0, 1.0, 1.0)}).build()
    engine.built.arrays.joints.damping[0] = 2.0
    engine.drives.damping[1] = 3.0
    engine.applied[2] = 0.5
    steps, h, inertia = 200, engine.time_step, 0.1
    run = engine.simulate(steps * h)
    expected = [(1.0 + h * 2.0 / inertia) ** -steps, (1.0 + h * 3.0 / inertia) ** -steps,
                1.0 + steps * h * 0.5 / inertia]  # fmt: skip
    np.testing.assert_allclose(engine.v, expected, rtol=1e-9)
    np.testing.assert_allclose(run.joint_force[-1], [-2.0 * engine.v[0], -3.0 * engine.v[1], 0.0])
    engine.drives.stiffness[:], engine.drives.target[:] = 1e3, 1.0
    before = engine.v.copy()
    engine.step()
    # There is no angle to be controlled.
    assert np.abs(engine.v - before).max() < 0.1


def test_rollouts_start_from_quaternions():
    engine = World().add("chain", CHAIN).build()
    rng = np.random.default_rng(2)
    random_state(engine, rng)
    q, v, forces = engine.q.copy(), engine.v.copy(), rng.uniform(-1.0, 1.0, (1, 20, 7))
    found = engine.rollouts(q, v, forces)
    status, positions, velocities = engine.roll(forces[0])
    assert status == StepStatus.OK
    np.testing.assert_array_equal(found.q[0], positions)
    np.testing.assert_array_equal(found.v[0], velocities)


def test_contact_jacobians_are_those_of_pinocchio(chain):
    model = chain[1]
    data = model.createData()
    engine = World().add_ground().add("robot", CHAIN).build()
    while engine.evaluate() == 0:
        assert engine.step(5) == StepStatus.OK
    pin.computeJointJacobians(model, data, engine.q)
    pin.updateFramePlacements(model, data)
    for c in range(engine.evaluate()):
        a, _ = engine.work.pairs.shapes[engine.work.contacts.pair[c]]
        frame = model.getFrameId(engine.built.shapes[a].body)
        own = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
        arm = engine.work.contacts.point[c] - data.oMf[frame].translation
        expected = (own[:3] - pin.skew(arm) @ own[3:]) @ turns(engine).T
        np.testing.assert_allclose(dense(engine, c), expected, atol=1e-10)


def test_a_sdf_has_the_mass_and_poses_of_drake():
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    text = """<sdf version="1.9"><model name="m"><link name="a"><pose>0.1 0.2 0.3 0.4 0.5 0.6</pose>
      <inertial><pose>0.1 0 0.2 0 0 0</pose><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.2</iyy>
      <izz>0.15</izz></inertia></inertial></link><joint name="j" type="ball"><parent>world</parent>
      <child>a</child><pose>0 0.1 0 0.3 0 0</pose><axis><xyz>0 0 1</xyz><dynamics>
      <damping>0.7</damping></dynamics></axis></joint></model></sdf>"""
    rpy = (0.3, -0.5, 0.8)
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, "sdf")
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, np.array(rpy))
    engine = World().add("robot", text, positions={"j": rpy}).build()
    engine.evaluate()
    expected = plant.CalcMassMatrix(context)
    np.testing.assert_allclose(engine.observer.mass_matrix(), expected, atol=1e-12)
    pose = plant.EvalBodyPoseInWorld(context, plant.GetBodyByName("a")).GetAsMatrix4()
    np.testing.assert_allclose(engine.observer.pose("robot", "a").homogeneous, pose, atol=1e-12)
    assert engine.built.arrays.joints.damping.tolist() == [0.7] * 3
    assert plant.GetJointByName("j").default_damping() == 0.7
