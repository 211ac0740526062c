"""The gripper's actions, as its driver offers them on the hardware."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from control_msgs.action import GripperCommand as OlderGripperCommand
from control_msgs.action import ParallelGripperCommand
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from rclpy.task import Future
from sensor_msgs.msg import JointState

from contact_ros.stamps import to_nanoseconds
from tamsi_sim.node.gripper_motion import Ending, GripperMotion
from tamsi_sim.robot.plant import CommandError, GripperCommand


class GripperServer(ABC):
    """Serve one type of action; the servers of a gripper share its motion.

    A new goal replaces the one before, whichever server took it.
    """

    action: ClassVar[Any]
    name: ClassVar[str]

    def __init__(
        self,
        node: Node,
        motion: GripperMotion,
        joint: str,
        default_effort: float,
        now: Callable[[], int],
    ) -> None:
        """Create the action server.

        Args:
            node: The simulator's node.
            motion: The gripper's motion.
            joint: Name of the gripper's joint; its position is that of a finger [m].
            default_effort: Force of a finger for goals that state none [N].
            now: The simulated time [ns].
        """
        self.joint = joint
        self.default_effort = default_effort
        self._node = node
        self._motion = motion
        self._now = now
        self._server = ActionServer(
            node,
            self.action,
            self.name,
            self._execute,
            goal_callback=self._answer,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
        )

    @abstractmethod
    def decode(self, command: Any) -> GripperCommand:
        """Translate the command of a goal.

        Args:
            command: The field of that name.

        Raises:
            CommandError: If it has another form.
        """

    @abstractmethod
    def start(self, command: Any) -> int:
        """Return when the command of a goal begins [ns]; 0 means now."""

    @abstractmethod
    def report(self, state: JointState) -> dict[str, Any]:
        """Return what feedback and results say about the gripper's state, by field."""

    def close(self) -> None:
        """Destroy the action server."""
        self._server.destroy()

    def _answer(self, goal: Any) -> GoalResponse:
        try:
            self._motion.check(self.decode(goal.command))
        except CommandError as error:
            self._node.get_logger().warning(f"{self.name} goal rejected: {error}")
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    async def _execute(self, handle: ServerGoalHandle) -> Any:
        goal = _Goal(self, handle)
        command = handle.request.command
        self._motion.begin(self.decode(command), self.start(command) or self._now(), goal)
        return await goal.result


class ParallelGripperServer(GripperServer):
    """Serve ``gripper`` (control_msgs/ParallelGripperCommand).

    A goal whose command is stamped begins at that time. Speed and effort of 0 state none.
    """

    action: ClassVar[Any] = ParallelGripperCommand
    name: ClassVar[str] = "gripper"

    def decode(self, command: JointState) -> GripperCommand:
        """Translate a command; see :class:`GripperServer`."""
        if list(command.name) not in ([], [self.joint]):
            raise CommandError(f"joints {list(command.name)} (valid: {self.joint})")
        if len(command.position) != 1 or max(len(command.velocity), len(command.effort)) > 1:
            raise CommandError("it needs one position, and at most one velocity and effort")
        return GripperCommand(
            command.position[0],
            max_effort=sum(command.effort) or self.default_effort,
            max_speed=sum(command.velocity) or math.inf,
        )

    def start(self, command: JointState) -> int:
        """Return its stamp; see :class:`GripperServer`."""
        return to_nanoseconds(command.header.stamp)

    def report(self, state: JointState) -> dict[str, Any]:
        """Return the state; see :class:`GripperServer`."""
        return {"state": state}


class OlderGripperServer(GripperServer):
    """Serve ``gripper_cmd`` (control_msgs/GripperCommand), for clients from before Jazzy.

    The position is that of a finger, as everywhere here; an effort of 0 states none.
    """

    action: ClassVar[Any] = OlderGripperCommand
    name: ClassVar[str] = "gripper_cmd"

    def decode(self, command: Any) -> GripperCommand:
        """Translate a command; see :class:`GripperServer`."""
        return GripperCommand(command.position, command.max_effort or self.default_effort)

    def start(self, command: Any) -> int:
        """Return 0, it has no stamp; see :class:`GripperServer`."""
        return 0

    def report(self, state: JointState) -> dict[str, Any]:
        """Return position and effort; see :class:`GripperServer`."""
        return {"position": state.position[0], "effort": state.effort[0]}


class _Goal:
    """A goal between its acceptance and its end."""

    def __init__(self, server: GripperServer, handle: ServerGoalHandle) -> None:
        self.result = Future()
        self._server = server
        self._handle = handle

    @property
    def cancels(self) -> bool:
        return bool(self._handle.is_cancel_requested)

    def moving(self, state: JointState) -> None:
        self._handle.publish_feedback(self._server.action.Feedback(**self._server.report(state)))

    def ended(self, ending: Ending, state: JointState) -> None:
        transitions = {Ending.CANCELED: self._handle.canceled, Ending.REPLACED: self._handle.abort}
        transitions.get(ending, self._handle.succeed)()
        self.result.set_result(
            self._server.action.Result(
                **self._server.report(state),
                stalled=ending is Ending.STALLED,
                reached_goal=ending is Ending.REACHED,
            )
        )
