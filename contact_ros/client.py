"""A node for scripts: ask the graph for something, and wait for the answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import rclpy
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import qos_profile_sensor_data
from rclpy.task import Future

from contact_core.errors import CommunicationError

TIMEOUT = 30.0
"""How long an answer may take unless the caller says otherwise [s]."""


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
        """
        self._context = Context()
        rclpy.init(context=self._context)
        self.node = rclpy.create_node(name, namespace=namespace, context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    def wait_for(
        self,
        message_type: type,
        topic: str,
        condition: Callable[[Any], bool] = lambda message: True,
        timeout: float = TIMEOUT,
    ) -> Any:
        """Return the next message of a topic.

        Args:
            message_type: Its type.
            topic: The topic.
            condition: Messages for which it is False are passed over.
            timeout: How long to wait [s].

        Raises:
            CommunicationError: If none came in time.
        """
        found: list[Any] = []
        subscription = self.node.create_subscription(
            message_type,
            topic,
            lambda message: found.append(message) if condition(message) else None,
            qos_profile_sensor_data,
        )
        try:
            self._wait(lambda: bool(found), timeout, f"no message on '{topic}'")
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
            self._wait(client.service_is_ready, timeout, f"nobody serves '{name}'")
            return self._result(client.call_async(request), timeout, name)
        finally:
            self.node.destroy_client(client)

    def run(self, action_type: type, name: str, goal: Any, timeout: float = TIMEOUT) -> Any:
        """Send a goal and return its result.

        Args:
            action_type: Type of the action.
            name: The action.
            goal: The goal.
            timeout: How long server, acceptance and result may take, each [s].

        Raises:
            CommunicationError: If there is no server or no answer in time, or the goal is
                rejected.
        """
        client = ActionClient(self.node, action_type, name)
        try:
            self._wait(client.server_is_ready, timeout, f"nobody serves '{name}'")
            handle = self._result(client.send_goal_async(goal), timeout, name)
            if not handle.accepted:
                raise CommunicationError(f"'{name}' rejected the goal")
            return self._result(handle.get_result_async(), timeout, name).result
        finally:
            client.destroy()

    def _result(self, future: Future, timeout: float, name: str) -> Any:
        self._wait(future.done, timeout, f"'{name}' did not answer")
        return future.result()

    def _wait(self, condition: Callable[[], bool], timeout: float, problem: str) -> None:
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                raise CommunicationError(f"{problem} within {timeout:g} s")
            self._executor.spin_once(timeout_sec=0.1)
