"""What torques can tell: by hand for two joints in a plane, by plain least squares for an arm."""

import numpy as np
import pytest

from contact_aware_control.config import ControllerConfig
from contact_aware_control.estimation.calibration import prior
from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.identifiability import ContactProspect
from contact_aware_control.estimation.torque_errors import TorqueErrors
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot

LENGTH, RADIUS, NOISE = 0.5, 0.05, 0.5
ELBOW = "lbr_link_4"


def planar_urdf():
    """Two joints about z, each with a capsule along x."""
    parts = ['<robot name="planar"><link name="base"/>']
    for i, x in ((1, 0.0), (2, LENGTH)):
        parts.append(
            f'<link name="link_{i}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" '
            f'izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial><collision name="link_{i}">'
            f'<origin xyz="{LENGTH / 2} 0 0" rpy="0 1.5707963267948966 0"/><geometry><cylinder '
            f'radius="{RADIUS}" length="{LENGTH}"/></geometry></collision></link>'
            f'<joint name="A{i}" type="revolute"><parent link="{"base" if i == 1 else "link_1"}"/>'
            f'<child link="link_{i}"/><origin xyz="{x} 0 0"/><axis xyz="0 0 1"/>'
            '<limit lower="-3" upper="3" velocity="2" effort="100"/></joint>'
        )
    return "".join([*parts, "</robot>"])


@pytest.fixture(scope="module")
def planar():
    return ContactProspect(Robot(planar_urdf(), ["A1", "A2"], "link_2"), noise=np.full(2, NOISE))


def test_planar_arm_feels_a_force_by_its_lever_arm(planar):
    """sqrt(threshold) standard deviations over the lever arm; through the axis, nothing."""
    least = np.sqrt(EstimatorConfig().detection.threshold) * NOISE
    for distance in (0.1, 0.3):
        found = planar.of(
            np.zeros(2), "link_1", np.array([distance, RADIUS, 0.0]), np.array([0.0, -20.0, 0.0])
        )
        assert found.felt[0] == pytest.approx(least / distance)
        assert found.yield_speed[0] == pytest.approx(2.0 * distance)
    end = planar.of(
        np.zeros(2), "link_2", np.array([2 * LENGTH + RADIUS, 0.0, 0.0]), np.array([-500.0, 0, 0])
    )
    assert end.felt[0] == np.inf
    assert end.yield_speed[0] == 0.0


def test_planar_arm_locates_nothing(planar):
    """Two torques: the same force somewhere else, a little larger or smaller."""
    found = planar.at(np.zeros(2), force=50.0)
    assert not found.located.any()
    assert set(found.rivals[0]) <= {"link_1", "link_2"}


@pytest.fixture(scope="module")
def prospect():
    description = RobotDescription.load("iiwa14_wsg50")
    arm = Robot.from_description(description)
    return arm, ContactProspect(arm), np.array(description.joints.home)


def test_elbow_pulled_along_the_upper_arm_is_not_felt(prospect):
    """80 N and more: the line leads through the axes of shoulder and elbow."""
    arm, looks, q = prospect
    arm.update(q)
    shoulder, elbow = arm.joint_origins[1], arm.joint_origins[3]
    along = (elbow - shoulder) / np.linalg.norm(elbow - shoulder)
    felt = looks.of(q, ELBOW, elbow, 80.0 * along).felt[0]
    assert felt > 80.0
    across = np.cross(along, (0.0, 1.0, 0.0))
    assert looks.of(q, ELBOW, elbow, 80.0 * across).felt[0] < 10.0


def test_outer_links_are_located_and_inner_ones_are_not(prospect):
    _, looks, q = prospect
    links = looks.at(q).by_link()
    assert links["lbr_link_7"].located >= 0.9
    assert all(links[f"lbr_link_{i}"].located == 0.0 for i in (1, 2))
    # Between the fingers, or further along that line: the same to the arm.
    assert links["finger_left"].wrench_known > links["finger_left"].located
    speeds = [links[f"lbr_link_{i}"].yield_speed for i in (2, 4, 6)]
    assert speeds == sorted(speeds)
    assert ControllerConfig().limits.yielding_fraction * speeds[0] < 0.2


def test_what_is_not_known_of_an_arm_hides_contacts(prospect):
    """Friction and masses as they are assumed without a calibration."""
    arm, looks, q = prospect
    config = EstimatorConfig()
    errors = TorqueErrors(arm, config.errors, 0.1, prior(arm, config.errors)).expect(q, 0.0)[1]
    known, doubted = looks.at(q), looks.at(q, errors=errors)
    assert np.all(doubted.felt >= known.felt)
    assert doubted.located.sum() < known.located.sum()


@pytest.mark.parametrize("seed", range(3))
def test_a_rival_explains_the_torque(prospect, seed):
    """Whatever is said to explain a torque as well does so, by plain least squares."""
    arm, looks, q = prospect
    rng = np.random.default_rng(seed)
    turned = q + rng.uniform(-0.3, 0.3, 7)
    found = looks.at(turned)
    arm.update(turned)
    deviation = 0.1 * np.sqrt(0.005 / 0.1)
    for i in np.flatnonzero([len(rivals) == 1 for rivals in found.rivals])[:10]:
        torque = arm.torque_of_force(found.links[i], found.points[i], 15.0 * found.directions[i])
        (rival,) = found.rivals[i]
        jacobian = arm.point_jacobian(rival, found.elsewhere[i])
        left = torque - jacobian.T @ np.linalg.lstsq(jacobian.T, torque, rcond=None)[0]
        relative = EstimatorConfig().noise.relative * np.linalg.norm(torque)
        assert left @ left / (deviation**2 + relative**2) <= 9.0
