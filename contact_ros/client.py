"""A node for scripts and commands: ask the graph for something, and wait for the answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self
from uuid import uuid4

import rclpy
from action_msgs.msg import GoalStatus
from rcl_interfaces.srv import GetParameters
from rclpy.action import ActionClient, get_action_names_and_types
from rclpy.action.client import ClientGoalHandle
from rclpy.context import Context
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import qos_profile_sensor_data
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from contact_core.base.errors import CommunicationError, choices
from contact_ros import environment
from contact_ros.executor import GuardedExecutor

TIMEOUT = 30.0
"""How long an answer may take unless the caller says otherwise [s]."""

DISCOVERY = 5.0
"""How long it may take until a node knows what the graph has [s]."""

UNCHANGED = 1.0
"""For how long nothing new may come until what a node knows of the graph counts as all [s]."""

OF_EVERY_NODE = ("rcl_interfaces/", "type_description_interfaces/")
"""Types of what every node has, or that are ROS's own."""


@dataclass(frozen=True)
class SentGoal:
    """A goal that was accepted.

    Attributes:
        action: The client that sent it.
        handle: The goal.
        name: Of the action.
        servers: Those that were there, by what DDS calls them.
    """

    action: ActionClient
    handle: ClientGoalHandle
    name: str
    servers: frozenset[bytes]


class GraphClient:
    """One node with a context of its own, as a context manager.

    For nodes that live long, callbacks are the better style; see the nodes of this package.

    Attributes:
        node: The node, for everything this class has no method for.
    """

    def __init__(self, name: str = "client", namespace: str = "lbr") -> None:
        """Join the graph.

        Args:
            name: Name of the node.
            namespace: Namespace of the robot; all other names are relative to it.

        Raises:
            ConfigError: If an environment variable of ROS has no valid value, or the namespace is
                no name.
        """
        environment.check()
        if namespace.strip("/"):
            environment.check_name(namespace, "robot")
        self._context = Context()
        rclpy.init(context=self._context)
        self.node = rclpy.create_node(name, namespace=namespace, context=self._context)
        self._executor = GuardedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._actions: dict[tuple[type, str], ActionClient] = {}

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        for action in self._actions.values():
            action.destroy()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    def topics(self) -> dict[str, str]:
        """Return the full names of the topics known so far, and their types."""
        return _types(self.node.get_topic_names_and_types())

    def servers(self) -> dict[str, str]:
        """Return the full names of the actions and services known so far, and their types."""
        services = _types(self.node.get_service_names_and_types())
        return _types(get_action_names_and_types(self.node)) | services

    def find(self, name: str, known: Callable[[], Mapping[str, str]]) -> tuple[str, str]:
        """Wait until the graph has a name.

        Args:
            name: The name; relative to the namespace of this node unless it begins with a slash.
            known: :meth:`topics` or :meth:`servers`.

        Returns:
            The full name, and its type.

        Raises:
            ConfigError: If it can be none.
            CommunicationError: If there is no such name.
        """
        environment.check_name(name, "name")
        full = self.node.resolve_topic_name(name)
        with suppress(CommunicationError):
            self.wait_until(lambda: full in known(), DISCOVERY)
        there = known()
        if full not in there:
            names = _listed(there)
            valid = (
                choices(names, full)
                if names
                else "no node is on it: start one, as 'contact-stack launch sim' does"
            )
            raise CommunicationError(f"the graph has no '{full}' ({valid})")
        return full, there[full]

    def look_round(self, known: Callable[[], Mapping[str, str]]) -> dict[str, str]:
        """Return what the graph has once that no longer changes, but for what every node has.

        Args:
            known: :meth:`topics` or :meth:`servers`.

        Returns:
            Full name -> type, sorted.
        """
        before: dict[str, str] = {}
        end = time.monotonic() + DISCOVERY
        while not (found := _listed(known())) or found != before:
            if time.monotonic() > end:
                break
            before = found
            with suppress(CommunicationError):
                self.wait_until(lambda: False, UNCHANGED)
        return found

    def wait_for(
        self,
        message_type: type,
        topic: str,
        condition: Callable[[Any], bool] | None = None,
        timeout: float = TIMEOUT,
    ) -> Any:
        """Return the next message of a topic.

        Args:
            message_type: Its type.
            topic: The topic.
            condition: Messages for which it is False are passed over; None: the first one will do.
            timeout: How long to wait [s].

        Raises:
            CommunicationError: If none came in time.
        """
        found: list[Any] = []
        fits = condition or (lambda message: True)
        problem = f"no message on '{topic}'" + (" meets the condition" if condition else "")
        subscription = self.node.create_subscription(
            message_type,
            topic,
            lambda message: found.append(message) if fits(message) else None,
            qos_profile_sensor_data,
        )
        try:
            self.wait_until(lambda: bool(found), timeout, problem)
        finally:
            self.node.destroy_subscription(subscription)
        return found[0]

    def call(self, service_type: type, name: str, request: Any, timeout: float = TIMEOUT) -> Any:
        """Call a service and return its response.

        Args:
            service_type: Its type.
            name: The service.
            request: What to ask.
            timeout: How long server and answer may take [s].

        Raises:
            CommunicationError: If there is no server or no answer in time.
        """
        client = self.node.create_client(service_type, name)
        try:
            self.wait_until(client.service_is_ready, timeout, f"nobody serves '{name}'")
            return self._result(client.call_async(request), timeout, name)
        finally:
            self.node.destroy_client(client)

    def parameters(
        self, node: str, names: Sequence[str], timeout: float = TIMEOUT
    ) -> dict[str, Any]:
        """Ask a node of the robot for parameters.

        Args:
            node: Its name, relative to the robot.
            names: Of the parameters.
            timeout: How long node and answer may take [s].

        Returns:
            Name -> value of those that it has; of none if it does not know one of them.

        Raises:
            CommunicationError: If there is no such node, or no answer in time.
        """
        request = GetParameters.Request(names=list(names))
        answer = self.call(GetParameters, f"{node}/get_parameters", request, timeout)
        values = map(parameter_value_to_python, answer.values)
        return {name: v for name, v in zip(names, values, strict=False) if v is not None}

    def send(
        self,
        action_type: type,
        name: str,
        goal: Any,
        on_feedback: Callable[[Any], None] = lambda feedback: None,
        timeout: float = TIMEOUT,
        attempts: int = 1,
    ) -> SentGoal:
        """Send a goal and wait until it is accepted; one that is not answered is cancelled.

        Args:
            action_type: Type of the action.
            name: The action.
            goal: The goal.
            on_feedback: Called with the action's feedback, while this client waits.
            timeout: How long the server may take to appear, and then to accept [s].
            attempts: How often to send a goal that is not answered: DDS loses the answer of a
                server that has not discovered its client yet. The later goal preempts the
                earlier one, which suits a planner; an arm would start twice.

        Raises:
            CommunicationError: If there is no server or no answer in time, or the goal is
                rejected.
        """
        key = action_type, name
        if key not in self._actions:
            self._actions[key] = ActionClient(self.node, action_type, name)
        action = self._actions[key]
        self.wait_until(action.server_is_ready, timeout, f"nobody serves '{name}'")
        for left in reversed(range(attempts)):
            number = UUID(uuid=list(uuid4().bytes))
            future = action.send_goal_async(
                goal, lambda message: on_feedback(message.feedback), goal_uuid=number
            )
            try:
                handle = self._result(future, timeout, name)
                break
            except CommunicationError:
                if not left:
                    # It may have been accepted, and the answer was lost.
                    kind: Any = action_type
                    accepted = kind.Impl.SendGoalService.Response(accepted=True)
                    ClientGoalHandle(action, number, accepted).cancel_goal_async()
                    raise
        if not handle.accepted:
            raise CommunicationError(f"'{name}' rejected the goal")
        return SentGoal(action, handle, name, self._serving(name))

    def end_of(self, goal: SentGoal, timeout: float = TIMEOUT) -> Any:
        """Wait until a goal has ended.

        Args:
            goal: The goal.
            timeout: How long that may take [s]; inf for as long as the server lives.

        Returns:
            How it ended as ``status``, and the action's ``result``.

        Raises:
            CommunicationError: If it has not ended in time, the server has, or one that was started
                since does not know the goal.
        """
        asked = [goal.handle.get_result_async()]
        next_look = time.monotonic() + UNCHANGED

        def over() -> bool:
            nonlocal next_look
            if time.monotonic() > next_look:
                next_look = time.monotonic() + UNCHANGED
                # DDS takes one that was killed for alive for a while; its successor answers.
                if self._serving(goal.name) - goal.servers:
                    asked.append(goal.handle.get_result_async())
            return any(map(Future.done, asked)) or not goal.action.server_is_ready()

        self.wait_until(over, timeout, "the goal did not end")
        ended = next((future.result() for future in asked if future.done()), None)
        if ended is None:
            raise CommunicationError("the action's server has ended before the goal")
        if ended.status == GoalStatus.STATUS_UNKNOWN:
            raise CommunicationError(
                f"a server of '{goal.name}' does not know the goal: it was started anew, or two "
                "nodes serve it"
            )
        return ended

    def cancel(self, goal: SentGoal, timeout: float = TIMEOUT) -> None:
        """Ask for the end of a goal; :meth:`end_of` waits for it.

        Args:
            goal: The goal.
            timeout: How long the answer may take [s].

        Raises:
            CommunicationError: If there is no answer in time.
        """
        self._result(goal.handle.cancel_goal_async(), timeout, "the action")

    def run(self, action_type: type, name: str, goal: Any, timeout: float = TIMEOUT) -> Any:
        """Send a goal and return its result; an interrupt cancels it.

        Args:
            action_type: Type of the action.
            name: The action.
            goal: The goal.
            timeout: How long server, acceptance and result may take, each [s].

        Raises:
            CommunicationError: If there is no server or no answer in time, or the goal is
                rejected.
        """
        sent = self.send(action_type, name, goal, timeout=timeout)
        try:
            return self.end_of(sent, timeout).result
        except KeyboardInterrupt:
            self.cancel(sent)
            raise

    def wait_until(
        self, condition: Callable[[], Any], timeout: float = TIMEOUT, problem: str = "no change"
    ) -> None:
        """Handle what arrives until a condition is true.

        Args:
            condition: The condition.
            timeout: How long to wait [s].
            problem: What is wrong if it does not come true.

        Raises:
            CommunicationError: If it does not.
        """
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                raise CommunicationError(f"{problem} within {timeout:g} s")
            self._executor.spin_once(timeout_sec=0.1)

    def _serving(self, action: str) -> frozenset[bytes]:
        """Tell the servers of an action apart, those that were killed a short while ago as well."""
        publishers = self.node.get_publishers_info_by_topic(f"{action}/_action/status")
        return frozenset(bytes(info.endpoint_gid) for info in publishers)

    def _result(self, future: Future, timeout: float, name: str) -> Any:
        self.wait_until(future.done, timeout, f"'{name}' did not answer")
        return future.result()


def _listed(there: Mapping[str, str]) -> dict[str, str]:
    """Leave out what every node has, and the inside of actions."""
    return {
        name: kind
        for name, kind in sorted(there.items())
        if "/_" not in name and not kind.startswith(OF_EVERY_NODE)
    }


def _types(found: Iterable[tuple[str, Sequence[str]]]) -> dict[str, str]:
    return {name: types[0] for name, types in found}
