"""The node of a demo: it asks the graph for something, and records and keeps what it hears."""

from __future__ import annotations

import struct
import time
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
from contact_stack_msgs.action import FollowPoseTrajectory
from contact_stack_msgs.msg import ContactArray, ControllerStatus, PoseTrajectoryPoint
from control_msgs.action import FollowJointTrajectory, ParallelGripperCommand
from control_msgs.msg import JointTolerance
from lbr_fri_idl.msg import LBRState
from rclpy.action import ActionClient
from rclpy.client import Client
from rclpy.serialization import deserialize_message
from rclpy.task import Future
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectoryPoint

from contact_aware_control.reference import JointTrajectory, PoseTrajectory
from contact_core.base.errors import CommunicationError
from contact_ros.diagnostics import Diagnostics, Health, Level
from contact_ros.driver_profile import DriverProfile
from contact_ros.geometry import to_array, to_pose
from contact_ros.guarded_node import GuardedNode
from contact_ros.lockstep import Participant, TickInputs
from contact_ros.qos import signal_subscription
from contact_ros.stamps import NANOSECONDS, steady_timer, to_duration, to_nanoseconds, to_time
from contact_ros.validation import MessageError
from contact_stack.recording import McapRecorder

NAME = "demo"
"""Of the node of every demo, and of the participant in lock-step."""

NAMESPACE = "lbr"

CLOCK = "truth/joint_states"
"""Each message of this topic begins a period; a client always hears it."""

OBJECTS = "truth/objects"

HEARD: Mapping[str, type] = {
    CLOCK: JointState,
    "truth/contacts": ContactArray,
    OBJECTS: TFMessage,
    "contacts": ContactArray,
    "controller_status": ControllerStatus,
}
"""What figures are computed from; in lock-step every tick has all of it."""

SILENCE_LIMIT = 60.0
"""A graph in which nothing has happened for this long has failed [s]."""

DISCOVERY_PERIOD = 0.05
"""How often the servers are looked for [s]."""

LEAD_TIME = 1.0
"""Between the request for a motion and its start, for the controller to check it [s].

Long enough for a graph in real time that has just discovered the client.
"""

HEADER = "std_msgs/Header"
STAMP = struct.Struct("<iI")
"""Seconds and nanoseconds, with which a header begins."""
ENCAPSULATION = 4
"""What CDR puts before a message [bytes]."""

Item = TypeVar("Item")
Data = TypeVar("Data")


class Series(Generic[Item]):
    """Samples of one quantity in the order of their stamps."""

    def __init__(self) -> None:
        """Start empty."""
        self.stamps: list[int] = []
        self.samples: list[Item] = []

    def append(self, stamp: int, sample: Item) -> None:
        """Add a sample of a time [ns]; one that is not newer than the last is dropped."""
        if not self.stamps or stamp > self.stamps[-1]:
            self.stamps.append(stamp)
            self.samples.append(sample)

    def at(self, stamp: int) -> Item | None:
        """Return the latest sample that is not newer than a time [ns], None before the first."""
        index = bisect_right(self.stamps, stamp)
        return self.samples[index - 1] if index else None

    def between(self, start: int, end: int) -> list[Item]:
        """Return the samples from a first stamp to a last [ns], in order."""
        return self.samples[bisect_right(self.stamps, start - 1) : bisect_right(self.stamps, end)]


@dataclass(frozen=True)
class Connection:
    """How a client takes part in a graph.

    Attributes:
        recorder: Where every message heard is written.
        lockstep: Whether the client takes part in lock-step.
        profile: The driver.
    """

    recorder: McapRecorder
    lockstep: bool
    profile: DriverProfile


class ClientNode(GuardedNode, ABC, Generic[Data]):
    """Asks the graph for something, and listens until that is done.

    In lock-step a tick ends only when every request made in it has been answered: then a
    run does not depend on how long an answer takes.

    Attributes:
        heard: Topic -> the messages of it, by stamp.
        stamp: Latest simulated time heard of [ns].
        start: Stamp from which the run counts [ns], None before it is known.
        duration: For how long it will count [s], None if nobody knows.
        wall_time: How long the run has taken from there in real time [s].
        activity: What is being done, for the progress bar.
        silence_limit: For how long the graph may be silent now [s].
    """

    def __init__(
        self,
        connection: Connection,
        heard: Mapping[str, type] = HEARD,
        recorded: Mapping[str, type] | None = None,
    ) -> None:
        """Listen to the graph.

        Args:
            connection: How to take part in it.
            heard: Topic -> type of what is kept; :data:`CLOCK` is among it.
            recorded: Topic -> type of what is written to the recording only.
        """
        super().__init__(NAME, namespace=NAMESPACE)
        self.heard: dict[str, Series[Any]] = {topic: Series() for topic in heard}
        self.stamp = 0
        self.start: int | None = None
        self.duration: float | None = None
        self.wall_time = 0.0
        self.activity = ""
        self.silence_limit = SILENCE_LIMIT
        self._recorder = connection.recorder
        self._recorder.warn = self.get_logger().error
        self._diagnostics = Diagnostics(self, self._health)
        self._wall_start: float | None = None
        self._action_clients: dict[str, ActionClient] = {}
        self._service_clients: dict[str, Client] = {}
        self._servers_found = False
        self._awaited = 0
        self._when_answered: Callable[[], None] = lambda: None
        lockstep = connection.lockstep
        self._participant = Participant(self, NAME, self._tick) if lockstep else None
        self._inputs = TickInputs(list(heard), self._handle_tick)
        for topic, kind in {**(recorded or {}), **heard}.items():
            fields: dict[str, str] = kind.get_fields_and_field_types()  # type: ignore[attr-defined]
            record = topic not in heard and next(iter(fields.values())) == HEADER
            receive = partial(self._record if record else self._receive, topic, kind)
            self.create_subscription(kind, topic, receive, signal_subscription(lockstep), raw=True)
        self._discovery = steady_timer(self, DISCOVERY_PERIOD, self._discover)

    @property
    @abstractmethod
    def finished(self) -> bool:
        """True when there is nothing left to do."""

    @abstractmethod
    def data(self) -> Data:
        """Return what the run left, after the end."""

    @abstractmethod
    def _advance(self) -> None:
        """Act on what was heard up to :attr:`stamp`; called once per period."""

    @property
    def progress(self) -> float:
        """Simulated time since :attr:`start` [s]; 0 before."""
        return 0.0 if self.start is None else max(0.0, 1e-9 * (self.stamp - self.start))

    @property
    def waiting_for(self) -> str:
        """What a graph that has fallen silent has not sent, for an error message."""
        if not self._servers_found:
            return f"the servers of {', '.join(self._missing_servers())} were not found"
        if self._awaited:
            return "waiting for an answer"
        missing = list(self._inputs.missing) or [t for t in self.heard if not self.heard[t].stamps]
        return f"waiting for {', '.join(missing) or 'the simulator'}"

    def _health(self) -> Health:
        if self._recorder.failure:
            return Health(Level.WARN, self._recorder.failure)
        return Health(Level.OK, self.activity)

    def contain(self, where: str, error: Exception) -> str:
        """Reject a message that cannot be used; any other error is the demo's end.

        Args:
            where: Topic, service or action it came by.
            error: What a callback raised.

        Returns:
            The reason.

        Raises:
            Exception: The error, if it is no :class:`MessageError`.
        """
        if isinstance(error, MessageError):
            return super().contain(where, error)
        raise error

    def _use(self, actions: Mapping[str, type], services: Mapping[str, type] | None = None) -> None:
        """Await the servers of actions and services, by name, before the first tick."""
        for name, kind in actions.items():
            self._action_clients[name] = ActionClient(self, kind, name)
        for name, kind in (services or {}).items():
            self._service_clients[name] = self.create_client(kind, name)

    def _latest(self, topic: str) -> Any:
        """Return the newest message up to now, None before the first."""
        return self.heard[topic].at(self.stamp)

    def _at_rest(self) -> bool:
        """Return True once the servers are there, the arm is held and the torques are tared."""
        contacts, status = self._latest("contacts"), self._latest("controller_status")
        if contacts is None or status is None or not self._servers_found:
            return False
        tared = contacts.state != ContactArray.UNTARED
        return bool(tared and status.mode == ControllerStatus.HOLD)

    def _send_goal(
        self, name: str, goal: Any, on_result: Callable[[Any], None], await_result: bool = False
    ) -> None:
        """Send a goal.

        Args:
            name: Of the action.
            goal: The goal.
            on_result: Called with the action's result.
            await_result: Whether the tick ends with the result, not with the acceptance.

        Raises:
            CommunicationError: Later, if the goal is rejected.
        """

        def answered(handle: Any) -> None:
            if not handle.accepted:
                raise CommunicationError(f"the goal of '{name}' was rejected")
            future = handle.get_result_async()
            if await_result:
                self._await(future, lambda answer: on_result(answer.result))
            else:
                future.add_done_callback(lambda future: on_result(future.result().result))

        self._await(self._action_clients[name].send_goal_async(goal), answered)

    def _call(self, name: str, request: Any, on_response: Callable[[Any], None]) -> None:
        """Call a service by name; the tick ends with its response."""
        self._await(self._service_clients[name].call_async(request), on_response)

    def _await(self, future: Future, answered: Callable[[Any], None]) -> None:
        """Call ``answered`` with the future's result, then end the tick if it was the last."""
        self._awaited += 1

        def arrived(future: Future) -> None:
            answered(future.result())
            self._awaited -= 1
            if self._awaited == 0 and self._participant is not None:
                self._when_answered()

        future.add_done_callback(arrived)

    def _discover(self) -> None:
        """Look for the servers; only with all of them found may lock-step begin.

        Discovery takes real time: beginning without them would make the run depend on it.
        """
        self._servers_found = not self._missing_servers()
        if self._servers_found:
            self._discovery.cancel()
            if self._participant is not None:
                self._participant.announce()

    def _missing_servers(self) -> list[str]:
        actions, services = self._action_clients.items(), self._service_clients.items()
        missing = [name for name, action in actions if not action.server_is_ready()]
        return missing + [name for name, client in services if not client.service_is_ready()]

    def _record(self, topic: str, kind: type, data: bytes) -> None:
        """Record a message that begins with its header, of which only the stamp is read."""
        if not self.finished:
            seconds, nanoseconds = STAMP.unpack_from(data, ENCAPSULATION)
            stamp = seconds * NANOSECONDS + nanoseconds
            self._recorder.write(self.resolve_topic_name(topic), kind, data, stamp)

    def _receive(self, topic: str, kind: type, data: bytes) -> None:
        """Record a message and keep it if its topic is heard."""
        if self.finished:
            return
        message = deserialize_message(data, kind)
        stamp = _stamp(message, default=self.stamp)
        self._recorder.write(self.resolve_topic_name(topic), kind, data, stamp)
        if topic in self.heard:
            self.heard[topic].append(stamp, message)
            self._inputs.put(topic, stamp, message)
        if self._participant is None and topic == CLOCK:
            self._begin_period(stamp)

    def _tick(self, k: int, stamp: int) -> None:
        self._inputs.tick(k, stamp)

    def _handle_tick(self, k: int, samples: Mapping[str, Any]) -> None:
        """In lock-step: a tick ends only when all our requests of it are answered."""
        assert self._participant is not None
        self._begin_period(to_nanoseconds(samples[CLOCK].header.stamp))
        if self.finished:
            return
        if self._awaited == 0:
            self._participant.done(k)
        else:
            self._when_answered = partial(self._participant.done, k)

    def _begin_period(self, stamp: int) -> None:
        self.stamp = stamp
        self._advance()
        if self.start is not None and stamp >= self.start:
            self._wall_start = self._wall_start or time.monotonic()
            self.wall_time = time.monotonic() - self._wall_start


def pose_goal(motion: PoseTrajectory, start: int) -> FollowPoseTrajectory.Goal:
    """Return the goal that asks for a motion of the tool.

    Args:
        motion: The motion.
        start: Stamp at which it begins [ns]; 0 for at once.
    """
    # Contact may hold the arm off its path; the figures say by how much.
    goal = FollowPoseTrajectory.Goal(position_tolerance=0.1, rotation_tolerance=0.5)
    goal.trajectory.header.stamp = to_time(start)
    goal.trajectory.points = [
        PoseTrajectoryPoint(
            pose=to_pose(pose), time_from_start=to_duration(round(time * NANOSECONDS))
        )
        for time, pose in zip(motion.times, motion.poses, strict=True)
    ]
    return goal


def joint_goal(
    motion: JointTrajectory, start: int, names: Sequence[str]
) -> FollowJointTrajectory.Goal:
    """Return the goal that asks for a motion of the joints.

    Args:
        motion: The motion, with velocities.
        start: Stamp at which it begins [ns].
        names: The driver's names of the joints, in the order of the motion.
    """
    assert motion.velocities is not None
    goal = FollowJointTrajectory.Goal()
    goal.trajectory.header.stamp = to_time(start)
    goal.trajectory.joint_names = list(names)
    goal.goal_tolerance = [JointTolerance(name=name, position=0.2) for name in names]
    goal.trajectory.points = [
        JointTrajectoryPoint(
            positions=position.tolist(),
            velocities=velocity.tolist(),
            time_from_start=to_duration(round(time * NANOSECONDS)),
        )
        for time, position, velocity in zip(
            motion.times, motion.positions, motion.velocities, strict=True
        )
    ]
    return goal


def gripper_goal(
    joint: str, position: float, effort: float, start: int
) -> ParallelGripperCommand.Goal:
    """Return the goal that asks for a motion of the gripper.

    Args:
        joint: Name of the joint that opens it.
        position: Of each finger [m].
        effort: Largest force of each finger [N].
        start: Stamp at which it begins [ns].
    """
    goal = ParallelGripperCommand.Goal()
    goal.command.header.stamp = to_time(start)
    goal.command.name = [joint]
    goal.command.position = [position]
    goal.command.effort = [effort]
    return goal


def force_on(link: str, contacts: ContactArray) -> float:
    """Return how large the force of all contacts of a link is [N].

    Args:
        link: Of the robot.
        contacts: What touches it.
    """
    forces = (to_array(contact.force) for contact in contacts.contacts if contact.link == link)
    return float(np.linalg.norm(sum(forces, np.zeros(3))))


def _stamp(message: Any, default: int) -> int:
    """Return the stamp of a message [ns], or the default if it carries none."""
    if hasattr(message, "header"):
        return to_nanoseconds(message.header.stamp)
    if getattr(message, "transforms", None):
        return to_nanoseconds(message.transforms[0].header.stamp)
    if isinstance(message, LBRState):
        return int(message.time_stamp_sec * NANOSECONDS + message.time_stamp_nano_sec)
    return default
