"""The gripper's action, as its driver offers it on the hardware."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from control_msgs.action import ParallelGripperCommand
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from rclpy.task import Future
from sensor_msgs.msg import JointState

from contact_stack.ros.stamps import to_nanoseconds
from tamsi_sim.plant import GripperCommand

REACHED = 1e-3
"""Distance to the commanded position at which it counts as reached [m]."""

STANDSTILL_SPEED = 1e-3
STANDSTILL_TICKS = 20
"""Below this speed [m/s] for so many ticks the gripper counts as stalled."""


class _Running:
    """A goal between its acceptance and its end."""

    def __init__(self, handle: ServerGoalHandle, command: GripperCommand, start: int) -> None:
        self.handle = handle
        self.command = command
        self.start = start
        self.ended = Future()
        self.still = 0


class GripperServer:
    """Serve ``gripper`` (control_msgs/ParallelGripperCommand).

    A goal whose command is stamped begins at that time. A new goal replaces the one before.
    """

    def __init__(
        self,
        node: Node,
        joint: str,
        widest: float,
        default_effort: float,
        now: Callable[[], int],
    ) -> None:
        """Create the action server.

        Args:
            node: The simulator's node.
            joint: Name of the gripper's joint; its position is that of a finger [m].
            widest: Largest position of a finger [m]; a goal beyond it is rejected.
            default_effort: Force of a finger for goals that state none [N].
            now: The simulated time [ns].
        """
        self._node = node
        self._joint = joint
        self._widest = widest
        self._default_effort = default_effort
        self._now = now
        self._running: _Running | None = None
        self._server = ActionServer(
            node,
            ParallelGripperCommand,
            "gripper",
            self._execute,
            goal_callback=self._judge,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
        )

    def close(self) -> None:
        """Destroy the action server."""
        self._server.destroy()

    def command(self, stamp: int) -> GripperCommand | None:
        """Return the command for the tick that begins at a time.

        Args:
            stamp: The time [ns].

        Returns:
            The command, None to keep the last one.
        """
        if self._running is None or stamp < self._running.start:
            return None
        return self._running.command

    def update(self, stamp: int, state: JointState) -> None:
        """Judge the running goal after a tick.

        Args:
            stamp: Time of the state [ns].
            state: The gripper's state.
        """
        running = self._running
        if running is None:
            return
        if running.handle.is_cancel_requested:
            self._end(running, running.handle.canceled, state, stalled=False, reached=False)
            return
        if stamp < running.start:
            return
        reached = abs(state.position[0] - running.command.position) < REACHED
        running.still = running.still + 1 if abs(state.velocity[0]) < STANDSTILL_SPEED else 0
        stalled = not reached and running.still >= STANDSTILL_TICKS
        if reached or stalled:
            self._end(running, running.handle.succeed, state, stalled, reached)
        else:
            running.handle.publish_feedback(ParallelGripperCommand.Feedback(state=state))

    def _end(
        self,
        running: _Running,
        transition: Callable[[], None],
        state: JointState,
        stalled: bool,
        reached: bool,
    ) -> None:
        transition()
        self._running = None
        running.ended.set_result(
            ParallelGripperCommand.Result(state=state, stalled=stalled, reached_goal=reached)
        )

    def _judge(self, goal: Any) -> GoalResponse:
        reason = self._problem(goal)
        if reason:
            self._node.get_logger().warning(f"gripper goal rejected: {reason}")
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _problem(self, goal: Any) -> str:
        """Return what is wrong with a goal, empty if nothing is."""
        command = goal.command
        if list(command.name) not in ([], [self._joint]):
            return f"joints {list(command.name)} (valid: {self._joint})"
        numbers = [*command.position, *command.effort]
        if len(command.position) != 1 or len(command.effort) > 1:
            return "it needs one position and at most one effort"
        if not all(math.isfinite(number) and number >= 0.0 for number in numbers):
            return f"position and effort must be finite and not negative, got {numbers}"
        if command.position[0] > self._widest + REACHED:
            return f"position {command.position[0]:g} m is beyond the widest, {self._widest:g} m"
        return ""

    async def _execute(self, handle: ServerGoalHandle) -> Any:
        command = handle.request.command
        effort = command.effort[0] if command.effort else self._default_effort
        start = to_nanoseconds(command.header.stamp) or self._now()
        if self._running is not None:
            replaced = self._running
            self._end(replaced, replaced.handle.abort, JointState(), stalled=False, reached=False)
        self._running = _Running(handle, GripperCommand(command.position[0], effort), start)
        return await self._running.ended
