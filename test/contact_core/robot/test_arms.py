"""The arms we describe: public models, their makers' tables, and bodies that can exist."""

from itertools import combinations

import coal
import numpy as np
import pinocchio as pin
import pytest

from contact_core.multibody.collision.shapes import shape_to_coal
from contact_core.robot.description import read_urdf
from contact_core.robot.robot import Robot
from contact_experiments.models.packages import folder

# Joints, flange, published mass [kg], and a home at which nothing touches.
UR5E = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
ARMS = {
    "iiwa7": ([f"A{i}" for i in range(1, 8)], "link_ee", 23.9, [0, 0.4, 0, -1.6, 0, -0.4, 0]),
    "fr3": (
        [f"fr3_joint{i}" for i in range(1, 8)],
        "fr3_link8",
        17.8,
        [0, 0.3, 0, -1.9, 0, 3.7, 0],
    ),
    "ur5e": ([f"{name}_joint" for name in UR5E], "tool0", 20.6, [-0.2, -1.2, 1.0, 0.2, 1.3, 0]),
}

# Denavit-Hartenberg parameters as their makers publish them: a [m], d [m], alpha [quarter turns].
TABLES = {
    "iiwa7": [
        (0, 0.34, -1), (0, 0, 1), (0, 0.4, 1), (0, 0, -1), (0, 0.4, -1), (0, 0, 1), (0, 0.126, 0),
    ],
    "ur5e": [
        (0, 0.1625, 1), (-0.425, 0, 0), (-0.3922, 0, 0), (0, 0.1333, 1), (0, 0.0997, -1),
        (0, 0.0996, 0),
    ],
}  # fmt: skip
# The maker's base frame in ours, about z: ROS turns the UR's so that the arm reaches along x.
BASES = {"iiwa7": 0.0, "ur5e": np.pi}


@pytest.fixture(params=ARMS)
def name(request):
    return request.param


def arm(name):
    joints, flange, _, _ = ARMS[name]
    return Robot(read_urdf(f"urdf/{name}.urdf"), joints, flange)


def random_configurations(robot, count=20):
    return np.random.default_rng(0).uniform(*robot.position_limits, (count, robot.n))


def screw(angle=0.0, shift=0.0, axis="z"):
    """A turn about an axis and a shift along it."""
    along = np.eye(3)["xyz".index(axis)]
    return pin.SE3(pin.exp3(angle * along), shift * along)


def test_every_joint_turns_within_its_limits_against_a_torque(name):
    robot = arm(name)
    assert robot.joint_names == tuple(ARMS[name][0])
    assert (robot.position_limits[0] < robot.position_limits[1]).all()
    assert (robot.velocity_limits > 0).all()
    assert (robot.effort_limits > 0).all()
    assert np.isfinite(robot.position_limits).all()


@pytest.mark.parametrize("name", TABLES)
def test_the_flange_is_where_the_makers_table_puts_it(name):
    robot = arm(name)
    for q in random_configurations(robot):
        expected = screw(BASES[name])
        for angle, (a, d, alpha) in zip(q, TABLES[name], strict=True):
            expected = expected * screw(angle, d) * screw(alpha * np.pi / 2, a, "x")
        robot.update(q)
        np.testing.assert_allclose(robot.tool_pose().homogeneous, expected.homogeneous, atol=1e-9)


def test_the_fr3_moves_like_the_panda():
    urdf = folder("example-robot-data") / "panda_description/urdf/panda.urdf"
    if not urdf.exists():
        pytest.skip("needs example-robot-data")
    panda = pin.buildModelFromUrdf(str(urdf))
    data, flange, robot = panda.createData(), panda.getFrameId("panda_link8"), arm("fr3")
    for q in random_configurations(robot):
        pin.framesForwardKinematics(panda, data, np.append(q, [0.0, 0.0]))
        robot.update(q)
        expected = data.oMf[flange].homogeneous
        np.testing.assert_allclose(robot.tool_pose().homogeneous, expected, atol=1e-9)


def test_it_weighs_what_is_published_and_every_link_is_a_body(name):
    inertias = arm(name).model.inertias
    assert sum(body.mass for body in inertias) == pytest.approx(ARMS[name][2], abs=0.1)
    for body in inertias:
        small, middle, large = np.linalg.eigvalsh(body.inertia)
        assert body.mass > 0
        assert small > 0
        assert large < small + middle


def test_links_that_are_no_neighbours_are_apart_at_home(name):
    robot = arm(name)
    robot.update(np.array(ARMS[name][3], dtype=float))
    for a, b in combinations(robot.collision_shapes, 2):
        if abs(robot.joints_moving(a.body) - robot.joints_moving(b.body)) > 1:
            distance = coal.distance(
                *placed(robot, a), *placed(robot, b), coal.DistanceRequest(), coal.DistanceResult()
            )
            assert distance > 0, f"{a.name} and {b.name}"


def placed(robot, shape):
    """Coal's solid of a shape, and where it is."""
    pose = robot.link_pose(shape.body) * shape.placement
    return shape_to_coal(shape.shape), coal.Transform3s(pose.rotation, pose.translation)
