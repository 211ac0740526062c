"""The Allegro hand and its mug, tamsi Sec. VI-B."""

import numpy as np
import pinocchio as pin

from contact_stack.core.description import read_urdf
from tamsi_sim.allegro_hand import MUG, AllegroHand, fingers_in_contact

SAMPLE = 60  # Steps between two looks at the mug.


def largest_angle(quaternions):
    """Return the largest angle between any two orientations [rad]."""
    cosines = np.abs(quaternions @ quaternions.T).clip(0.0, 1.0)
    return 2.0 * np.arccos(cosines.min())


def test_hand_has_the_makers_joints_and_no_meshes():
    text = read_urdf("urdf/allegro_hand.urdf")
    model = pin.buildModelFromXML(text)
    assert model.nq == 16
    assert "mesh" not in text
    thumb = model.joints[model.getJointId("thumb_joint_0")]
    assert model.lowerPositionLimit[thumb.idx_q] == 0.263


def test_fingertip_of_the_stretched_index_finger():
    """From the palm: 1.64 + 5.4 + 3.84 + 2.67 cm along a finger that leans outwards by 5 deg."""
    model = pin.buildModelFromXML(read_urdf("urdf/allegro_hand.urdf"))
    data = model.createData()
    pin.forwardKinematics(model, data, np.zeros(16))
    tip = data.oMi[model.getJointId("index_joint_3")].act(np.array([0.0, 0.0, 0.0267]))
    angle, length = np.deg2rad(5.0), 0.0164 + 0.054 + 0.0384 + 0.0267
    expected = [0.0, 0.0435 + length * np.sin(angle), -0.001542 + length * np.cos(angle)]
    np.testing.assert_allclose(tip, expected, atol=1e-6)


def test_mug_swings_by_20_degrees_every_period_held_by_three_fingers():
    """Fig. 9: 15 s at h 0.7 ms; the hand never loses the mug, which returns every period."""
    case = AllegroHand()
    engine = case.engine()
    steps = round(15.0 / case.time_step)
    forces = case.forces(steps)
    first = engine.built.free_bodies[MUG][0]
    time, poses, fingers = [], [], []
    for k in range(0, steps, SAMPLE):
        status, _, _ = engine.roll(forces[k : k + SAMPLE])
        assert status == 0
        time.append(min(k + SAMPLE, steps) * case.time_step)
        poses.append(engine.q[first : first + 7].copy())
        fingers.append(len(fingers_in_contact(engine)))
    time, poses, fingers = np.array(time), np.array(poses), np.array(fingers)
    held = time > case.grasp_time
    assert fingers[held].min() >= 3
    assert np.ptp(poses[held, :3], axis=0).max() < 0.02
    for period in range(4):
        begin = case.grasp_time + period * case.period
        during = (time >= begin) & (time < begin + case.period)
        assert np.rad2deg(largest_angle(poses[during, 3:])) > 20.0
    np.testing.assert_allclose(np.linalg.norm(poses[:, 3:], axis=1), 1.0, atol=1e-12)
