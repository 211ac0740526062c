"""The TAMSI paper's cases: box, gripper and hand are those of the paper."""

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from contact_core.robot.description import read_urdf
from contact_core.robot.scene_config import SolverConfig
from contact_experiments.tamsi.cases import (
    BOX_MASS,
    BOX_WEIGHT,
    HAND_STIFFNESS,
    INDEX,
    RING,
    AllegroHand,
    ParallelGripper,
    StickSlipBox,
    fingers_in_contact,
)
from contact_experiments.tamsi.integrators.integrator import make_integrator


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
    targets = case.forces(201)[::50] / HAND_STIFFNESS
    np.testing.assert_allclose(targets[4], targets[0], atol=1e-12)
    there, back = targets[1] - targets[0], targets[3] - targets[0]
    assert list(np.flatnonzero(np.abs(there) > 1e-6)) == [1, 2, 3, 9, 10, 11]
    np.testing.assert_allclose(there, -back, atol=1e-12)
    np.testing.assert_allclose(there[INDEX], -there[RING], atol=1e-12)


def test_palm_is_no_finger():
    engine = AllegroHand().engine()
    engine.step(5)
    assert fingers_in_contact(engine) == set()


@pytest.mark.parametrize("law", ["linear", "quadratic"])
@pytest.mark.parametrize(("time", "v"), [(0.0, 0.0), (0.15, 0.012), (0.5, -2e-5)])
def test_reference_flow_against_radau(law, time, v):
    """Windows that start in stiction, transit into it, and lie within it."""
    case = StickSlipBox(solver=SolverConfig(friction_law=law))

    def derivative(t, y):
        s = abs(y[0]) / 1e-4
        inside = s if law == "linear" else s * (2.0 - s)
        friction = BOX_WEIGHT * (inside if s < 1.0 else 1.0) * np.sign(y[0])
        return [(4.0 * np.cos(2.0 * np.pi * t) - friction) / BOX_MASS]

    exact = solve_ivp(
        derivative, (time, time + 0.025), [v], "Radau", rtol=1e-9, atol=1e-12, max_step=1e-4
    ).y[0, -1]
    assert case.reference(v, time, 0.025, 1e-6) == pytest.approx(exact, abs=1e-8)


def test_the_engines_box_converges_to_the_reference():
    """One model: small steps of TAMSI tend to the flow of the paper's scalar equation."""
    errors = []
    for step in (1e-4, 1e-5):
        case = StickSlipBox(time_step=step)
        engine = case.engine()
        make_integrator("tamsi", engine, case.excitation()).step(round(0.12 / step))
        errors.append(abs(engine.v[0] - case.reference(0.0, 0.0, 0.12, 1e-6)))
    assert errors[1] < 0.15 * errors[0] < 1e-4


def test_normal_force_is_the_weight():
    engine = StickSlipBox().engine()
    assert engine.evaluate() == 1
    work = engine.work
    assert work.contacts.stiffness[0] * work.contacts.depth[0] == pytest.approx(
        BOX_WEIGHT, rel=1e-12
    )
    assert engine.built.arrays.inertias.mass[0] == BOX_MASS


def test_gripper_has_eight_velocities_and_sixteen_pairs():
    case = ParallelGripper.load()
    engine = case.engine()
    assert len(engine.v) == 8
    assert len(engine.built.pairs) == 16
    assert case.time_step == 3e-3


def test_gripper_is_shaken_by_the_papers_motion():
    """Period 0.5 s and amplitude 15 cm, 2 A from top to bottom."""
    case = ParallelGripper()
    status, positions, _ = case.engine().roll(case.forces(334))
    assert status == 0
    assert np.ptp(positions[:, 0]) == pytest.approx(0.3, rel=0.02)
    period = round(0.5 / 3e-3)
    assert positions[period, 0] == pytest.approx(positions[0, 0], abs=0.01)


def test_soft_pads_touch_at_more_points():
    counts = []
    for stiffness, dissipation in ((1e4, 10.0), (1e3, 3.0)):
        case = ParallelGripper(stiffness=stiffness, dissipation=dissipation)
        engine = case.engine()
        engine.roll(case.forces(300))
        counts.append(len(engine.contacts()))
    assert counts[0] == 4
    assert counts[1] > 10
