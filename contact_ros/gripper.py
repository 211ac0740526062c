"""A gripper as its driver offers it: one motion at a time, whoever asked, and its actions."""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from typing import Any, ClassVar, Protocol

from builtin_interfaces.msg import Time
from control_msgs.action import GripperCommand as OlderGripperCommand
from control_msgs.action import ParallelGripperCommand
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from sensor_msgs.msg import JointState

from contact_core.robot.gripper import GripperCommand
from contact_ros.guarded_node import waking_future
from contact_ros.qos import ACTION_SERVICES
from contact_ros.stamps import MAX_START, to_nanoseconds
from contact_ros.validation import MessageError, number

REACHED = 1e-3
"""Distance to the commanded position at which it counts as reached [m]."""

STRONGEST = 1e3
"""Largest effort of a goal that is believed [N]."""

SLOWEST = 1e-4
"""Smallest speed of a goal [m/s]: a slower motion takes minutes."""


class Ending(Enum):
    """How a motion ended."""

    REACHED = "at the commanded position"
    STALLED = "something holds the fingers"
    CANCELED = "its client asked for it"
    REPLACED = "a newer command took over"
    FAILED = "the gripper could not, or cannot be reached"


class Client(Protocol):
    """Who asked for a motion."""

    @property
    def cancels(self) -> bool:
        """Whether the motion is no longer wanted."""

    def moving(self, state: JointState) -> None:
        """Hear of the gripper's state after a tick of the motion."""

    def ended(self, ending: Ending, state: JointState) -> None:
        """Hear of the end, once."""


class GripperMotion:
    """Follow one command until it is reached, stalls, fails, or is replaced or canceled.

    Only the judgement needs ticks: without any, a motion can be replaced, canceled and failed all
    the same. Commands come from the thread of the callbacks, ticks from that of the gripper.
    """

    def __init__(
        self,
        widest: float,
        state: JointState,
        judge: Callable[[GripperCommand, JointState], Ending | None],
        refusal: Callable[[GripperCommand], str] = lambda command: "",
        turns: bool = False,
    ) -> None:
        """Start at rest.

        Args:
            widest: Largest position of a finger [m or rad].
            state: The gripper at the start.
            judge: Says after each tick how the motion ended; None while it goes on.
            refusal: Says why a command cannot be followed now; empty if it can.
            turns: Whether the gripper's joint turns.
        """
        self._widest = widest
        self._state = state
        self._judge = judge
        self._refusal = refusal
        self._units = ("rad", "Nm") if turns else ("m", "N")
        self._lock = threading.Lock()
        self._command: GripperCommand | None = None
        self._client: Client | None = None
        self._start = 0
        self._begun = False

    def check(self, command: GripperCommand) -> None:
        """Make sure that a command can be followed.

        Args:
            command: The command.

        Raises:
            MessageError: If it cannot.
        """
        length, force = self._units
        number(command.position, f"position [{length}]", 0.0, self._widest + REACHED)
        number(command.max_effort, f"effort [{force}]", 0.0, STRONGEST)
        number(command.max_speed, f"speed [{length}/s]", SLOWEST, math.inf)
        if reason := self._refusal(command):
            raise MessageError(reason)

    def begin(self, command: GripperCommand, start: int, client: Client) -> None:
        """Take over a command from the one before.

        Args:
            command: The command, checked; one that cannot be followed any more fails at once.
            start: When it begins [ns].
            client: Who asked for it.
        """
        with self._lock:
            self._end(Ending.REPLACED)
            self._command, self._client = command, client
            self._start, self._begun = start, False
            if self._refusal(command):
                self._end(Ending.FAILED)

    def command(self, stamp: int) -> GripperCommand | None:
        """Return the command for the tick that begins at a time.

        Args:
            stamp: The time [ns].

        Returns:
            The command, None to keep the last one.
        """
        with self._lock:
            if self._command is None or stamp < self._start:
                return None
            self._begun = True
            return self._command

    def update(self, stamp: int, state: JointState) -> None:
        """Judge the motion after a tick.

        Args:
            stamp: Time of the state [ns].
            state: The gripper's state.
        """
        with self._lock:
            self._state = state
            if self._command is None or self._client is None:
                return
            if stamp >= self._start:
                ending = self._judge(self._command, state)
                if ending is None:
                    self._client.moving(state)
                else:
                    self._end(ending)

    def cancel(self) -> None:
        """End the motion if its client asks for it; if it has begun, the fingers stop."""
        with self._lock:
            if self._client is None or not self._client.cancels:
                return
            command, begun = self._command, self._begun
            self._end(Ending.CANCELED)
            if command is not None and begun:
                self._command = GripperCommand(
                    self._state.position[0], command.max_effort, stop=True
                )

    def fail(self) -> None:
        """End the motion, if there is one: the gripper cannot."""
        with self._lock:
            self._end(Ending.FAILED)

    def _end(self, ending: Ending) -> None:
        """End the motion, if there is one; the gripper keeps the command that it has."""
        client, self._client, self._command = self._client, None, None
        if client is not None:
            client.ended(ending, self._state)


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
            node: The gripper's node.
            motion: The gripper's motion.
            joint: Name of the gripper's joint; its position is that of a finger [m or rad].
            default_effort: Force of a finger for goals that state none [N or Nm].
            now: The time on the clock of the gripper's states [ns].
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
            cancel_callback=self._cancel,
            **ACTION_SERVICES,
        )

    @abstractmethod
    def decode(self, command: Any) -> GripperCommand:
        """Translate the command of a goal.

        Args:
            command: The field of that name.

        Raises:
            MessageError: If it has another form.
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
        self._motion.check(self.decode(goal.command))
        start = self.start(goal.command)
        if start:
            number(1e-9 * (start - self._now()), "start [s from now]", -math.inf, MAX_START)
        return GoalResponse.ACCEPT

    def _cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        # The goal is cancelling only after this answer.
        executor = self._node.executor
        assert executor is not None
        executor.create_task(self._motion.cancel)
        return CancelResponse.ACCEPT

    async def _execute(self, handle: ServerGoalHandle) -> Any:
        goal = _Goal(self, self._node, handle)
        command = handle.request.command
        self._motion.begin(self.decode(command), self.start(command) or self._now(), goal)
        # It may have been cancelled before it began.
        self._motion.cancel()
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
            raise MessageError(f"joints {list(command.name)} (valid: {self.joint})")
        if len(command.position) != 1 or max(len(command.velocity), len(command.effort)) > 1:
            raise MessageError("it needs one position, and at most one velocity and effort")
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


def gripper_servers(
    node: Node, motion: GripperMotion, joint: str, default_effort: float, now: Callable[[], int]
) -> list[GripperServer]:
    """Serve the actions of a gripper; see :class:`GripperServer`."""
    kinds: tuple[type[GripperServer], ...] = (ParallelGripperServer, OlderGripperServer)
    return [kind(node, motion, joint, default_effort, now) for kind in kinds]


class _Goal:
    """A goal between its acceptance and its end."""

    def __init__(self, server: GripperServer, node: Node, handle: ServerGoalHandle) -> None:
        self.result = waking_future(node)
        self._server = server
        self._handle = handle

    @property
    def cancels(self) -> bool:
        return bool(self._handle.is_cancel_requested)

    def moving(self, state: JointState) -> None:
        self._handle.publish_feedback(self._server.action.Feedback(**self._server.report(state)))

    def ended(self, ending: Ending, state: JointState) -> None:
        transitions = {
            Ending.CANCELED: self._handle.canceled,
            Ending.REPLACED: self._handle.abort,
            Ending.FAILED: self._handle.abort,
        }
        transitions.get(ending, self._handle.succeed)()
        self.result.set_result(
            self._server.action.Result(
                **self._server.report(state),
                stalled=ending is Ending.STALLED,
                reached_goal=ending is Ending.REACHED,
            )
        )


def gripper_state(
    joint: str, position: float, velocity: float, effort: float, stamp: Time
) -> JointState:
    """Return what the gripper's driver reports.

    Args:
        joint: Name of the gripper's joint.
        position: Of a finger [m].
        velocity: Of a finger [m/s].
        effort: Force of the drive on a finger [N], positive when opening.
        stamp: When that was.

    Returns:
        The message.
    """
    message = JointState(name=[joint], position=[position], velocity=[velocity], effort=[effort])
    message.header.stamp = stamp
    return message
