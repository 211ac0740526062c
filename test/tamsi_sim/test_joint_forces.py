"""Position controllers, end stops, friction and effort limits of joints."""

import numpy as np
import pytest
from builders import engine_of

from contact_core.robot.scene import Instance
from tamsi_sim import World
from tamsi_sim.arrays.status import StepStatus

SLIDER = """<robot name="slider"><link name="base"/><link name="cart">
  <inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link><joint name="slide" type="prismatic"><parent link="base"/><child link="cart"/>
  <axis xyz="1 0 0"/><limit lower="-0.5" upper="0.5" effort="{effort}" velocity="10"/>
  <dynamics damping="0" friction="{friction}"/></joint></robot>"""


def slider(time_step=1e-3, friction=0.0, effort=100.0):
    """Return a 2 kg slider along x, without gravity."""
    return engine_of(
        [Instance("slider", SLIDER.format(friction=friction, effort=effort))], time_step
    )


def test_implicit_controller_is_stable_at_any_stiffness():
    engine = slider(time_step=0.01, effort=1e12)
    # Explicit integration would need h < 2 sqrt(m / K) = 9e-5 s.
    engine.work.drives.stiffness[:] = 1e9
    engine.work.drives.damping[:] = 1e6
    engine.q[:], engine.v[:] = 0.1, 1.0
    for _ in range(200):
        assert engine.step(1) == StepStatus.OK
        assert abs(engine.q[0]) <= 0.11
    assert engine.q[0] == pytest.approx(0.0, abs=1e-6)


def test_static_deflection_is_load_over_stiffness():
    engine = slider()
    engine.work.drives.stiffness[:] = 400.0
    engine.work.drives.damping_ratio[:] = 1.0
    engine.work.drives.target[:] = 0.02
    engine.applied[:] = 8.0
    engine.step(4000)
    assert engine.q[0] == pytest.approx(0.02 + 8.0 / 400.0, abs=1e-9)


def test_damping_ratio_one_does_not_overshoot_and_a_smaller_one_does():
    peaks = []
    for ratio in (1.0, 0.2):
        engine = slider()
        engine.work.drives.stiffness[:] = 400.0
        engine.work.drives.damping_ratio[:] = ratio
        engine.q[:] = 0.1
        _, positions, _ = engine.roll(np.zeros((2000, 1)))
        peaks.append(positions.min())
    assert peaks[0] > -1e-4
    # Overshoot of a second-order system: exp(-pi zeta / sqrt(1 - zeta^2)).
    assert peaks[1] == pytest.approx(-0.1 * np.exp(-np.pi * 0.2 / np.sqrt(0.96)), rel=0.03)


def test_target_ramps_by_its_rate():
    engine = slider()
    engine.work.drives.target_rate[:] = 1e-3
    engine.step(5)
    assert engine.work.drives.target[0] == pytest.approx(5e-3)


def test_the_urdfs_effort_limit_bounds_the_force():
    engine = slider(effort=3.0)
    engine.work.drives.stiffness[:] = 1e6
    engine.work.drives.target[:] = 0.4
    engine.step(100)
    assert engine.v[0] == pytest.approx(3.0 / 2.0 * 0.1)


def test_end_stop_holds_a_load():
    engine = slider()
    engine.applied[:] = 50.0
    engine.step(5000)
    stiffness = engine.built.arrays.joints.limit_stiffness[0]
    assert engine.q[0] == pytest.approx(0.5 + 50.0 / stiffness, abs=1e-6)
    assert engine.v[0] == pytest.approx(0.0, abs=1e-6)


def test_joint_friction_holds_below_its_bound_and_slides_above():
    engine = slider(friction=2.0)
    engine.applied[:] = 1.9
    engine.step(1000)
    assert abs(engine.v[0]) < 1e-4
    engine.applied[:] = 3.0
    engine.step(1000)
    assert engine.v[0] == pytest.approx(0.5, rel=0.01)


def test_sliding_joint_comes_to_rest_without_chatter():
    engine = slider(friction=2.0)
    engine.v[:] = 0.3
    status, positions, velocities = engine.roll(np.zeros((1000, 1)))
    assert status == StepStatus.OK
    assert velocities.min() > -1e-4
    assert abs(velocities[-1, 0]) < 1e-6
    # v^2 m / (2 F)
    assert positions[-1, 0] == pytest.approx(0.3**2 * 2.0 / 4.0, rel=0.01)


RAIL = """<robot name="r"><link name="base"/><link name="load"><inertial><origin xyz="{arm} 0 0"/>
  <mass value="{mass}"/><inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial>
  </link><joint name="j" type="{kind}"><parent link="base"/><child link="load"/>
  <axis xyz="{axis}"/><limit lower="-0.002" upper="0.1" effort="1000" velocity="10"/></joint>
  </robot>"""


@pytest.mark.parametrize("mass", [1e-3, 0.05, 1.0, 500.0, 2e4])
@pytest.mark.parametrize(
    "kind, axis, arm", [("prismatic", "0 0 1", 0.0), ("revolute", "0 -1 0", 0.3)]
)
def test_end_stops_hardly_give_way_whatever_hangs_on_them(kind, axis, arm, mass):
    text = RAIL.format(kind=kind, axis=axis, arm=arm, mass=mass, i=0.01 * mass)
    for time_step, accuracy in ((1e-3, 0.0), (5e-3, 0.0), (1e-3, 1e-3)):
        engine = World().add("r", text).build(time_step, accuracy=accuracy)
        assert engine.step(round(3.0 / time_step)) == StepStatus.OK
        assert -0.0025 < engine.q[0] < -0.002
        assert abs(engine.v[0]) < 1e-3


def test_an_end_stop_stops_a_light_finger_within_the_step_in_which_it_is_met():
    # Newton's method went on to another piece of the law, and was not asked whether it arrived.
    text = RAIL.format(kind="prismatic", axis="0 0 1", arm=0.0, mass=0.05, i=1e-3)
    engine = World().add("r", text).build(5e-3)
    engine.applied[0] = -40.0
    for _ in range(100):
        before = engine.v[0]
        assert engine.step() == StepStatus.OK
        force = engine.joint_force[0] + engine.applied[0] - 0.05 * 9.81
        assert 0.05 * (engine.v[0] - before) == pytest.approx(5e-3 * force, abs=1e-6)
        assert engine.q[0] > -0.0025
