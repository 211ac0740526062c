"""How the true arm differs from what its driver speaks of, and what its torque sensors say."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict

import numpy as np
import pinocchio as pin

from contact_core.base.config import for_joints
from contact_core.robot.description import RobotDescription
from contact_core.robot.scene import Scene
from contact_core.robot.scene_config import ArmErrorsConfig
from tamsi_sim.robot.physics import Physics
from tamsi_sim.simulation.sensor_noise import SensorChannel, SensorNoise


class ArmErrors:
    """Torques that the arm's description does not explain, and what of them is measured.

    The simulated arm is the described one. What a true arm of other masses, on a tilted base,
    moves differently is a torque on its joints: the described inverse dynamics less the true ones,
    at the acceleration of the last period.
    """

    def __init__(self, scene: Scene) -> None:
        """Build the true arm.

        Args:
            scene: The scene.
        """
        self._n = len(scene.robot.arm_joints)
        config = scene.config.robot.errors
        self._present = config != for_joints(ArmErrorsConfig(), self._n)
        self._friction_seen = config.friction_seen
        stiffness = np.array(config.gear_stiffness)
        self._compliance = np.divide(1.0, stiffness, where=stiffness > 0.0, out=np.zeros(self._n))
        opening = scene.config.robot.gripper.initial_position
        self._described = scene.robot.arm_model(opening)
        self._true = _true_arm(scene.robot, config).arm_model(opening)
        gravity = np.array(scene.config.gravity)
        self._described.gravity.linear = gravity
        self._true.gravity.linear = pin.rpy.rpyToMatrix(*config.tilt, 0.0).T @ gravity
        self._data = self._described.createData(), self._true.createData()
        self._stiction = scene.config.solver.stiction_velocity

    def torque(self, q: np.ndarray, v: np.ndarray, acceleration: np.ndarray) -> np.ndarray:
        """Return the torque on the joints that the description does not explain.

        It shows in the external torque, which drivers compute from the description.

        Args:
            q: (n) [rad].
            v: (n) [rad/s].
            acceleration: (n) [rad/s^2].

        Returns:
            (n) [Nm].
        """
        if not self._present:
            return np.zeros(self._n)
        described, true = self._data
        expected = pin.rnea(self._described, described, q, v, acceleration)
        difference: np.ndarray = expected - pin.rnea(self._true, true, q, v, acceleration)
        return difference

    def friction(self, engine: Physics, arm: np.ndarray) -> np.ndarray:
        """Return what the torque sensors see of the joints' friction.

        Args:
            engine: What is simulated.
            arm: (n) degrees of freedom of the arm's joints.

        Returns:
            (n) on the links [Nm].
        """
        if not self._friction_seen:
            return np.zeros(self._n)
        joints, v = engine.built.arrays.joints, engine.v[arm]
        ratio = v / np.maximum(joints.stribeck_velocity[arm], 1e-9)
        reach = joints.friction[arm] + joints.static_excess[arm] * np.exp(-(ratio**2))
        stiffness = joints.presliding_stiffness[arm]
        sticking = reach * np.clip(v / self._stiction, -1.0, 1.0)
        held = np.where(stiffness > 0.0, stiffness * engine.deflection[arm], sticking)
        seen: np.ndarray = -held - joints.damping[arm] * v
        return seen

    def twist(self, joint_torque: np.ndarray) -> np.ndarray:
        """Return how far the gears turn the encoders against the links (n) [rad].

        Args:
            joint_torque: (n) that they transmit [Nm].
        """
        return self._compliance * joint_torque


def _true_arm(described: RobotDescription, config: ArmErrorsConfig) -> RobotDescription:
    """Return the described robot with the true masses; what the last link carries is the tool."""
    robot = ElementTree.fromstring(described.urdf)
    parents, moved = {}, {}
    for joint in robot.findall("joint"):
        parent, child = (joint.find(tag) for tag in ("parent", "child"))
        assert parent is not None and child is not None
        parents[child.get("link", "")] = parent.get("link", "")
        moved[joint.get("name", "")] = child.get("link", "")
    links = [moved[name] for name in described.arm_joints]
    ratios = dict(zip(links, config.mass_ratio, strict=True))

    def ratio(link: str) -> float:
        above = link
        while (above := parents.get(above, "")) != "":
            if above == links[-1]:
                return config.tool_mass_ratio
        return ratios.get(link, 1.0)

    for link in robot.findall("link"):
        factor = ratio(link.get("name", ""))
        for element in (*link.findall("inertial/mass"), *link.findall("inertial/inertia")):
            for key, value in element.items():
                element.set(key, f"{factor * float(value):.17g}")
    return dataclasses.replace(described, urdf=ElementTree.tostring(robot, encoding="unicode"))


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
