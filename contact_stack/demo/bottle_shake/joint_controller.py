"""Computed torques: the arm follows its setpoint by inverse dynamics, not by its own springs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pinocchio as pin

from contact_core.robot.scene import Scene
from contact_core.robot.scene_config import JOINT_IMPEDANCE, JOINT_TORQUE
from contact_stack.demo.bottle_shake.task import JointSetpoint

SCENE = "bottle_shake"
INVERSE_DYNAMICS = "inverse_dynamics"
CONTROLLERS = {"impedance": JOINT_IMPEDANCE, INVERSE_DYNAMICS: JOINT_TORQUE}
"""Name of a joint controller -> the control mode the arm has to be in.

In impedance control the arm's factory controller does it all: springs whose rest positions are
commanded.
"""


BANDWIDTH, DAMPING_RATIO = 20.0, 1.0
"""Natural frequency of a joint's error [rad/s], and its damping."""


class InverseDynamics:
    """Computed torques, tau = M (qdd_ref + k_d e' + k_p e) + C v with e = q_ref - q.

    The arm balances its weight itself. Velocities are differences of positions, which is all
    that the driver reports.
    """

    def __init__(self, model: pin.Model, armature: np.ndarray) -> None:
        """Set the controller up.

        Args:
            model: The arm with all that is bolted to it, n joints.
            armature: (n) rotor inertia felt at the joints [kg m^2].
        """
        self._model = model.copy()
        self._model.gravity.setZero()
        self._model.armature = np.asarray(armature, dtype=float)
        self._data = self._model.createData()
        self._stiffness = BANDWIDTH**2
        self._damping = 2.0 * DAMPING_RATIO * BANDWIDTH
        self._last: tuple[int, np.ndarray] | None = None

    def torque(self, setpoint: JointSetpoint, q: np.ndarray, stamp: int) -> np.ndarray:
        """Return the joint torques besides gravity's (n) [Nm]; called once per period.

        Args:
            setpoint: Where the joints should be at the end of the coming period.
            q: (n) measured joint positions [rad].
            stamp: When they were measured [ns].
        """
        velocity = np.zeros_like(q)
        if self._last is not None:
            before, position = self._last
            velocity = (q - position) / (1e-9 * (stamp - before))
        self._last = stamp, q.copy()
        acceleration = (
            setpoint.acceleration
            + self._damping * (setpoint.velocity - velocity)
            + self._stiffness * (setpoint.position - q)
        )
        torque = pin.rnea(self._model, self._data, q, velocity, acceleration)
        limit = self._model.effortLimit
        return np.clip(torque, -limit, limit)


def inverse_dynamics(scene: Scene) -> InverseDynamics | None:
    """Return the controller of a scene's arm, None if that is not in torque mode."""
    config = scene.config.robot
    if config.control_mode != JOINT_TORQUE:
        return None
    model = scene.robot.arm_model(config.gripper.initial_position)
    return InverseDynamics(model, np.array(config.effective_armature))


def scene_for(controller: str) -> Scene:
    """Return the demo's scene with the arm in the mode that a joint controller commands."""
    scene = Scene.load(SCENE)
    robot = dataclasses.replace(scene.config.robot, control_mode=CONTROLLERS[controller])
    return dataclasses.replace(scene, config=dataclasses.replace(scene.config, robot=robot))
