"""The Allegro hand and its mug, tamsi Sec. VI-B."""

import numpy as np
import pinocchio as pin

from contact_core.description import read_urdf
from contact_experiments.tamsi.allegro.hand import (
    INDEX,
    RING,
    STIFFNESS,
    AllegroHand,
    fingers_in_contact,
)


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


def test_motion_is_one_period_of_two_fingers():
    case = AllegroHand(period=2.0, time_step=0.01)
    targets = case.forces(201)[::50] / STIFFNESS
    np.testing.assert_allclose(targets[4], targets[0], atol=1e-12)
    there, back = targets[1] - targets[0], targets[3] - targets[0]
    assert list(np.flatnonzero(np.abs(there) > 1e-6)) == [1, 2, 3, 9, 10, 11]
    np.testing.assert_allclose(there, -back, atol=1e-12)
    np.testing.assert_allclose(there[INDEX], -there[RING], atol=1e-12)


def test_palm_is_no_finger():
    engine = AllegroHand().engine()
    engine.step(5)
    assert fingers_in_contact(engine) == set()
