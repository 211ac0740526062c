"""The arm's kinematics, computed by Pinocchio from its description.

World frame = base of the arm, z up. Everything is evaluated at the configuration of the
last :meth:`Robot.update`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ConfigError, ModelError, choices
from contact_core.base.kernel import kernel
from contact_core.model.urdf import check_uncoupled, lock_joints, read_tree
from contact_core.robot.description import JointsConfig, RobotDescription, collision_shapes

GRAVITY = 9.81
"""Gravitational acceleration [m/s^2], along -z of the world frame."""

NOISE_PEAK = 4.0
"""Peak of a noise over its standard deviation."""

HELD_OBJECT = "held_object"
"""Link that stands for whatever the gripper holds; its frame is that of the tool."""


class Robot:
    """A serial arm with what is mounted on its flange; other joints are locked.

    The gripper's fingers are part of the last link, where :meth:`set_gripper` has put them.

    Attributes:
        n: Number of arm joints.
        joint_names: Their names, base to wrist.
        position_limits: (2, n) lower and upper joint positions [rad].
        velocity_limits: (n) [rad/s].
        effort_limits: (n) [Nm].
        joints: What the robot's file says of the joints, None where there is no such file.
        link_names: The links that have a collision shape, base to tool, the tool and HELD_OBJECT.
        finger_links: Those that the gripper's joints move.
        tool_link: Name of the tool link.
        collision_shapes: The collision shapes, placed in the frames of their links.
        model: Pinocchio's model of the arm alone, for what this class does not offer.
    """

    def __init__(
        self,
        urdf: str,
        joint_names: Sequence[str],
        tool_link: str,
        gripper_joint: str = "",
        joints: JointsConfig | None = None,
    ) -> None:
        """Build the arm from a URDF, the joints not named locked at their neutral position.

        Args:
            urdf: The composed robot, URDF text.
            joint_names: The arm's joints, base to wrist.
            tool_link: The link whose pose is tracked.
            gripper_joint: The joint that opens the gripper, by which other joints may go; empty
                without gripper.
            joints: What else is known of the joints, one value a joint.

        Raises:
            ModelError: If a joint or link is missing, the arm is not a serial chain of
                revolute joints that move by themselves, or a collision shape is not a primitive.
        """
        model = _reduced_model(urdf, joint_names)
        check_uncoupled(urdf, joint_names, gripper_joint)
        _add_held_object(model, tool_link)
        frames = {frame.name: i for i, frame in enumerate(model.frames)}
        self.model = model
        self.n = model.nv
        self.joint_names = tuple(joint_names)
        self.position_limits = np.array([model.lowerPositionLimit, model.upperPositionLimit])
        self.velocity_limits = np.array(model.velocityLimit)
        self.effort_limits = np.array(model.effortLimit)
        self.joints = joints
        self.tool_link = tool_link
        self.collision_shapes = collision_shapes(urdf)
        bodies = {shape.body for shape in self.collision_shapes} | {tool_link, HELD_OBJECT}
        self.link_names = tuple(name for name in frames if name in bodies)
        self._frames = frames
        self._moving = {name: int(model.frames[i].parentJoint) for name, i in frames.items()}
        self._tool = frames[tool_link]
        self._data = model.createData()
        self._gravity_data = model.createData()
        self._gripper = Gripper(urdf, model, gripper_joint) if gripper_joint else None
        self.finger_links = self._gripper.links if self._gripper is not None else ()
        self.update(np.clip(np.zeros(self.n), *self.position_limits))

    @classmethod
    def from_description(cls, description: RobotDescription) -> Robot:
        """Build the arm of a robot description.

        Args:
            description: The composed robot.

        Returns:
            The robot.

        Raises:
            ModelError: See the constructor.
        """
        return cls(
            description.urdf,
            description.arm_joints,
            description.tool_link,
            description.gripper_joint,
            description.joints,
        )

    @property
    def stiffness(self) -> np.ndarray:
        """(n) diagonal of K, the stiffness of the joint impedance control [Nm/rad].

        Raises:
            ConfigError: If no robot file says it.
        """
        return np.array(self._known.stiffness)

    @property
    def damping_ratio(self) -> float:
        """Damping of these springs relative to critical.

        Raises:
            ConfigError: If no robot file says it.
        """
        return self._known.damping_ratio

    @property
    def spring_torque(self) -> np.ndarray:
        """(n) largest torque that a controller may ask of these springs [Nm].

        Raises:
            ConfigError: If no robot file says it.
        """
        return np.array(self._known.spring_torque)

    @property
    def torque_noise(self) -> np.ndarray:
        """(n) standard deviation of the external torque's noise [Nm]; zero where none is known."""
        return np.array(self.joints.torque_noise) if self.joints else np.zeros(self.n)

    @property
    def torque_error(self) -> np.ndarray:
        """(n) what noise and joint friction make of an external torque, at most [Nm].

        As far as the robot's file and its URDF say it.
        """
        described = self.model.upperDryFrictionLimit
        if self.joints is None:
            return np.array(described)
        friction = self.joints.friction
        static = friction.static_ratio * np.maximum(described, friction.kinetic)
        return np.asarray(static + NOISE_PEAK * self.torque_noise)

    @property
    def _known(self) -> JointsConfig:
        if self.joints is None:
            raise ConfigError("this robot comes without the section joints of a robot's file")
        return self.joints

    def update(self, q: np.ndarray) -> None:
        """Compute poses and Jacobians at a configuration.

        Args:
            q: (n) joint positions [rad].
        """
        pin.computeJointJacobians(self.model, self._data, q)
        pin.updateFramePlacements(self.model, self._data)
        # Spatial, in the world frame.
        self._jacobian = np.array(self._data.J)

    def set_gripper(self, position: float) -> None:
        """Move the gripper's fingers; poses of links follow at the next :meth:`update`.

        Args:
            position: Of the joint that opens the gripper [m], or [rad]; without one nothing moves.
        """
        if self._gripper is not None:
            self._gripper.move(self.model, position)

    @property
    def joint_origins(self) -> np.ndarray:
        """(n, 3) origins of the joint frames, world frame [m]."""
        return np.array([placement.translation for placement in self._joints()])

    @property
    def joint_rotations(self) -> np.ndarray:
        """(n, 3, 3) rotations of the joint frames to the world frame."""
        return np.array([placement.rotation for placement in self._joints()])

    @property
    def joint_axes(self) -> np.ndarray:
        """(n, 3) unit axes of the joints, world frame."""
        return np.ascontiguousarray(self._jacobian[3:].T)

    def joints_moving(self, link: str) -> int:
        """Return how many joints, counted from the base, move a link.

        Args:
            link: Name of a link.

        Returns:
            0 for the base ... n for what is on the flange.

        Raises:
            ModelError: If there is no such link.
        """
        try:
            return self._moving[link]
        except KeyError:
            raise self._unknown(link) from None

    def in_joint(self, link: str) -> pin.SE3:
        """Return the pose of a link in the frame of the last joint that moves it, a copy.

        Args:
            link: Name of a link.

        Raises:
            ModelError: If there is no such link.
        """
        return self.model.frames[self._frame(link)].placement.copy()

    def link_pose(self, link: str) -> pin.SE3:
        """Return the pose of a link in the world frame.

        Args:
            link: Name of a link.

        Returns:
            A copy of the pose.

        Raises:
            ModelError: If there is no such link.
        """
        return self._data.oMf[self._frame(link)].copy()

    def tool_pose(self) -> pin.SE3:
        """Return the pose of the tool link in the world frame, a copy."""
        return self._data.oMf[self._tool].copy()

    def tool_jacobian(self) -> np.ndarray:
        """Return the tool's Jacobian.

        Returns:
            (6, n) from joint velocities to the tool's linear [m/s] and angular [rad/s]
            velocity, both in the tool frame.
        """
        jacobian: np.ndarray = pin.getFrameJacobian(self.model, self._data, self._tool, pin.LOCAL)
        return jacobian

    def point_jacobian(self, link: str, point: np.ndarray) -> np.ndarray:
        """Return the Jacobian J_C of a point fixed to a link; tau_ext = J_C^T f.

        Args:
            link: Name of the link.
            point: (3) the point, world frame [m].

        Returns:
            (3, n) from joint velocities to the point's velocity, world frame [m].

        Raises:
            ModelError: If there is no such link.
        """
        moving = self.joints_moving(link)
        jacobian = np.zeros((3, self.n))
        # Rigid-body velocity field: v(point) = v(world origin) + omega x point.
        spatial = self._jacobian[:, :moving]
        x, y, z = point
        jacobian[0, :moving] = spatial[0] + spatial[4] * z - spatial[5] * y
        jacobian[1, :moving] = spatial[1] + spatial[5] * x - spatial[3] * z
        jacobian[2, :moving] = spatial[2] + spatial[3] * y - spatial[4] * x
        return jacobian

    def torque_of_force(self, link: str, point: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Return the joint torques J_C^T f of a force on a point of a link.

        Args:
            link: Name of the link.
            point: (3) where it acts, world frame [m].
            force: (3) the force, world frame [N].

        Returns:
            (n) tau_ext [Nm].

        Raises:
            ModelError: If there is no such link.
        """
        torque: np.ndarray = _torque_of_force(
            self._jacobian,
            self.joints_moving(link),
            np.ascontiguousarray(point, dtype=float),
            np.ascontiguousarray(force, dtype=float),
        )
        return torque

    def torques_of_forces(
        self, links: Sequence[str], points: np.ndarray, forces: np.ndarray
    ) -> np.ndarray:
        """Return the joint torques of several forces, each like :meth:`torque_of_force`.

        Args:
            links: k names of links.
            points: (k, 3) where they act, world frame [m].
            forces: (k, 3) the forces, world frame [N].

        Returns:
            (k, n) [Nm].

        Raises:
            ModelError: If there is no such link.
        """
        try:
            moving = np.array(list(map(self._moving.__getitem__, links)))
        except KeyError as error:
            raise self._unknown(error.args[0]) from None
        torques: np.ndarray = _torques_of_forces(self._jacobian, moving, points, forces)
        return torques

    def gravity_torque(self, position: np.ndarray) -> np.ndarray:
        """Return the torque that carries the arm's weight at rest.

        Args:
            position: (n) joint positions q [rad].

        Returns:
            (n) g(q) [Nm], with M qdd + C qd + g = tau_m + tau_ext.
        """
        # Data of its own: others may read what update() has computed.
        return np.array(pin.computeGeneralizedGravity(self.model, self._gravity_data, position))

    def gravity_torque_of_payload(self, mass: float, center_of_mass: np.ndarray) -> np.ndarray:
        """Return the external torque that the weight of a held object causes.

        Args:
            mass: Mass of the object [kg].
            center_of_mass: (3) its centre of mass, tool frame [m].

        Returns:
            (n) tau_ext [Nm], static.
        """
        point = self._data.oMf[self._tool].act(np.asarray(center_of_mass, dtype=float))
        weight = np.array([0.0, 0.0, -mass * GRAVITY])
        return self.torque_of_force(self.tool_link, point, weight)

    def load_of_payload(self, mass: float, center_of_mass: np.ndarray) -> np.ndarray:
        """Return a held object as a load on the last link.

        Args:
            mass: Mass of the object [kg].
            center_of_mass: (3) its centre of mass, tool frame [m].

        Returns:
            (4) mass [kg] and first moment of mass [kg m] in the frame of the last joint.
        """
        return mass * np.array([1.0, *self.model.frames[self._tool].placement.act(center_of_mass)])

    def _frame(self, link: str) -> int:
        try:
            return self._frames[link]
        except KeyError:
            raise self._unknown(link) from None

    def _unknown(self, link: str) -> ModelError:
        return ModelError(f"unknown link '{link}' ({choices(self.link_names, link)})")

    def _joints(self) -> list[pin.SE3]:
        return [self._data.oMi[joint + 1] for joint in range(self.n)]


class Gripper:
    """The links that the gripper's joints move, on the last link of an arm.

    Attributes:
        links: Their names.
    """

    def __init__(self, urdf: str, arm: pin.Model, joint: str) -> None:
        """Find the links.

        Args:
            urdf: The composed robot, URDF text.
            arm: The arm with these joints locked.
            joint: The joint that opens the gripper; those that mimic it follow.

        Raises:
            ModelError: If there is no such joint.
        """
        self._model = pin.buildModelFromXML(urdf, True)
        if not self._model.existJointName(joint):
            raise ModelError(f"unknown gripper joint '{joint}' ({choices(self._model.names[1:])})")
        self._data = self._model.createData()
        self._configuration = pin.neutral(self._model)
        self._index = self._model.joints[self._model.getJointId(joint)].idx_q
        arm_joints = set(arm.names)
        self.links = tuple(
            frame.name
            for frame in self._model.frames
            if frame.type == pin.FrameType.BODY
            and self._model.names[frame.parentJoint] not in arm_joints
        )

    def move(self, arm: pin.Model, position: float) -> None:
        """Put the links' frames where they are.

        Args:
            arm: The arm with these joints locked; changed.
            position: Of the joint that opens the gripper [m], or [rad]; what is beyond its limits
                counts as at the limit.
        """
        limits = self._model.lowerPositionLimit, self._model.upperPositionLimit
        low, high = (limit[self._index] for limit in limits)
        self._configuration[self._index] = min(max(position, low), high)
        pin.framesForwardKinematics(self._model, self._data, self._configuration)
        for link in self.links:
            frame = arm.frames[arm.getFrameId(link, pin.FrameType.BODY)]
            last = self._model.getJointId(arm.names[frame.parentJoint])
            here = self._data.oMf[self._model.getFrameId(link, pin.FrameType.BODY)]
            frame.placement = self._data.oMi[last].actInv(here)


def _add_held_object(model: pin.Model, tool_link: str) -> None:
    """Add HELD_OBJECT to a model, where the tool is."""
    names = [frame.name for frame in model.frames]
    if tool_link not in names:
        raise ModelError(f"unknown tool link '{tool_link}' ({choices(names)})")
    tool = model.getFrameId(tool_link, pin.FrameType.BODY)
    frame = model.frames[tool]
    model.addFrame(
        pin.Frame(HELD_OBJECT, frame.parentJoint, tool, frame.placement, pin.FrameType.OP_FRAME)
    )


def _reduced_model(urdf: str, joint_names: Sequence[str]) -> pin.Model:
    """Parse the URDF and lock every joint that is not the arm's."""
    full = read_tree(urdf)
    missing = [name for name in joint_names if not full.existJointName(name)]
    if missing:
        raise ModelError(f"unknown arm joint '{missing[0]}' ({choices(full.names[1:])})")
    locked = [i for i in range(1, full.njoints) if full.names[i] not in joint_names]
    model = lock_joints(full, locked, pin.neutral(full))
    if list(model.names[1:]) != list(joint_names):
        raise ModelError(
            f"arm joints {list(joint_names)} are not in chain order {list(model.names[1:])}"
        )
    for i, (name, joint) in enumerate(zip(model.names[1:], model.joints[1:], strict=True)):
        kind = joint.shortname()
        if kind.startswith("JointModelRUB") or joint.nq != joint.nv:
            raise ModelError(
                f"arm joint '{name}' has no end stops: make it revolute in the URDF, with limits"
            )
        if not kind.startswith("JointModelR"):
            raise ModelError(f"arm joint '{name}' is not revolute")
        if model.parents[i + 1] != i:
            raise ModelError(f"arm joint '{name}' does not follow the one before: it is no chain")
    return model


@kernel
def _torque_of_force(
    jacobian: np.ndarray, moving: int, point: np.ndarray, force: np.ndarray
) -> np.ndarray:
    """Return (n) the torques [Nm] from the spatial Jacobian (6, n) in the world frame."""
    x, y, z = point[0], point[1], point[2]
    a, b, c = force[0], force[1], force[2]
    # The wrench at the world's origin.
    u, v, w = y * c - z * b, z * a - x * c, x * b - y * a
    torque = np.zeros(jacobian.shape[1])
    for i in range(moving):
        torque[i] = a * jacobian[0, i] + b * jacobian[1, i] + c * jacobian[2, i]
        torque[i] += u * jacobian[3, i] + v * jacobian[4, i] + w * jacobian[5, i]
    return torque


@kernel
def _torques_of_forces(
    jacobian: np.ndarray, moving: np.ndarray, points: np.ndarray, forces: np.ndarray
) -> np.ndarray:
    torques = np.empty((len(points), jacobian.shape[1]))
    for i in range(len(points)):
        torques[i] = _torque_of_force(jacobian, moving[i], points[i], forces[i])
    return torques
