"""Every misbehaviour of the driver ends in hold with a named reason, and recovers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from client import RATE, GraphClient
from contact_stack_msgs.msg import ControllerStatus
from faults import (
    REPORT_TIME,
    ask,
    ask_until_granted,
    diagnostic,
    first_status,
    goal_down,
    last_arrival,
    mode,
)
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool, Trigger

from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_ros.driver_profile import DriverConfig, driver_profile

pytestmark = pytest.mark.graph


@pytest.fixture
def moving(held: GraphClient) -> GraphClient:
    """The graph in real time, following a slow goal."""
    held.send(held.pose, goal_down(held, 0.1, 60.0))
    held.spin_until(lambda: mode(held) == ControllerStatus.TRACKING)
    return held


def switch(client: GraphClient, fault: str, on: bool) -> None:
    assert client.call(SetBool, f"tamsi_sim/driver/{fault}", SetBool.Request(data=on)).success


def trigger(client: GraphClient, request: str) -> None:
    assert client.call(Trigger, f"tamsi_sim/driver/{request}", Trigger.Request()).success


def tracking(client: GraphClient) -> None:
    """Go on by itself, after a short outage."""
    client.spin_until(lambda: mode(client) == ControllerStatus.TRACKING)


def go_on(client: GraphClient) -> None:
    """Go on after a longer one, with a new goal: the old one has not waited for ever."""
    ask_until_granted(client, "resume")
    client.send(client.pose, goal_down(client, 0.1, 60.0))
    tracking(client)


@contextmanager
def within_limits(client: GraphClient) -> Iterator[None]:
    """The arm never leaves its limits, and stands still at the end of the block."""
    start = time.monotonic()
    yield
    robot = Robot.from_description(RobotDescription.load("iiwa14_wsg50"))
    heard = [m for t, m in client.heard["truth/joint_states"] if t >= start]
    position = np.array([message.position[:7] for message in heard])
    velocity = np.array([message.velocity[:7] for message in heard])
    lowest, highest = robot.position_limits
    assert ((position >= lowest) & (position <= highest)).all()
    assert (np.abs(velocity) <= robot.velocity_limits).all()
    assert np.abs(velocity[-20:]).max() < 0.02


def held_because(client: GraphClient, name: str, after: float) -> None:
    """The arm is held and stays so; on a busy machine a state may also be late in between."""
    first_status(client, name, after)
    client.spin_for(2 * REPORT_TIME)
    held = time.monotonic()
    client.spin_for(0.5)
    client.spin_until(lambda: client.latest("controller_status").status_name == name)
    assert client.latest("controller_status").remedy
    since = [status.mode for t, status in client.heard["controller_status"] if t >= held]
    assert set(since) == {ControllerStatus.HOLD}


@pytest.mark.verify
@pytest.mark.parametrize("driver", ["lbr_fri"], indirect=True)
def test_each_misbehaviour(moving: GraphClient, driver: str) -> None:
    """One graph for all of them, one after the other."""
    client = moving

    with within_limits(client):  # the session leaves its commanding state
        began = time.monotonic()
        switch(client, "leave_commanding", True)
        held_because(client, "NOT_COMMANDING", began)
        refused = ask(client, "resume")
        assert not refused.success
        assert "does not follow commands" in refused.message
        switch(client, "leave_commanding", False)
        held_because(client, "NOT_ARMED", began)
    go_on(client)

    began = time.monotonic()  # a late state, at this rate
    late = Parameter("driver_faults.late", value=10.0 / RATE).to_parameter_msg()
    request = SetParameters.Request(parameters=[late])
    assert client.call(SetParameters, "tamsi_sim/set_parameters", request).results[0].successful
    trigger(client, "delay")
    first_status(client, "STATE_STALE", began)
    tracking(client)

    with within_limits(client):  # missing states
        began = time.monotonic()
        switch(client, "silence", True)
        held_because(client, "STATE_STALE", began)
        client.spin_for(1.0)
        assert "the driver is silent" in diagnostic(client, "tamsi_sim", began)[0]
        refused = ask(client, "resume")
        assert not refused.success
        assert "STATE_STALE" in refused.message
        switch(client, "silence", False)
        held_because(client, "NOT_ARMED", began)
    go_on(client)

    with within_limits(client):  # another node commands beyond a limit, and the driver ends
        began = time.monotonic()
        command_beyond_limits(client, driver)
        first_status(client, "FOREIGN_COMMAND", began)
        held_because(client, "STATE_STALE", began)
        trigger(client, "restart")
        restarted = time.monotonic()
        client.spin_until(lambda: last_arrival(client, "contacts") > restarted)
        held_because(client, "NOT_ARMED", began)
    go_on(client)


def command_beyond_limits(client: GraphClient, driver: str) -> None:
    """Command until the driver's guard has ended it."""
    profile = driver_profile(
        driver, DriverConfig(), 1.0 / RATE, namespace=client.node.get_namespace()
    )
    publisher: Any = client.node.create_publisher(profile.command_type, profile.command_topic, 1)
    client.spin_until(publisher.get_subscription_count)
    command = np.array(client.latest("truth/joint_states").position[:7])
    command[1] = 3.0
    message = profile.encode_command(command)

    began = time.monotonic()

    def tripped() -> bool:
        publisher.publish(message)
        return "lbr_A2 was commanded to 3.000" in diagnostic(client, "tamsi_sim", began)[0]

    client.spin_until(tripped)
    client.node.destroy_publisher(publisher)


@pytest.mark.parametrize("driver", ["lbr_fri"], indirect=True)
def test_a_second_commander_is_named_and_the_arm_held(moving: GraphClient, driver: str) -> None:
    """It need not say anything; others' joints on a shared topic, and listeners, are welcome."""
    client = moving
    began = time.monotonic()
    profile = driver_profile(
        driver, DriverConfig(), 1.0 / RATE, namespace=client.node.get_namespace()
    )
    publisher: Any = client.node.create_publisher(profile.command_type, profile.command_topic, 1)
    held_because(client, "FOREIGN_COMMAND", began)
    client.spin_until(
        lambda: (
            "/lbr/test_client"
            in diagnostic(client, "contact_aware_controller", began)[1].get("detail", "")
        )
    )
    refused = ask(client, "resume")
    assert not refused.success
    assert "FOREIGN_COMMAND" in refused.message
    client.node.destroy_publisher(publisher)
    first_status(client, "NOT_ARMED", began)
    go_on(client)
