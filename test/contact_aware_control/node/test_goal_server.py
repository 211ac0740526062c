"""A goal between its acceptance and its end, told tick by tick what the loop does."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
from contact_stack_msgs.action import GuardedMove
from loop_bench import Q, line
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactReport
from contact_aware_control.controllers import ControllerOutput
from contact_aware_control.loop_state import LoopStatus
from contact_aware_control.node.config import GoalConfig
from contact_aware_control.node.goal_server import GoalServer, RunningGoal
from contact_aware_control.node.target_topics import TargetTopics
from contact_aware_control.reference import Goal, Guidance
from contact_aware_control.reference.stream import FOR_EVER
from contact_aware_control.safety.command_gate import GateState
from contact_aware_control.safety.goal_checker import GoalChecker
from contact_aware_control.safety.status import LinkState, Mode, Status
from contact_aware_control.targets import StreamConfig, StreamedTargets
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_ros import planning_server
from contact_ros.geometry import BaseFrames

NAMES = tuple(f"lbr_A{i}" for i in range(1, 8))
PERIOD = 0.005


@pytest.fixture
def server(node: Node, description: RobotDescription, robot: Robot) -> Iterator[GoalServer]:
    """What follows goals, before a command that rests."""
    config = ControllerConfig()
    rests = GateState(Q, np.zeros(7), np.zeros(7), None, 0)
    server = GoalServer(
        node, lambda: rests, PERIOD, GoalChecker(robot, config), robot, NAMES, threading.Lock(),
        lambda: 0, lambda stamp: stamp, lambda: "", GoalConfig(), BaseFrames(description),
        StreamedTargets(robot, config, StreamConfig()).tool_bounds, lambda: None, True,
    )  # fmt: skip
    yield server
    server.close()


def running(server: GoalServer, goal, start: int = 0) -> SimpleNamespace:
    """Begin a goal; return what its client is told."""
    told = SimpleNamespace(end="", is_cancel_requested=False)
    for end in ("succeed", "abort", "canceled"):
        setattr(told, end, lambda end=end: setattr(told, "end", end))
    told.publish_feedback = lambda feedback: None
    server._running = RunningGoal(told, goal, start)
    told.ended = server._running.ended
    return told


def test_of_many_goals_sent_at_once_each_is_answered(server, node):
    """Of more than ten in the server's queue the oldest vanished, and were waited for for ever."""
    client = ActionClient(node, GuardedMove, "guarded_move")
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    sent = [client.send_goal_async(GuardedMove.Goal()) for _ in range(40)]
    for _ in range(500):
        executor.spin_once(timeout_sec=0.01)
        if all(map(Future.done, sent)):
            break
    assert [each.done() and each.result().accepted for each in sent] == [True] * 40
    executor.shutdown()
    client.destroy()


def test_targets_that_are_streamed_move_nothing_while_a_goal_waits_for_its_start(server, robot):
    """They moved the arm away from where it was to begin."""
    goal = SimpleNamespace(
        goal=line(Q), begin=lambda *now: None, check_start=lambda *now: None
    )  # fmt: skip
    told = running(server, goal, start=2_000_000_000)
    dropped = []
    keeper = SimpleNamespace(drop=lambda: dropped.append(True), goal=lambda *now: "a stream")
    topics = TargetTopics(
        SimpleNamespace(create_subscription=lambda *what: None), keeper, NAMES, None, "tool",
        threading.Lock(), lambda: 0, lambda reason: None,
    )  # fmt: skip
    assert topics.goal(None, 0, server.current(1_000_000_000)) is None
    assert dropped
    assert topics.goal(None, 0, server.current(2_000_000_000)) is goal.goal
    told.is_cancel_requested = True
    assert topics.goal(None, 0, server.current(2_000_000_000)) == "a stream"


def test_a_goal_is_judged_by_contacts_of_now_and_while_it_is_followed(server):
    """The last report was handed on, however old: goals ended by a force that had been."""
    seen = []
    goal = SimpleNamespace(
        goal=line(Q), begin=lambda *now: None, check_start=lambda *now: None, patience=1.0,
        advance=seen.append, goal_violation=lambda progress: None,
        reached=lambda progress: False,
    )  # fmt: skip
    running(server, goal)
    report = ContactReport(1_000_000_000, (), np.ones(7))
    output = ControllerOutput(Q)
    for late, mode in ((0.04, Mode.TRACKING), (0.06, Mode.CONSERVATIVE), (0.04, Mode.HOLD)):
        stamp = report.stamp + round(1e9 * late)
        server.current(stamp)
        server.update(stamp, Q, LoopStatus(mode, Status.OK, 0.1, output, 1, 0, 0), report)
    assert [progress.report for progress in seen] == [report, None, report]
    assert [progress.torque is None for progress in seen] == [False, True, False]
    assert [progress.followed for progress in seen] == [True, True, False]


def goal_without_end(**more):
    """Return a goal that goes on for as long as nothing interrupts it."""
    return SimpleNamespace(
        goal=line(Q), begin=lambda *now: None, check_start=lambda *now: None, patience=1.0,
        advance=lambda progress: None, goal_violation=lambda progress: None,
        reached=lambda progress: False, codes={"invalid": -1, "fault": -6},
        feedback=lambda progress: None,
        result=lambda progress, violation, note: violation, **more,
    )  # fmt: skip


TRACKING = LoopStatus(Mode.TRACKING, Status.OK, 0.1, ControllerOutput(Q), 1, 0, 0)


def test_what_interrupts_a_goal_ends_it_although_the_arm_would_follow_again(server):
    told = running(server, goal_without_end())
    assert server.current(0) is not None
    server.interrupt("fault", "STOPPED")
    server.interrupt("invalid", "the controller was deactivated")
    assert server.current(1) is None
    server.update(1, Q, TRACKING)
    assert told.end == "abort"
    assert told.ended.result().code == -6
    assert told.ended.result().text == "STOPPED"


@pytest.mark.parametrize(
    ("jump", "link", "goes_on"),
    [
        (0.04, LinkState.SYNC, True),
        (0.06, LinkState.SYNC, False),
        (0.06, LinkState.ARMED, True),  # a controller whose steps nothing bounds
    ],
)
def test_a_goal_does_not_go_on_where_commands_begin_anew_elsewhere(server, jump, link, goes_on):
    """After a reset of the simulation the arm was led back to its path at five times its speed."""
    told = running(server, goal_without_end())
    armed, between = (dataclasses.replace(TRACKING, link=now) for now in (LinkState.ARMED, link))
    for stamp, (shift, status) in enumerate(((0.0, armed), (0.0, between), (jump, armed))):
        server._present = lambda shift=shift: GateState(
            Q + shift, np.zeros(7), np.zeros(7), None, 0
        )
        server.current(stamp)
        server.update(stamp, Q, status)
    assert (told.end == "") is goes_on
    if not goes_on:
        assert "elsewhere, 0.060 rad away" in told.ended.result().text


def test_a_hand_that_nobody_asks_to_lead_any_more_leads_no_longer(server, monkeypatch):
    """Of a client that was killed, the arm was led by whatever touched it, for good."""
    now, clients = [100.0], [1]
    monkeypatch.setattr(planning_server, "time", SimpleNamespace(monotonic=lambda: now[0]))
    server._guides.begin()
    monkeypatch.setattr(server._node, "count_subscribers", lambda topic: clients[0])

    def told_after(seconds: float, duration: float) -> SimpleNamespace:
        goal = goal_without_end()
        goal.goal = Goal(Guidance(Q, np.ones(7, bool), 8.0, duration))
        told = running(server, goal)
        for stamp, wait in enumerate((0.0, seconds)):
            now[0] += wait
            server.current(stamp)
            server.update(stamp, Q, TRACKING)
        return told

    assert told_after(100.0, FOR_EVER).end == ""
    clients[0] = 0
    assert told_after(2.9, FOR_EVER).end == ""
    assert told_after(100.0, 3600.0).end == ""
    ended = told_after(0.2, FOR_EVER)
    assert ended.end == "abort"
    assert ended.ended.result().text == "no action client has listened for 3 s"
