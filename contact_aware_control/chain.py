"""Forward kinematics of the arm for kernels: where joints and tool are.

Pinocchio does the same, but to ask it from Python takes ten times longer than to compute it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelError
from contact_core.base.kernel import inner_kernel, kernel
from contact_core.robot.robot import Robot


class ArmPlace(NamedTuple):
    """Where joint positions have the arm, world frame.

    Attributes:
        origins: (n + 1, 3) of joints and tool [m].
        rotation: (3, 3) of the tool.
    """

    origins: np.ndarray
    rotation: np.ndarray

    @property
    def translation(self) -> np.ndarray:
        """(3) of the tool [m]."""
        tool: np.ndarray = self.origins[-1]
        return tool


def chain_of(robot: Robot) -> np.ndarray:
    """Return the arm as a chain of revolute joints.

    Args:
        robot: The arm; it is updated.

    Returns:
        (n + 1, 5, 3): rotation, origin [m] and axis of every joint in the frame of the one before,
        and of the tool, which has no axis.

    Raises:
        ModelError: If the last joint does not move the tool.
    """
    if robot.joints_moving(robot.tool_link) != robot.n:
        raise ModelError(f"joint '{robot.joint_names[-1]}' does not move tool '{robot.tool_link}'")
    robot.update(np.zeros(robot.n))
    axes = np.einsum("kji,kj->ki", robot.joint_rotations, robot.joint_axes)
    tool = robot.model.frames[robot.model.getFrameId(robot.tool_link, pin.FrameType.BODY)].placement
    placements = [*list(robot.model.jointPlacements)[1 : robot.n + 1], tool]
    return np.array(
        [
            [*placement.rotation, placement.translation, axis]
            for placement, axis in zip(placements, [*axes, np.zeros(3)], strict=True)
        ]
    )


def place(chain: np.ndarray, q: np.ndarray) -> ArmPlace:
    """Return where joint positions have the arm.

    Args:
        chain: From :func:`chain_of`.
        q: (n) joint positions [rad].
    """
    return ArmPlace(*_place(chain, q))


@kernel
def _place(chain: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n = q.shape[0]
    origins, axes, turns = np.empty((n + 1, 3)), np.empty((n, 3)), np.empty((n + 1, 3, 3))
    forward_kinematics(q, chain, origins, axes, turns)
    return origins, turns[n]


@inner_kernel
def forward_kinematics(
    q: np.ndarray, chain: np.ndarray, origins: np.ndarray, axes: np.ndarray, turns: np.ndarray
) -> None:
    """Place joints and tool by Rodrigues' formula, joint by joint.

    Args:
        q: (n) joint positions [rad].
        chain: From :func:`chain_of`.
        origins: (n + 1, 3) filled with where joints and tool are, world frame [m].
        axes: (n, 3) filled with the joints' axes, world frame.
        turns: (n + 1, 3, 3) filled with the rotations of links and tool to the world frame.
    """
    n = q.shape[0]
    for k in range(n + 1):
        for i in range(3):
            origins[k, i] = 0.0 if k == 0 else origins[k - 1, i]
            for j in range(3):
                if k == 0:
                    origins[k, i] += chain[k, 3, j] if i == j else 0.0
                    turns[k, i, j] = chain[k, i, j]
                else:
                    origins[k, i] += turns[k - 1, i, j] * chain[k, 3, j]
                    turns[k, i, j] = 0.0
                    for m in range(3):
                        turns[k, i, j] += turns[k - 1, i, m] * chain[k, m, j]
        if k == n:
            break
        x, y, z = chain[k, 4, 0], chain[k, 4, 1], chain[k, 4, 2]
        c, s = math.cos(q[k]), math.sin(q[k])
        d = 1.0 - c
        for i in range(3):
            r0, r1, r2 = turns[k, i, 0], turns[k, i, 1], turns[k, i, 2]
            along = r0 * x + r1 * y + r2 * z
            axes[k, i] = along
            turns[k, i, 0] = c * r0 + s * (r1 * z - r2 * y) + d * along * x
            turns[k, i, 1] = c * r1 + s * (r2 * x - r0 * z) + d * along * y
            turns[k, i, 2] = c * r2 + s * (r0 * y - r1 * x) + d * along * z
