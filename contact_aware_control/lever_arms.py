"""The longest lever arms of contact forces, and the least force that a joint torque proves.

A force f at a point whose distance from the axis of joint j is d_j causes at most
|tau_j| = d_j |f|. So the forces on the robot add up to max_j |tau_j| / l_j at least, where l_j
is the largest distance that any point of the links beyond joint j has.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pinocchio as pin

from contact_aware_control.chain import chain_of, forward_kinematics
from contact_core.base.kernel import kernel
from contact_core.multibody.collision.shapes import Shape
from contact_core.robot.robot import Robot

MIN_LEVER = 0.05
"""No lever arm is taken to be shorter, so that noise at the wrist is no force [m]."""


class LeverArms:
    """The longest lever arms that a contact force can have.

    Attributes:
        geometry: Chain and spheres of the arm, for :func:`fill_lever_arms`.
    """

    def __init__(self, robot: Robot, held_reach: float) -> None:
        """Take the arm's geometry.

        Args:
            robot: The arm; it is updated.
            held_reach: How far an object in the gripper reaches from the tool's origin [m].
        """
        self.geometry = _geometry(robot, held_reach)

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
        fill_lever_arms(q, *self.geometry, q.size if links is None else links, arms)
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
        The chain; (s, 5): spheres around collision shapes and held object: index of the joint that
        moves it, centre in that joint's frame, radius [m].
    """
    spheres = balls_of(
        robot, held_reach, lambda shape: np.array([[0.0, 0.0, 0.0, shape.bounding_radius]])
    )
    return chain_of(robot), spheres


def balls_of(robot: Robot, held_reach: float, around: Callable[[Shape], np.ndarray]) -> np.ndarray:
    """Return balls around the links that joints move, and around what is held.

    Args:
        robot: The arm.
        held_reach: How far an object in the gripper reaches from the tool's origin [m].
        around: Balls around a shape (k, 4) in its frame: centre and radius [m].

    Returns:
        (n, 5) index of the joint that moves it, centre in that joint's frame, radius [m].
    """
    model = robot.model
    tool = model.frames[model.getFrameId(robot.tool_link, pin.FrameType.BODY)]
    balls = [(tool.parentJoint - 1, *tool.placement.translation, held_reach)]
    for shape in robot.collision_shapes:
        frame = model.frames[model.getFrameId(shape.body, pin.FrameType.BODY)]
        placement = frame.placement * shape.placement
        for ball in around(shape.shape):
            balls.append((frame.parentJoint - 1, *placement.act(ball[:3]), ball[3]))
    return np.array([ball for ball in balls if ball[0] >= 0])


@kernel
def fill_lever_arms(
    q: np.ndarray, chain: np.ndarray, spheres: np.ndarray, links: int, arms: np.ndarray
) -> None:
    """Compute the longest lever arms, see :meth:`LeverArms.at`.

    Args:
        q: (n) joint positions [rad].
        chain: Of the arm, from :attr:`LeverArms.geometry`.
        spheres: Of the arm, likewise.
        links: Number of links, counted from the base, that may be touched.
        arms: (n) filled with them [m].
    """
    n = q.shape[0]
    origins, axes, turns = np.empty((n + 1, 3)), np.empty((n, 3)), np.empty((n + 1, 3, 3))
    offset = np.empty(3)
    forward_kinematics(q, chain, origins, axes, turns)
    arms[:] = MIN_LEVER
    for sphere in range(spheres.shape[0]):
        k = int(spheres[sphere, 0])
        if k >= links:
            continue
        for joint in range(k + 1):
            along = 0.0
            for i in range(3):
                offset[i] = origins[k, i] - origins[joint, i]
                for j in range(3):
                    offset[i] += turns[k, i, j] * spheres[sphere, 1 + j]
                along += offset[i] * axes[joint, i]
            square = 0.0
            for i in range(3):
                square += (offset[i] - along * axes[joint, i]) ** 2
            arms[joint] = max(arms[joint], math.sqrt(square) + spheres[sphere, 4])
