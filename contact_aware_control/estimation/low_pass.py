"""Low-pass on the torque that lets jumps through."""

from __future__ import annotations

import math

import numpy as np

JUMP = 45.0
"""Squared whitened innovation that 7 joints of Gaussian noise exceed once in 1e7 samples."""


class JumpingLowPass:
    """First-order low-pass, except that what noise cannot explain passes at once.

    An impact is thus seen without delay, while a steady force is smoothed.
    """

    def __init__(self, time_constant: float) -> None:
        """Start without a value.

        Args:
            time_constant: [s].
        """
        self._time_constant = time_constant
        self._value: np.ndarray | None = None

    def reset(self) -> None:
        """Forget the value; the next sample is taken as it is."""
        self._value = None

    def update(self, sample: np.ndarray, noise: np.ndarray, period: float) -> np.ndarray:
        """Take in one sample.

        Args:
            sample: (n).
            noise: (n) standard deviation of a sample.
            period: Time since the last sample [s].

        Returns:
            (n) the filtered value.
        """
        if self._value is None or np.sum(((sample - self._value) / noise) ** 2) > JUMP:
            self._value = sample.copy()
        elif self._time_constant > 0.0:
            gain = 1.0 - math.exp(-period / self._time_constant)
            self._value = self._value + gain * (sample - self._value)
        else:
            self._value = sample.copy()
        return self._value
