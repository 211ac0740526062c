"""The longest lever arms of contact forces, and the least force that a joint torque proves.

A force f at a point whose distance from the axis of joint j is d_j causes at most
|tau_j| = d_j |f|. So the forces on the robot add up to max_j |tau_j| / l_j at least, where l_j
is the largest distance that any point of the links beyond joint j has.
"""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import kernel
from contact_core.robot.robot import Robot

MIN_LEVER = 0.05
"""No lever arm is taken to be shorter, so that noise at the wrist is no force [m]."""


class LeverArms:
    """The longest lever arms that a contact force can have."""

    def __init__(self, robot: Robot, held_reach: float) -> None:
        """Take the arm's geometry.

        Args:
            robot: The arm; it is updated.
            held_reach: How far an object in the gripper reaches from the tool's origin [m].
        """
        self._geometry = _geometry(robot, held_reach)

    def at(self, q: np.ndarray, links: int | None = None) -> np.ndarray:
        """Return the longest lever arm that a contact force can have about each joint.

        Args:
            q: (n) joint positions [rad].
            links: Number of links, counted from the base, that may be touched; None for all.

        Returns:
            (n) upper bound of the distance [m] of any point of the links that a joint moves
            from its axis.
        """
        arms = np.empty(q.size)
        _lever_arms(q, *self._geometry, q.size if links is None else links, arms)
        return arms

    def least_force(self, q: np.ndarray, torque: np.ndarray, links: int | None = None) -> float:
        """Return the least sum of contact forces that explains a torque [N].

        Args:
            q: (n) joint positions [rad].
            torque: (n) tau_ext [Nm].
            links: Number of links, counted from the base, that may be touched; None for all.
        """
        return float((np.abs(torque) / self.at(q, links)).max())


def _geometry(robot: Robot, held_reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Return what the lever arms follow from.

    Args:
        robot: The arm; it is updated.
        held_reach: How far an object in the gripper reaches from the tool's origin [m].

    Returns:
        (n, 5, 3): rotation, origin [m] and axis of every joint in the frame of the one before;
        (s, 5): spheres around collision shapes and held object: index of the joint that moves
        it, centre in that joint's frame, radius [m].
    """
    model = robot.model
    robot.update(np.zeros(robot.n))
    axes = np.einsum("kji,kj->ki", robot.joint_rotations, robot.joint_axes)
    frames = np.empty((robot.n, 5, 3))
    for k in range(robot.n):
        placement = model.jointPlacements[k + 1]
        frames[k] = [*placement.rotation, placement.translation, axes[k]]
    tool = model.frames[model.getFrameId(robot.tool_link)]
    spheres = [(tool.parentJoint - 1, *tool.placement.translation, held_reach)]
    for shape in robot.collision_shapes:
        frame = model.frames[model.getFrameId(shape.body)]
        center = (frame.placement * shape.placement).translation
        spheres.append((frame.parentJoint - 1, *center, shape.shape.bounding_radius))
    return frames, np.array([sphere for sphere in spheres if sphere[0] >= 0])


@kernel
def _lever_arms(
    q: np.ndarray, frames: np.ndarray, spheres: np.ndarray, links: int, arms: np.ndarray
) -> None:
    """Fill ``arms`` (n) [m]; forward kinematics by Rodrigues' formula, joint by joint."""
    n = q.shape[0]
    axis = np.empty((n, 3))
    origin = np.empty((n, 3))
    turn = np.eye(3)
    before = np.empty((3, 3))
    point = np.zeros(3)
    offset = np.empty(3)
    for k in range(n):
        arms[k] = MIN_LEVER
        x, y, z = frames[k, 4, 0], frames[k, 4, 1], frames[k, 4, 2]
        c, s = math.cos(q[k]), math.sin(q[k])
        d = 1.0 - c
        for i in range(3):
            origin[k, i] = point[i]
            for j in range(3):
                origin[k, i] += turn[i, j] * frames[k, 3, j]
                before[i, j] = 0.0
                for m in range(3):
                    before[i, j] += turn[i, m] * frames[k, m, j]
        for i in range(3):
            point[i] = origin[k, i]
            r0, r1, r2 = before[i, 0], before[i, 1], before[i, 2]
            along = r0 * x + r1 * y + r2 * z
            axis[k, i] = along
            turn[i, 0] = c * r0 + s * (r1 * z - r2 * y) + d * along * x
            turn[i, 1] = c * r1 + s * (r2 * x - r0 * z) + d * along * y
            turn[i, 2] = c * r2 + s * (r0 * y - r1 * x) + d * along * z
        for sphere in range(spheres.shape[0]):
            if int(spheres[sphere, 0]) != k or k >= links:
                continue
            for joint in range(k + 1):
                along = 0.0
                for i in range(3):
                    offset[i] = point[i] - origin[joint, i]
                    for j in range(3):
                        offset[i] += turn[i, j] * spheres[sphere, 1 + j]
                    along += offset[i] * axis[joint, i]
                square = 0.0
                for i in range(3):
                    square += (offset[i] - along * axis[joint, i]) ** 2
                arms[joint] = max(arms[joint], math.sqrt(square) + spheres[sphere, 4])
