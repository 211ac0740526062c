"""The figures of a run, defined so that they cannot flatter.

Forces and contacts are the simulator's ground truth. A touch-down is a contact after at
least half a second without one; "post-impact" begins 0.3 s after it. The estimator is
judged at every tick with a true force of 5 N or more; a tick without estimate is wrong.
A release is the end of a contact that does not come back within 0.6 s; the force falls from
the last tick at 0.8 of its limit to the release.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import numpy as np

from contact_stack.demo.experiment_data import ContactSample, ExperimentData

TOUCH_DOWN_GAP = 0.5
IMPACT_DURATION = 0.3
RELEASE_WINDOW = 0.2
AWAY = 0.6
HIGH_SHARE = 0.8
JUDGED_FORCE = 5.0
REQUIRED_CONTACT = 1.0


def summarize(
    data: ExperimentData, force_limit: float, passes: dict[str, tuple[float, float]]
) -> dict[str, Any]:
    """Compute the figures of one run.

    Args:
        data: The run.
        force_limit: The controller's force limit [N].
        passes: Name -> (start, end) [s] of the phases that must each show at least one
            second of post-impact contact with a median of half the limit.

    Returns:
        The nested figures of the summary file, with ``failures`` listing in words what
        makes the run count as failed.
    """
    force = data.force
    settled = post_impact(force > 0, data.time)
    judged = {
        name: _pass(data, force, settled & (data.time >= start) & (data.time < end))
        for name, (start, end) in passes.items()
    }
    return {
        "contact": contact_figures(data, force, settled, force_limit),
        "passes": judged,
        "tracking": tracking_figures(data, force > 0),
        "estimator": estimator_figures(data),
        "loop": {
            "rate_hz": data.control_rate,
            "tick_p50_us": _percentile(1e6 * data.tick_time, 50),
            "tick_p99_us": _percentile(1e6 * data.tick_time, 99),
            "deadline_misses": data.deadline_misses,
        },
        "release": {
            "joint_speed_max_rad_s": release_speed(data, force > 0),
            "force_fall_s": force_fall(data, force, HIGH_SHARE * force_limit),
        },
        "mug": {"tilt_rad": data.mug_tilt, "on_cart": data.mug_on_cart},
        "trajectory_sha256": trajectory_hash(data.joint_position),
        "failures": _failures(judged, force_limit),
    }


def post_impact(in_contact: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Mark the ticks in contact that are past the impact of their touch-down.

    Args:
        in_contact: (n) True where the robot touches the environment.
        time: (n) [s].

    Returns:
        (n) True from 0.3 s after a touch-down on, in contact.
    """
    settled = np.zeros(len(time), dtype=bool)
    last_contact = touch_down = -np.inf
    for tick in np.flatnonzero(in_contact):
        if time[tick] - last_contact >= TOUCH_DOWN_GAP:
            touch_down = time[tick]
        last_contact = time[tick]
        settled[tick] = time[tick] - touch_down >= IMPACT_DURATION
    return settled


def contact_segments(in_contact: np.ndarray) -> list[tuple[int, int]]:
    """List the stretches of uninterrupted contact.

    Args:
        in_contact: (n) True where the robot touches the environment.

    Returns:
        (first tick, tick after the last) of each stretch.
    """
    edges = np.flatnonzero(np.diff(np.concatenate(([0], in_contact.astype(int), [0]))))
    return [(int(first), int(end)) for first, end in edges.reshape(-1, 2)]


def contact_figures(
    data: ExperimentData, force: np.ndarray, settled: np.ndarray, force_limit: float
) -> dict[str, Any]:
    """Summarise the true contact force on the robot.

    Args:
        data: The run.
        force: (n) its true contact force [N].
        settled: (n) True in post-impact contact.
        force_limit: [N].

    Returns:
        The ``contact`` figures.
    """
    steady = force[settled]
    return {
        "force_post_impact_p50_N": _percentile(steady, 50),
        "force_post_impact_p99_N": _percentile(steady, 99),
        "force_peak_N": float(force.max(initial=0.0)),
        "fraction_above_1p2_limit": _mean(steady > 1.2 * force_limit),
        "segments": len(contact_segments(force > 0)),
        "post_impact_s": float(settled.sum() * data.period),
        "link_fraction": link_fractions(data.contacts),
    }


def link_fractions(contacts: tuple[tuple[ContactSample, ...], ...]) -> dict[str, float]:
    """Return for each touched link its share of the ticks in contact.

    Args:
        contacts: The contacts of every tick; the strongest one names the tick's link.

    Returns:
        Link name -> fraction, most frequent first.
    """
    links = Counter(max(tick, key=lambda c: c.magnitude).link for tick in contacts if tick)
    return {link: count / links.total() for link, count in links.most_common()}


def tracking_figures(data: ExperimentData, in_contact: np.ndarray) -> dict[str, Any]:
    """Summarise the tracking error of the true tool pose.

    Args:
        data: The run.
        in_contact: (n) True where the robot touches the environment.

    Returns:
        The ``tracking`` figures.
    """
    return {
        "position_rms_contact_m": _rms(data.position_error[in_contact]),
        "position_rms_free_m": _rms(data.position_error[~in_contact]),
        "rotation_rms_rad": _rms(data.rotation_error),
    }


def estimator_figures(data: ExperimentData) -> dict[str, Any]:
    """Compare the estimates with the truth at every tick with force enough to judge.

    Args:
        data: The run.

    Returns:
        The ``estimator`` figures; an infinite median is None.
    """
    location: list[float] = []
    force: list[float] = []
    link: list[bool] = []
    identifiable: list[bool] = []
    for truth, estimates in zip(data.contacts, data.estimates, strict=True):
        true = max(truth, key=lambda c: c.magnitude, default=None)
        if true is None or true.magnitude < JUDGED_FORCE:
            continue
        best = max(estimates, key=lambda c: c.magnitude, default=None)
        if best is None:
            location.append(np.inf)
            force.append(true.magnitude)
        else:
            location.append(float(np.linalg.norm(best.point - true.point)))
            force.append(float(np.linalg.norm(best.force - true.force)))
        link.append(best is not None and best.link == true.link)
        identifiable.append(best is not None and best.identifiable)
    return {
        "rate_hz": data.estimator_rate,
        "location_error_p50_m": _percentile(np.array(location), 50),
        "force_error_p50_N": _percentile(np.array(force), 50),
        "link_correct_fraction": _mean(np.array(link)),
        "identifiable_fraction": _mean(np.array(identifiable)),
    }


def release_speed(data: ExperimentData, in_contact: np.ndarray) -> float | None:
    """Return the highest joint speed just after the robot comes out of contact.

    Args:
        data: The run.
        in_contact: (n) True where the robot touches the environment.

    Returns:
        Largest joint speed within 0.2 s after the end of any contact [rad/s]; None if
        no contact ended.
    """
    window = round(RELEASE_WINDOW / data.period)
    speeds = [
        np.abs(data.joint_velocity[end : end + window]).max()
        for _, end in contact_segments(in_contact)
        if end < len(data.time)
    ]
    return float(max(speeds)) if speeds else None


def releases(data: ExperimentData) -> list[int]:
    """List when the robot came out of contact and stayed away from it for a while.

    Args:
        data: The run.

    Returns:
        The first tick after each such contact.
    """
    segments = contact_segments(data.force > 0)
    away = round(AWAY / data.period)
    following = [first for first, _ in segments[1:]] + [len(data.time) + away]
    return [
        end
        for (_, end), next_contact in zip(segments, following, strict=True)
        if end < len(data.time) and next_contact - end > away
    ]


def force_fall(data: ExperimentData, force: np.ndarray, high: float) -> float | None:
    """Return how abruptly the force is let go (contact_aware_control, Fig. 7).

    Args:
        data: The run.
        force: (n) its true contact force [N].
        high: From which force on [N].

    Returns:
        Shortest time from the last tick with that force to the release after it [s]; None
        if there is none.
    """
    times, start = [], 0
    for end in releases(data):
        above = np.flatnonzero(force[start:end] >= high)
        if len(above):
            times.append(data.period * (end - start - above[-1]))
        start = end
    return float(min(times)) if times else None


def trajectory_hash(joint_position: np.ndarray) -> str:
    """Hash a trajectory bit by bit.

    Args:
        joint_position: (n, nj) true joint positions.

    Returns:
        SHA-256 of the raw little-endian float64 values, hexadecimal.
    """
    return hashlib.sha256(np.ascontiguousarray(joint_position, dtype="<f8").tobytes()).hexdigest()


def _pass(data: ExperimentData, force: np.ndarray, settled: np.ndarray) -> dict[str, Any]:
    touched = tuple(c for c, s in zip(data.contacts, settled, strict=True) if s)
    return {
        "post_impact_s": float(settled.sum() * data.period),
        "force_post_impact_p50_N": _percentile(force[settled], 50),
        "segments": len(contact_segments(settled)),
        "link_fraction": link_fractions(touched),
    }


def _failures(passes: dict[str, dict[str, Any]], force_limit: float) -> list[str]:
    failures = []
    for name, figures in passes.items():
        duration, median = figures["post_impact_s"], figures["force_post_impact_p50_N"]
        if duration < REQUIRED_CONTACT:
            failures.append(f"pass '{name}': only {duration:.2f} s of post-impact contact")
        elif median < force_limit / 2:
            failures.append(f"pass '{name}': median force only {median:.1f} N")
    return failures


def _percentile(values: np.ndarray, percent: float) -> float | None:
    if len(values) == 0:
        return None
    value = float(np.percentile(values, percent, method="higher"))
    return value if np.isfinite(value) else None


def _mean(values: np.ndarray) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _rms(values: np.ndarray) -> float | None:
    return float(np.sqrt(np.mean(values**2))) if len(values) else None
