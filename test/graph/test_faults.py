"""When a part of the graph fails in real time, the arm is held or turns conservative."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from client import FULL_RATE, NODES, GraphClient
from contact_stack_msgs.action import FollowPoseTrajectory
from contact_stack_msgs.msg import ControllerStatus
from faults import REPORT_TIME, ask_until_granted, first_status, goal_down, last_arrival, mode

from contact_stack.launch import NodeGraph

pytestmark = pytest.mark.graph


@pytest.fixture
def moving_arm(
    launch: Callable[..., NodeGraph], client: GraphClient
) -> tuple[GraphClient, dict[str, int]]:
    """The graph at its full rate, following a slow goal; and the process of each node."""
    graph = launch(rate=FULL_RATE, held_mass="0.1")
    client.wait_until_ready()
    move(client)
    return client, dict(zip(NODES, graph.pids, strict=True))


@pytest.fixture
def moving(held: GraphClient) -> GraphClient:
    """The same of a graph that several tests share."""
    move(held)
    return held


def move(client: GraphClient) -> Any:
    """Follow a slow goal; return its handle."""
    handle = client.send(client.pose, goal_down(client, 0.1, 20.0))
    client.spin_until(lambda: mode(client) == ControllerStatus.TRACKING)
    return handle


def test_dead_estimator_means_conservative(moving: GraphClient) -> None:
    client, pids = moving, moving.pids
    os.kill(pids["contact_estimator"], signal.SIGSTOP)
    try:
        client.spin_for(0.02)
        first_status(client, "CONTACTS_STALE", last_arrival(client, "contacts"))
        client.spin_until(lambda: mode(client) == ControllerStatus.CONSERVATIVE)
        assert client.latest("controller_status").remedy
    finally:
        os.kill(pids["contact_estimator"], signal.SIGCONT)
    client.spin_until(lambda: mode(client) == ControllerStatus.TRACKING)


@pytest.mark.verify
def test_stale_state_means_hold_until_it_is_back(
    moving_arm: tuple[Any, dict[str, int]],
) -> None:
    client, pids = moving_arm
    os.kill(pids["tamsi_sim"], signal.SIGSTOP)
    try:
        client.spin_for(0.02)
        died = last_arrival(client, "truth/joint_states")
        changed = first_status(client, "STATE_STALE", died)
        assert changed - died <= 3 / FULL_RATE + REPORT_TIME
        client.spin_for(REPORT_TIME)  # on a busy machine the last state may arrive only now
        held = time.monotonic()
        client.spin_for(0.1)
        commands = [s.joint_command for t, s in client.heard["controller_status"] if t > held]
        assert len(commands) > 5
        assert all(np.array_equal(command, commands[0]) for command in commands)
        assert mode(client) == ControllerStatus.HOLD
    finally:
        os.kill(pids["tamsi_sim"], signal.SIGCONT)
    client.spin_until(lambda: mode(client) == ControllerStatus.TRACKING)


@pytest.mark.verify
@pytest.mark.parametrize(
    ("topic", "name", "limit"),
    [
        ("contacts", "CONTACTS_STALE", 10 / FULL_RATE),
        ("truth/joint_states", "STATE_STALE", 3 / FULL_RATE),
    ],
)
def test_the_reaction_to_a_death_is_prompt(
    moving_arm: tuple[Any, dict[str, int]], topic: str, name: str, limit: float
) -> None:
    """For a quiet machine: a busy one delays what the test hears."""
    client, pids = moving_arm
    os.kill(pids["contact_estimator" if topic == "contacts" else "tamsi_sim"], signal.SIGKILL)
    client.spin_for(0.02)
    died = last_arrival(client, topic)
    assert first_status(client, name, died) - died <= limit + REPORT_TIME


def test_hold_resume_stop_and_reset(moving: GraphClient) -> None:
    client = moving

    def refused() -> str:
        """A goal that would wait for ever ends at once, with the remedy."""
        result = client.result(client.pose, goal_down(client, 0.005, 1.0))
        assert result.error_code == FollowPoseTrajectory.Result.INVALID_GOAL
        return str(result.error_string)

    ask_until_granted(client, "hold")
    client.spin_until(lambda: mode(client) == ControllerStatus.HOLD)
    assert "call resume" in refused()
    ask_until_granted(client, "resume")
    client.spin_until(lambda: mode(client) == ControllerStatus.TRACKING)
    ask_until_granted(client, "stop")
    client.spin_until(lambda: mode(client) == ControllerStatus.FAULT)
    assert client.latest("controller_status").status_name == "STOPPED"
    assert "STOPPED" in refused()
    ask_until_granted(client, "reset")
    client.spin_until(lambda: mode(client) == ControllerStatus.HOLD)


def test_cancel_holds_the_arm(held: GraphClient) -> None:
    future = move(held).cancel_goal_async()
    held.spin_until(future.done)
    held.spin_until(lambda: mode(held) == ControllerStatus.HOLD)


def test_a_new_goal_takes_over(moving: GraphClient) -> None:
    client = moving
    result = client.result(client.pose, goal_down(client, 0.005, 1.0))
    assert result.error_code == FollowPoseTrajectory.Result.SUCCESSFUL
    assert result.position_error < 0.01
