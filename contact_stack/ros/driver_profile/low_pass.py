"""The filter of external torques that the driver does not filter itself."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


class LowPass:
    """First-order low-pass; it starts at the first sample, so that it has no transient."""

    def __init__(self, cutoff: float, period: float) -> None:
        """Set up.

        Args:
            cutoff: Cut-off frequency [Hz]; 0 passes everything on.
            period: Time between two samples [s].
        """
        # Exact for an input that is constant between samples.
        self._gain = 1.0 - math.exp(-2.0 * math.pi * cutoff * period) if cutoff > 0.0 else 1.0
        self._value: NDArray[np.float64] | None = None

    def update(self, sample: NDArray[np.float64]) -> NDArray[np.float64]:
        """Take a sample.

        Args:
            sample: The input, shape (n,).

        Returns:
            The output, shape (n,); the input itself, bit by bit, without a cut-off.
        """
        if self._value is None or self._gain == 1.0:
            self._value = sample
        else:
            self._value = self._value + self._gain * (sample - self._value)
        return self._value
