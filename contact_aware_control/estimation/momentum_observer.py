"""External torque from the arm's momentum, live or of a recording, where no driver estimates it.

r = Ko (p - p0 - int (tau_m + C^T qd - g + r) dt), p = M qd. In continuous time r follows
tau_ext as a first-order low-pass with cut-off Ko; no acceleration is needed
(contact_aware_control; De Luca and Mattone's observer).
"""

from __future__ import annotations

import math
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


def read_joint_torques(file: str | Path, joints: int) -> list[ArmState]:
    """Return the samples of a recording of joint torques.

    Args:
        file: A table with a title; a line has time [s], joint positions [rad] and joint torques
            [Nm], see :class:`~contact_core.robot.arm_state.ArmState`, separated by commas.
        joints: How many joints the arm has.

    Raises:
        ConfigError: If there is no such file or line, a value is no finite number, time does not
            go on, angles are beyond MAX_ANGLE, or the observer would begin anew at most lines.
    """
    valid = f"valid: a title, then lines of time [s], {joints} angles [rad], {joints} torques [Nm]"
    try:
        rows = np.loadtxt(file, delimiter=",", skiprows=1, ndmin=2)
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read {file}: {error} ({valid})") from error
    if (title := _numbers(file)) == 2 * joints + 1:
        raise ConfigError(f"{file} begins with {title} numbers, and without a title ({valid})")
    if len(rows) < 2 or rows.shape[1] != 2 * joints + 1:
        raise ConfigError(f"{file} has {len(rows)} lines of {rows.shape[1]} numbers ({valid})")
    if not np.isfinite(rows).all():
        line = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0]) + 1
        raise ConfigError(f"{file}: line {line} after the title has numbers that are not finite")
    if (angle := float(np.abs(rows[:, 1 : joints + 1]).max())) > MAX_ANGLE:
        raise ConfigError(
            f"{file} has an angle of {angle:g} rad (valid: up to {MAX_ANGLE:.3g}; are they in "
            "radians, and before the torques?)"
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


def _numbers(file: str | Path) -> int:
    """Return how many numbers the first line has; 0 if it has anything else."""
    with open(file, encoding="utf-8-sig") as stream:
        words = stream.readline().split(",")
    try:
        return len([float(word) for word in words])
    except ValueError:
        return 0


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
            the torque absurdly large, or the stamp not newer than the last.
        """
        position, torque = state.position, state.joint_torque
        if torque is None or not (self._is_sound(position) and is_believed(torque, self._robot)):
            return None
        period = None if self._stamp is None else 1e-9 * (state.stamp - self._stamp)
        if period is not None and period <= 0.0:
            # Later ones are compared with it: one from the future must not make them all too old.
            self._stamp = state.stamp
            return None
        velocity = state.velocity
        if period is None or period > MAX_GAP:
            self._begin()
        elif not np.isfinite(velocity).all():
            velocity = (position - self._position) / period
        if np.isfinite(velocity).all():
            self._advance(self._dynamics(position, velocity, torque), period)
        self._stamp, self._position = state.stamp, position.copy()
        return self._residual.copy()

    def _is_sound(self, values: np.ndarray) -> bool:
        return np.shape(values) == (self._model.nq,) and bool(np.isfinite(values).all())

    def _begin(self) -> None:
        # Of an arm that moves already nothing is known before its velocity is.
        self._momentum: np.ndarray | None = None
        self._drift = np.zeros(self._model.nv)
        self._residual = np.zeros(self._model.nv)

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
        momentum = inertia @ velocity + self._armature * velocity
        coriolis = pin.computeCoriolisMatrix(model, data, q, velocity)
        gravity = pin.computeGeneralizedGravity(model, data, q)
        return momentum, torque + coriolis.T @ velocity - gravity
