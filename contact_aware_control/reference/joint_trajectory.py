"""Joint trajectories with the meaning of trajectory_msgs/JointTrajectory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from contact_aware_control.config import StartTolerance
from contact_aware_control.reference.base import (
    GiveWay,
    JointReference,
    at_once,
    check_joint_positions,
    check_joint_speeds,
)
from contact_core.errors import TrajectoryError
from contact_core.robot import Robot

# Limits are checked on a grid this fine [s].
CHECK_STEP = 0.005


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
        self._coefficients = [
            _polynomial(
                self.times[i + 1] - self.times[i],
                [values[i] for values in (self.positions, *derivatives)],
                [values[i + 1] for values in (self.positions, *derivatives)],
            )
            for i in range(len(self.times) - 1)
        ]

    @classmethod
    def from_start(
        cls,
        q_start: np.ndarray,
        times: Sequence[float],
        positions: np.ndarray,
        velocities: np.ndarray | None = None,
        accelerations: np.ndarray | None = None,
    ) -> JointTrajectory:
        """Interpolate points, beginning where the arm is if the first is in the future.

        Args:
            q_start: (n) where the arm is commanded to be, at rest [rad].
            times: See the constructor.
            positions: See the constructor.
            velocities: See the constructor.
            accelerations: See the constructor.

        Returns:
            The trajectory.

        Raises:
            TrajectoryError: See the constructor.
        """
        points = np.asarray(positions, dtype=float)
        if len(times) == 0 or not times[0] > 0.0 or points.ndim != 2:
            return cls(times, points, velocities, accelerations)
        rest = np.zeros_like(q_start)
        return cls(
            [0.0, *times],
            _prepended(q_start, points, "positions"),
            None if velocities is None else _prepended(rest, velocities, "velocities"),
            None if accelerations is None else _prepended(rest, accelerations, "accelerations"),
        )

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

    def check(
        self,
        robot: Robot,
        q_start: np.ndarray,
        tolerance: StartTolerance,
        give_way: GiveWay = at_once,
    ) -> None:
        """Check start, position and velocity limits, see :meth:`Reference.check`."""
        n = self.positions.shape[1]
        if n != robot.n:
            raise TrajectoryError(f"points have {n} joints, the arm has {robot.n}")
        distance = np.abs(self.positions[0] - q_start)
        joint = int(np.argmax(distance))
        if distance[joint] > tolerance.joint:
            raise TrajectoryError(
                f"the trajectory starts {distance[joint]:.3f} rad away from the arm in joint "
                f"{robot.joint_names[joint]} (valid: <= {tolerance.joint:g} rad)"
            )
        check_joint_positions(self.positions[:1], robot, "point 0")
        for segment, coefficients in enumerate(self._coefficients):
            give_way()
            length = self.times[segment + 1] - self.times[segment]
            grid = np.linspace(0.0, length, max(2, round(length / CHECK_STEP) + 1))
            path = np.array([_evaluate(coefficients, time) for time in grid])
            what = f"point {segment + 1}"
            check_joint_positions(path, robot, what)
            derivative = coefficients[1:] * np.arange(1, len(coefficients))[:, None]
            speed = np.max(np.abs([_evaluate(derivative, time) for time in grid]), axis=0)
            check_joint_speeds(speed, robot, what)

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


def _prepended(first: np.ndarray, values: np.ndarray, name: str) -> np.ndarray:
    rows = np.asarray(values, dtype=float)
    if rows.ndim != 2 or rows.shape[1] != len(first):
        raise TrajectoryError(f"{name} need shape (points, {len(first)}), got {rows.shape}")
    return np.vstack((first, rows))


def _polynomial(length: float, start: list[np.ndarray], end: list[np.ndarray]) -> np.ndarray:
    """Return the coefficients of the polynomial with given derivatives at both ends.

    Args:
        length: Duration of the segment [s].
        start: Position and, maybe, velocity and acceleration at its start.
        end: The same at its end.

    Returns:
        (degree + 1, n), constant term first; degree 1, 3 or 5.
    """
    order = len(start)
    degree = 2 * order - 1
    conditions = np.zeros((2 * order, degree + 1))
    for derivative in range(order):
        for power in range(derivative, degree + 1):
            factor = np.prod(np.arange(power - derivative + 1, power + 1, dtype=float))
            conditions[derivative, power] = factor if power == derivative else 0.0
            conditions[order + derivative, power] = factor * length ** (power - derivative)
    coefficients: np.ndarray = np.linalg.solve(conditions, np.array([*start, *end]))
    return coefficients


def _evaluate(coefficients: np.ndarray, time: float) -> np.ndarray:
    value = coefficients[-1].copy()
    for coefficient in coefficients[-2::-1]:
        value = value * time + coefficient
    return value
