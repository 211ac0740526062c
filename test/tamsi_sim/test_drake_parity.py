"""In Drake's settings our TAMSI step is Drake's kTamsi step."""

import numpy as np
import pytest
from builders import GRAVITY, arm_instance, body_urdf, box, engine_of, mug_instance, pose, sphere
from drake_oracle import DrakeSimulation

from contact_core.robot.scene import Instance
from contact_core.robot.surface import Surface
from contact_experiments.tamsi.cases import ParallelGripper
from tamsi_sim.drake.parity import PARITY


def different(a, b):
    return a[0] != b[0]


def pads_only(a, b):
    fingers = {"finger_left", "finger_right"}
    return (a[1] in fingers and b[0] == "mug") or (b[1] in fingers and a[0] == "mug")


def compare(engine, drake, steps, force):
    """Step both from the same state; return the largest difference of the velocities."""
    drake.set_state(engine.q, engine.v)
    worst = 0.0
    touched = 0
    for k in range(steps):
        engine.applied[:] = force(k, engine.q, engine.v)
        drake.step(force(k, *drake.state()))
        assert engine.step(1) == 0
        touched += len(engine.contacts()) > 0
        worst = max(worst, float(np.abs(engine.v - drake.state()[1]).max()))
    assert touched > steps // 10
    return worst


def test_bouncing_ball():
    instances = [
        Instance("ball", body_urdf("ball", sphere(0.05)), pose(z=0.2), True, GRAVITY),
        Instance("ground", body_urdf("ground", box(4, 4, 1)), pose(z=-0.5)),
    ]
    engine = engine_of(instances, 1e-3, Surface(2e4, 1.0, 0.5), PARITY)
    engine.v[:] = [0.3, 0.1, 0.0, 0.0, 2.0, 0.0]
    drake = DrakeSimulation(instances, engine.built, 1e-3, 1e4, 1.0, 0.5, different)
    assert compare(engine, drake, 1000, lambda k, q, v: np.zeros(6)) < 1e-9


@pytest.mark.parametrize(("stiffness", "dissipation"), [(1e4, 10.0), (1e3, 3.0)])
def test_parallel_gripper(stiffness, dissipation):
    case = ParallelGripper(stiffness=stiffness, dissipation=dissipation, solver=PARITY)
    engine = case.engine()
    drake = DrakeSimulation(
        case.instances(), engine.built, case.time_step, stiffness, dissipation, 0.1, different
    )
    forces = case.forces(1000)
    assert compare(engine, drake, 1000, lambda k, q, v: forces[k]) < 1e-9


def test_arm_shakes_a_mug():
    robot = arm_instance(gravity=(0.0, 0.0, 0.0))
    # Drake's TAMSI has no mimic joints, so both fingers are driven here.
    robot = Instance(robot.name, robot.urdf.replace('<mimic joint="finger_left_joint" />', ""))
    arm = np.array([0.0, 0.4, 0.0, -1.7, 0.0, -0.5, 0.0])
    instances = [robot, mug_instance()]
    engine = engine_of(instances, 1e-3, Surface(2e4, 5.0, 0.9), PARITY, pads_only)
    joints, arrays = engine.built.joints, engine.built.arrays
    arrays.joints.damping[:] = 0.0
    arrays.joints.armature[:7] = [3.4, 3.4, 3.4, 3.4, 1.3, 1.2, 1.2]
    arrays.joints.armature[7:9] = 0.5
    arrays.joints.upper[:], arrays.joints.lower[:] = np.inf, -np.inf
    engine.q[:7] = arm
    fingers = [joints["finger_left_joint"], joints["finger_right_joint"]]
    engine.q[fingers] = 0.0395
    import pinocchio as pin

    from contact_core.robot.description import RobotDescription

    model = RobotDescription.load("iiwa14_wsg50").arm_model()
    data = model.createData()
    pin.framesForwardKinematics(model, data, arm)
    tool = data.oMf[model.getFrameId("tool")]
    engine.q[9:16] = pin.SE3ToXYZQUAT(tool * pose(pitch=-np.pi / 2))

    def force(k, q, v):
        tau = np.zeros(15)
        wave = 2 * np.pi * k * 1e-3
        target = arm + np.array([0.2, -0.1, 0, 0.1, 0, 0, 0.2]) * (1 - np.cos(wave))
        tau[:7] = 3000.0 * (target - q[:7]) - 150.0 * v[:7]
        tau[fingers] = 4000.0 * (0.0345 - q[fingers]) - 60.0 * v[fingers]
        return tau

    drake = DrakeSimulation(instances, engine.built, 1e-3, 1e4, 5.0, 0.9, pads_only)
    assert compare(engine, drake, 1000, force) < 1e-9
