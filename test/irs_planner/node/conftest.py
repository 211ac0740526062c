"""The planner's node in a ROS domain of its own, and a client of it."""

from __future__ import annotations

import io
import signal
from collections.abc import Iterator

import pytest
from contact_stack_msgs.action import PlanThroughContact
from own_domain import own_domain
from planning_client import PlanningClient
from rclpy.action import ActionClient

from contact_stack.launch import LaunchPlan, NodeGraph, find_launch_file, parse, runner


@pytest.fixture(scope="module")
def server() -> Iterator[NodeGraph]:
    """The node, as the launch file of all planners starts it, once for all tests of a file."""
    with own_domain() as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        # On a busy machine an iteration takes longer than nodes are given to end.
        patch.setattr(runner, "STAGES", ((signal.SIGINT, 30.0), *runner.STAGES))
        planners = parse(find_launch_file("planners"), {}).nodes
        alone = LaunchPlan(tuple(node for node in planners if node.name == "irs_planner"))
        with NodeGraph(alone, io.StringIO()) as graph:
            with PlanningClient(PlanThroughContact, "plan_through_contact") as client:
                action = ActionClient(client.node, client.action, client.name)
                assert action.wait_for_server(60.0)
                # Or it would count among those that wait for a plan.
                action.destroy()
            yield graph
        assert graph.exit_code == 0


@pytest.fixture(scope="module")
def client(server: NodeGraph) -> Iterator[PlanningClient]:
    """A client that has found the server."""
    with PlanningClient(PlanThroughContact, "plan_through_contact") as client:
        yield client
