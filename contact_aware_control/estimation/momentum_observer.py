"""External torque from the arm's momentum, where the driver does not estimate it.

r = Ko (p - p0 - int (tau_m + C^T qd - g + r) dt), p = M qd. In continuous time r follows
tau_ext as a first-order low-pass with cut-off Ko; no acceleration is needed
(contact_aware_control; De Luca and Mattone's observer).
"""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin

from contact_aware_control.estimation.config import ObserverConfig
from contact_core.robot.arm_state import ArmState
from contact_core.robot.robot import Robot

MAX_GAP = 0.05
"""After a longer time [s] without a sample the observer begins anew."""


class MomentumObserver:
    """Estimates the torque of the environment from positions, velocities and joint torques."""

    def __init__(self, robot: Robot, config: ObserverConfig | None = None) -> None:
        """Start without a sample.

        Args:
            robot: The arm; its model must include what is mounted on the flange.
            config: Gain and inertia; as they come without.
        """
        config = config or ObserverConfig()
        self._model = robot.model
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
            (n) estimated tau_ext [Nm]; None if the state has no joint torque, or a stamp
            that is not newer than the last.
        """
        torque = state.joint_torque
        if torque is None or not np.isfinite(torque).all():
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
            velocity = (state.position - self._position) / period
        if np.isfinite(velocity).all():
            self._advance(self._dynamics(state.position, velocity, torque), period)
        self._stamp, self._position = state.stamp, state.position.copy()
        return self._residual.copy()

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
