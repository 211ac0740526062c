"""Find what is wrong in an arm's model: a motion that shows it, and what its torques say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contact_aware_control.estimation.calibration import Calibration, prior
from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.torque_errors import TorqueErrors
from contact_aware_control.reference import JointTrajectory
from contact_core.base.errors import TrajectoryError
from contact_core.robot.robot import Robot

REST = 1.0
"""How long the arm stands still before the motion, in which noise is measured [s]."""

FASTEST, SLOWEST = 1.0, 0.25
"""Speeds between the motion's points, over the one that is allowed."""

PAUSE, PAUSES = 0.4, 0.3
"""How long the arm stops [s] at which share of the points: friction shows when it starts again."""

HELD_OUT = 0.25
"""Share of the samples, at the end, that judge what the others have told."""

AT_REST = 5e-3
"""Speed below which a joint rests [rad/s]."""

MIN_VARIATION = 0.3
"""Spring torque that has to vary so much for a joint's stiffness to be told [Nm]."""


@dataclass(frozen=True)
class TorqueSamples:
    """What was recorded of an arm that nothing touched.

    Attributes:
        time: (s) [s], from the start of the rest.
        position: (s, n) q [rad].
        command: (s, n) q_cmd [rad]; NaN where the driver does not tell.
        torque: (s, n) tau_ext [Nm].
    """

    time: np.ndarray
    position: np.ndarray
    command: np.ndarray
    torque: np.ndarray

    @classmethod
    def of(
        cls, states: Sequence[tuple[float, np.ndarray, np.ndarray, np.ndarray]]
    ) -> TorqueSamples:
        """Put states together.

        Args:
            states: Time, q, q_cmd and tau_ext of each.
        """
        return cls(*(np.array(values) for values in zip(*states, strict=True)))


@dataclass(frozen=True)
class Identification:
    """What the samples tell.

    Attributes:
        calibration: What is known of the errors.
        noise: (n) standard deviation of the torque at rest [Nm].
        before: (n) root mean square of the torque of the samples held out, less its value at
            rest, which a tare finds [Nm].
        after: (n) the same of what is left unexplained, by errors found from the other samples.
        residual: (s, n) torque that was not foreseen, sample by sample [Nm].
        touched: Share of the samples, once the errors were known, that only a contact explains.
        stiffness: (n) of the joints' springs [Nm/rad]; NaN where they were not loaded enough.
    """

    calibration: Calibration
    noise: np.ndarray
    before: np.ndarray
    after: np.ndarray
    residual: np.ndarray
    touched: float
    stiffness: np.ndarray


def excitation(
    robot: Robot, start: np.ndarray, amplitude: float, speed: float, duration: float, seed: int
) -> JointTrajectory:
    """Return a motion to and fro that shows gravity, friction and how torques are measured.

    Args:
        robot: The arm.
        start: (n) where it begins and ends [rad].
        amplitude: How far a joint goes from there, at most [rad].
        speed: Largest joint speed [rad/s].
        duration: How long it takes, about [s].
        seed: Of the points.

    Returns:
        The motion, which respects the joints' limits, at rest at every point.

    Raises:
        TrajectoryError: If the arm is so near to a limit that a joint cannot move.
    """
    rng = np.random.default_rng(seed)
    lower, upper = robot.position_limits
    reach = np.minimum(amplitude, np.minimum(start - lower, upper - start) - 0.05)
    if np.any(reach < 0.05):
        joint = robot.joint_names[int(np.argmin(reach))]
        raise TrajectoryError(f"{joint} is too near to its limit: move the arm away from it")
    times, points = [0.0], [start]
    while times[-1] < duration:
        point = start + reach * rng.uniform(-1.0, 1.0, robot.n)
        _append(times, points, point, speed * rng.uniform(SLOWEST, FASTEST))
        if rng.uniform() < PAUSES:
            times.append(times[-1] + PAUSE)
            points.append(point)
    _append(times, points, start, speed)
    still = np.zeros((len(points), robot.n))
    return JointTrajectory(times, np.array(points), still, still)


def _append(times: list[float], points: list[np.ndarray], point: np.ndarray, speed: float) -> None:
    """Go on to a point; a quintic's peak is 15/8 of its mean speed."""
    distance = float(np.abs(point - points[-1]).max())
    times.append(times[-1] + max(1.875 * distance / speed, 0.2))
    points.append(point)


def identify(robot: Robot, samples: TorqueSamples, config: EstimatorConfig) -> Identification:
    """Find the errors of an arm's model.

    Args:
        robot: The arm as described.
        samples: Of :data:`REST`, and then of an excitation.
        config: The prior, among other things; its calibration is where it starts from.

    Returns:
        What was found.
    """
    still = samples.time < REST
    noise = np.maximum(samples.torque[still].std(axis=0), config.noise.smallest)
    known = prior(robot, config.errors)
    errors = TorqueErrors(robot, config.errors, config.tare.expected_bias, known)
    count = len(samples.time)
    first_held_out = round((1.0 - HELD_OUT) * count)
    residual = np.empty_like(samples.torque)
    surprising = np.zeros(count, dtype=bool)
    before = samples.time[0]
    for k, (time, q, torque) in enumerate(
        zip(samples.time, samples.position, samples.torque, strict=True)
    ):
        expected, covariance = errors.expect(q, time - before)
        residual[k] = torque - expected
        total = covariance + np.diag(noise**2)
        evidence = residual[k] @ np.linalg.solve(total, residual[k])
        surprising[k] = evidence > config.detection.threshold
        errors.learn(residual[k], noise, time - before)
        before = time
    tared = samples.torque - samples.torque[still].mean(axis=0)
    return Identification(
        errors.knowledge(),
        noise,
        _rms(tared[first_held_out:]),
        _rms(residual[first_held_out:]),
        residual,
        float(surprising[first_held_out:].mean()),
        _stiffness(samples),
    )


def _rms(values: np.ndarray) -> np.ndarray:
    root: np.ndarray = np.sqrt(np.mean(np.square(values), axis=0))
    return root


def _stiffness(samples: TorqueSamples) -> np.ndarray:
    """Fit (5), K (q_cmd - q) + tau_ext = 0 up to a constant, joint by joint, while all rest."""
    speed = np.gradient(samples.position, samples.time, axis=0)
    rests = np.all(np.abs(speed) < AT_REST, axis=1)
    deflection, torque = (samples.position - samples.command)[rests], samples.torque[rests]
    if len(torque) < 2:
        return np.full(samples.torque.shape[1], np.nan)
    deflection, torque = deflection - deflection.mean(axis=0), torque - torque.mean(axis=0)
    loaded = torque.std(axis=0) > MIN_VARIATION
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.sum(torque**2, axis=0) / np.sum(torque * deflection, axis=0)
    return np.where(loaded & np.isfinite(found), found, np.nan)
