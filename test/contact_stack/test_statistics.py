"""The statistics of a run follow their definitions on made-up runs with known answers."""

import numpy as np
import pytest

from contact_stack.demo.contact_tracking.statistics import (
    ContactSample,
    ExperimentData,
    contact_segments,
    post_impact,
    summarize,
    trajectory_hash,
)

PERIOD = 0.005
LIMIT = 15.0


def sample(force, link="link_6", x=0.0):
    return ContactSample(link, np.array([x, 0.0, 0.0]), np.array([0.0, 0.0, force]))


def run(force, estimate=None, **changes):
    """A run with one true contact of the given force [N] where it is positive."""
    n = len(force)
    contacts = tuple((sample(f),) if f > 0 else () for f in force)
    fields = {
        "time": PERIOD * np.arange(n),
        "period": PERIOD,
        "joint_position": np.zeros((n, 7)),
        "joint_velocity": np.zeros((n, 7)),
        "contacts": contacts,
        "estimates": contacts if estimate is None else estimate,
        "position_error": np.where(np.array(force) > 0, 0.02, 0.001),
        "rotation_error": np.full(n, 0.01),
        "tick_time": np.full(n, 1e-4),
        "deadline_misses": 0,
        "control_rate": 200.0,
        "estimator_rate": 200.0,
    }
    return ExperimentData(**(fields | changes))


def seconds(duration):
    return round(duration / PERIOD)


def test_post_impact_starts_again_only_after_half_a_second_without_contact():
    gap, long_gap = seconds(0.2), seconds(0.6)
    contact = np.concatenate(
        [np.ones(200), np.zeros(gap), np.ones(200), np.zeros(long_gap), np.ones(200)]
    ).astype(bool)
    settled = post_impact(contact, PERIOD * np.arange(len(contact)))
    assert settled.sum() == pytest.approx((200 - 60) + 200 + (200 - 60), abs=2)


def test_segments():
    assert contact_segments(np.array([True, True, False, True])) == [(0, 2), (3, 4)]
    assert contact_segments(np.zeros(3, dtype=bool)) == []


def test_contact_figures_of_a_constant_force():
    force = np.zeros(seconds(4))
    force[seconds(1) : seconds(3)] = 20.0
    figures = summarize(run(force), LIMIT, {"down": (0, 4)})
    assert figures["contact"]["force_post_impact_p50_N"] == pytest.approx(20.0)
    assert figures["contact"]["fraction_above_1p2_limit"] == 1.0
    assert figures["contact"]["segments"] == 1
    assert figures["contact"]["post_impact_s"] == pytest.approx(1.7)
    assert figures["contact"]["link_fraction"] == {"link_6": 1.0}
    assert figures["tracking"]["position_rms_contact_m"] == pytest.approx(0.02)
    assert figures["tracking"]["position_rms_free_m"] == pytest.approx(0.001)
    assert figures["failures"] == []


def test_a_pass_without_enough_contact_fails_the_run():
    force = np.zeros(seconds(4))
    force[: seconds(1)] = 20.0
    assert "down" in summarize(run(force), LIMIT, {"down": (0, 4)})["failures"][0]


def test_a_pass_with_too_little_force_fails_the_run():
    force = np.full(seconds(4), 0.4 * LIMIT)
    assert "median" in summarize(run(force), LIMIT, {"down": (0, 4)})["failures"][0]


def test_estimator_is_judged_at_every_tick_with_force_even_without_an_estimate():
    force = np.full(400, 10.0)
    right, wrong = sample(8.0, x=0.01), sample(10.0, "link_7", x=0.3)
    estimates = tuple(() if i < 100 else (wrong,) if i < 200 else (right,) for i in range(400))
    figures = summarize(run(force, estimates), LIMIT, {})["estimator"]
    assert figures["link_correct_fraction"] == pytest.approx(0.5)
    assert figures["location_error_p50_m"] == pytest.approx(0.3)
    assert figures["identifiable_fraction"] == pytest.approx(0.75)
    missing = summarize(run(force, ((),) * 400), LIMIT, {})["estimator"]
    assert missing["location_error_p50_m"] is None
    assert missing["force_error_p50_N"] == pytest.approx(10.0)


def test_release_speed_is_the_largest_after_a_contact_ends():
    force = np.zeros(400)
    force[:100] = 10.0
    velocity = np.zeros((400, 7))
    velocity[50], velocity[110, 3], velocity[300] = 9.0, -0.5, 9.0
    figures = summarize(run(force, joint_velocity=velocity), LIMIT, {})
    assert figures["release"]["joint_speed_max_rad_s"] == pytest.approx(0.5)


def test_fall_of_the_force_is_that_of_the_most_abrupt_release():
    """From the last tick at 0.8 of the limit; a contact that comes back is no release."""
    slow, fast = np.linspace(15.0, 0.0, 101)[:100], np.linspace(15.0, 0.0, 11)[:10]
    away, moment = np.zeros(seconds(1.0)), np.zeros(seconds(0.1))
    first = np.concatenate([np.full(50, 15.0), moment, np.full(50, 15.0), slow, away])
    figures = summarize(run(first), LIMIT, {})
    assert figures["release"]["force_fall_s"] == pytest.approx(80 * PERIOD)
    both = np.concatenate([first, np.full(50, 15.0), fast, away])
    figures = summarize(run(both), LIMIT, {})
    assert figures["release"]["force_fall_s"] == pytest.approx(8 * PERIOD)
    assert summarize(run(np.full(200, 5.0)), LIMIT, {})["release"]["force_fall_s"] is None


def test_hash_sees_the_last_bit():
    q = np.ones((3, 7))
    other = q.copy()
    other[1, 2] = np.nextafter(1.0, 2.0)
    assert trajectory_hash(q) == trajectory_hash(q.copy())
    assert trajectory_hash(q) != trajectory_hash(other)


def test_a_run_without_contact_has_no_release_and_no_contact_figures():
    figures = summarize(run(np.zeros(seconds(1))), LIMIT, {"down": (0, 1)})
    assert figures["contact"]["segments"] == 0
    assert figures["release"] == {"joint_speed_max_rad_s": None, "force_fall_s": None}
    assert figures["failures"] == ["pass 'down': only 0.00 s of post-impact contact"]
