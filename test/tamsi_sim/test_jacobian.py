"""Contact Jacobians against Pinocchio's frame Jacobians and finite differences."""

import numpy as np
import pinocchio as pin
import pytest
from builders import arm_instance, body_urdf, box, dense, engine_of, mug_instance, pose

from contact_core.robot.description import RobotDescription
from contact_core.robot.scene import Instance


def test_link_in_a_wall_against_pinocchio():
    robot = RobotDescription.load("iiwa14_wsg50")
    wall = Instance("wall", body_urdf("wall", box(2, 2, 2)), pose(x=1.35))
    engine = engine_of([arm_instance(), wall])
    engine.q[:8] = [0.3, 0.9, 0.2, -0.9, 0.1, 0.4, 0.3, 0.02]
    contacts = engine.evaluate()
    model = pin.buildModelFromXML(robot.urdf)
    data = model.createData()
    coupling = np.vstack([np.eye(8), np.eye(8)[7]])
    q = coupling @ engine.q
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    assert contacts > 3
    for c in range(contacts):
        shape = engine.work.pairs.shapes[engine.work.contacts.pair[c], 0]
        link = engine.built.shapes[shape].body
        frame = model.getFrameId(link)
        at_link = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
        arm = engine.work.contacts.point[c] - data.oMf[frame].translation
        expected = (at_link[:3] - pin.skew(arm) @ at_link[3:]) @ coupling
        np.testing.assert_allclose(dense(engine, c), expected, atol=1e-10)


def test_contact_frames_are_right_handed_and_orthonormal():
    engine = engine_of([arm_instance(), mug_instance(pose(x=0.1, y=0.05, z=0.9))])
    count = engine.evaluate()
    assert count > 0
    for frame in engine.work.contacts.frame[:count]:
        np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(frame) == pytest.approx(1.0)


def test_normal_velocity_is_minus_the_rate_of_the_penetration():
    ground = Instance("ground", body_urdf("ground", box(4, 4, 1)), pose(z=-0.5))
    brick = Instance(
        "brick", body_urdf("brick", box(0.1, 0.2, 0.1)), pose(z=0.049, roll=0.01), True
    )
    engine = engine_of([brick, ground])
    engine.v[:] = [0.01, -0.02, 0.1, 0.2, 0.1, 0.3]
    count = engine.evaluate()
    depth = engine.work.contacts.depth[:count].copy()
    rates = np.array(
        [engine.work.contacts.frame[c, 2] @ dense(engine, c) @ engine.v for c in range(count)]
    )
    h = 1e-6
    rotation = pin.Quaternion(engine.q[3:].copy())
    turned = pin.Quaternion(pin.exp3(h * engine.v[3:])) * rotation
    engine.q[:3] += h * engine.v[:3]
    engine.q[3:] = turned.coeffs()
    assert engine.evaluate() == count > 0
    np.testing.assert_allclose((engine.work.contacts.depth[:count] - depth) / h, -rates, atol=1e-4)
