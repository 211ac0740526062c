"""The external-torque signal of the robot's factory, as faulty as the scene says."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from contact_core.scene_config import TorqueSensorConfig
from contact_core.seeds import generator


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
