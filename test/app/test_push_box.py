"""The demo push_box without a graph: when it is content, and what it says."""

import numpy as np
import pinocchio as pin
import pytest

from contact_stack.app.demo.push_box.report import table
from contact_stack.app.demo.push_box.task import BOX, PushTask
from irs_planner import load_example


@pytest.fixture(scope="module")
def task():
    return PushTask()


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
    text = table(summary)
    assert text.count("CONVERGED_SHORT") == 2
    assert "NOT at the goal: 40.0 mm" in text
