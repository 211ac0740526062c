"""External torque from the arm's momentum, live or of a recording, where no driver estimates it.

r = Ko (p - p0 - int (tau_m + C^T qd - g + r) dt), p = M qd. In continuous time r follows
tau_ext as a first-order low-pass with cut-off Ko; no acceleration is needed
(contact_aware_control; De Luca and Mattone's observer). Where positions have to be differentiated,
what that makes of their errors and of their stamps' is averaged away, at the price of a delay.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pinocchio as pin

from contact_aware_control.estimation.config import ObserverConfig
from contact_aware_control.estimation.joint_torque import is_believed
from contact_core.base.errors import ConfigError
from contact_core.robot.arm_state import ArmState
from contact_core.robot.robot import Robot

MAX_ANGLE = 4.0 * math.pi
"""Joints turn less than that to either side [rad]."""

MAX_GAP = 0.05
"""After a longer time [s] without a sample the observer begins anew."""

TOLERANCE = 0.1
"""Standard deviation of the torque that errors of differentiated velocities may cause [Nm]."""

MAX_DELAY = 0.3
"""Longest time constant of the average that takes them away: an arm that moves is elsewhere by then
[s]."""

MAX_STEP = 3e-4
"""Coarsest steps of recorded angles [rad]: averaging them away takes about that long."""

WINDOW, OUTLIERS = 24, 4
"""Samples from which the errors are told, and how many of them may be those of an impact."""

ERROR_SHARE = 1.4 / math.sqrt(35.0)
"""Standard deviation of v = (q_k - q_k-1) / T over that of its third differences without outliers,
where the errors of positions are independent: 2 over 1 + 16 + 36 + 16 + 1, its root."""

ROUNDING = 1e-9
"""Smaller differences of positions are none [rad]."""


def read_joint_torques(file: str | Path, joints: int | Sequence[str]) -> list[ArmState]:
    """Return the samples of a recording of joint torques.

    Args:
        file: A table with a title; a line has time [s], joint positions [rad] and joint torques
            [Nm], see :class:`~contact_core.robot.arm_state.ArmState`, separated by commas.
        joints: The arm's joints in their order, or how many there are.

    Raises:
        ConfigError: If there is no such file or line, a value is no finite number, time does not
            go on, angles are beyond MAX_ANGLE or in steps of more than MAX_STEP, the observer
            would begin anew at most lines, or the title names the joints in another order.
    """
    names = () if isinstance(joints, int) else tuple(joints)
    joints = joints if isinstance(joints, int) else len(joints)
    valid = f"valid: a title, then lines of time [s], {joints} angles [rad], {joints} torques [Nm]"
    try:
        rows = np.loadtxt(file, delimiter=",", skiprows=1, ndmin=2)
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read {file}: {error} ({valid})") from error
    title = _title(file)
    if _numbers(title) == 2 * joints + 1:
        raise ConfigError(f"{file} begins with {len(title)} numbers, and without a title ({valid})")
    if len(rows) < 2 or rows.shape[1] != 2 * joints + 1:
        raise ConfigError(f"{file} has {len(rows)} lines of {rows.shape[1]} numbers ({valid})")
    for what, titles in (("angles", title[1 : joints + 1]), ("torques", title[joints + 1 :])):
        order = _order(titles, names)
        if order is not None and order != list(range(joints)):
            raise ConfigError(
                f"{file}: its {what} are {', '.join(titles)} (valid: those of {', '.join(names)}, "
                "in this order)"
            )
    if not np.isfinite(rows).all():
        line = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0]) + 1
        raise ConfigError(f"{file}: line {line} after the title has numbers that are not finite")
    if (angle := float(np.abs(rows[:, 1 : joints + 1]).max())) > MAX_ANGLE:
        raise ConfigError(
            f"{file} has an angle of {angle:g} rad (valid: up to {MAX_ANGLE:.3g}; are they in "
            "radians, and before the torques?)"
        )
    steps = np.abs(np.diff(rows[:, 1 : joints + 1], 4, axis=0))
    least = np.min(steps, axis=0, initial=math.inf, where=steps > ROUNDING)
    often = np.sum(steps > ROUNDING, axis=0) > WINDOW
    if (step := float(least[often].max(initial=0.0))) > MAX_STEP:
        raise ConfigError(
            f"the angles of {file} go in steps of {step:.2g} rad (valid: {MAX_STEP:g} rad at most, "
            "that is four decimals or more)"
        )
    periods = np.diff(rows[:, 0])
    if not (periods > 0.0).all():
        line = int(np.flatnonzero(periods <= 0.0)[0])
        before, after = rows[line : line + 2, 0]
        raise ConfigError(
            f"{file}: time goes from {before:g} to {after:g} s at line {line + 2} after the title "
            "(valid: rising)"
        )
    if (period := float(np.median(periods))) > MAX_GAP:
        raise ConfigError(
            f"the lines of {file} are {period:g} s apart (valid: {MAX_GAP:g} s at most; is its "
            "time in seconds?)"
        )
    return [
        ArmState.recorded(round(1e9 * row[0]), row[1 : joints + 1], joint_torque=row[joints + 1 :])
        for row in rows
    ]


def _title(file: str | Path) -> list[str]:
    """Return the words of the first line."""
    with open(file, encoding="utf-8-sig") as stream:
        return [word.strip() for word in stream.readline().split(",")]


def _numbers(words: list[str]) -> int:
    """Return how many words there are if all are numbers, else 0."""
    try:
        return len([float(word) for word in words])
    except ValueError:
        return 0


def _order(titles: list[str], names: Sequence[str]) -> list[int] | None:
    """Return which title ends with each name; None if they do not tell."""
    longest = [
        max((n for n in names if title.endswith(n)), key=len, default="") for title in titles
    ]
    if not names or len(set(longest)) < len(names) or "" in longest:
        return None
    return [longest.index(name) for name in names]


class VelocityErrors:
    """Tells from positions alone how wrong the velocities are that are made of them.

    An arm moves smoothly: what differs from sample to sample is of stamps that jitter, of noise, or
    of the quantum in which positions are written. A joint that is slow steps from time to time, so
    the quantum, the least of all differences, counts wherever a joint has moved.
    """

    def __init__(self, joints: int) -> None:
        """Start without a sample.

        Args:
            joints: How many joints there are.
        """
        self._positions = np.full((5, joints), np.nan)
        self._velocities = np.full((4, joints), np.nan)
        self._differences = np.zeros((WINDOW, joints))
        self._quantum = np.full(joints, np.inf)

    def update(self, position: np.ndarray, velocity: np.ndarray, period: float) -> np.ndarray:
        """Take in one sample.

        Args:
            position: (n) q_k [rad].
            velocity: (n) (q_k - q_k-1) / T [rad/s].
            period: T [s].

        Returns:
            (n) standard deviation of the velocity [rad/s].
        """
        for history, new in ((self._positions, position), (self._velocities, velocity)):
            history[:-1], history[-1] = history[1:], new
        differences = self._differences
        differences[:-1] = differences[1:]
        differences[-1] = np.nan_to_num(np.abs(np.diff(self._velocities, 3, axis=0)[0]))
        step = np.abs(np.diff(self._positions, 4, axis=0)[0])
        self._quantum = np.fmin(self._quantum, np.where(step > ROUNDING, step, np.inf))
        usual = np.sort(differences, axis=0)[:-OUTLIERS]
        moves = differences.max(axis=0) > ROUNDING / period
        quantum = np.where(moves & np.isfinite(self._quantum), self._quantum, 0.0)
        noise = ERROR_SHARE * np.sqrt(np.mean(usual**2, axis=0))
        return np.maximum(noise, quantum / (math.sqrt(6.0) * period))


class MomentumObserver:
    """Estimates the torque of the environment from positions, velocities and joint torques."""

    def __init__(self, robot: Robot, config: ObserverConfig | None = None) -> None:
        """Start without a sample.

        Args:
            robot: The arm; its model must include what is mounted on the flange.
            config: Gain and inertia; as they come without.
        """
        config = config or ObserverConfig()
        self._robot, self._model = robot, robot.model
        self._data = robot.model.createData()
        self._gain = config.gain
        self._armature = np.broadcast_to(config.armature, robot.n)
        self.reset()

    def reset(self) -> None:
        """Forget everything; the next sample starts the observer anew."""
        self._stamp: int | None = None
        self._position = np.zeros(self._model.nq)
        self._begin()

    def update(self, state: ArmState) -> np.ndarray | None:
        """Process one sample.

        Args:
            state: Position, velocity and joint torque of the arm. Where the driver gives no
                velocity, positions are differentiated.

        Returns:
            (n) estimated tau_ext [Nm]; None if position or joint torque is not n finite numbers,
            the torque absurdly large, the stamp not newer than the last, or positions or stamps
            too wrong for a velocity.
        """
        position, torque = state.position, state.joint_torque
        if torque is None or not (self._is_sound(position) and is_believed(torque, self._robot)):
            return None
        period = None if self._stamp is None else 1e-9 * (state.stamp - self._stamp)
        if period is not None and period <= 0.0:
            # Later ones are compared with it: one from the future must not make them all too old.
            self._stamp = state.stamp
            return None
        velocity, share = state.velocity, 1.0
        if period is None or period > MAX_GAP:
            self._begin()
        elif not np.isfinite(velocity).all():
            velocity = (position - self._position) / period
            share = self._share_of_news(position, velocity, period)
        if np.isfinite(velocity).all():
            self._advance(self._dynamics(position, velocity, torque), period)
            self._smooth += share * (self._residual - self._smooth)
        self._stamp, self._position = state.stamp, position.copy()
        return self._smooth.copy() if share > 0.0 else None

    def _share_of_news(self, position: np.ndarray, velocity: np.ndarray, period: float) -> float:
        """Return the gain of the average that errors of a differentiated velocity ask for, or 0."""
        error = self._errors.update(position, velocity, period)
        gain = (1.0 - math.exp(-self._gain * period)) / period
        largest = gain * float((np.abs(self._inertia) @ error).max())
        share = min(1.0, TOLERANCE / max(largest, 1e-9))
        return share if period <= MAX_DELAY * share else 0.0

    def _is_sound(self, values: np.ndarray) -> bool:
        return np.shape(values) == (self._model.nq,) and bool(np.isfinite(values).all())

    def _begin(self) -> None:
        # Of an arm that moves already nothing is known before its velocity is.
        self._momentum: np.ndarray | None = None
        self._drift = np.zeros(self._model.nv)
        self._residual, self._smooth = np.zeros(self._model.nv), np.zeros(self._model.nv)
        self._inertia = np.zeros((self._model.nv, self._model.nv))
        self._errors = VelocityErrors(self._model.nv)

    def _advance(self, now: tuple[np.ndarray, np.ndarray], period: float | None) -> None:
        """Take one step, exact for torques that are constant over the period."""
        momentum, drift = now
        if self._momentum is not None and period is not None:
            # The trapezoidal rule; with r in it the step of r has a closed form.
            external = (momentum - self._momentum) / period - 0.5 * (drift + self._drift)
            share = 1.0 - math.exp(-self._gain * period)
            self._residual += share * (external - self._residual)
        self._momentum, self._drift = momentum, drift

    def _dynamics(
        self, q: np.ndarray, velocity: np.ndarray, torque: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the momentum p = M qd, and tau_m + C^T qd - g, its rate without contact."""
        model, data = self._model, self._data
        inertia = pin.crba(model, data, q)
        inertia = np.triu(inertia) + np.triu(inertia, 1).T
        self._inertia = inertia + np.diag(self._armature)
        momentum = self._inertia @ velocity
        coriolis = pin.computeCoriolisMatrix(model, data, q, velocity)
        gravity = pin.computeGeneralizedGravity(model, data, q)
        return momentum, torque + coriolis.T @ velocity - gravity
