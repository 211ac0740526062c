"""The arm's torque sensors, as faulty as the scene says."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pinocchio as pin

from contact_core.robot.scene import Scene
from tamsi_sim.simulation.sensor_noise import SensorChannel, SensorNoise


def external_torque_channel(scene: Scene, seed: int) -> SensorChannel:
    """Return how the robot's factory reports the external torque.

    Args:
        scene: The scene.
        seed: Seed of the noise.
    """
    noise = SensorNoise(**asdict(scene.config.torque_sensor))
    return SensorChannel(
        noise, len(scene.robot.arm_joints), scene.config.period, seed, "external torque noise"
    )


class JointTorqueSensor:
    """Measures the torque that drives each link: M qdd + C qd + g = tau_m + tau_ext.

    They sit behind the gears: the inertia of rotors and gears lies on the other side. Noise, bias
    and drift are those of the external torque, which drivers compute from these sensors: the same
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
        faults = config.torque_sensor
        noise = SensorNoise(
            bias=[-bias for bias in faults.bias], drift=faults.drift, noise=faults.noise
        )
        self._channel = SensorChannel(
            noise, len(self._armature), config.period, seed, "joint torque noise"
        )
        self._model = scene.robot.arm_model()
        self._model.gravity.linear = np.array(config.gravity)
        self._data = self._model.createData()
        self._compensated = config.gravity_compensated

    def sample(self, q: np.ndarray, drive: np.ndarray, acceleration: np.ndarray) -> np.ndarray:
        """Return one measured sample.

        Args:
            q: (n) joint positions [rad].
            drive: (n) torque of the joints' drives without that against the arm's weight,
                mean over the period [Nm].
            acceleration: (n) mean over the period [rad/s^2].

        Returns:
            (n) tau_m [Nm].
        """
        torque = drive - self._armature * acceleration
        if self._compensated:
            torque = torque + pin.computeGeneralizedGravity(self._model, self._data, q)
        return self._channel.sample(torque)
