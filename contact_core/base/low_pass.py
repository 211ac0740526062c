"""First-order low-passes: how much of a step they follow, and one without a transient."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def followed_share(period: float, time_constant: float) -> float:
    """Return the share of a step that a first-order low-pass follows.

    Args:
        period: Time that has passed [s].
        time_constant: Of the low-pass [s]; 0 for none.
    """
    return 1.0 if time_constant == 0.0 else -math.expm1(-period / time_constant)


class LowPass:
    """First-order low-pass; it starts at the first sample, so that it has no transient."""

    def __init__(self, cutoff: float) -> None:
        """Set up.

        Args:
            cutoff: Cut-off frequency [Hz], above zero.
        """
        self._rate = 2.0 * math.pi * cutoff
        self._value: NDArray[np.float64] | None = None

    def update(self, sample: NDArray[np.float64], period: float) -> NDArray[np.float64]:
        """Take a sample.

        Args:
            sample: The input, shape (n,).
            period: Time since the last sample [s]; of no matter for the first.

        Returns:
            The output, shape (n,).
        """
        before = sample if self._value is None else self._value
        # Exact for an input that is constant between samples.
        self._value = before + (1.0 - math.exp(-self._rate * period)) * (sample - before)
        return self._value
