"""The nodes answer to the tools of ROS 2: life cycle, parameters, descriptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from client import GraphClient
from contact_stack_msgs.msg import ControllerStatus
from faults import change, last_arrival, mode
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import GetState
from rcl_interfaces.srv import DescribeParameters, GetParameters, SetParameters
from rclpy.parameter import Parameter

pytestmark = [pytest.mark.graph, pytest.mark.verify]


@pytest.fixture
def running(launch: Callable[..., Any], client: GraphClient) -> GraphClient:
    launch(held_mass="0.1")
    client.wait_until_ready()
    return client


def state(client: GraphClient, node: str) -> str:
    answer = client.call(GetState, f"{node}/get_state", GetState.Request())
    return str(answer.current_state.label)


def test_tools_can_ask_and_manage_the_nodes(running: GraphClient, driver: str) -> None:
    """One graph: the life cycle of controller and simulator, and everyone's parameters."""
    client = running
    controller, simulator = "contact_aware_controller", "tamsi_sim"
    assert state(client, controller) == state(client, simulator) == "active"

    assert not change(client, controller, Transition.TRANSITION_CONFIGURE)
    assert state(client, controller) == "active"
    assert change(client, controller, Transition.TRANSITION_DEACTIVATE)
    client.spin_until(lambda: mode(client) == ControllerStatus.INACTIVE)
    assert not list(client.latest("controller_status").joint_command)
    assert change(client, controller, Transition.TRANSITION_ACTIVATE)
    client.spin_until(lambda: mode(client) == ControllerStatus.HOLD)

    assert change(client, simulator, Transition.TRANSITION_DEACTIVATE)
    client.spin_for(0.2)
    stopped = last_arrival(client, "truth/joint_states")
    client.spin_for(0.2)
    assert last_arrival(client, "truth/joint_states") == stopped
    assert change(client, simulator, Transition.TRANSITION_ACTIVATE)
    client.spin_until(lambda: last_arrival(client, "truth/joint_states") > stopped)

    for node in (simulator, "contact_estimator", controller):
        answer = client.call(
            GetParameters, f"{node}/get_parameters", GetParameters.Request(names=["driver"])
        )
        assert answer.values[0].string_value == driver
    described = client.call(
        DescribeParameters,
        f"{controller}/describe_parameters",
        DescribeParameters.Request(names=["force.limit"]),
    ).descriptors[0]
    assert described.description
    assert described.floating_point_range[0].from_value >= 0.0

    assert set_parameter(client, controller, "clock_offset_limit", 0.5) == ""
    assert "out of range" in set_parameter(client, controller, "clock_offset_limit", 50.0)
    assert set_parameter(client, controller, "force.limit", 25.0) == ""
    assert "out of range" in set_parameter(client, controller, "force.limit", -1.0)
    assert "read-only" in set_parameter(client, controller, "rate", 0.5)
    assert set_parameter(client, simulator, "driver_faults.late", 0.2) == ""


def set_parameter(client: GraphClient, node: str, name: str, value: float) -> str:
    """Set a parameter and return why it was refused, empty if it was not."""
    request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
    (result,) = client.call(SetParameters, f"{node}/set_parameters", request).results
    assert result.successful == (not result.reason)
    return str(result.reason)
