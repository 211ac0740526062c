"""Bias and noise of the external torque, measured while nothing touches the robot."""

from __future__ import annotations

import math
from enum import Enum

import numpy as np

from contact_aware_control.estimation.config import NoiseConfig, TareConfig


class TareStatus(Enum):
    """What the tare is doing; the value says what to do about it."""

    COLLECTING = "averaging the torque: keep the robot free of contact and still"
    DONE = "bias known"
    TOUCHED = "the robot is touched: tare again in free space"
    VARIATION = "the torque varies too much for a tare: let the robot come to rest"
    BIAS = "the mean torque is too large for a bias: check payload and contact, tare again"


class Tare:
    """Measures the bias on request, then follows it slowly in free space.

    A failed measurement is repeated until one succeeds; the old bias is kept meanwhile.

    Attributes:
        bias: (n) [Nm].
        noise: (n) standard deviation of the torque [Nm].
        status: Of the last or the running measurement.
        measured: True once a measurement has succeeded.
    """

    def __init__(self, joints: int, config: TareConfig, noise: NoiseConfig) -> None:
        """Start the first measurement.

        Args:
            joints: Number of joints n.
            config: Duration and limits.
            noise: What to assume before, and at least.
        """
        self._config = config
        self._smallest_noise = noise.smallest
        self.bias = np.zeros(joints)
        self.noise = np.full(joints, max(noise.before_tare, noise.smallest))
        self.status = TareStatus.COLLECTING
        self.measured = False
        self._at_measurement = np.zeros(joints)
        self._running = True
        self.start()

    def start(self) -> None:
        """Measure anew."""
        self._running = True
        self.status = TareStatus.COLLECTING
        self._restart()

    @property
    def running(self) -> bool:
        """True while a measurement is running."""
        return self._running

    @property
    def uncertainty(self) -> float:
        """Standard deviation of a bias that has not been measured yet [Nm]."""
        return 0.0 if self.measured else self._config.expected_bias

    def update(self, torque: np.ndarray, touched: bool, free: bool, period: float) -> None:
        """Take in one sample.

        Args:
            torque: (n) external torque without payload, biased [Nm].
            touched: True if a contact is detected.
            free: True if the torque is certainly that of free space.
            period: Time since the last sample [s].
        """
        if touched:
            if self._running:
                self.status = TareStatus.TOUCHED
                self._restart()
        elif self._running:
            self._collect(torque, period)
        elif free:
            self._follow(torque, period)

    def _restart(self) -> None:
        self._count = 0
        self._time = 0.0
        self._mean = np.zeros_like(self.bias)
        self._squares = np.zeros_like(self.bias)

    def _collect(self, torque: np.ndarray, period: float) -> None:
        """Welford's running mean and variance; decide when the time is over."""
        self._count += 1
        self._time += period
        deviation = torque - self._mean
        self._mean += deviation / self._count
        self._squares += deviation * (torque - self._mean)
        if self._time < self._config.duration or self._count < 2:
            return
        variation = np.sqrt(self._squares / (self._count - 1))
        if np.any(variation > self._config.largest_variation):
            self.status = TareStatus.VARIATION
        elif np.any(np.abs(self._mean) > self._config.largest_bias):
            self.status = TareStatus.BIAS
        else:
            self.status = TareStatus.DONE
            self.bias = self._mean.copy()
            self._at_measurement = self._mean.copy()
            self.noise = np.maximum(variation, self._smallest_noise)
            self.measured = True
            self._running = False
        self._restart()

    def _follow(self, torque: np.ndarray, period: float) -> None:
        """Low-pass the bias, not further than the largest drift from the measured one."""
        gain = 1.0 - math.exp(-period / self._config.tracking_time)
        drift = self.bias + gain * (torque - self.bias) - self._at_measurement
        limit = self._config.largest_drift
        self.bias = self._at_measurement + np.clip(drift, -limit, limit)
