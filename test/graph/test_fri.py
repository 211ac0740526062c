"""Controller and estimator, the driver fri, and a cabinet on the wire: over UDP, in real time."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from client import controller_at
from contact_stack_msgs.msg import ContactArray, ControllerStatus
from diagnostic_msgs.msg import DiagnosticArray
from fake_graph import FakeGraph
from lbr_fri_idl.msg import LBRState
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.qos import qos_profile_sensor_data
from std_srvs.srv import Trigger

from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_ros.client import GraphClient
from contact_stack.launch import NodeGraph, find_launch_file, parse


def _real_time_permitted() -> bool:
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, policy, parameters)
    return True


pytestmark = [
    pytest.mark.graph,
    pytest.mark.skipif(
        not _real_time_permitted(), reason="without real-time scheduling the link drops under load"
    ),
]

Start = Callable[..., "subprocess.Popen[str]"]
CLI = (sys.executable, "-m", "contact_stack.cli")
DRIVER = "from contact_stack.fri.node import main; raise SystemExit(main())"
PREFLIGHT = "from contact_stack.preflight.node import main; raise SystemExit(main())"
ACTIVE, READY = 4, 2
PERIOD = 10
"""The longest at which a cabinet is commanded, for a busy machine [ms]."""


class FriGraph(FakeGraph):
    """The graph behind a cabinet; everything that the driver says is kept."""

    def __init__(
        self,
        client: GraphClient,
        cabinet: subprocess.Popen[str],
        start_driver: Callable[[], subprocess.Popen[str]],
        nodes: dict[str, int],
    ) -> None:
        super().__init__(client, cabinet, tuple(nodes.values()))
        self.nodes = nodes
        self.start_driver, self.driver = start_driver, start_driver()
        self.states: list[tuple[float, LBRState]] = []
        self.report: dict[str, str] = {}
        client.node.create_subscription(
            LBRState,
            "state",
            lambda state: self.states.append((time.monotonic(), state)),
            qos_profile_sensor_data,
        )
        client.node.create_subscription(DiagnosticArray, "/diagnostics", self._reported, 10)

    def wait_until_ready(self) -> None:
        """Wait until the robot is commanded, and activate the controller, as on hardware."""
        self.says("the robot is commanded")
        self.client.wait_for(
            ContactArray, "contacts", lambda m: m.state != ContactArray.UNTARED, timeout=120.0
        )
        request = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_ACTIVATE))
        assert self.client.call(
            ChangeState, "contact_aware_controller/change_state", request
        ).success
        self.client.wait_for(
            ControllerStatus, "controller_status", lambda m: m.mode == ControllerStatus.HOLD
        )

    def _reported(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == "/lbr/fri_driver":
                self.report = {item.key: item.value for item in status.values}
                self.report["says"] = status.message

    def says(self, text: str) -> None:
        """Wait for a report of the driver's."""
        self.client.wait_until(lambda: text in self.report.get("says", ""), 60.0, text)

    def pause(self, seconds: float) -> list[LBRState]:
        """Let time pass; return the states that came."""
        first, end = len(self.states), time.monotonic() + seconds
        self.client.wait_until(lambda: time.monotonic() > end, seconds + 10.0)
        return [state for _, state in self.states[first:]]


@contextmanager
def fri_graph(
    start_process: Start, version: str = "1.15", *options: str, **arguments: str
) -> Iterator[FriGraph]:
    """Start everything, with options of the cabinet and arguments of the launch; and stop it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def start_driver() -> subprocess.Popen[str]:
        parameters = ("robot:=iiwa14_wsg50", f"version:='{version}'", f"port:={port}")
        words = [word for p in parameters for word in ("-p", p)]
        return start_process(sys.executable, "-c", DRIVER, "--ros-args", "-r", "__ns:=/lbr", *words)

    cabinet = start_process(*CLI, "fake", "cabinet", "--fri", version, "--port", port, *options)
    plan = parse(find_launch_file("control"), {"driver": "fri", **arguments})
    output = io.StringIO()
    try:
        with NodeGraph(plan, output) as nodes, GraphClient("test_client") as client:
            names = [node.name for node in plan.nodes]
            pids = dict(zip(names, nodes.pids, strict=True))
            graph = FriGraph(client, cabinet, start_driver, pids)
            graph.wait_until_ready()
            yield graph
    finally:
        for process in (graph.driver, cabinet):
            process.send_signal(signal.SIGINT)
        said = ["".join(process.communicate(timeout=20)) for process in (graph.driver, cabinet)]
    assert graph.driver.returncode == 0, said[0]
    assert "Traceback" not in said[0] + said[1] + output.getvalue()


def speeds(states: list[LBRState]) -> np.ndarray:
    """Return the speeds of what was commanded, by the robot's stamps [rad/s]."""
    times = np.array([s.time_stamp_sec + 1e-9 * s.time_stamp_nano_sec for s in states])
    told = np.array([s.commanded_joint_position for s in states])
    return np.diff(told, axis=0) / np.maximum(np.diff(times), 1e-3)[:, None]


def test_the_arm_moves_and_is_held_when_its_controller_is_gone(
    start_process: Start, tmp_path: Path
) -> None:
    slow = controller_at(1e3 / PERIOD, tmp_path, "contact_aware_controller_hardware")
    cabinet = ("1.15", "--period", str(PERIOD))
    with fri_graph(start_process, *cabinet, controller_config=slow) as graph:
        graph.says("the robot is commanded")
        graph.send(3)
        moved = graph.pause(2.0)
        told = np.array([state.commanded_joint_position for state in moved])
        assert np.ptp(told, axis=0).max() > 0.02
        assert {state.session_state for state in moved} == {ACTIVE}
        assert min(state.tracking_performance for state in moved) == 1.0
        # A second driver finds the port taken, and says so.
        second = graph.start_driver()
        text = "".join(second.communicate(timeout=60))
        assert second.returncode == 2 and "another driver answers the robot already" in text
        NodeSignal(graph, "contact_aware_controller").send(signal.SIGKILL)
        held = graph.pause(2.0)
        assert {state.session_state for state in held} == {ACTIVE}
        limits = Robot.from_description(RobotDescription.load("iiwa14_wsg50")).velocity_limits
        assert (np.abs(speeds(held)) <= limits).all()
        rest = np.array([state.commanded_joint_position for state in held[50:]])
        assert np.ptp(rest, axis=0).max() == 0.0
        assert graph.report.get("refused_commands") == "0"


class NodeSignal:
    """Signals for one node of the graph."""

    def __init__(self, graph: FriGraph, name: str) -> None:
        self.pid = graph.nodes[name]

    def send(self, number: signal.Signals) -> None:
        subprocess.run(["kill", f"-{number.value}", str(self.pid)], check=True)


@pytest.mark.verify
@pytest.mark.parametrize("version", ["1.15", "2.7"])
@pytest.mark.parametrize("surface", [None, "0.2"])
def test_a_controller_that_is_stopped_is_no_reason_to_move(
    start_process: Start, version: str, surface: str | None
) -> None:
    options = () if surface is None else ("--surface", surface)
    with fri_graph(start_process, version, *options) as graph:
        graph.send(3)
        graph.pause(1.0)
        controller = NodeSignal(graph, "contact_aware_controller")
        controller.send(signal.SIGSTOP)
        held = graph.pause(2.0)
        assert {state.session_state for state in held} == {ACTIVE}
        rest = np.array([state.commanded_joint_position for state in held[100:]])
        assert np.ptp(rest, axis=0).max() == 0.0
        before = len(graph.states)
        controller.send(signal.SIGCONT)
        graph.pause(1.0)
        after = [state for _, state in graph.states[before:]]
        assert np.abs(speeds(after)).max() < 1.0
        for service in ("resume", "reset", "resume"):
            graph.client.call(Trigger, f"contact_aware_controller/{service}", Trigger.Request())
        graph.send(1)


@pytest.mark.verify
def test_a_driver_that_was_killed_comes_back_to_an_arm_that_has_held(start_process: Start) -> None:
    with fri_graph(start_process) as graph:
        graph.send(3)
        graph.pause(1.0)
        graph.driver.kill()
        graph.driver.communicate()
        last = graph.states[-1][1]
        graph.pause(2.0)
        graph.report = {}
        graph.driver = graph.start_driver()
        graph.says("the robot is commanded")
        first = next(s for _, s in reversed(graph.states) if s.session_state == ACTIVE)
        moved = np.abs(np.array(first.measured_joint_position) - last.measured_joint_position)
        assert moved.max() < 0.05

        def resumes() -> bool:
            # Of a node that was killed the graph knows for 20 s.
            resume = "contact_aware_controller/resume"
            success: bool = graph.client.call(Trigger, resume, Trigger.Request()).success
            return success

        graph.client.wait_until(resumes, 60.0, "it does not resume")
        graph.send(1)


@pytest.mark.verify
def test_the_first_day_is_written_down(start_process: Start, tmp_path: Path) -> None:
    report = tmp_path / "first_day.json"
    with fri_graph(start_process) as graph:
        words = [
            *("-p", "robot:=iiwa14_wsg50", "-p", "driver:=fri", "-p", "accept_simulator:=true"),
        ]
        check = start_process(
            sys.executable, "-c", PREFLIGHT, "--first-day", report,
            "--ros-args", "-r", "__ns:=/lbr", *words,
        )  # fmt: skip
        graph.client.wait_until(report.is_file, 60.0, "no report")
        check.send_signal(signal.SIGINT)
        check.communicate(timeout=20)
    written = json.loads(report.read_text())
    assert written["send_period_ms"] == 5.0 and written["states"] > 400
    assert written["measured_torque"]["sign"] == "negated"
    assert int(written["driver"]["answers"]) > 0
    assert any("session" in line for line in written["checks"])
