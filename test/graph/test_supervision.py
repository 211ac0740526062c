"""Who the launch can do without is restarted; the arm meanwhile is held or conservative."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable

import pytest
from client import GraphClient
from contact_stack_msgs.msg import ControllerStatus
from faults import goal_down, last_arrival, mode

from contact_stack.launch import NodeGraph

pytestmark = pytest.mark.graph


@pytest.mark.parametrize("driver", ["lbr_fri"], indirect=True)
def test_a_dead_estimator_is_restarted_and_the_arm_goes_on(
    launch: Callable[..., NodeGraph], client: GraphClient, output: io.StringIO
) -> None:
    graph = launch(held_mass="0.1")
    estimator = graph.pids[1]
    client.wait_until_ready()
    client.send(client.pose, goal_down(client, 0.1, 60.0))
    client.spin_until(lambda: mode(client) == ControllerStatus.TRACKING)
    os.kill(estimator, signal.SIGKILL)
    client.spin_until(lambda: mode(client) == ControllerStatus.CONSERVATIVE)
    assert client.latest("controller_status").status_name == "CONTACTS_STALE"
    client.spin_until(lambda: graph.check() or mode(client) == ControllerStatus.TRACKING, 90.0)
    assert "[launch] contact_estimator ended with exit code 137: restarted in 1 s" in (
        output.getvalue()
    )


@pytest.mark.verify
@pytest.mark.parametrize("driver", ["lbr_fri"], indirect=True)
@pytest.mark.parametrize("lockstep", ["false", "true"])
def test_who_only_watches_is_restarted(
    launch: Callable[..., NodeGraph], client: GraphClient, output: io.StringIO, lockstep: str
) -> None:
    graph = launch(held_mass="0.1", view="true", frames="true", lockstep=lockstep)
    watchers = graph.pids[3:]
    client.wait_until_ready()
    for pid in watchers:
        os.kill(pid, signal.SIGKILL)
    client.spin_until(lambda: graph.check() or len(graph.pids) == 7)
    before = last_arrival(client, "controller_status")
    client.spin_until(
        lambda: graph.check() or last_arrival(client, "controller_status") > before + 5.0, 60.0
    )
    assert len(graph.pids) == 7
    assert not graph.over
