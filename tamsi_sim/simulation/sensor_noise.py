"""The faults of sensors: low-pass, delay, bias, drift and noise."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contact_core.base.errors import ConfigError, real_number
from contact_core.base.low_pass import LowPass
from contact_core.base.seeds import generator

MAX_DELAYED = 100_000
"""Samples that are kept."""


@dataclass(frozen=True)
class SensorNoise:
    """How true values become measured ones, in this order.

    Attributes:
        cutoff: Of a first-order low-pass [Hz]; 0 for none.
        delay: Pure delay, rounded to whole periods [s].
        bias: Constant error, one number or one for each value.
        drift: Standard deviation of the error's random walk after one second [unit/sqrt(s)].
        noise: Standard deviation of white noise of each sample, one number or one for each value.
    """

    cutoff: float = 0.0
    delay: float = 0.0
    bias: float | Sequence[float] = 0.0
    drift: float = 0.0
    noise: float | Sequence[float] = 0.0

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: If one is not finite, or negative and no bias.
        """
        for name in ("cutoff", "delay", "drift"):
            if real_number(getattr(self, name), name, "finite and >= 0") < 0.0:
                raise ConfigError(f"{name} must be >= 0, got {getattr(self, name):g}")
        for name, lowest in (("bias", -math.inf), ("noise", 0.0)):
            values = getattr(self, name)
            try:
                sound = bool(np.isfinite(found := np.asarray(values, dtype=float)).all())
            except (TypeError, ValueError):
                sound = False
            if not sound or np.any(found < lowest):
                raise ConfigError(
                    f"{name} must be finite numbers{' >= 0' if lowest == 0.0 else ''}, "
                    f"got {values!r}"
                )


class SensorChannel:
    """Turns true values into measured ones; it starts without a transient."""

    def __init__(
        self, noise: SensorNoise, size: int, period: float, seed: int, purpose: str
    ) -> None:
        """Set up.

        Args:
            noise: The faults.
            size: How many values a sample has.
            period: Time between two samples [s].
            seed: Seed of the noise.
            purpose: Tells its random numbers from those of others, see :func:`generator`.

        Raises:
            ConfigError: If there are neither one nor ``size`` biases or deviations, or the delay
                is too long.
        """
        for name in ("bias", "noise"):
            if np.shape(values := getattr(noise, name)) not in ((), (1,), (size,)):
                raise ConfigError(f"{name} must be 1 or {size} values, got {values}")
        if not noise.delay / period < MAX_DELAYED:
            raise ConfigError(
                f"delay must be < {MAX_DELAYED * period:g} s at a period of {period:g} s, "
                f"got {noise.delay:g}"
            )
        self._noise, self._period = noise, period
        self._low_pass = LowPass(noise.cutoff) if noise.cutoff > 0.0 else None
        self._delayed: deque[np.ndarray] = deque()
        self._error = np.array(np.broadcast_to(noise.bias, size), dtype=float)
        self._deviation = np.asarray(noise.noise, dtype=float)
        self._white = generator(seed, purpose)
        self._walk = generator(seed, f"{purpose}, drift")

    def sample(self, true: np.ndarray) -> np.ndarray:
        """Return the next sample.

        Args:
            true: (size) the true values.

        Returns:
            (size) the measured values.
        """
        noise, size = self._noise, len(self._error)
        passed = self._low_pass.update(true, self._period) if self._low_pass else true
        if not self._delayed:
            self._delayed.extend([passed] * round(noise.delay / self._period))
        self._delayed.append(passed)
        if noise.drift > 0.0:
            step = noise.drift * math.sqrt(self._period)
            self._error = self._error + step * self._walk.standard_normal(size)
        white = self._deviation * self._white.standard_normal(size)
        return self._delayed.popleft() + self._error + white
