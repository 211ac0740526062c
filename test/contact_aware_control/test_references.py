"""Trajectories: what they interpolate, and every reason to refuse one."""

import numpy as np
import pinocchio as pin
import pytest
from scipy.interpolate import BPoly, CubicHermiteSpline

from contact_aware_control.config import StartTolerance
from contact_aware_control.reference import JointTrajectory, PoseTrajectory
from contact_core.base.errors import TrajectoryError

Q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
TIMES = [0.0, 1.0, 2.5]
RNG = np.random.default_rng(0)
POSITIONS = Q + RNG.normal(scale=0.1, size=(3, 7))
VELOCITIES = RNG.normal(scale=0.1, size=(3, 7))
ACCELERATIONS = RNG.normal(scale=0.1, size=(3, 7))
START = StartTolerance()


def test_positions_alone_are_joined_by_lines():
    trajectory = JointTrajectory(TIMES, POSITIONS)
    for time in np.linspace(0.0, 2.5, 30):
        expected = [np.interp(time, TIMES, POSITIONS[:, joint]) for joint in range(7)]
        np.testing.assert_allclose(trajectory.sample(time), expected, atol=1e-12)


def test_velocities_make_it_cubic():
    trajectory = JointTrajectory(TIMES, POSITIONS, VELOCITIES)
    oracle = CubicHermiteSpline(TIMES, POSITIONS, VELOCITIES)
    for time in np.linspace(0.0, 2.5, 30):
        np.testing.assert_allclose(trajectory.sample(time), oracle(time), atol=1e-12)


def test_accelerations_make_it_quintic():
    trajectory = JointTrajectory(TIMES, POSITIONS, VELOCITIES, ACCELERATIONS)
    oracle = BPoly.from_derivatives(
        TIMES, list(np.stack((POSITIONS, VELOCITIES, ACCELERATIONS), axis=1))
    )
    for time in np.linspace(0.0, 2.5, 30):
        np.testing.assert_allclose(trajectory.sample(time), oracle(time), atol=1e-12)


@pytest.mark.parametrize("time", [-1.0, 0.0, 2.5, 99.0])
def test_outside_its_time_a_trajectory_rests_at_its_ends(time):
    trajectory = JointTrajectory(TIMES, POSITIONS, VELOCITIES)
    expected = POSITIONS[0] if time <= 0.0 else POSITIONS[-1]
    np.testing.assert_array_equal(trajectory.sample(time), expected)
    assert trajectory.duration == 2.5


def test_single_point_in_the_future_is_reached_from_the_start():
    trajectory = JointTrajectory.from_start(Q, [2.0], POSITIONS[:1], VELOCITIES[:1] * 0.0)
    np.testing.assert_allclose(trajectory.sample(0.0), Q)
    np.testing.assert_allclose(trajectory.sample(1.0), 0.5 * (Q + POSITIONS[0]))
    np.testing.assert_allclose(trajectory.sample(2.0), POSITIONS[0])


def test_start_is_not_prepended_to_a_point_at_time_zero():
    trajectory = JointTrajectory.from_start(Q, TIMES, POSITIONS)
    np.testing.assert_array_equal(trajectory.sample(0.0), POSITIONS[0])


@pytest.mark.parametrize(
    ("times", "positions", "message"),
    [
        ([], np.zeros((0, 7)), "no points"),
        ([0.0, 0.0], POSITIONS[:2], "point 1: time 0 s must be later"),
        ([-1.0, 0.0], POSITIONS[:2], "point 0"),
        ([0.0, np.nan], POSITIONS[:2], "point 1: time nan"),
        ([0.0, 1.0], POSITIONS, "2 points need"),
        ([0.0, 1.0], np.where(np.eye(2, 7) > 0, np.inf, 0.1), "point 0"),
        ([0.0, 1.0], np.zeros(7), "2 points need"),
    ],
)
def test_malformed_joint_trajectories_are_refused(times, positions, message):
    with pytest.raises(TrajectoryError, match=message):
        JointTrajectory(times, positions)


def test_wrong_length_of_velocities_is_refused():
    with pytest.raises(TrajectoryError, match=r"\(3, 6\)"):
        JointTrajectory(TIMES, POSITIONS, VELOCITIES[:, :6])


def test_accelerations_without_velocities_are_refused():
    with pytest.raises(TrajectoryError, match="velocities"):
        JointTrajectory(TIMES, POSITIONS, None, ACCELERATIONS)


def test_joint_trajectory_within_limits_is_accepted(robot):
    JointTrajectory([0.0, 2.0], np.array([Q, Q + 0.5]), np.zeros((2, 7))).check(robot, Q, START)


def test_start_far_from_the_arm_is_refused(robot):
    with pytest.raises(TrajectoryError, match=r"starts 0.060 rad .* joint lbr_A3"):
        JointTrajectory([0.0, 2.0], np.array([Q, Q])).check(robot, Q + 0.06 * np.eye(7)[2], START)


def test_position_limit_is_checked_between_the_points(robot):
    """Both points are within the limits, the cubic between them is not."""
    near = Q.copy()
    near[3] = robot.position_limits[0, 3] + 0.05
    velocity = np.zeros((2, 7))
    velocity[0, 3], velocity[1, 3] = -1.0, 1.0
    trajectory = JointTrajectory([0.0, 1.0], np.array([near, near]), velocity)
    with pytest.raises(TrajectoryError, match=r"point 1: joint lbr_A4 would be outside"):
        trajectory.check(robot, near, START)


def test_velocity_limit_is_checked_between_the_points(robot):
    fast = Q + np.eye(7)[0]
    with pytest.raises(TrajectoryError, match=r"point 1: joint lbr_A1 would move at 2.000 rad/s"):
        JointTrajectory([0.0, 0.5], np.array([Q, fast])).check(robot, Q, START)


def test_wrong_number_of_joints_is_refused(robot):
    with pytest.raises(TrajectoryError, match="6 joints"):
        JointTrajectory([0.0], np.zeros((1, 6))).check(robot, Q, START)


def poses(robot):
    robot.update(Q)
    start = robot.tool_pose()
    end = start * pin.SE3(pin.exp3(np.array([0.2, -0.3, 0.1])), np.array([0.05, 0.03, -0.08]))
    return start, end


def test_pose_moves_on_a_line_and_about_one_axis(robot):
    start, end = poses(robot)
    trajectory = PoseTrajectory([0.0, 4.0], [start, end])
    turn = pin.log3(start.rotation.T @ end.rotation)
    for time in np.linspace(0.0, 4.0, 9):
        s = time / 4.0
        share = 10 * s**3 - 15 * s**4 + 6 * s**5
        pose = trajectory.sample(time)
        np.testing.assert_allclose(
            pose.translation, start.translation + share * (end.translation - start.translation)
        )
        np.testing.assert_allclose(
            pin.log3(start.rotation.T @ pose.rotation), share * turn, atol=1e-12
        )


def test_pose_trajectory_rests_at_every_pose(robot):
    start, end = poses(robot)
    trajectory = PoseTrajectory([0.0, 1.0, 2.0], [start, end, start])
    for knot in (0.0, 1.0, 2.0):
        a = trajectory.sample(knot - 1e-3).translation
        b = trajectory.sample(knot + 1e-3).translation
        assert np.linalg.norm(b - a) < 1e-8


def test_pose_in_the_future_is_reached_from_the_start(robot):
    start, end = poses(robot)
    trajectory = PoseTrajectory.from_start(start, [2.0], [end])
    np.testing.assert_allclose(trajectory.sample(0.0).homogeneous, start.homogeneous)
    np.testing.assert_allclose(trajectory.sample(2.0).homogeneous, end.homogeneous)


def test_reachable_pose_trajectory_is_accepted(robot):
    start, end = poses(robot)
    PoseTrajectory([0.0, 2.0], [start, end]).check(robot, Q, START)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([0.0, 0.0], "pose 1: time 0 s must be later"),
        ([0.0, np.inf], "pose 1: time inf"),
        ([0.0], "1 times for 2 poses"),
        ([], "no poses"),
    ],
)
def test_malformed_pose_trajectories_are_refused(robot, times, message):
    with pytest.raises(TrajectoryError, match=message):
        PoseTrajectory(times, poses(robot))


def test_pose_with_nan_is_refused(robot):
    start, end = poses(robot)
    end.translation[1] = np.nan
    with pytest.raises(TrajectoryError, match="pose 1 is not finite"):
        PoseTrajectory([0.0, 1.0], [start, end])


def test_pose_with_scaled_rotation_is_refused(robot):
    start, end = poses(robot)
    end.rotation = 1.1 * end.rotation
    with pytest.raises(TrajectoryError, match="quaternion"):
        PoseTrajectory([0.0, 1.0], [start, end])


def test_pose_trajectory_far_from_the_tool_is_refused(robot):
    start, end = poses(robot)
    with pytest.raises(TrajectoryError, match=r"starts 0\.\d+ m and 0\.\d+ rad away"):
        PoseTrajectory([0.0, 1.0], [end, start]).check(robot, Q, START)


def test_pose_out_of_reach_is_refused(robot):
    start, _ = poses(robot)
    far = pin.SE3(start.rotation, start.translation + 0.9 * np.eye(3)[0])
    with pytest.raises(TrajectoryError, match=r"pose 1 at \d+ s, on the way there: "):
        PoseTrajectory([0.0, 20.0], [start, far]).check(robot, Q, START)


def test_pose_trajectory_that_is_too_fast_is_refused(robot):
    start, end = poses(robot)
    with pytest.raises(TrajectoryError, match=r"pose 1: joint lbr_A\d would move at"):
        PoseTrajectory([0.0, 0.1], [start, end]).check(robot, Q, START)


SPEED = np.array([0.3, -0.2, 0.1, 0.0, 0.05, -0.3, 0.2])


@pytest.mark.parametrize("first", [0.1, 2.0])
@pytest.mark.parametrize("derivatives", [1, 2])
def test_an_arm_that_moves_goes_on_from_its_speed(first, derivatives):
    """It was taken for one at rest: the command stopped, and went back for a moment."""
    ends = [VELOCITIES, ACCELERATIONS][:derivatives]
    times = [first, 3.0, 4.5]
    trajectory = JointTrajectory.from_start(Q, times, POSITIONS, *ends, speed=SPEED)
    np.testing.assert_array_equal(trajectory.sample(0.0), Q)
    np.testing.assert_allclose((trajectory.sample(1e-6) - Q) / 1e-6, SPEED, atol=1e-4)
    for time, point in zip(times, POSITIONS, strict=True):
        np.testing.assert_allclose(trajectory.sample(time), point)
    grid = np.linspace(0.0, 4.5, 9001)
    velocity = np.diff(trajectory.samples(grid), axis=0) / 5e-4
    # No jump, at the knot that is added neither: (acceleration) times 0.5 ms.
    assert np.abs(np.diff(velocity, axis=0)).max() < 0.1


def test_a_new_motion_the_same_way_never_turns_round():
    ahead = Q + 2.0 * SPEED
    trajectory = JointTrajectory.from_start(Q, [4.0], ahead[None], np.zeros((1, 7)), speed=SPEED)
    path = trajectory.samples(np.linspace(0.0, 4.0, 4001))
    forward = np.diff(path, axis=0) * np.sign(SPEED)
    assert forward.min() > -1e-9
    # Nor does it go far past a place that is near: the speed fades.
    near = JointTrajectory.from_start(Q, [60.0], Q[None], np.zeros((1, 7)), speed=SPEED)
    assert np.abs(near.samples(np.linspace(0.0, 60.0, 6001)) - Q).max() < 0.06


def test_many_samples_are_those_at_each_time():
    for ends in ((), (VELOCITIES,), (VELOCITIES, ACCELERATIONS)):
        trajectory = JointTrajectory(TIMES, POSITIONS, *ends)
        grid = np.linspace(-1.0, 3.0, 57)
        expected = [trajectory.sample(time) for time in grid]
        np.testing.assert_allclose(trajectory.samples(grid), expected, atol=1e-12)
    single = JointTrajectory([0.0], POSITIONS[:1])
    np.testing.assert_array_equal(single.samples(grid), np.repeat(POSITIONS[:1], 57, axis=0))


def test_the_first_point_beyond_a_limit_is_named_among_many(robot):
    times = np.linspace(0.0, 590.0, 1000)
    points = Q + np.zeros((1000, 7))
    points[700, 6] = robot.position_limits[1, 6] + 0.01
    points[900, 6] = robot.position_limits[1, 6] + 0.02
    with pytest.raises(TrajectoryError, match=r"point 700: joint lbr_A7 .* by 0\.010 rad"):
        JointTrajectory(times, points, np.zeros((1000, 7))).check(robot, Q, START)


def test_a_tool_that_moves_goes_on_from_its_speed(robot):
    start, end = poses(robot)
    twist = np.array([0.05, -0.02, 0.1, 0.2, -0.1, 0.3])
    for first in (0.1, 4.0):
        trajectory = PoseTrajectory([first], [end]).begun(start, twist)
        step = pin.log6(start.actInv(trajectory.sample(1e-5))).vector / 1e-5
        np.testing.assert_allclose(step, twist, atol=1e-3)
        np.testing.assert_allclose(trajectory.sample(first).homogeneous, end.homogeneous)
        grid = np.linspace(0.0, first, 2001)
        way = np.array([trajectory.sample(time).translation for time in grid])
        # No jump of the velocity [m/s].
        assert np.abs(np.diff(way, n=2, axis=0)).max() / grid[1] < 1e-2
