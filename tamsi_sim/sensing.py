"""The external-torque signal of the robot's factory, as faulty as the scene says."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from contact_stack.core.config import parameter
from contact_stack.core.seeds import generator


@dataclass(frozen=True)
class TorqueSensorConfig:
    """How the true external torque becomes the measured one, in this order."""

    cutoff: float = parameter(
        10.0, "cut-off of a first-order low-pass; 0 for none", unit="Hz", low=0.0
    )
    delay: float = parameter(
        0.0, "pure delay, rounded to whole periods", unit="s", low=0.0, high=1.0
    )
    bias: tuple[float, ...] = parameter((0.0,) * 7, "constant error", unit="Nm", size=7)
    noise: float = parameter(
        0.1, "standard deviation of white noise per sample and joint", unit="Nm", low=0.0
    )


class TorqueSensor:
    """Low-pass, delay, bias and noise on the external torque."""

    def __init__(self, config: TorqueSensorConfig, period: float, seed: int) -> None:
        """Start at zero torque.

        Args:
            config: The settings.
            period: Time between two samples [s].
            seed: Seed of the noise.
        """
        self._config = config
        self._bias = np.array(config.bias)
        self._gain = 1.0
        if config.cutoff > 0.0:
            self._gain = 1.0 - math.exp(-2.0 * math.pi * config.cutoff * period)
        self._filtered = np.zeros(7)
        self._queue = deque([np.zeros(7)] * round(config.delay / period))
        self._noise = generator(seed, "external torque noise")

    def sample(self, torque: np.ndarray) -> np.ndarray:
        """Return one measured sample.

        Args:
            torque: (7) true external torque, mean over the period [Nm].

        Returns:
            (7) measured external torque [Nm].
        """
        self._filtered = self._filtered + self._gain * (torque - self._filtered)
        self._queue.append(self._filtered)
        noise = self._config.noise * self._noise.standard_normal(7)
        return self._queue.popleft() + self._bias + noise
