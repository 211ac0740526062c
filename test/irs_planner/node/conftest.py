"""The planner's node in a ROS domain of its own, and a client of it."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import rclpy
from contact_stack_msgs.action import PlanThroughContact
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from contact_stack.launch import NodeGraph, find_launch_file, parse


class PlanClient:
    """An action client that keeps all feedback."""

    def __init__(self) -> None:
        self.node = rclpy.create_node("test_client", namespace="lbr")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self.client = ActionClient(self.node, PlanThroughContact, "plan_through_contact")
        self.feedback: list[Any] = []
        self.spin_until(self.client.server_is_ready, 60.0)

    def close(self) -> None:
        self._executor.shutdown()
        self.client.destroy()
        self.node.destroy_node()

    def spin_until(self, condition: Callable[[], Any], timeout: float = 30.0) -> None:
        end = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < end, f"the condition did not come true within {timeout} s"
            self._executor.spin_once(timeout_sec=0.05)

    def send(self, **fields: Any) -> Any:
        """Send a goal; return its handle."""
        self.feedback.clear()
        goal = PlanThroughContact.Goal(**{"samples": 20, **fields})
        future = self.client.send_goal_async(
            goal, lambda message: self.feedback.append(message.feedback)
        )
        self.spin_until(future.done)
        assert future.result().accepted
        return future.result()

    def result(self, handle: Any) -> tuple[int, Any]:
        """Wait for a goal's end; return its state and result."""
        future = handle.get_result_async()
        self.spin_until(future.done)
        return future.result().status, future.result().result

    def plan(self, **fields: Any) -> tuple[int, Any]:
        """Send a goal and wait for its end."""
        return self.result(self.send(**fields))


@pytest.fixture(scope="module")
def server() -> Iterator[NodeGraph]:
    """The node, started by its launch file once for all tests of a file."""
    from domain_coordinator import domain_id

    with domain_id() as domain, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_DOMAIN_ID", str(domain))
        patch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        with NodeGraph(parse(find_launch_file("planners"), {}), io.StringIO()) as graph:
            yield graph
        assert graph.exit_code == 0


@pytest.fixture(scope="module")
def client(server: NodeGraph) -> Iterator[PlanClient]:
    """A client that has found the server."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    client = PlanClient()
    yield client
    client.close()
    rclpy.shutdown()
