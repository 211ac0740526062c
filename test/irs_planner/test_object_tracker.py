"""What is seen is followed slowly, and taken over at once if it was kicked away."""

import numpy as np
import pinocchio as pin

from irs_planner.object_tracker import ObjectTracker, TrackerConfig

PERIOD = 33_000_000
"""[ns]"""


def at(x, yaw=0.0):
    return pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, yaw), np.array([x, 0.0, 0.0]))


def test_noise_is_followed_slowly():
    tracker, draw = ObjectTracker(TrackerConfig(), 0, at(0.0)), np.random.default_rng(0)
    errors = []
    for k in range(1, 300):
        tracker.see(PERIOD * k, at(*draw.normal(size=2) * [0.003, 0.017]))
        errors.append([tracker.pose.translation[0], pin.log3(tracker.pose.rotation)[2]])
    assert (np.std(errors, axis=0) < [0.0015, 0.0085]).all()


def test_a_step_that_is_no_noise_is_taken_over_at_the_second_picture():
    tracker = ObjectTracker(TrackerConfig(), 0, at(0.0))
    tracker.see(PERIOD, at(0.1, 3.0))
    assert tracker.pose.translation[0] < 0.03
    tracker.see(2 * PERIOD, at(0.1, 3.0))
    assert tracker.pose.isApprox(at(0.1, 3.0))


def test_one_wrong_picture_is_no_kick():
    tracker = ObjectTracker(TrackerConfig(), 0, at(0.0))
    for k, x in enumerate((0.5, 0.0, 0.5, 0.0), start=1):
        tracker.see(PERIOD * k, at(x))
    assert abs(tracker.pose.translation[0]) < 0.2


def test_what_is_older_does_not_count():
    tracker = ObjectTracker(TrackerConfig(), 2 * PERIOD, at(0.0))
    for stamp in (PERIOD, 2 * PERIOD):
        tracker.see(stamp, at(0.01))
    assert tracker.pose == at(0.0)
    assert tracker.stamp == 2 * PERIOD


def test_one_stamp_far_ahead_blinds_nobody():
    tracker = ObjectTracker(TrackerConfig(), 0, at(0.0))
    tracker.see(PERIOD + 3600 * 10**9, at(0.001))
    for k in range(2, 40):
        tracker.see(PERIOD * k, at(0.02))
    assert abs(tracker.pose.translation[0] - 0.02) < 0.001
    assert tracker.stamp == 39 * PERIOD


def test_a_slow_motion_is_followed():
    tracker = ObjectTracker(TrackerConfig(), 0, at(0.0))
    for k in range(1, 100):
        tracker.see(PERIOD * k, at(0.1 * 1e-9 * PERIOD * k))
    lag = 0.1 * 1e-9 * PERIOD * 99 - tracker.pose.translation[0]
    assert 0.0 < lag < 0.1 * 0.12 + 0.001


def test_what_is_pushed_is_carried_along_though_pictures_come_late():
    tracker, late, step = ObjectTracker(TrackerConfig(), 0, at(0.0)), 3, 0.005
    for k in range(1, 100):
        tracker.carry(PERIOD * (k - 1), PERIOD * k, at(step * (k - 1)), at(step * k))
        if k > late:
            tracker.see(PERIOD * (k - late), at(step * (k - late)))
        np.testing.assert_allclose(tracker.pose.translation[0], step * k, atol=1e-9)


def test_of_a_picture_between_two_pushes_a_part_counts():
    tracker = ObjectTracker(TrackerConfig(time_constant=0.0), 0, at(0.0))
    tracker.carry(0, 4 * PERIOD, at(0.0), at(0.02, 0.1))
    tracker.see(PERIOD, at(0.005, 0.025))
    assert tracker.pose.isApprox(at(0.02, 0.1))


def test_what_is_pushed_and_slips_off_is_seen_to():
    tracker = ObjectTracker(TrackerConfig(), 0, at(0.0))
    for k in range(1, 60):
        tracker.carry(PERIOD * (k - 1), PERIOD * k, at(0.0), at(0.002))
        tracker.see(PERIOD * k, at(0.0))
    assert tracker.pose.translation[0] < 0.01


def test_a_camera_with_a_clock_of_its_own_is_believed_as_it_is():
    tracker, behind = ObjectTracker(TrackerConfig(), 0, at(0.0)), 3600 * 10**9
    for k in range(1, 200):
        now = behind + PERIOD * k
        tracker.carry(now - PERIOD, now, at(0.0), at(0.002))
        tracker.see(PERIOD * k, at(0.0))
    assert tracker.pose.translation[0] < 0.01


def test_where_the_clock_begins_anew_nothing_of_before_counts():
    tracker = ObjectTracker(TrackerConfig(time_constant=0.0), 0, at(0.0))
    for begin in (3600 * 10**9, 0):
        for k in range(5):
            now = begin + PERIOD * k
            tracker.carry(now, now + PERIOD, at(0.0), at(0.001))
        tracker.see(now, at(0.0))
        np.testing.assert_allclose(tracker.pose.translation[0], 0.001, atol=1e-9)
        assert len(tracker._pushes) == 5
