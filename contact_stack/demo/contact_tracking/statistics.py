"""Statistics of runs, defined so that they cannot flatter; forces are the simulator's ground truth.

A touch-down is a contact after at least half a second without one; "post-impact" begins 0.3 s
after it. The estimator is judged at every tick with a true force of 5 N or more; a tick without
estimate is wrong. A release is the end of a contact that does not come back within 0.6 s; the
force falls from the last tick at 0.8 of its limit to the release.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

TOUCH_DOWN_GAP = 0.5
IMPACT_DURATION = 0.3
RELEASE_WINDOW = 0.2
AWAY = 0.6
HIGH_SHARE = 0.8
JUDGED_FORCE = 5.0
REQUIRED_CONTACT = 1.0


@dataclass(frozen=True)
class ContactSample:
    """One contact of the robot at one tick, true or estimated.

    Attributes:
        link: The robot's link.
        point: (3) contact point [m], world frame.
        force: (3) force of the environment on the robot [N], world frame.
        identifiable: False where an estimate says that it may be wrong.
    """

    link: str
    point: np.ndarray
    force: np.ndarray
    identifiable: bool = True

    @property
    def magnitude(self) -> float:
        """Norm of the force [N]."""
        return float(np.linalg.norm(self.force))


class Course(Protocol):
    """What is drawn of a run; :class:`ExperimentData` says what it means."""

    @property
    def time(self) -> np.ndarray:
        """(n) [s]."""

    @property
    def period(self) -> float:
        """[s]."""

    @property
    def joint_velocity(self) -> np.ndarray:
        """(ticks, n) [rad/s]."""

    @property
    def position_error(self) -> np.ndarray:
        """(n) [m]."""

    @property
    def rotation_error(self) -> np.ndarray:
        """(n) [rad]."""

    @property
    def force(self) -> np.ndarray:
        """(n) [N]."""

    @property
    def in_contact(self) -> np.ndarray:
        """(n) True in contact."""


@dataclass(frozen=True)
class ExperimentData:
    """The ticks of one run in contact, from the start of its reference to the end.

    Attributes:
        time: (n) simulated time since the start of the reference [s].
        period: Time between two ticks [s].
        joint_position: (n, nj) true positions of all joints [rad or m].
        joint_velocity: (ticks, n) true velocities of the arm's joints [rad/s].
        contacts: For each tick the true contacts between robot and environment; the
            object in the gripper does not count.
        estimates: For each tick the contacts the estimator believed in.
        position_error: (n) distance of the true tool position from the reference [m].
        rotation_error: (n) angle between true and reference tool orientation [rad].
        tick_time: (m) compute time of the controller's ticks [s].
        deadline_misses: Ticks of the controller that came too late.
        control_rate: Ticks of the controller per second of its own clock [Hz].
        estimator_rate: Estimates per simulated second [Hz].
        wall_time: Real time the run took [s].
        outcome: What the experiment itself says of the end, by key of the summary.
    """

    time: np.ndarray
    period: float
    joint_position: np.ndarray
    joint_velocity: np.ndarray
    contacts: tuple[tuple[ContactSample, ...], ...]
    estimates: tuple[tuple[ContactSample, ...], ...]
    position_error: np.ndarray
    rotation_error: np.ndarray
    tick_time: np.ndarray
    deadline_misses: int
    control_rate: float
    estimator_rate: float
    wall_time: float = math.nan
    outcome: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def force(self) -> np.ndarray:
        """(n) norm of the total true contact force on the robot [N]."""
        return np.array(
            [np.linalg.norm(sum((c.force for c in tick), np.zeros(3))) for tick in self.contacts]
        )

    @property
    def in_contact(self) -> np.ndarray:
        """(n) True where the robot touches the environment."""
        return np.asarray(self.force > 0)


def summarize(
    data: ExperimentData, force_limit: float, passes: Mapping[str, tuple[float, float]]
) -> dict[str, Any]:
    """Compute the figures of one run in contact.

    Args:
        data: The run.
        force_limit: The controller's force limit [N].
        passes: Name -> (start, end) [s] of the phases that must each show at least one
            second of post-impact contact with a median of half the limit.

    Returns:
        The nested figures of the summary file, with ``failures`` listing in words what
        makes the run count as failed; None where nothing was measured.
    """
    settled = post_impact(data.in_contact, data.time)
    judged = {
        name: _pass(data, settled & (data.time >= start) & (data.time < end))
        for name, (start, end) in passes.items()
    }
    return {
        "contact": _contact(data, settled, force_limit),
        "passes": judged,
        "tracking": {
            "position_rms_contact_m": rms(data.position_error[data.in_contact]),
            "position_rms_free_m": rms(data.position_error[~data.in_contact]),
            "rotation_rms_rad": rms(data.rotation_error),
        },
        "estimator": _estimator(data),
        "loop": {
            "rate_hz": data.control_rate,
            "tick_p50_us": percentile(1e6 * data.tick_time, 50),
            "tick_p99_us": percentile(1e6 * data.tick_time, 99),
            "deadline_misses": data.deadline_misses,
        },
        "release": {
            "joint_speed_max_rad_s": _release_speed(data),
            "force_fall_s": _force_fall(data, HIGH_SHARE * force_limit),
        },
        **data.outcome,
        "trajectory_sha256": trajectory_hash(data.joint_position),
        "failures": _failures(judged, force_limit),
    }


def post_impact(in_contact: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Mark the ticks in contact that are past the impact of their touch-down.

    Args:
        in_contact: (n) True where the robot touches the environment.
        time: (n) [s].
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
    """List (first tick, tick after the last) of each stretch of uninterrupted contact."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], in_contact.astype(int), [0]))))
    return [(int(first), int(end)) for first, end in edges.reshape(-1, 2)]


def releases(data: Course) -> list[int]:
    """List the first tick after each contact that the robot stayed away from for a while."""
    segments = contact_segments(data.in_contact)
    away = round(AWAY / data.period)
    ends = [end for _, end in segments]
    following = [first for first, _ in segments[1:]] + [len(data.time) + away]
    # Without any contact there is nothing for the end of the run to follow.
    return [
        end
        for end, next_contact in zip(ends, following, strict=False)
        if end < len(data.time) and next_contact - end > away
    ]


def trajectory_hash(joint_position: Sequence[np.ndarray] | np.ndarray) -> str:
    """Return the SHA-256 of joint positions (n, nj), of the raw little-endian float64 values."""
    return hashlib.sha256(np.ascontiguousarray(joint_position, dtype="<f8").tobytes()).hexdigest()


def percentile(values: np.ndarray, percent: float) -> float | None:
    """Return the measured value at or above a percentile; None if there is none or it is inf."""
    if len(values) == 0:
        return None
    value = float(np.percentile(values, percent, method="higher"))
    return value if np.isfinite(value) else None


def mean(values: np.ndarray) -> float | None:
    """Return the mean, None without values."""
    return float(np.mean(values)) if len(values) else None


def rms(values: np.ndarray) -> float | None:
    """Return the root of the mean square, None without values."""
    return float(np.sqrt(np.mean(values**2))) if len(values) else None


def _contact(data: ExperimentData, settled: np.ndarray, force_limit: float) -> dict[str, Any]:
    """Summarise the true contact force on the robot."""
    steady = data.force[settled]
    return {
        "force_post_impact_p50_N": percentile(steady, 50),
        "force_post_impact_p99_N": percentile(steady, 99),
        "force_peak_N": float(data.force.max(initial=0.0)),
        "fraction_above_1p2_limit": mean(steady > 1.2 * force_limit),
        "segments": len(contact_segments(data.in_contact)),
        "post_impact_s": float(settled.sum() * data.period),
        "link_fraction": _link_fractions(data.contacts),
    }


def _pass(data: ExperimentData, settled: np.ndarray) -> dict[str, Any]:
    return {
        "post_impact_s": float(settled.sum() * data.period),
        "force_post_impact_p50_N": percentile(data.force[settled], 50),
        "segments": len(contact_segments(settled)),
        "link_fraction": _link_fractions(
            [tick for tick, s in zip(data.contacts, settled, strict=True) if s]
        ),
    }


def _link_fractions(contacts: Sequence[tuple[ContactSample, ...]]) -> dict[str, float]:
    """Return for each touched link its share of the ticks in contact, most frequent first.

    The strongest contact of a tick names its link.
    """
    links = Counter(max(tick, key=lambda c: c.magnitude).link for tick in contacts if tick)
    return {link: count / links.total() for link, count in links.most_common()}


def judged_ticks(data: ExperimentData) -> Iterator[tuple[int, ContactSample, ContactSample | None]]:
    """Yield what the estimator is judged by.

    Args:
        data: The run.

    Yields:
        Each tick with force enough, its strongest true contact, and the strongest estimate if
        there is one.
    """
    for tick, (truth, estimates) in enumerate(zip(data.contacts, data.estimates, strict=True)):
        true = max(truth, key=lambda c: c.magnitude, default=None)
        if true is not None and true.magnitude >= JUDGED_FORCE:
            yield tick, true, max(estimates, key=lambda c: c.magnitude, default=None)


def location_errors(data: ExperimentData) -> np.ndarray:
    """Return how far the estimate is from the true contact.

    Args:
        data: The run.

    Returns:
        (n) [m]; infinite without an estimate, NaN where the force is too small to judge.
    """
    errors = np.full(len(data.time), np.nan)
    for tick, true, best in judged_ticks(data):
        errors[tick] = np.inf if best is None else np.linalg.norm(best.point - true.point)
    return errors


def _estimator(data: ExperimentData) -> dict[str, Any]:
    """Compare the estimates with the truth at every tick with force enough to judge."""
    force: list[float] = []
    link: list[bool] = []
    identifiable: list[bool] = []
    for _, true, best in judged_ticks(data):
        missing = true.magnitude if best is None else np.linalg.norm(best.force - true.force)
        force.append(float(missing))
        link.append(best is not None and best.link == true.link)
        identifiable.append(best is not None and best.identifiable)
    location = location_errors(data)
    return {
        "rate_hz": data.estimator_rate,
        "location_error_p50_m": percentile(location[~np.isnan(location)], 50),
        "force_error_p50_N": percentile(np.array(force), 50),
        "link_correct_fraction": mean(np.array(link)),
        "identifiable_fraction": mean(np.array(identifiable)),
    }


def _release_speed(data: ExperimentData) -> float | None:
    """Return the largest joint speed within 0.2 s after the end of any contact [rad/s]."""
    window = round(RELEASE_WINDOW / data.period)
    speeds = [
        np.abs(data.joint_velocity[end : end + window]).max()
        for _, end in contact_segments(data.in_contact)
        if end < len(data.time)
    ]
    return float(max(speeds)) if speeds else None


def _force_fall(data: ExperimentData, high: float) -> float | None:
    """Return how abruptly the force is let go (contact_aware_control, Fig. 7).

    That is the shortest time from the last tick with a high force [N] to the release after
    it [s]; None if there is none.
    """
    times, start = [], 0
    for end in releases(data):
        above = np.flatnonzero(data.force[start:end] >= high)
        if len(above):
            times.append(data.period * (end - start - above[-1]))
        start = end
    return float(min(times)) if times else None


def _failures(passes: Mapping[str, Mapping[str, Any]], force_limit: float) -> list[str]:
    failures = []
    for name, figures in passes.items():
        duration, median = figures["post_impact_s"], figures["force_post_impact_p50_N"]
        if duration < REQUIRED_CONTACT:
            failures.append(f"pass '{name}': only {duration:.2f} s of post-impact contact")
        elif median < force_limit / 2:
            failures.append(f"pass '{name}': median force only {median:.1f} N")
    return failures
