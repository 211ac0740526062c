"""Who commands the arm notices a simulator in its place, and nodes that mean another robot."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import String

from contact_core.base.errors import ConfigError
from contact_core.robot.description import RobotDescription
from contact_ros.driver_profile import DriverConfig, driver_profile
from contact_ros.guarded_node import GuardedNode
from contact_ros.identity import (
    FINGERPRINT_TOPIC,
    PERIOD,
    RobotIdentity,
    RobotNodeConfig,
    announce_robot,
    announce_simulator,
)
from contact_ros.qos import LATCHED

IIWA, FR3 = RobotDescription.load("iiwa14_wsg50"), RobotDescription.load("fr3_wsg50")


class Graph:
    """A controller's node, others, and what makes their messages arrive."""

    def __init__(self) -> None:
        self.node = GuardedNode("controller")
        self._others: list[Node] = []
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)

    def other(self, name: str) -> Node:
        self._others.append(rclpy.create_node(name))
        return self._others[-1]

    def until_problem(self, identity: RobotIdentity, present: bool) -> str:
        for _ in range(100):
            self._executor.spin_once(0.05)
            if bool(identity.problem) is present:
                return identity.problem
        raise AssertionError(f"the problem is still '{identity.problem}'")

    def close(self) -> None:
        self._executor.shutdown()
        for node in (self.node, *self._others):
            node.destroy_node()


@pytest.fixture
def graph(ros_domain: int) -> Iterator[Graph]:
    rclpy.init()
    graph = Graph()
    yield graph
    graph.close()
    rclpy.shutdown()


@pytest.mark.graph
def test_a_simulator_is_noticed_while_it_is_there_and_where_it_matters(graph: Graph) -> None:
    simulator, now = graph.other("simulator"), [0.0]
    ours = driver_profile("lbr_fri", DriverConfig(), 0.005)
    other = driver_profile("lbr_fri", DriverConfig(namespace="/other"), 0.005)
    hardware, simulation, elsewhere = (
        RobotIdentity(graph.node, profile, IIWA, real, lambda: now[0])
        for profile, real in ((ours, True), (ours, False), (other, True))
    )
    assert not hardware.problem
    announcement = announce_simulator(simulator, ours, "a scene")
    assert not hardware.problem  # it looks now and then only
    now[0] += PERIOD
    assert "a simulator answers" in hardware.problem
    assert not simulation.problem
    assert not elsewhere.problem
    simulator.destroy_publisher(announcement)
    now[0] += PERIOD
    assert not hardware.problem


@pytest.mark.graph
def test_a_node_that_means_another_robot_is_named_until_it_agrees(graph: Graph) -> None:
    profile = driver_profile("lbr_fri", DriverConfig(), 0.005)
    estimator = graph.other("estimator")
    announce_robot(estimator, FR3)  # before anybody listens
    identity = RobotIdentity(graph.node, profile, IIWA, real=False)
    problem = graph.until_problem(identity, present=True)
    assert "estimator means robot fr3_wsg50" in problem
    assert "controller means iiwa14_wsg50" in problem
    announce_robot(estimator, IIWA)
    graph.until_problem(identity, present=False)


@pytest.mark.graph
def test_a_node_that_means_another_robot_is_forgotten_once_it_has_gone(graph: Graph) -> None:
    now = [0.0]
    profile = driver_profile("lbr_fri", DriverConfig(), 0.005)
    identity = RobotIdentity(graph.node, profile, IIWA, False, lambda: now[0])
    estimator = graph.other("estimator")
    announcement = announce_robot(estimator, FR3)
    graph.until_problem(identity, present=True)
    now[0] += PERIOD
    assert identity.problem
    estimator.destroy_publisher(announcement)
    for _ in range(100):
        now[0] += PERIOD
        if not identity.problem:
            break
        graph._executor.spin_once(0.05)
    assert not identity.problem


@pytest.mark.graph
def test_what_is_no_announcement_is_rejected(graph: Graph) -> None:
    profile = driver_profile("lbr_fri", DriverConfig(), 0.005)
    identity = RobotIdentity(graph.node, profile, IIWA, real=False)
    liar = graph.other("liar").create_publisher(String, FINGERPRINT_TOPIC, LATCHED)
    liar.publish(String(data="nonsense"))
    for _ in range(100):
        graph._executor.spin_once(0.05)
        if graph.node.rejections.count:
            break
    assert graph.node.rejections.count
    assert not identity.problem


def test_a_fingerprint_tells_robots_apart_by_what_a_controller_knows() -> None:
    again = RobotDescription.load("iiwa14_wsg50")
    assert again.fingerprint == IIWA.fingerprint
    assert RobotDescription.load("iiwa14").fingerprint != IIWA.fingerprint != FR3.fingerprint


def test_a_node_has_to_be_told_its_robot() -> None:
    assert RobotNodeConfig(robot="fr3").description().name == "fr3"
    assert RobotNodeConfig(scene="push_box").description().name == "iiwa14_pusher"
    assert RobotNodeConfig(robot="fr3", scene="push_box").description().name == "fr3"
    with pytest.raises(ConfigError, match="which robot"):
        RobotNodeConfig().description()
