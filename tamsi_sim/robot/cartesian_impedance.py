"""The arm's Cartesian impedance controller with its wrench overlay, part of the plant.

With tool pose x(q), rest pose x_d = x(q_cmd) and the wrench F that a client lays over it,

    tau = J' (K e - D J v + F) + N' (k_n (q_cmd - q) - d_n v)

along the axes of the base frame, where e is the pose error and N projects onto the motion
that does not move the tool. A direction without stiffness has no damping either: there the
arm gives way to F, and its own inertia is all that resists.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from contact_core.robot.scene_config import CartesianImpedanceConfig


class CartesianImpedance:
    """Computes joint torques; gravity is compensated elsewhere."""

    def __init__(
        self, model: pin.Model, tool: str, armature: np.ndarray, config: CartesianImpedanceConfig
    ) -> None:
        """Set the controller up.

        Args:
            model: The arm with all that is bolted to it, n joints.
            tool: Name of the frame whose pose is controlled.
            armature: (n) rotor inertia felt at the joints [kg m^2].
            config: The gains.
        """
        self._model, self._data = model, model.createData()
        self._frame = model.getFrameId(tool, pin.FrameType.BODY)
        self._armature = np.diag(armature)
        self._stiffness = np.array(config.stiffness)
        self._ratio = config.damping_ratio
        self._null_stiffness = config.null_space_stiffness

    def start_tick(self, q: np.ndarray, rest: np.ndarray, wrench: np.ndarray) -> None:
        """Take a command, and compute what changes slowly.

        Args:
            q: (n) joint positions [rad].
            rest: (n) commanded q_cmd, whose tool pose is where the springs are at rest [rad].
            wrench: (6) F, force [N] and torque [Nm] that the arm should exert at the tool.
        """
        self._rest, self._wrench = rest.copy(), wrench.copy()
        pin.framesForwardKinematics(self._model, self._data, rest)
        self._target = self._data.oMf[self._frame].copy()
        inverse_mass = np.linalg.inv(self.mass_matrix(q))
        jacobian = self._jacobian(q)
        inertia = np.linalg.inv(jacobian @ inverse_mass @ jacobian.T)
        self._damping = 2.0 * self._ratio * _matched_root(inertia, self._stiffness)
        # N' leaves the tool without acceleration, whatever torque it is given.
        self._null = np.eye(len(q)) - jacobian.T @ inertia @ jacobian @ inverse_mass
        self._null_damping = (
            2.0 * self._ratio * np.sqrt(self._null_stiffness / np.diag(inverse_mass))
        )

    def torque(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Evaluate the control law.

        Args:
            q: (n) joint positions [rad].
            v: (n) joint velocities [rad/s].

        Returns:
            (n) joint torques [Nm].
        """
        jacobian = self._jacobian(q)
        pose = self._data.oMf[self._frame]
        turn = pose.rotation @ pin.log3(pose.rotation.T @ self._target.rotation)
        error = np.concatenate([self._target.translation - pose.translation, turn])
        force = self._stiffness * error - self._damping @ (jacobian @ v) + self._wrench
        posture = self._null_stiffness * (self._rest - q) - self._null_damping * v
        return np.asarray(jacobian.T @ force + self._null @ posture)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the inertia that the controller's motors move (n, n) [kg m^2].

        Args:
            q: (n) joint positions [rad].
        """
        upper = np.triu(pin.crba(self._model, self._data, q))
        return np.asarray(upper + np.triu(upper, 1).T + self._armature)

    def tool_inertia(self, q: np.ndarray) -> np.ndarray:
        """Return the inertia felt at the tool, (J M^-1 J')^-1 (6, 6) [kg, kg m, kg m^2].

        Args:
            q: (n) joint positions [rad].
        """
        mass = self.mass_matrix(q)
        jacobian = self._jacobian(q)
        return np.linalg.inv(jacobian @ np.linalg.solve(mass, jacobian.T))

    def _jacobian(self, q: np.ndarray) -> np.ndarray:
        """Update the tool's pose and return its Jacobian (6, n), axes of the base frame."""
        jacobian = pin.computeFrameJacobian(
            self._model, self._data, q, self._frame, pin.LOCAL_WORLD_ALIGNED
        )
        pin.updateFramePlacement(self._model, self._data, self._frame)
        return np.asarray(jacobian)


def _matched_root(inertia: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
    """Return A such that D = 2 A damps M and diag(stiffness) critically in every mode."""
    values, vectors = np.linalg.eigh(inertia)
    root = (vectors * np.sqrt(values)) @ vectors.T
    inverse = (vectors / np.sqrt(values)) @ vectors.T
    squares, modes = np.linalg.eigh(inverse @ np.diag(stiffness) @ inverse)
    return root @ (modes * np.sqrt(np.maximum(squares, 0.0))) @ modes.T @ root
