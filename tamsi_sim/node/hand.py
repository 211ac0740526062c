"""Hands on the simulated arm: one pushes the tool, another pulls any link by a spring."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from contact_stack_msgs.msg import Pull
from geometry_msgs.msg import Vector3

from contact_core.base.errors import choices
from contact_core.robot.robot import Robot
from contact_ros.guarded_node import GuardedNode
from contact_ros.stamps import NANOSECONDS
from contact_ros.validation import MAX_POSITION, MessageError, number, vector

STRONGEST_PUSH = 1e3
"""Largest component of a push that is believed [N]."""

STRONGEST_PULL = 100.0
"""What the spring of a pull exerts at most [N]."""

STIFFEST_PULL = 2e3
"""Largest stiffness of that spring [N/m]: it is evaluated once a tick."""

DAMPING_TIME = 0.05
"""Damping of that spring, as a share of its stiffness [s]."""

PATIENCE = round(0.5 * NANOSECONDS)
"""Who pulls and is not heard of for so long has let go [ns]."""


@dataclass(frozen=True)
class _Grip:
    """A pull that was heard.

    Attributes:
        link: What is held.
        point: (3) where, in the frame of the link [m].
        hand: (3) where the hand is, world frame [m].
        stiffness: Of the spring [N/m].
        heard: When [ns].
    """

    link: str
    point: np.ndarray
    hand: np.ndarray
    stiffness: float
    heard: int


class HandForces:
    """What is pushed and pulled at the moment."""

    def __init__(
        self,
        node: GuardedNode,
        name: str,
        robot: Robot,
        lock: threading.Lock,
        now: Callable[[], int],
    ) -> None:
        """Listen to them.

        Args:
            node: The simulator.
            name: Before the topics ``push`` and ``pull``.
            robot: The arm; its configuration changes.
            lock: Held while the simulator ticks.
            now: The simulated time [ns].
        """
        self._robot, self._lock, self._now = robot, lock, now
        self._push = np.zeros(3)
        self._grip: _Grip | None = None
        node.create_subscription(Vector3, f"{name}/push", self._pushed, 1)
        node.create_subscription(Pull, f"{name}/pull", self._pulled, 1)

    def torque(self, position: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Return what they exert on the joints at present.

        Args:
            position: (n) [rad].
            velocity: (n) [rad/s].

        Returns:
            (n) [Nm].
        """
        torque = np.zeros(position.size)
        if self._grip is not None and self._now() - self._grip.heard > PATIENCE:
            self._grip = None
        if self._grip is None and not self._push.any():
            return torque
        robot, grip = self._robot, self._grip
        robot.update(position)
        if self._push.any():
            tool = robot.tool_pose().translation
            torque += robot.torque_of_force(robot.tool_link, tool, self._push)
        if grip is not None:
            point = robot.link_pose(grip.link).act(grip.point)
            moves = robot.point_jacobian(grip.link, point) @ velocity
            force = grip.stiffness * (grip.hand - point - DAMPING_TIME * moves)
            force *= min(1.0, STRONGEST_PULL / max(float(np.linalg.norm(force)), 1e-9))
            torque += robot.torque_of_force(grip.link, point, force)
        return torque

    def let_go(self) -> None:
        """Push and pull no longer; the lock is held."""
        self._push = np.zeros(3)
        self._grip = None

    def _pushed(self, force: Vector3) -> None:
        """A hand pushes the tool with a force [N], world frame; zero ends it."""
        push = vector(force, "push", STRONGEST_PUSH)
        with self._lock:
            self._push = push

    def _pulled(self, pull: Pull) -> None:
        if pull.link not in self._robot.link_names:
            raise MessageError(f"pull: no link '{pull.link}' ({choices(self._robot.link_names)})")
        grip = _Grip(
            pull.link,
            vector(pull.point, "point", MAX_POSITION),
            vector(pull.hand, "hand", MAX_POSITION),
            number(pull.stiffness, "stiffness", 0.0, STIFFEST_PULL),
            self._now(),
        )
        with self._lock:
            self._grip = grip if grip.stiffness > 0.0 else None
