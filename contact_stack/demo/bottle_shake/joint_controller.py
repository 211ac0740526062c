"""What makes the arm follow its reference: its own joint springs, or inverse dynamics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from contact_core.arm_state import CommandMode
from contact_core.config import parameter
from contact_core.errors import ConfigError, choices
from contact_core.scene import Scene
from contact_core.scene_config import JOINT_IMPEDANCE, JOINT_TORQUE
from contact_stack.demo.bottle_shake.joint_path import JointReference


@dataclass(frozen=True)
class JointCommand:
    """What is sent to the arm.

    Attributes:
        position: (n) commanded joint positions [rad].
        torque: (n) commanded joint torques besides gravity's [Nm]; None in impedance control.
    """

    position: np.ndarray
    torque: np.ndarray | None = None


class JointController(ABC):
    """Turns references into commands, one per period.

    Attributes:
        mode: What its commands consist of.
    """

    mode: CommandMode

    @abstractmethod
    def command(self, reference: JointReference, q: np.ndarray, stamp: int) -> JointCommand:
        """Return the next command.

        Args:
            reference: Where the joints should be at the end of the coming period.
            q: (n) measured joint positions [rad].
            stamp: When they were measured [ns].
        """


class Impedance(JointController):
    """The arm's factory controller: springs whose rest positions are commanded."""

    mode = CommandMode.POSITION

    def command(self, reference: JointReference, q: np.ndarray, stamp: int) -> JointCommand:
        """Return the next command, see :meth:`JointController.command`."""
        return JointCommand(reference.position)


@dataclass(frozen=True)
class InverseDynamicsConfig:
    """Gains of the joints' errors."""

    bandwidth: float = parameter(
        20.0, "natural frequency of an error", unit="rad/s", above=0.0, high=60.0
    )
    damping_ratio: float = parameter(1.0, "its damping", above=0.0, high=2.0)


class InverseDynamics(JointController):
    """Computed torques, tau = M (qdd_ref + k_d e' + k_p e) + C v with e = q_ref - q.

    The arm balances its weight itself. Velocities are differences of positions, which is all
    that the driver reports.
    """

    mode = CommandMode.TORQUE

    def __init__(
        self,
        model: pin.Model,
        armature: np.ndarray,
        config: InverseDynamicsConfig | None = None,
    ) -> None:
        """Set the controller up.

        Args:
            model: The arm with all that is bolted to it, n joints.
            armature: (n) rotor inertia felt at the joints [kg m^2].
            config: The gains.
        """
        config = config or InverseDynamicsConfig()
        self._model = model.copy()
        self._model.gravity.setZero()
        self._model.armature = np.asarray(armature, dtype=float)
        self._data = self._model.createData()
        self._stiffness = config.bandwidth**2
        self._damping = 2.0 * config.damping_ratio * config.bandwidth
        self._last: tuple[int, np.ndarray] | None = None

    def command(self, reference: JointReference, q: np.ndarray, stamp: int) -> JointCommand:
        """Return the next command, see :meth:`JointController.command`."""
        velocity = np.zeros_like(q)
        if self._last is not None:
            before, position = self._last
            velocity = (q - position) / (1e-9 * (stamp - before))
        self._last = stamp, q.copy()
        acceleration = (
            reference.acceleration
            + self._damping * (reference.velocity - velocity)
            + self._stiffness * (reference.position - q)
        )
        torque = pin.rnea(self._model, self._data, q, velocity, acceleration)
        limit = self._model.effortLimit
        return JointCommand(reference.position, np.clip(torque, -limit, limit))


CONTROLLERS = {"impedance": JOINT_IMPEDANCE, "inverse_dynamics": JOINT_TORQUE}
"""Name of a joint controller -> the control mode the arm has to be in."""


def joint_controller(name: str, scene: Scene) -> JointController:
    """Return the joint controller of a name.

    Args:
        name: One of ``CONTROLLERS``.
        scene: The scene, for the arm's model.

    Raises:
        ConfigError: If there is no such controller.
    """
    if name not in CONTROLLERS:
        raise ConfigError(f"unknown joint controller '{name}' ({choices(CONTROLLERS)})")
    if name == "impedance":
        return Impedance()
    config = scene.config.robot
    return InverseDynamics(
        scene.robot.arm_model(config.gripper.initial_position),
        np.array(config.effective_armature),
    )
