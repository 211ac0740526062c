"""The arm's torque sensors, as faulty as the scene says."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
import pinocchio as pin

from contact_core.scene import Scene
from contact_core.scene_config import TorqueSensorConfig
from contact_core.seeds import generator


class TorqueSensor:
    """External torque as the robot's factory reports it: low-pass, delay, bias and noise."""

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


class JointTorqueSensor:
    """Measures the torque that drives each link: M qdd + C qd + g = tau_m + tau_ext.

    They sit behind the gears: the inertia of rotors and gears lies on the other side. Noise and
    bias are those of the external torque, which drivers compute from these sensors: the same
    bias of tau_ext follows from it.
    """

    def __init__(self, scene: Scene, seed: int) -> None:
        """Mount the sensors.

        Args:
            scene: The scene.
            seed: Seed of the noise.
        """
        config = scene.config
        self._armature = np.array(config.robot.effective_armature)
        self._bias = np.array(config.torque_sensor.bias)
        self._deviation = config.torque_sensor.noise
        self._noise = generator(seed, "joint torque noise")
        self._model = scene.robot.arm_model()
        self._model.gravity.linear = np.array(config.gravity)
        self._data = self._model.createData()
        self._compensated = config.gravity_compensated

    def sample(self, q: np.ndarray, drive: np.ndarray, acceleration: np.ndarray) -> np.ndarray:
        """Return one measured sample.

        Args:
            q: (7) joint positions [rad].
            drive: (7) torque of the joints' drives without that against the arm's weight,
                mean over the period [Nm].
            acceleration: (7) mean over the period [rad/s^2].

        Returns:
            (7) tau_m [Nm].
        """
        torque = drive - self._armature * acceleration
        if self._compensated:
            torque = torque + pin.computeGeneralizedGravity(self._model, self._data, q)
        return torque - self._bias + self._deviation * self._noise.standard_normal(7)
