"""The speed of the fastest point of the arm, and of what it holds.

A link moves as a rigid body: its speed is a convex function of the place, so that it is greatest at
a corner. Round shapes lie within the hull of balls, whose points are faster than their centres by
no more than the radius times the link's rate of turn.
"""

from __future__ import annotations

import math

import numpy as np

from contact_aware_control.chain import chain_of, forward_kinematics
from contact_aware_control.lever_arms import balls_of
from contact_core.base.kernel import kernel
from contact_core.robot.robot import Robot


class ArmSpeed:
    """Measures how far a change of the joints moves any point."""

    def __init__(self, robot: Robot, held_reach: float) -> None:
        """Take the arm's geometry.

        Args:
            robot: The arm; it is updated.
            held_reach: How far an object in the gripper reaches from the tool's origin [m].
        """
        self._balls = balls_of(robot, held_reach, lambda shape: shape.balls)
        self._chain = chain_of(robot)

    def farthest(self, q: np.ndarray, change: np.ndarray) -> float:
        """Return how far the fastest point goes, to first order.

        Args:
            q: (n) joint positions [rad].
            change: (n) of them [rad].

        Returns:
            The distance [m], never less than what a point goes; linear in the change.
        """
        farthest: float = _farthest(q, change, self._chain, self._balls)
        return farthest


@kernel
def _farthest(q: np.ndarray, change: np.ndarray, chain: np.ndarray, balls: np.ndarray) -> float:
    n = q.shape[0]
    origins, axes, rotations = np.empty((n + 1, 3)), np.empty((n, 3)), np.empty((n + 1, 3, 3))
    forward_kinematics(q, chain, origins, axes, rotations)
    # Of every link: how it turns, and how the point shifts that is at the world's origin.
    turn, shift, size = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros(n)
    for k in range(n):
        if k > 0:
            turn[k], shift[k] = turn[k - 1], shift[k - 1]
        for i in range(3):
            j, m = (i + 1) % 3, (i + 2) % 3
            turn[k, i] += change[k] * axes[k, i]
            lever = axes[k, j] * origins[k, m] - axes[k, m] * origins[k, j]
            shift[k, i] -= change[k] * lever
        size[k] = math.sqrt(turn[k, 0] ** 2 + turn[k, 1] ** 2 + turn[k, 2] ** 2)
    farthest = 0.0
    p = np.empty(3)
    for ball in range(balls.shape[0]):
        k = int(balls[ball, 0])
        for i in range(3):
            p[i] = origins[k, i]
            for j in range(3):
                p[i] += rotations[k, i, j] * balls[ball, 1 + j]
        square = 0.0
        for i in range(3):
            j, m = (i + 1) % 3, (i + 2) % 3
            square += (turn[k, j] * p[m] - turn[k, m] * p[j] + shift[k, i]) ** 2
        farthest = max(farthest, math.sqrt(square) + balls[ball, 4] * size[k])
    return farthest
