"""Who publishes what only one node should is named, with the remedy, in log and report."""

from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest
from contact_stack_msgs.action import MoveObjects
from rclpy.qos import qos_profile_sensor_data
from rosgraph_msgs.msg import Clock

from contact_ros.diagnostics import Health, Level
from contact_ros.driver_profile import DriverConfig, StateReader, driver_profile
from contact_ros.planning_server import PlanningServer
from contact_ros.rivals import PositionOrder, SolePublisher, publishers

OK = Health(Level.OK, "running", {"a": 1})

pytestmark = pytest.mark.graph


def clock_of(graph, robot: str):
    node = graph.node("tamsi_sim", "-r", f"__ns:=/{robot}")
    node.create_publisher(Clock, "/clock", 1)
    return node, SolePublisher(node, {"/clock": "clock:=clock"})


def test_a_second_clock_is_named_until_it_is_gone(graph) -> None:
    left, sole = clock_of(graph, "left")
    graph.spin_until(lambda: publishers(left, "/clock") == ["/left/tamsi_sim"])
    sole._update()
    assert sole.report(OK) is OK

    right, other = clock_of(graph, "right")
    logged: list[str] = []
    sole._logger = type("Logger", (), {"warning": lambda _, text: logged.append(text)})()
    text = "/clock is published by /left/tamsi_sim and /right/tamsi_sim: clock:=clock"
    graph.spin_until(lambda: sole.problem and other.problem)
    assert sole.problem == other.problem == text
    for _ in range(3):
        sole._update()
    assert logged == [text]
    report = sole.report(OK)
    assert (report.level, report.message) == (Level.WARN, text)
    assert report.values == {"a": 1, "rivals": text}
    worse = sole.report(Health(Level.ERROR, "broken"))
    assert (worse.level, worse.message, worse.values) == (Level.ERROR, "broken", {"rivals": text})

    right.destroy_node()
    graph.spin_until(lambda: not sole.problem)
    assert sole.report(OK) is OK


def told(second=None, every: int = 1, rate: float = 200.0, shake: float = 0.0, encoder=0.0) -> bool:
    """Whether a swinging arm's states show that every few there is one of another source."""
    order, found = PositionOrder(), False
    for k in range(500):
        now = k / rate
        position = 0.5 * np.sin(4.0 * now + np.arange(7.0))  # up to 2 rad/s
        position += shake * np.sin(6.0 * np.pi * now) * np.linspace(1.0, 0.2, 7)
        if encoder:
            position = encoder * ((k + np.arange(7)) % 2)  # at rest, between two of its steps
        order.heard(position, now)
        if k % every == 0 and second is not None:
            order.heard(second(position), now)
        found = found or order.mixed(now)
    return found


@pytest.mark.parametrize("every", [1, 2, 20])
@pytest.mark.parametrize(
    "second",
    [
        pytest.param(lambda position: position + 0.03 * (np.arange(7) == 0), id="off by 0.03 rad"),
        pytest.param(np.degrees, id="degrees"),
        pytest.param(np.zeros_like, id="another arm, at rest"),
    ],
)
def test_positions_of_two_sources_go_there_and_back(second, every) -> None:
    assert told(second, every)


@pytest.mark.parametrize("rate", [10.0, 80.0, 500.0])
def test_positions_of_one_source_are_of_one(rate) -> None:
    assert not told(rate=rate)
    assert not told(np.copy, rate=rate)  # a driver that repeats itself
    assert not told(rate=rate, shake=0.02)  # joints that turn round together, at 3 Hz
    assert not told(rate=rate, encoder=2.0 * np.pi / 4096)
    mistake = iter([np.ones(7)])
    assert not told(lambda position: next(mistake, position), rate=rate)


def test_a_second_server_of_an_action_is_named_although_it_has_the_same_name(graph) -> None:
    nodes = [graph.node("object_mover", "-r", "__ns:=/lbr") for _ in range(2)]
    first = PlanningServer(nodes[0], MoveObjects, "move_objects", Mock())
    graph.spin_until(lambda: nodes[0].count_publishers("move_objects/_action/status") == 1)
    first.rivals._update()
    assert not first.rivals.problem
    second = PlanningServer(nodes[1], MoveObjects, "move_objects", Mock())
    text = "move_objects/_action/status is published by /lbr/object_mover and /lbr/object_mover:"
    for server in (first, second):
        graph.spin_until(lambda server=server: server.rivals.problem)
        assert text in server.rivals.problem
        assert text in server._health().message
    second.close()
    graph.spin_until(lambda: not first.rivals.problem)
    first.close()


def test_a_clock_that_is_remapped_is_no_rival(graph) -> None:
    left, sole = clock_of(graph, "left")
    right = graph.node("tamsi_sim", "-r", "__ns:=/right", "-r", "/clock:=clock")
    right.create_publisher(Clock, "/clock", 1)
    graph.spin_until(lambda: left.count_publishers("/right/clock") == 1)
    sole._update()
    assert sole.problem == ""


def test_a_driver_whose_states_do_not_arrive_is_not_to_be_started(graph) -> None:
    """Only that it is not discovered is known of one that nobody sees."""
    node = graph.node("contact_aware_controller", "-r", "__ns:=/lbr")
    profile = driver_profile("lbr_fri", DriverConfig(), 0.005)
    reader = StateReader(node, profile, lockstep=False, on_state=lambda state: None)
    unseen = reader.health()
    assert unseen.level is Level.STALE
    assert "no node is discovered that publishes /lbr/state" in unseen.message
    assert f"ROS_DOMAIN_ID {node.context.get_domain_id()}" in unseen.message

    driver = graph.node("driver", "-r", "__ns:=/lbr")
    driver.create_publisher(profile.state_topics["state"], "state", 1)
    graph.spin_until(lambda: node.count_publishers("/lbr/state") == 1)
    assert "though /lbr/state is published by /lbr/driver: check" in reader.health().message
    reader.others = "left_A1"
    assert "only those of other joints arrive, left_A1; check robot" in reader.health().message

    picky = driver_profile("lbr_fri", DriverConfig(reliability="reliable"), 0.005)
    asking = StateReader(node, picky, lockstep=False, on_state=lambda state: None)
    assert "no joint states, though /lbr/state" in asking.health().message
    driver.destroy_node()
    shy = graph.node("shy", "-r", "__ns:=/lbr")
    shy.create_publisher(profile.state_topics["state"], "state", qos_profile_sensor_data)
    graph.spin_until(lambda: publishers(node, "state") == ["/lbr/shy"])
    assert "set arm.reliability to best_effort" in asking.health().message
