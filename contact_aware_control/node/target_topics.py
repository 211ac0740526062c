"""The topics of streamed targets: `target_joint`, `target_pose` and `target_twist`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from contact_aware_control.loop_state import LoopState
from contact_aware_control.node.trajectory_goals import Awaited, joint_order
from contact_aware_control.reference import Goal
from contact_aware_control.targets import (
    FORGOTTEN,
    JointTarget,
    PoseTarget,
    StreamedTargets,
    Target,
)
from contact_core.base.errors import ContactStackError, TrajectoryError
from contact_ros.geometry import BaseFrames, checked_pose
from contact_ros.qos import signal_subscription
from contact_ros.stamps import to_nanoseconds
from contact_ros.validation import numbers, vector

MAX_TARGET = 100.0
"""No place or velocity of a target is larger [m, rad, m/s, rad/s]."""


class TargetTopics:
    """Takes targets from three topics; the goal of an action has precedence over them."""

    def __init__(
        self,
        node: Node,
        targets: StreamedTargets,
        joint_names: tuple[str, ...],
        frames: BaseFrames,
        tool: str,
        lock: threading.Lock,
        now: Callable[[], int],
        reject: Callable[[str], None],
    ) -> None:
        """Subscribe.

        Args:
            node: The controller's node.
            targets: Where they go.
            joint_names: The driver's names of the arm's joints, base to wrist.
            frames: Those that targets may be given in.
            tool: Name of the tool's frame, in which a twist may be given, too.
            lock: Held while the loop ticks.
            now: The clock of the loop [ns].
            reject: Told why a message is refused.
        """
        self._targets = targets
        self._joint_names = joint_names
        self._frames, self._tool = frames, tool
        self._lock = lock
        self._now = now
        self._reject = reject
        self._heard: dict[str, int] = {}
        kinds: dict[str, tuple[type, Callable[[Any], Target]]] = {
            "target_joint": (JointState, self._joint),
            "target_pose": (PoseStamped, self._pose),
            "target_twist": (TwistStamped, self._twist),
        }
        for topic, (kind, translate) in kinds.items():
            node.create_subscription(
                kind, topic, self._taking(topic, translate), signal_subscription(lockstep=False)
            )

    def goal(self, state: LoopState, now: int, running: Goal | Awaited | None) -> Goal | None:
        """Return what the loop is to follow.

        Args:
            state: What the loop remembers.
            now: Time of its next tick [ns].
            running: The goal of an action; None without one.

        Returns:
            The goal; None if nothing is followed.
        """
        if running is not None:
            self._targets.drop()
            return None if isinstance(running, Awaited) else running
        return self._targets.goal(state, now)

    def followed(self) -> list[str]:
        """Return the topics on which targets have come of late."""
        now = self._now()
        return [topic for topic, at in self._heard.items() if now - at <= FORGOTTEN * 1e9]

    def _taking(self, topic: str, translate: Callable[[Any], Target]) -> Callable[[Any], None]:
        """Return the callback of a topic."""

        def take(message: Any) -> None:
            self._heard[topic] = self._now()
            try:
                target = translate(message)
                with self._lock:
                    self._targets.put(target, self._now())
            except ContactStackError as error:
                self._reject(f"{topic}: {error}")

        return take

    def _joint(self, message: JointState) -> JointTarget:
        order = joint_order(message.name, self._joint_names)

        def ordered(values: Sequence[float], field: str) -> np.ndarray | None:
            if len(values) == 0:
                return None
            if len(values) != len(order):
                raise TrajectoryError(f"{len(values)} {field} for {len(order)} joints")
            return numbers(values, field, MAX_TARGET)[order]

        return JointTarget(
            self._stamp(message),
            ordered(message.position, "positions"),
            ordered(message.velocity, "velocities"),
        )

    def _pose(self, message: PoseStamped) -> PoseTarget:
        frame = self._frames.pose(message.header.frame_id)
        return PoseTarget(
            self._stamp(message), frame * checked_pose(message.pose, "the target", MAX_TARGET)
        )

    def _twist(self, message: TwistStamped) -> PoseTarget:
        name, twist = message.header.frame_id, message.twist
        linear = vector(twist.linear, "linear", MAX_TARGET)
        angular = vector(twist.angular, "angular", MAX_TARGET)
        in_tool = name == self._tool
        if not in_tool:
            axes = self._frames.pose(name, self._tool).rotation
            linear, angular = axes @ linear, axes @ angular
        return PoseTarget(
            self._stamp(message), None, np.concatenate((linear, angular)), in_tool=in_tool
        )

    def _stamp(self, message: Any) -> float:
        """Return when a message was sent, or has arrived if it does not say so [s]."""
        return 1e-9 * (to_nanoseconds(message.header.stamp) or self._now())
