"""The weight of the held object, as it appears in the external torque."""

from __future__ import annotations

import math

import numpy as np

from contact_aware_control.estimation.config import PayloadConfig
from contact_core.robot import Robot


class Payload:
    """The payload over time: changes at given times, with a transient after each.

    When an object is dropped, its weight leaves the torque at a moment that is not known
    exactly. For a short time after a change the change itself counts as uncertainty.
    """

    def __init__(self, config: PayloadConfig) -> None:
        """Start without payload.

        Args:
            config: Duration of the transient.
        """
        self._transient_time = config.transient_time
        self._now = (0.0, np.zeros(3))
        self._before = (0.0, np.zeros(3))
        self._changed_at: int | None = None
        self._pending: list[tuple[int, float, np.ndarray]] = []

    def set(self, mass: float, center_of_mass: np.ndarray, start_ns: int) -> None:
        """Announce a payload; later announcements replace pending ones that start later.

        Args:
            mass: [kg], 0 for none.
            center_of_mass: (3) tool frame [m].
            start_ns: Time from which on it is held [ns].
        """
        self._pending = [change for change in self._pending if change[0] < start_ns]
        self._pending.append((start_ns, mass, np.array(center_of_mass, dtype=float)))

    def update(self, stamp_ns: int, robot: Robot) -> tuple[np.ndarray, np.ndarray]:
        """Return the payload's torque at a time.

        Args:
            stamp_ns: The time [ns].
            robot: Updated at the configuration of that time.

        Returns:
            (n) torque [Nm], (n) its standard deviation [Nm].
        """
        while self._pending and self._pending[0][0] <= stamp_ns:
            self._before = self._now
            self._changed_at, mass, center_of_mass = self._pending.pop(0)
            self._now = (mass, center_of_mass)
        torque = robot.gravity_torque_of_payload(*self._now)
        if self._changed_at is None:
            return torque, np.zeros_like(torque)
        elapsed = 1e-9 * (stamp_ns - self._changed_at)
        trust_missing = math.exp(-elapsed / self._transient_time)
        change = torque - robot.gravity_torque_of_payload(*self._before)
        return torque, trust_missing * np.abs(change)
