"""The demo push_box without a graph: when it is content, and what it says."""

import numpy as np
import pinocchio as pin
import pytest

from contact_core.robot.robot import Robot
from contact_stack.demo.push_box.demo import report
from contact_stack.demo.push_box.motions import (
    CLEARANCE,
    SPEED,
    approach,
    can_follow,
    push_motion,
    push_places,
    tool_pose_before,
)
from contact_stack.demo.push_box.task import BOX, BoxTask
from irs_planner import load_example


@pytest.fixture(scope="module")
def task():
    return BoxTask()


def test_the_goal_is_at_least_150_mm_and_30_degrees_away(task):
    start = task.model.object_poses(np.array(load_example("iiwa_push").initial_state))[BOX]
    miss = task.miss(start)
    assert miss.distance >= 0.15
    assert np.rad2deg(miss.angle) >= 30.0
    assert not task.reached(miss)


def test_a_box_counts_as_there_within_both_tolerances(task):
    def moved(distance, degrees):
        turn = pin.rpy.rpyToMatrix(0.0, 0.0, np.deg2rad(degrees))
        return task.miss(task.goal * pin.SE3(turn, np.array([distance, 0.0, 0.0])))

    assert moved(0.02, 3.0).distance == pytest.approx(0.02)
    assert moved(0.02, 3.0).angle == pytest.approx(np.deg2rad(3.0))
    assert task.reached(moved(0.029, 4.9))
    assert not task.reached(moved(0.031, 0.0))
    assert not task.reached(moved(0.0, 5.1))


def test_the_first_guess_does_not_touch_the_box(task):
    state = np.array(load_example("iiwa_push").initial_state)
    frames = task.model.find_contacts(state[np.newaxis])
    assert frames.gap[0, task.model.pair_names.index(("pusher", "box"))] > 0.03


def test_the_table_names_every_push_and_the_outcome():
    push = {
        "status": "CONVERGED_SHORT", "planning_s": 5.0, "force_limits_N": {"pusher": 20.0},
        "distance_m": 0.04, "angle_deg": 2.0,
    }  # fmt: skip
    summary = {
        "pushes": [push, push], "reached": False, "end_distance_m": 0.04, "end_angle_deg": 2.0,
        "start_distance_m": 0.175, "start_angle_deg": 31.5, "peak_force_N": 12.0,
    }  # fmt: skip
    text = "\n".join(report(summary))
    assert text.count("CONVERGED_SHORT") == 2
    assert "NOT at the goal: 40.0 mm" in text


def test_a_box_that_only_has_to_go_straight_is_pushed_in_the_middle(task):
    box = task.goal * pin.SE3(np.eye(3), np.array([-0.05, 0.0, 0.0]))
    best = push_places(task, box)[0]
    assert best.left == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(best.point, [-task.half_extents[0], 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(best.direction, [1.0, 0.0, 0.0])


@pytest.mark.parametrize("turn", [-0.1, 0.1])
def test_a_box_that_has_to_turn_is_pushed_on_the_side_that_turns_it(task, turn):
    box = task.goal * pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, -turn), np.zeros(3))
    best = push_places(task, box)[0]
    assert turn * np.cross(best.point, best.direction)[2] > 0.0


def test_a_push_is_chosen_that_leaves_less_than_nothing_done(task):
    rng = np.random.default_rng(0)
    for _ in range(20):
        shift, turn = rng.uniform(-0.1, 0.1, 3) * [1.0, 1.0, 0.0], rng.uniform(-0.5, 0.5)
        box = task.goal * pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, turn), shift)
        miss = task.miss(box)
        undone = (miss.distance / task.position_tolerance) ** 2
        undone += (miss.angle / task.rotation_tolerance) ** 2
        left = [place.left for place in push_places(task, box)]
        assert left == sorted(left)
        assert left[0] < undone


def test_the_way_to_a_push_does_not_touch_the_box_and_ends_beside_it(task):
    config = load_example("iiwa_push")
    joints = np.array(config.first_input)
    box = task.goal * pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, 0.1), np.array([-0.02, 0.04, 0.0]))
    robot = Robot.from_description(task.model.scene.scene.robot)
    motion = approach(task, robot, joints, joints, box, iter(push_places(task, box)))
    gaps, end = gaps_along(motion, task, robot, box)
    assert gaps.min() >= CLEARANCE - 1e-9
    assert gaps[-1] == pytest.approx(CLEARANCE)
    assert abs(end[2]) < 1e-9


def gaps_along(motion, task, robot, box):
    """Return the distances between pusher and box, and where the pusher ends, box frame."""
    moments = np.linspace(0.0, motion.times[-1], 500)
    centers = [box.actInv(motion.sample(time).translation) for time in moments]
    outside = np.maximum(np.abs(centers) - task.half_extents, 0.0)
    return np.linalg.norm(outside, axis=1) - task.pusher_radius, centers[-1]


def test_an_arm_that_cannot_go_further_back_goes_up_at_once(task):
    """Between base and box the elbow is near its limit: 2 cm further back are out of reach."""
    joints = np.array([0.00082, 0.17679, 0.21348, -2.06259, -0.04767, 0.9132, 0.02165])
    turn = pin.rpy.rpyToMatrix(0.0, 0.0, np.deg2rad(26.5))
    box = pin.SE3(turn, np.array([0.56, 0.0605, 0.25]))
    robot = Robot.from_description(task.model.scene.scene.robot)
    motion = approach(task, robot, joints, joints, box, iter(push_places(task, box)))
    assert len(motion.poses) == 4
    assert can_follow(robot, joints, motion)
    gaps, _ = gaps_along(motion, task, robot, box)
    assert gaps.min() >= gaps[0] - 1e-9
    assert gaps[-1] == pytest.approx(CLEARANCE)


def test_a_box_out_of_reach_is_not_approached(task):
    joints = np.array(load_example("iiwa_push").first_input)
    box = pin.SE3(np.eye(3), np.array([1.5, 0.0, 0.25]))
    robot = Robot.from_description(task.model.scene.scene.robot)
    assert approach(task, robot, joints, joints, box, iter(push_places(task, box))) is None


def test_every_approach_goes_to_another_place(task):
    """A plan that finds no contact from one place may find it from the next."""
    joints, box = np.array(load_example("iiwa_push").first_input), task.goal
    robot = Robot.from_description(task.model.scene.scene.robot)
    ranked = push_places(task, box)
    places = iter(ranked)
    for place in ranked[:2]:
        motion = approach(task, robot, joints, joints, box, places)
        wanted = tool_pose_before(task, box, place)
        np.testing.assert_allclose(motion.poses[-1].homogeneous, wanted.homogeneous, atol=1e-12)


def test_a_push_passes_the_commands_of_its_plan_slowly(task):
    joints = np.array(load_example("iiwa_push").first_input)
    commands = joints + np.linspace(0.0, 0.3, 11)[:, np.newaxis]
    robot = Robot.from_description(task.model.scene.scene.robot)
    motion = push_motion(robot, commands, 0.1)
    for pose, command in ((motion.poses[0], commands[0]), (motion.poses[-1], commands[-1])):
        robot.update(command)
        np.testing.assert_allclose(pose.homogeneous, robot.tool_pose().homogeneous, atol=1e-12)
    points = np.array([pose.translation for pose in motion.poses])
    speeds = np.linalg.norm(np.diff(points, axis=0), axis=1) / np.diff(motion.times)
    assert 0.5 * SPEED < speeds.max() < 1.2 * SPEED
