"""What the page asks, heard by nodes that stand in for controller, simulator and mover."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
import rclpy
from contact_stack_msgs.action import MoveObjects
from contact_stack_msgs.msg import Pull
from rcl_interfaces.msg import ParameterEvent
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

from contact_stack.viewer.commands import GraphCommands
from contact_stack.viewer.controls import Grip
from contact_stack.viewer.objects import Place

PLACE = Place("box", 0.6, -0.1, 0.5)


class Mover:
    """Moves nothing, but says so as the real one does: of all states that count."""

    def __init__(self, node: Node) -> None:
        self.goals: list[MoveObjects.Goal] = []
        self.canceled = 0
        self.answers = threading.Event()
        self.answers.set()
        self.go_on = threading.Event()
        self.status = MoveObjects.Result.SUCCEEDED
        self._server = ActionServer(
            node, MoveObjects, "move_objects", self._move,
            goal_callback=self._answer, cancel_callback=lambda handle: CancelResponse.ACCEPT,
        )  # fmt: skip

    def _answer(self, goal: MoveObjects.Goal) -> GoalResponse:
        self.answers.wait(30.0)
        return GoalResponse.ACCEPT

    def _move(self, handle) -> MoveObjects.Result:
        self.goals.append(handle.request)
        names = ["box/z", *handle.request.names]
        error = [0.5, 0.03, 0.04, -0.1]
        while not self.go_on.wait(0.02) and not handle.is_cancel_requested:
            handle.publish_feedback(MoveObjects.Feedback(phase="pushing", names=names, error=error))
        if handle.is_cancel_requested:
            self.canceled += 1
            handle.canceled()
            return MoveObjects.Result(status=2, status_name="CANCELED", remedy="send it again")
        handle.succeed()
        return MoveObjects.Result(status=self.status, status_name="NOT_SEEN", remedy="look")


@pytest.fixture
def graph(ros_domain) -> Iterator[SimpleNamespace]:
    rclpy.init()
    nodes = {name: Node(name) for name in ("page", "tamsi_sim", "contact_aware_controller")}
    for name, value in (("surroundings.friction", 1.0), ("surroundings.obstacle", "")):
        nodes["tamsi_sim"].declare_parameter(name, value)
    chosen = {"controller": "greedy", "force.limit": 15.0, "collaborative": True}
    for name, value in chosen.items():
        nodes["contact_aware_controller"].declare_parameter(name, value)
    said: list[str] = []
    commands = GraphCommands(nodes["page"], "push_box", "base", 0.04, said.append)
    executor = MultiThreadedExecutor()
    for node in nodes.values():
        executor.add_node(node)
    thread = threading.Thread(target=executor.spin)
    thread.start()
    yield SimpleNamespace(commands=commands, said=said, **nodes)
    executor.shutdown()
    thread.join()
    rclpy.shutdown()


def wait_for(condition) -> None:
    end = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_thing_is_brought_to_its_place_and_the_page_says_how_far_it_is(graph) -> None:
    commands = graph.commands
    commands.bring(PLACE)
    wait_for(lambda: graph.said)
    assert graph.said == ["nobody moves objects: start contact-stack launch planners"]
    mover = Mover(graph.tamsi_sim)
    wait_for(commands._mover.server_is_ready)
    commands.bring(PLACE)
    wait_for(lambda: commands.progress == "pushing: 50 mm and 6° to go")
    (goal,) = mover.goals
    assert (goal.scene, list(goal.names)) == ("push_box", ["box/x", "box/y", "box/yaw"])
    assert list(goal.goal) == [0.6, -0.1, 0.5]
    commands.bring(None)
    wait_for(lambda: commands.progress == "CANCELED: send it again")
    mover.go_on.set()
    commands.bring(PLACE)
    wait_for(lambda: commands.progress == "is there")
    mover.status = MoveObjects.Result.NOT_SEEN
    commands.bring(PLACE)
    wait_for(lambda: commands.progress == "NOT_SEEN: look")


def test_what_is_canceled_before_anybody_has_answered_is_not_brought(graph) -> None:
    commands, mover = graph.commands, Mover(graph.tamsi_sim)
    wait_for(commands._mover.server_is_ready)
    mover.answers.clear()
    commands.bring(PLACE)
    wait_for(lambda: commands.progress == "is asked for")
    commands.bring(None)
    wait_for(lambda: commands.progress == "is canceled")
    mover.answers.set()
    wait_for(lambda: mover.canceled == 1)
    commands.bring(PLACE)
    wait_for(lambda: commands.progress == "pushing: 50 mm and 6° to go")
    assert len(mover.goals) == 2


def test_sliders_set_the_parameters_that_everybody_sets(graph) -> None:
    commands = graph.commands
    for client in commands._parameters.values():
        assert client.wait_for_service(30.0)
    commands.surround({"friction": 2.0, "obstacle": "table"})
    commands.limit_force(20.0)
    friction = "surroundings.friction"
    wait_for(lambda: graph.tamsi_sim.get_parameter(friction).value == 2.0)
    wait_for(lambda: graph.tamsi_sim.get_parameter("surroundings.obstacle").value == "table")
    limit = graph.contact_aware_controller.get_parameter
    wait_for(lambda: limit("force.limit").value == 20.0)
    commands.slow_down(0.5)  # which this simulator does not know
    wait_for(lambda: any(text.startswith("set pace: ") for text in graph.said))


def test_what_others_set_is_told_and_what_the_page_sets_is_known(graph) -> None:
    commands, controller = graph.commands, graph.contact_aware_controller
    wait_for(lambda: commands.settings == ("greedy", 15.0, True))
    commands.limit_force(20.0)
    wait_for(lambda: controller.get_parameter("force.limit").value == 20.0)
    wait_for(lambda: commands.actual == ("greedy", 20.0, True))
    controller.set_parameters([Parameter("controller", value="qp")])
    wait_for(lambda: commands.settings == ("qp", 15.0, True))
    assert commands.actual == ("qp", 20.0, True)
    assert not commands._asked
    # Whoever lies is not shown.
    limit = Parameter("force.limit", value=math.nan).to_parameter_msg()
    node = controller.get_fully_qualified_name()
    commands._hear(ParameterEvent(node=node, changed_parameters=[limit]))
    assert commands.settings == ("qp", 15.0, True)


def test_a_pull_is_sent_again_and_again_until_the_hand_lets_go(graph) -> None:
    heard: list[Pull] = []
    graph.tamsi_sim.create_subscription(Pull, "tamsi_sim/pull", heard.append, 10)
    wait_for(lambda: graph.page.count_subscribers("/tamsi_sim/pull") == 1)
    assert graph.commands._timer.is_canceled()
    graph.commands.pull(Grip("link_4", np.zeros(3), np.ones(3), 300.0))
    wait_for(lambda: len(heard) > 5)
    assert (heard[0].link, heard[0].stiffness) == ("link_4", 300.0)
    graph.commands.pull(None)
    wait_for(lambda: heard[-1].stiffness == 0.0)
    wait_for(graph.commands._timer.is_canceled)


def test_only_the_node_talks_to_the_graph(graph, monkeypatch) -> None:
    talks: list[tuple[threading.Thread, Pull]] = []

    def publish(message: Pull) -> None:
        talks.append((threading.current_thread(), message))

    monkeypatch.setattr(graph.commands._pulls, "publish", publish)
    graph.commands.pull(Grip("link_4", np.zeros(3), np.ones(3), 300.0))
    wait_for(lambda: talks)
    graph.commands.pull(None)
    wait_for(lambda: talks[-1][1].stiffness == 0.0)
    assert threading.current_thread() not in {thread for thread, _ in talks}
