"""The tare: bias and noise of the external torque, measured while nothing touches the robot."""

from __future__ import annotations

from enum import Enum

import numpy as np

from contact_aware_control.estimation.config import NoiseConfig, TareConfig

MAX_VARIATION = 6.0
"""A standard deviation of more than this times the noise in the robot's file, or the smallest
noise, means that the robot is touched or moves."""


class TareStatus(Enum):
    """What the tare is doing; the value says what to do about it."""

    COLLECTING = "averaging the torque: keep the robot free of contact and still"
    DONE = "bias known"
    TOUCHED = "the robot is touched: tare again in free space"
    VARIATION = "the torque varies too much for a tare: let the robot come to rest"
    BIAS = "the mean torque is too large for a bias: check payload and contact, tare again"


class Tare:
    """Averages the torque of free space on request; a failed measurement is repeated.

    Attributes:
        noise: (n) standard deviation of the torque [Nm].
        status: Of the last or the running measurement.
        running: True while a measurement is running.
        measured: True once a measurement has succeeded.
    """

    def __init__(self, known: np.ndarray, config: TareConfig, noise: NoiseConfig) -> None:
        """Start the first measurement.

        Args:
            known: (n) standard deviation of the torque as the robot's file has it [Nm].
            config: Duration and limits.
            noise: What to assume before, and at least.
        """
        self._config = config
        self._smallest_noise = noise.smallest
        self.noise = np.maximum(known, max(noise.before_tare, noise.smallest))
        self._largest_variation = MAX_VARIATION * np.maximum(known, noise.smallest)
        self.measured = False
        self.start()

    def start(self) -> None:
        """Measure anew."""
        self.running = True
        self.status = TareStatus.COLLECTING
        self._restart()

    def take(self, noise: np.ndarray) -> None:
        """End with what another one has measured.

        Args:
            noise: (n) standard deviation of the torque [Nm].
        """
        self.status, self.noise, self.measured, self.running = TareStatus.DONE, noise, True, False

    def update(self, torque: np.ndarray, touched: bool, period: float) -> np.ndarray | None:
        """Take in one sample, while a measurement is running.

        Args:
            torque: (n) less payload and all errors that are known [Nm].
            touched: True if a contact is detected.
            period: Time since the last sample [s].

        Returns:
            (n) the mean once it is measured [Nm], else None.
        """
        if touched:
            self.status = TareStatus.TOUCHED
            self._restart()
            return None
        return self._collect(torque, period)

    def _restart(self) -> None:
        self._count = 0
        self._time = 0.0
        self._mean = np.zeros_like(self.noise)
        self._squares = np.zeros_like(self.noise)

    def _collect(self, torque: np.ndarray, period: float) -> np.ndarray | None:
        """Welford's running mean and variance; decide when the time is over."""
        self._count += 1
        self._time += period
        deviation = torque - self._mean
        self._mean += deviation / self._count
        self._squares += deviation * (torque - self._mean)
        if self._time < self._config.duration or self._count < 2:
            return None
        mean, variation = self._mean, np.sqrt(self._squares / (self._count - 1))
        self._restart()
        if np.any(variation > self._largest_variation):
            self.status = TareStatus.VARIATION
            return None
        if np.any(np.abs(mean) > self._config.largest_bias):
            self.status = TareStatus.BIAS
            return None
        self.take(np.maximum(variation, self._smallest_noise))
        return mean
