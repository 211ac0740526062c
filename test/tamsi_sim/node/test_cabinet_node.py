"""The simulator as a robot on the wire: a client of FRI moves it, by UDP alone."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
import rclpy
from contact_stack_msgs.srv import Pause, Reset
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import SetBool, Trigger
from tiny_fri_client import TinyClient

from contact_core.base.errors import ConfigError
from tamsi_sim.cabinet import Session
from tamsi_sim.node.simulator import DriverFaultsConfig, SimulatorConfig, SimulatorNode


class Wire:
    """The node, whose ticks are the test's, and a client at a port of its own."""

    def __init__(self, *parameters: str) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.setblocking(False)
        words = [f"fri_port:={self.socket.getsockname()[1]}", "scene:=free_space", *parameters]
        rclpy.init(args=["--ros-args", *(word for p in words for word in ("-p", p))])
        self.node = SimulatorNode()
        self.loop = self.node._loop
        assert self.loop is not None
        self.loop.stop()
        self.hear()
        self.client = TinyClient(1.15)
        self.heard = 0

    def hear(self) -> list[tuple[bytes, Any]]:
        heard = []
        while True:
            try:
                heard.append(self.socket.recvfrom(1500))
            except BlockingIOError:
                return heard

    def run(self, ticks: int) -> None:
        for _ in range(ticks):
            self.loop._tick()
            for datagram, cabinet in self.hear():
                self.heard += 1
                if answer := self.client.answer(datagram):
                    self.socket.sendto(answer, cabinet)

    def until(self, session: Session, ticks: int = 4000) -> None:
        for _ in range(ticks):
            if self.session == session:
                return
            self.run(1)
        raise AssertionError(f"{self.session} after {ticks} ticks")

    @property
    def session(self) -> Any:
        return self.client.seen.get("connection", {}).get("session")

    def call(self, service: type, name: str, **request: Any) -> Any:
        peer = rclpy.create_node("peer")
        executor = SingleThreadedExecutor()
        for node in (self.node, peer):
            executor.add_node(node)
        client = peer.create_client(service, f"tamsi_sim/{name}")
        assert client.wait_for_service(20.0)
        future = client.call_async(service.Request(**request))
        executor.spin_until_future_complete(future, 20.0)
        executor.remove_node(self.node)
        peer.destroy_node()
        assert future.done() and future.result().success
        return future.result()

    def close(self) -> None:
        self.node.close()
        self.node.destroy_node()
        self.socket.close()
        rclpy.shutdown()


@pytest.fixture
def wire(ros_domain: int) -> Iterator[Wire]:
    wire = Wire()
    try:
        yield wire
        assert wire.node.internal_errors.count == 0, wire.node.internal_errors.latest
    finally:
        wire.close()


def values(wire: Wire) -> dict[str, object]:
    return wire.node._health().values


@pytest.mark.graph
def test_a_client_moves_the_arm_and_reads_it(wire: Wire) -> None:
    wire.until(Session.COMMANDING_ACTIVE)
    assert wire.heard < 200
    start = np.array(wire.client.seen["interpolator"]["position"])
    for k in range(200):
        wire.client.offset = 0.001 * k * np.array([1.0, -0.5, 0.0, 0.0, 1.0, 0.0, 0.0])
        wire.run(1)
    wire.run(100)
    seen = wire.client.seen["measured"]
    np.testing.assert_allclose(seen["commanded"], start + wire.client.offset, atol=1e-12)
    np.testing.assert_allclose(seen["position"], start + wire.client.offset, atol=2e-3)
    truth = wire.node._plant.truth().joint_position[:7]
    np.testing.assert_allclose(seen["position"], truth, atol=2e-3)
    # At rest the wire has tau_ext - g.
    model = wire.node._plant.scene.robot.arm_model(0.04)
    gravity = pin.rnea(model, model.createData(), truth, np.zeros(7), np.zeros(7))
    assert np.abs(gravity).max() > 10.0
    np.testing.assert_allclose(seen["torque"], -gravity, atol=1.5)
    assert values(wire)["fri_session"] == "COMMANDING_ACTIVE"
    assert wire.node._rejections.count == 0


@pytest.mark.graph
def test_the_arm_has_no_topics_of_a_driver_and_all_others(wire: Wire) -> None:
    topics = {name for name, _ in wire.node.get_publisher_names_and_types_by_node("tamsi_sim", "/")}
    heard = {name for name, _ in wire.node.get_subscriber_names_and_types_by_node("tamsi_sim", "/")}
    assert not topics & {"/state", "/joint_states"}
    assert "/command/joint_position" not in heard
    assert {"/gripper/joint_states", "/simulated_robot", "/robot_fingerprint"} <= topics


@pytest.mark.graph
def test_faults_of_the_driver_are_those_of_the_wire(wire: Wire) -> None:
    wire.until(Session.COMMANDING_ACTIVE)
    wire.call(SetBool, "driver/leave_commanding", data=True)
    wire.run(2)
    assert wire.session == Session.MONITORING_READY
    wire.call(SetBool, "driver/leave_commanding", data=False)
    wire.until(Session.COMMANDING_ACTIVE)
    wire.call(SetBool, "driver/silence", data=True)
    heard = wire.heard
    wire.run(20)
    assert wire.heard == heard
    wire.call(SetBool, "driver/silence", data=False)
    wire.run(2)
    assert wire.session == Session.MONITORING_WAIT
    wire.until(Session.COMMANDING_ACTIVE)
    wire.call(Trigger, "driver/delay")
    heard = wire.heard
    wire.run(5)
    assert wire.heard == heard
    wire.run(20)
    assert wire.heard > heard


@pytest.mark.graph
def test_a_pause_is_silent_and_a_reset_begins_a_new_session(wire: Wire) -> None:
    wire.until(Session.COMMANDING_ACTIVE)
    wire.call(Pause, "pause", pause=True)
    heard = wire.heard
    wire.run(50)
    assert wire.heard == heard
    wire.call(Pause, "pause", pause=False)
    wire.run(5)
    assert wire.session == Session.COMMANDING_ACTIVE
    wire.client.offset = 0.1
    wire.run(100)
    wire.call(Reset, "reset", seed=0)
    wire.run(2)
    assert wire.session == Session.IDLE
    wire.client.offset = 0.0
    wire.until(Session.COMMANDING_ACTIVE)
    start = wire.node._plant.scene.config.robot.initial_positions
    np.testing.assert_allclose(wire.client.seen["interpolator"]["position"], start, atol=2e-3)


@pytest.mark.graph
def test_foreign_and_damaged_answers_are_rejected_by_name(wire: Wire) -> None:
    wire.until(Session.COMMANDING_ACTIVE)
    _, port = wire.node._cabinet._connection._socket.getsockname()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.sendto(b"anything", ("127.0.0.1", port))
        wire.run(1)
    assert wire.node._rejections.reason == "a datagram of another sender than the client"
    wire.socket.sendto(bytes(3000), ("127.0.0.1", port))
    wire.run(1)
    assert "1500" in wire.node._rejections.reason
    assert wire.node._rejections.count == 2
    assert wire.session == Session.COMMANDING_ACTIVE


@pytest.mark.graph
@pytest.mark.parametrize("period", [2, 10])
def test_its_period_is_that_of_the_messages(period: int, ros_domain: int) -> None:
    wire = Wire(f"fri.period:={period}", "fri.version:=2.7")
    wire.client = TinyClient(2.7)
    wire.until(Session.COMMANDING_ACTIVE)
    first = wire.client.seen["measured"]["stamp"]
    assert wire.client.seen["connection"]["period"] == period
    assert wire.node._plant.period_ns == period * 1_000_000
    assert first["seconds"] > 1_700_000_000
    wire.close()


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"lockstep": True}, "fri_port needs real time"),
        ({"driver_faults": DriverFaultsConfig(state_every=2)}, "see fri.period"),
    ],
)
def test_what_does_not_go_with_the_wire_is_refused(values: Any, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        SimulatorConfig(fri_port=30200, **values)


@pytest.mark.graph
@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        (("scene:=mug_placement_ur5e", "driver:=ros2_control"), "FRI is for arms of 7 joints"),
        (("fri.client:=no.such.host.invalid",), "no connection to client"),
        (("fri.source:=127.0.0.1",), "no connection to client"),
    ],
)
def test_a_robot_that_cannot_be_on_the_wire_is_refused(
    parameters: tuple[str, ...], reason: str, ros_domain: int
) -> None:
    words = ["fri_port:=30200", *parameters]
    rclpy.init(args=["--ros-args", *(word for p in words for word in ("-p", p))])
    refused: Callable[[], Any] = SimulatorNode
    try:
        with pytest.raises(ConfigError, match=reason):
            refused()
    finally:
        rclpy.shutdown()
