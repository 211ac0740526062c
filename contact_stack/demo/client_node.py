"""A node that asks the graph for something, and records and keeps what the graph says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from contact_stack_msgs.msg import ContactArray, ControllerStatus
from lbr_fri_idl.msg import LBRState
from rclpy.action import ActionClient
from rclpy.client import Client
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rclpy.task import Future
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from contact_core.errors import CommunicationError
from contact_ros.lockstep import Participant, TickInputs
from contact_ros.qos import signal_subscription
from contact_ros.stamps import NANOSECONDS, to_nanoseconds
from contact_stack.demo.series import Series
from contact_stack.recording import McapRecorder

CLOCK = "truth/joint_states"
"""Each message of this topic begins a period; a client always hears it."""

HEARD: Mapping[str, type] = {
    CLOCK: JointState,
    "truth/contacts": ContactArray,
    "truth/objects": TFMessage,
    "contacts": ContactArray,
    "controller_status": ControllerStatus,
}
"""What figures are computed from; in lock-step every tick has all of it."""

SILENCE_LIMIT = 60.0
"""A graph in which nothing has happened for this long has failed [s]."""

DISCOVERY_PERIOD = 0.05
"""How often the servers are looked for [s]."""


class ClientNode(Node, ABC):
    """Asks the graph for something, and listens until that is done.

    In lock-step a tick ends only when every request made in it has been answered: then a
    run does not depend on how long an answer takes.

    Attributes:
        heard: Topic -> the messages of it, by stamp.
        stamp: Latest simulated time heard of [ns].
        silence_limit: For how long the graph may be silent now [s].
    """

    def __init__(
        self,
        name: str,
        namespace: str,
        recorder: McapRecorder,
        lockstep: bool,
        heard: Mapping[str, type] = HEARD,
        recorded: Mapping[str, type] | None = None,
    ) -> None:
        """Listen to the graph.

        Args:
            name: Of the node, and of the participant in lock-step.
            namespace: The namespace of the graph.
            recorder: Where every message is written.
            lockstep: True if this node takes part in lock-step.
            heard: Topic -> type of what is kept; :data:`CLOCK` is among it.
            recorded: Topic -> type of what is written to the recording only.
        """
        super().__init__(name, namespace=namespace)
        self.heard: dict[str, Series[Any]] = {topic: Series() for topic in heard}
        self.stamp = 0
        self.silence_limit = SILENCE_LIMIT
        self._recorder = recorder
        self._action_clients: dict[str, ActionClient] = {}
        self._service_clients: dict[str, Client] = {}
        self._servers_found = False
        self._awaited = 0
        self._when_answered: Callable[[], None] = lambda: None
        self._participant = Participant(self, name, self._tick) if lockstep else None
        self._inputs = TickInputs(list(heard), self._handle_tick)
        for topic, kind in {**(recorded or {}), **heard}.items():
            receive = partial(self._receive, topic, kind)
            self.create_subscription(kind, topic, receive, signal_subscription(lockstep), raw=True)
        self._discovery = self.create_timer(
            DISCOVERY_PERIOD, self._discover, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    @property
    @abstractmethod
    def finished(self) -> bool:
        """True when there is nothing left to do."""

    @property
    def waiting_for(self) -> str:
        """What a graph that has fallen silent has not sent, for an error message."""
        if not self._servers_found:
            return f"the servers of {', '.join(self._missing_servers())} were not found"
        if self._awaited:
            return "waiting for an answer"
        missing = list(self._inputs.missing) or [t for t in self.heard if not self.heard[t].stamps]
        return f"waiting for {', '.join(missing) or 'the simulator'}"

    @abstractmethod
    def _advance(self) -> None:
        """Act on what was heard up to :attr:`stamp`; called once per period."""

    def _use_actions(self, actions: Mapping[str, type]) -> None:
        """Await the servers of actions, by name, before the first tick."""
        for name, action in actions.items():
            self._action_clients[name] = ActionClient(self, action, name)

    def _use_services(self, services: Mapping[str, type]) -> None:
        """Await the servers of services, by name, before the first tick."""
        for name, service in services.items():
            self._service_clients[name] = self.create_client(service, name)

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

        def ended(future: Future) -> None:
            on_result(future.result().result)

        def answered(handle: Any) -> None:
            if not handle.accepted:
                raise CommunicationError(f"the goal of '{name}' was rejected")
            if await_result:
                self._await(handle.get_result_async(), lambda answer: on_result(answer.result))
            else:
                handle.get_result_async().add_done_callback(ended)

        self._await(self._action_clients[name].send_goal_async(goal), answered)

    def _call(self, name: str, request: Any, on_response: Callable[[Any], None]) -> None:
        """Call a service; the tick ends with its response.

        Args:
            name: Of the service.
            request: The request.
            on_response: Called with the response.
        """
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
        return [
            *(
                name
                for name, action in self._action_clients.items()
                if not action.server_is_ready()
            ),
            *(
                name
                for name, service in self._service_clients.items()
                if not service.service_is_ready()
            ),
        ]

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


def _stamp(message: Any, default: int) -> int:
    """Return the stamp of a message [ns], or the default if it carries none."""
    if hasattr(message, "header"):
        return to_nanoseconds(message.header.stamp)
    if getattr(message, "transforms", None):
        return to_nanoseconds(message.transforms[0].header.stamp)
    if isinstance(message, LBRState):
        return int(message.time_stamp_sec * NANOSECONDS + message.time_stamp_nano_sec)
    return default
