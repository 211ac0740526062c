"""Joint trajectories with the meaning of trajectory_msgs/JointTrajectory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from copy import copy

import numpy as np

from contact_aware_control.config import StartTolerance
from contact_aware_control.reference.base import (
    LIMIT_TOLERANCE,
    JointReference,
    LetTickRun,
    check_joint_positions,
    check_joint_speeds,
    run_to_end,
)
from contact_core.base.errors import TrajectoryError
from contact_core.base.kernel import kernel
from contact_core.robot.robot import Robot

# Limits are checked on a grid this fine [s].
CHECK_STEP = 0.005

RUN_OUT = 0.3
"""Time in which the speed at the start fades where the first point leaves more [s]."""

SLICE = 200
"""Segments that are checked at a time."""


class JointTrajectory(JointReference):
    """A piecewise polynomial through points.

    Points with positions only are joined by straight lines, points with velocities by
    cubic and points with velocities and accelerations by quintic polynomials.

    Attributes:
        times: (p) of the points [s].
        positions: (p, n) [rad].
        velocities: (p, n) [rad/s], or None.
        accelerations: (p, n) [rad/s^2], or None.
    """

    def __init__(
        self,
        times: Sequence[float],
        positions: np.ndarray,
        velocities: np.ndarray | None = None,
        accelerations: np.ndarray | None = None,
    ) -> None:
        """Interpolate points.

        Args:
            times: (p) from the start of the motion [s], not decreasing below 0.
            positions: (p, n) [rad].
            velocities: (p, n) [rad/s], or None.
            accelerations: (p, n) [rad/s^2], or None; needs velocities.

        Raises:
            TrajectoryError: If there are no points, a number is not finite, the times do
                not increase, or shapes do not fit.
        """
        self.times = [float(time) for time in times]
        self.positions = np.asarray(positions, dtype=float)
        self.velocities = None if velocities is None else np.asarray(velocities, dtype=float)
        self.accelerations = (
            None if accelerations is None else np.asarray(accelerations, dtype=float)
        )
        if self.accelerations is not None and self.velocities is None:
            raise TrajectoryError("points with accelerations need velocities, too")
        derivatives = [d for d in (self.velocities, self.accelerations) if d is not None]
        self._check_points(derivatives)
        self._coefficients = _polynomials(np.diff(self.times), [self.positions, *derivatives])

    @classmethod
    def from_start(
        cls,
        q_start: np.ndarray,
        times: Sequence[float],
        positions: np.ndarray,
        velocities: np.ndarray | None = None,
        accelerations: np.ndarray | None = None,
        speed: np.ndarray | None = None,
    ) -> JointTrajectory:
        """Interpolate points, beginning where the arm is if the first is in the future.

        Args:
            q_start: (n) where the arm is commanded to be [rad].
            times: See the constructor.
            positions: See the constructor.
            velocities: See the constructor.
            accelerations: See the constructor.
            speed: See :meth:`begun`.

        Returns:
            The trajectory.

        Raises:
            TrajectoryError: See the constructor.
        """
        return cls(times, positions, velocities, accelerations).begun(q_start, speed)

    def begun(self, q_start: np.ndarray, speed: np.ndarray | None = None) -> JointTrajectory:
        """Return the same motion, beginning where the arm is if the first point is in the future.

        An arm that moves goes on from its speed, which fades in :data:`RUN_OUT`, or until the first
        point if that is sooner: a spline to a late point would carry it far beyond.

        Args:
            q_start: (n) where the arm is commanded to be [rad].
            speed: (n) how fast the command moves there [rad/s]; None: it is at rest.

        Raises:
            TrajectoryError: If the arm has another number of joints.
        """
        first = self.times[0]
        if not first > 0.0:
            return self
        if self.positions.shape[1] != len(q_start):
            raise TrajectoryError(
                f"positions need shape (points, {len(q_start)}), got {self.positions.shape}"
            )
        given = (self.positions, self.velocities, self.accelerations)
        known = [values for values in given if values is not None]
        fades = speed is not None and first > RUN_OUT
        rows = np.zeros((3, 2 if fades else 1, len(q_start)))
        rows[0, 0] = q_start
        times = [0.0]
        if speed is not None:
            rows[1, 0] = speed
        if speed is not None and fades:
            times.append(RUN_OUT)
            rest = np.zeros_like(rows[:, 0])
            rest[0] = q_start + 0.5 * RUN_OUT * speed
            coefficients = _polynomials(
                np.array([first]),
                [np.stack((row, values[0])) for row, values in zip(rest, known, strict=False)],
            )[0]
            for row in rows[: len(known)]:
                row[1] = _evaluate(coefficients, RUN_OUT)
                coefficients = _derivative(coefficients)
        begun = copy(self)
        begun.times = [*times, *self.times]
        begun.positions = np.concatenate((rows[0], self.positions))
        if self.velocities is not None:
            begun.velocities = np.concatenate((rows[1], self.velocities))
        if self.accelerations is not None:
            begun.accelerations = np.concatenate((rows[2], self.accelerations))
        joined = [np.vstack((row, values[:1])) for row, values in zip(rows, known, strict=False)]
        before = _polynomials(np.diff([*times, first]), joined)
        begun._coefficients = np.concatenate((before, self._coefficients))
        return begun

    @property
    def duration(self) -> float:
        """Time from start to end [s]."""
        return self.times[-1]

    def sample(self, time: float) -> np.ndarray:
        """Return q_ref, see :meth:`JointReference.sample`."""
        if time >= self.times[-1]:
            last: np.ndarray = self.positions[-1].copy()
            return last
        if time <= self.times[0]:
            first: np.ndarray = self.positions[0].copy()
            return first
        segment = bisect_right(self.times, time) - 1
        return _evaluate(self._coefficients[segment], time - self.times[segment])

    def samples(self, times: np.ndarray) -> np.ndarray:
        """Return q_ref (m, n) at m times, see :meth:`JointReference.sample`."""
        if len(self.times) == 1:
            return np.repeat(self.positions, len(times), axis=0)
        clipped = np.clip(times, self.times[0], self.times[-1])
        segments = np.searchsorted(self.times[1:-1], clipped, side="right")
        passed = clipped - np.array(self.times)[segments]
        return _evaluate(self._coefficients[segments].swapaxes(0, 1), passed[:, None])

    def check(
        self,
        robot: Robot,
        q_start: np.ndarray,
        tolerance: StartTolerance,
        let_tick_run: LetTickRun = run_to_end,
    ) -> None:
        """Check start, position and velocity limits, see :meth:`Reference.check`."""
        n = self.positions.shape[1]
        if n != robot.n:
            raise TrajectoryError(f"points have {n} joints, the arm has {robot.n}")
        self.check_start(robot.joint_names, q_start, tolerance)
        check_joint_positions(self.positions[:1], robot, "point 0")
        low, high = robot.position_limits
        lengths = np.diff(self.times)
        for start in range(0, len(lengths), SLICE):
            let_tick_run()
            part = slice(start, start + SLICE)
            least, most, speed = _extremes(self._coefficients[part], lengths[part], CHECK_STEP)
            outside = np.maximum(low - least, most - high) > LIMIT_TOLERANCE
            fast = speed - robot.velocity_limits > LIMIT_TOLERANCE
            for i in np.flatnonzero((outside | fast).any(axis=1))[:1]:
                what = f"point {start + int(i) + 1}"
                check_joint_positions(np.array([least[i], most[i]]), robot, what)
                check_joint_speeds(speed[i], robot, what)

    def check_start(
        self, names: Sequence[str], q_start: np.ndarray, tolerance: StartTolerance
    ) -> None:
        """Check the first point.

        Args:
            names: (n) of the joints.
            q_start: (n) where the arm is commanded to be [rad].
            tolerance: How far from there it may be.

        Raises:
            TrajectoryError: If it is farther away.
        """
        distance = np.abs(self.positions[0] - q_start)
        joint = int(np.argmax(distance))
        if distance[joint] > tolerance.joint:
            raise TrajectoryError(
                f"the trajectory starts {distance[joint]:.3f} rad away from the arm in joint "
                f"{names[joint]} (valid: <= {tolerance.joint:g} rad)"
            )

    def _check_points(self, derivatives: list[np.ndarray]) -> None:
        if not self.times:
            raise TrajectoryError("the trajectory has no points")
        previous = -1e-9
        for i, time in enumerate(self.times):
            if not np.isfinite(time):
                raise TrajectoryError(f"point {i}: time {time} is not finite")
            if time <= previous or time < 0.0:
                raise TrajectoryError(
                    f"point {i}: time {time:g} s must be later than that of the point before it"
                )
            previous = time
        for values in (self.positions, *derivatives):
            if values.ndim != 2 or values.shape != (len(self.times), self.positions.shape[-1]):
                raise TrajectoryError(
                    f"{len(self.times)} points need arrays of shape (points, joints), "
                    f"got {values.shape}"
                )
            bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
            if len(bad):
                raise TrajectoryError(f"point {bad[0]}: {values[bad[0]].tolist()} is not finite")


def _polynomials(lengths: np.ndarray, values: list[np.ndarray]) -> np.ndarray:
    """Return the coefficients of the polynomials with given derivatives at both ends.

    Args:
        lengths: (s) duration of each segment [s].
        values: (s + 1, n) each: positions and, maybe, velocities and accelerations of the points.

    Returns:
        (s, degree + 1, n), constant term first; degree 1, 3 or 5.
    """
    order = len(values)
    degree = 2 * order - 1
    conditions = np.zeros((len(lengths), 2 * order, degree + 1))
    for derivative in range(order):
        for power in range(derivative, degree + 1):
            factor = np.prod(np.arange(power - derivative + 1, power + 1, dtype=float))
            conditions[:, derivative, power] = factor if power == derivative else 0.0
            conditions[:, order + derivative, power] = factor * lengths ** (power - derivative)
    ends = [*(rows[:-1] for rows in values), *(rows[1:] for rows in values)]
    coefficients: np.ndarray = np.linalg.solve(conditions, np.stack(ends, axis=1))
    return coefficients


def _evaluate(coefficients: np.ndarray, time: float | np.ndarray) -> np.ndarray:
    """Return a polynomial's value (n); or those of m polynomials (m, n) at a time each."""
    value = coefficients[-1].copy()
    for coefficient in coefficients[-2::-1]:
        value = value * time + coefficient
    return value


def _derivative(coefficients: np.ndarray) -> np.ndarray:
    return coefficients[1:] * np.arange(1, len(coefficients))[:, None]


@kernel
def _extremes(
    coefficients: np.ndarray, lengths: np.ndarray, step: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return lowest and highest position [rad] and highest speed [rad/s], (s, n) each, on a grid.

    Args:
        coefficients: (s, degree + 1, n) of the segments.
        lengths: (s) their duration [s].
        step: How fine the grid is [s].
    """
    segments, count, joints = coefficients.shape
    least = np.full((segments, joints), np.inf)
    most = np.full((segments, joints), -np.inf)
    speed = np.zeros((segments, joints))
    for i in range(segments):
        intervals = max(1, round(lengths[i] / step))
        for k in range(intervals + 1):
            time = lengths[i] * k / intervals
            for joint in range(joints):
                position, velocity = coefficients[i, count - 1, joint], 0.0
                for power in range(count - 2, -1, -1):
                    velocity = velocity * time + position
                    position = position * time + coefficients[i, power, joint]
                least[i, joint] = min(least[i, joint], position)
                most[i, joint] = max(most[i, joint], position)
                speed[i, joint] = max(speed[i, joint], abs(velocity))
    return least, most, speed
