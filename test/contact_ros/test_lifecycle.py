"""Managed nodes: they start themselves or wait, and survive requests that make no sense."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import rclpy
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn

from contact_ros.lifecycle import ManagedNode

pytestmark = pytest.mark.graph


class Lamp(ManagedNode):
    """Burns while it is active."""

    def __init__(self) -> None:
        super().__init__("lamp")
        self.on = False

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.on = True
        return TransitionCallbackReturn.SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.on = False
        return TransitionCallbackReturn.SUCCESS


class Bench:
    """A lamp, and someone who asks it."""

    def __init__(self) -> None:
        rclpy.init()
        self.lamp = Lamp()
        self._node = rclpy.create_node("tools")
        self._executor = SingleThreadedExecutor()
        for node in (self.lamp, self._node):
            self._executor.add_node(node)

    def ask(self, service_type: type, name: str, request: object) -> object:
        client = self._node.create_client(service_type, f"lamp/{name}")
        assert client.wait_for_service(20.0)
        future = client.call_async(request)
        self._executor.spin_until_future_complete(future, 20.0)
        return future.result()

    def change(self, transition: int) -> bool:
        request = ChangeState.Request(transition=Transition(id=transition))
        return bool(self.ask(ChangeState, "change_state", request).success)

    def state(self) -> str:
        return str(self.ask(GetState, "get_state", GetState.Request()).current_state.label)

    def close(self) -> None:
        self._executor.shutdown()
        self.lamp.destroy_node()
        self._node.destroy_node()
        rclpy.shutdown()


@pytest.fixture
def bench(ros_domain: int) -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


def test_a_node_that_starts_itself_is_active(bench: Bench) -> None:
    bench.lamp.start(active=True)
    assert bench.lamp.on
    assert bench.state() == "active"


def test_a_node_that_waits_is_activated_and_deactivated_by_others(bench: Bench) -> None:
    bench.lamp.start(active=False)
    assert not bench.lamp.on
    assert bench.state() == "inactive"
    assert bench.change(Transition.TRANSITION_ACTIVATE)
    assert bench.lamp.on
    assert bench.change(Transition.TRANSITION_DEACTIVATE)
    assert not bench.lamp.on


def test_an_impossible_transition_is_refused_and_changes_nothing(bench: Bench) -> None:
    bench.lamp.start(active=True)
    assert not bench.change(Transition.TRANSITION_CONFIGURE)
    assert not bench.change(99)
    assert bench.lamp.on
    assert bench.state() == "active"


def test_whoever_is_shut_down_or_cleaned_up_is_not_active_any_more(bench: Bench) -> None:
    """A finalized controller went on to command, for shutting down skips deactivation."""
    bench.lamp.start(active=True)
    assert bench.lamp.on
    assert bench.change(Transition.TRANSITION_ACTIVE_SHUTDOWN)
    assert bench.state() == "finalized"
    assert not bench.lamp.on
