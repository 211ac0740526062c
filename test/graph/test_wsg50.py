"""The gripper's node over DDS, and a gripper over TCP that behaves, dies, and lies."""

from __future__ import annotations

import io
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from action_msgs.msg import GoalStatus
from control_msgs.action import GripperCommand, ParallelGripperCommand
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from contact_core.base.errors import CommunicationError
from contact_experiments.fake.gripper import FakeGripper
from contact_ros.client import GraphClient
from contact_stack.launch import NodeGraph, find_launch_file, parse

pytestmark = pytest.mark.graph


class Hand:
    """Gripper, node and a client, and everything that the node reported."""

    def __init__(self, gripper: FakeGripper, client: GraphClient) -> None:
        self.gripper, self.client = gripper, client
        self.states: list[JointState] = []
        self.report = DiagnosticStatus()
        client.node.create_subscription(JointState, "gripper/joint_states", self.states.append, 10)
        client.node.create_subscription(DiagnosticArray, "/diagnostics", self._reported, 10)

    def _reported(self, message: DiagnosticArray) -> None:
        self.report = next((s for s in message.status if s.name == "/lbr/wsg50"), self.report)

    def says(self, text: str) -> None:
        """Wait for a report."""
        self.client.wait_until(lambda: text in str(self.report), 60.0, text)

    def go(self, position: float, effort: float = 20.0) -> Any:
        """Send a goal, and return its result."""
        goal = ParallelGripperCommand.Goal()
        goal.command.position, goal.command.effort = [position], [effort]
        goal.command.velocity = [0.2]
        return self.client.run(ParallelGripperCommand, "gripper", goal, timeout=30.0)

    def ask(self, service: str) -> Trigger.Response:
        """Call a service of the node."""
        return self.client.call(Trigger, f"wsg50/{service}", Trigger.Request())


@pytest.fixture
def hand(ros_domain: int, alive: Callable[[int], bool]) -> Iterator[Hand]:
    """A graph of the gripper's launch file; at the end no process may be left."""
    gripper = FakeGripper(referenced=False)
    gripper.start()
    arguments = {"gripper_host": "127.0.0.1", "gripper_port": str(gripper.port)}
    plan = parse(find_launch_file("gripper"), {**arguments, "network": "localhost"})
    output = io.StringIO()
    with NodeGraph(plan, output) as graph, GraphClient("test_client") as client:
        hand = Hand(gripper, client)
        hand.says("ready")
        yield hand
        graph.check()
    hand.gripper.stop()
    assert not any(alive(pid) for pid in graph.pids)
    assert "Traceback" not in output.getvalue(), output.getvalue()
    assert "BYE()" in hand.gripper.heard


def test_it_grips_as_the_simulator_does(hand: Hand) -> None:
    result = hand.go(0.05)
    assert not (result.reached_goal or result.stalled)
    hand.says("not referenced")
    assert hand.ask("home").success
    hand.says("ready")

    result = hand.go(0.05)
    assert result.reached_goal
    assert result.state.position[0] == pytest.approx(0.05, abs=1e-3)
    result = hand.go(0.0)
    assert result.reached_goal
    assert result.state.position[0] < 1e-3
    assert hand.go(0.05).reached_goal

    hand.gripper.part = 40.0
    result = hand.go(0.0)
    assert result.stalled
    assert not result.reached_goal
    assert result.state.position[0] == pytest.approx(0.02, abs=1e-3)
    assert result.state.effort[0] == pytest.approx(-20.0)
    hand.gripper.fault = "loses_part"
    hand.says("what it held is gone")

    older = GripperCommand.Goal()
    older.command.position = 0.03
    assert hand.client.run(GripperCommand, "gripper_cmd", older).reached_goal


def test_one_that_dies_and_lies_moves_nothing_and_says_so(hand: Hand) -> None:
    assert hand.ask("home").success
    client = hand.client
    goal = ParallelGripperCommand.Goal()
    goal.command.position, goal.command.velocity = [0.0], [0.003]
    sent = client.send(ParallelGripperCommand, "gripper", goal)
    client.wait_for(JointState, "gripper/joint_states", lambda s: s.velocity[0] < 0.0)
    port = hand.gripper.port
    hand.gripper.stop()
    assert client.end_of(sent).status == GoalStatus.STATUS_ABORTED
    hand.says("not connected")
    with pytest.raises(CommunicationError, match="rejected the goal"):
        hand.go(0.05)

    hand.gripper = FakeGripper(port)
    hand.gripper.state = 7
    hand.gripper.start()
    hand.says("stopped by itself")
    assert hand.ask("acknowledge").success
    hand.says("ready")
    assert hand.go(0.05).reached_goal

    hand.gripper.fault = "nan"
    hand.says("not connected")
    hand.gripper.fault = "garbage"
    hand.says("is no line of the gripper")
    assert hand.report.hardware_id == f"wsg50 127.0.0.1:{port}"
    assert all(math.isfinite(v) for s in hand.states for v in (*s.position, *s.effort))
    assert all(0.0 <= s.position[0] <= 0.056 for s in hand.states)


def test_the_fake_is_a_command(start_process: Callable[..., subprocess.Popen[str]]) -> None:
    cli = (sys.executable, "-m", "contact_stack.cli")
    fake = start_process(*cli, "fake", "wsg50", "--port", "0", "--part", "0.04")
    assert fake.stdout is not None
    port = fake.stdout.readline().split("port ")[1].split()[0]
    words = [f"gripper_port:={port}", "gripper_host:=127.0.0.1", "network:=localhost"]
    node = start_process(*cli, "launch", "gripper", *words)
    with GraphClient("test_client") as client:
        goal = ParallelGripperCommand.Goal()
        goal.command.position = [0.0]
        client.wait_for(JointState, "gripper/joint_states", timeout=60.0)
        assert client.run(ParallelGripperCommand, "gripper", goal).stalled
    for process, code in ((node, 130), (fake, 143)):
        process.send_signal(2 if process is node else 15)
        text = "".join(process.communicate(timeout=20))
        assert "Traceback" not in text
        assert process.returncode in (0, code), text
