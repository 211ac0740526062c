"""Tracking terms against finite differences of the error they minimise."""

import math

import numpy as np
import pinocchio as pin
import pytest

from contact_aware_control import tracking
from contact_aware_control.config import ControllerConfig
from contact_aware_control.reference import JointTrajectory, PoseTrajectory
from contact_aware_control.reference.base import Reference
from contact_aware_control.tracking import _quadratic, make_tracking
from contact_core.base.config import from_mapping
from contact_core.base.errors import TrajectoryError

Q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])


def pose_task(robot, **tracking):
    robot.update(Q)
    start = robot.tool_pose()
    goal = start * pin.SE3(pin.exp3(np.array([0.1, -0.2, 0.05])), np.array([0.02, 0.01, -0.03]))
    config = from_mapping(ControllerConfig, {"tracking": tracking})
    motion = PoseTrajectory([0.0, 4.0], [start, goal])
    return make_tracking(robot, motion, Q, config), motion


def test_pose_gradient_is_that_of_the_pose_error(robot):
    """With full error gain at the end of the trajectory, g is the gradient of the cost.

    d/dx 1/2 |log6(X(q + x)^-1 X_ref)|_W^2 = -J^T W e to first order in e.
    """
    task, motion = pose_task(
        robot, error_rate=200.0, posture_weight=1e-9, position_weight=2.0, rotation_weight=0.3
    )
    weights = np.array([2.0] * 3 + [0.3] * 3)
    goal = motion.sample(4.0)
    near = Q.copy()
    robot.update(Q)
    jacobian = robot.tool_jacobian()
    for _ in range(20):  # close to the goal, where log6 is linear
        robot.update(near)
        error = pin.log6(robot.tool_pose().actInv(goal)).vector
        near = near + np.linalg.pinv(robot.tool_jacobian()) @ error
    near = near + 1e-4 * np.arange(7)
    _, gradient = task.objective(near, 4.0)

    def cost(q):
        robot.update(q)
        error = pin.log6(robot.tool_pose().actInv(goal)).vector
        return 0.5 * error @ (weights * error)

    step = 1e-5
    numeric = [
        (cost(near + step * axis) - cost(near - step * axis)) / (2 * step) for axis in np.eye(7)
    ]
    np.testing.assert_allclose(gradient, numeric, atol=1e-3 * np.abs(gradient).max())
    assert jacobian.shape == (6, 7)


def test_pose_hessian_is_definite_though_the_pose_leaves_one_joint_free(robot):
    task, _ = pose_task(robot)
    hessian, _ = task.objective(Q, 0.0)
    assert np.linalg.eigvalsh(hessian)[0] > 1e-5


def test_pose_step_moves_the_tool_along_the_reference(robot):
    """The unconstrained minimiser moves the tool as far as the reference moves."""
    task, motion = pose_task(robot, rotation_weight=1.0, posture_weight=1e-6)
    hessian, gradient = task.objective(Q, 2.0)
    at_two = motion.sample(2.0)
    following = motion.sample(2.005)
    robot.update(Q)
    gain = 10.0 * 0.005
    wanted = gain * pin.log6(robot.tool_pose().actInv(at_two)).vector
    wanted += pin.log6(at_two.actInv(following)).vector
    np.testing.assert_allclose(
        robot.tool_jacobian() @ np.linalg.solve(hessian, -gradient), wanted, atol=1e-6
    )


def test_posture_is_restored_in_the_null_space(robot):
    """The tool at its pose, the elbow elsewhere: the minimiser moves towards the posture."""
    robot.update(Q)
    pose = robot.tool_pose()
    null = np.linalg.svd(robot.tool_jacobian())[2][-1]
    moved = Q + 0.2 * null
    task = make_tracking(robot, PoseTrajectory([0.0, 1.0], [pose, pose]), Q, ControllerConfig())
    robot.update(moved)
    pose_there = robot.tool_pose()
    task = make_tracking(
        robot, PoseTrajectory([0.0, 1.0], [pose_there, pose_there]), Q, ControllerConfig()
    )
    hessian, gradient = task.objective(moved, 1.0)
    step = np.linalg.solve(hessian, -gradient)
    assert step @ (Q - moved) > 0.0
    assert np.linalg.norm(robot.tool_jacobian() @ step) < 0.1 * np.linalg.norm(step)


def test_joint_term_asks_for_the_reference_step(robot):
    """x_ref = gain (q_ref - q) + q_ref+ - q_ref, H = I."""
    reference = JointTrajectory([0.0, 2.0], np.array([Q, Q + 0.2]))
    task = make_tracking(robot, reference, Q, ControllerConfig())
    off = Q + 0.01
    hessian, gradient = task.objective(off, 1.0)
    expected = 0.05 * (Q + 0.1 - off) + 0.2 / 2.0 * 0.005
    np.testing.assert_allclose(hessian, np.eye(7))
    np.testing.assert_allclose(-gradient, expected, atol=1e-12)


@pytest.mark.parametrize("kind", ["pose", "joint"])
def test_reported_error_is_that_of_the_tool(robot, kind):
    robot.update(Q)
    start = robot.tool_pose()
    if kind == "pose":
        shifted = start * pin.SE3(pin.exp3(np.array([0.0, 0.0, 0.3])), np.array([0.03, 0.0, 0.04]))
        reference = PoseTrajectory([0.0, 1.0], [shifted, shifted])
    else:
        reference = JointTrajectory([0.0, 1.0], np.array([Q, Q]) + 0.1)
        robot.update(Q + 0.1)
        shifted = robot.tool_pose()
        robot.update(Q)
    task = make_tracking(robot, reference, Q, ControllerConfig())
    position, rotation = task.error(0.5)
    difference = start.actInv(shifted)
    assert position == pytest.approx(np.linalg.norm(difference.translation))
    assert rotation == pytest.approx(np.linalg.norm(pin.log3(difference.rotation)))


def test_unknown_kind_of_reference_is_refused(robot):
    class Nothing(Reference):
        duration = 1.0

        def check(self, robot, q_start, tolerance):
            pass

    with pytest.raises(TrajectoryError, match="Nothing"):
        make_tracking(robot, Nothing(), Q, ControllerConfig())


@pytest.mark.parametrize("in_contact", [1.0, 4.0])
@pytest.mark.parametrize("slow", [True, False])
def test_the_way_back_is_no_faster_than_what_is_programmed(robot, slow, in_contact):
    """From 0.2 rad beside a path; 0.1 rad/s and 0.1 m/s were too much for a slow one."""
    config = ControllerConfig()
    duration = 40.0 if slow else 4.0
    turn = np.array([0.6, 0.1, 0.0, 0.2, 0.0, 0.0, 0.0])
    motion = JointTrajectory([0.0, duration], np.array([Q, Q + turn]))
    poses = [tool_at(robot, motion.sample(time)) for time in (0.0, duration)]
    for reference in (motion, PoseTrajectory([0.0, duration], poses)):
        task = make_tracking(robot, reference, Q, config)
        times = np.linspace(0.0, duration, 1000)
        tools = np.array([tool_of(robot, reference.sample(time)) for time in times])
        top = np.linalg.norm(np.diff(tools, axis=0), axis=1).max() / (times[1] - times[0])
        beside = Q + 0.5 * turn + 0.2
        hessian, gradient = task.objective(beside, 0.5 * duration, 1.0, returns=in_contact)
        step = np.linalg.solve(hessian, -gradient)
        moved = tool_at(robot, beside + step).translation - tool_at(robot, beside).translation
        speed = np.linalg.norm(moved) / config.period
        assert speed <= 1.21 * top
        assert speed >= 0.5 * top


def tool_at(robot, q):
    robot.update(q)
    return robot.tool_pose().copy()


def tool_of(robot, sample):
    pose = sample if isinstance(sample, pin.SE3) else tool_at(robot, sample)
    return pose.translation.copy()


def test_nothing_to_make_up_is_made_up_however_fast_the_reference_is():
    """Where it turns round within a tick it moves farther than it is programmed to."""
    assert tracking._share(0.0, 2.0, 1.0, 0.5) == 1.0
    assert tracking._share(0.1, 2.0, 1.0, 0.5) == 0.0


@pytest.mark.parametrize("waits", [False, True])
def test_the_hessian_is_bounded_where_the_reference_may_be_out_of_reach(waits):
    """J^T W J, the posture's share, and a bound on what that leaves out."""
    draw = np.random.default_rng(4)
    jacobian, weights = draw.normal(size=(6, 7)), np.repeat([300.0, 20.0], 3)
    twist, motion, posture = draw.normal(size=6), draw.normal(size=6), draw.normal(size=7)
    hessian, gradient = _quadratic(
        jacobian, weights, twist, motion, motion, posture, 0.01, 0.1, math.inf, np.ones(2),
        np.ones(2), waits,
    )  # fmt: skip
    own = jacobian.T @ np.diag(weights) @ jacobian
    share = 0.01 * np.trace(own) / 7
    lever = np.linalg.norm(jacobian[:3], axis=0).max()
    left_out = 300.0 * np.linalg.norm(twist[:3]) * lever + 20.0 * np.linalg.norm(twist[3:])
    bound = 0.0 if waits else left_out
    np.testing.assert_allclose(hessian, own + (share + bound) * np.eye(7))
    wanted = -jacobian.T @ (weights * (0.1 * twist + motion)) - share * 0.1 * posture
    np.testing.assert_allclose(gradient, wanted)
