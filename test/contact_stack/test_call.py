"""`contact-stack call` and `echo` on a graph with one node that serves everything."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress

import pytest
import rclpy
import yaml
from contact_stack_msgs.action import Wipe
from own_domain import own_domain
from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from contact_ros import client as graph_client
from contact_ros.client import GraphClient
from contact_ros.network import NETWORK
from contact_ros.qos import LATCHED
from contact_stack import call, cli, echo

pytestmark = pytest.mark.graph

FOR_EVER = 99.0
"""The speed of a goal that ends only when it is cancelled."""


def wipe(goal: ServerGoalHandle) -> Wipe.Result:
    """Say what was asked for, and succeed if there is a path."""
    asked = goal.request
    goal.publish_feedback(Wipe.Feedback(phase="wipe", wiped=1.0 / 3.0))
    while asked.speed == FOR_EVER and not goal.is_cancel_requested:
        time.sleep(0.01)
    if goal.is_cancel_requested:
        goal.canceled()
    elif asked.path:
        goal.succeed()
    else:
        goal.abort()
    return Wipe.Result(error_string=asked.frame, wiped=asked.direction.z + len(asked.path))


def refuse(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
    """Do nothing, and say so."""
    response.message = "not now"
    return response


@pytest.fixture(scope="module")
def client() -> Iterator[GraphClient]:
    """What the commands use, and a node in /lbr, spun by a thread."""
    with own_domain() as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in {**environment, NETWORK: "environment"}.items():
            patch.setenv(name, value)
        context = Context()
        rclpy.init(context=context)
        node = rclpy.create_node("fake", namespace="lbr", context=context)
        node.declare_parameter("gain", 1.0)
        ActionServer(
            node,
            Wipe,
            "wipe",
            wipe,
            callback_group=ReentrantCallbackGroup(),
            cancel_callback=lambda goal: CancelResponse.ACCEPT,
        )
        node.create_service(Trigger, "refuse", refuse)
        state = JointState(name=["a1"], position=[0.5])
        node.create_publisher(JointState, "latched", LATCHED).publish(state)
        executor = MultiThreadedExecutor(2, context=context)
        executor.add_node(node)

        def spin() -> None:
            with suppress(ExternalShutdownException):
                executor.spin()

        thread = threading.Thread(target=spin)
        thread.start()
        with call.joined("call") as client:
            client.find("wipe", client.servers)
            yield client
        rclpy.shutdown(context=context)
        thread.join()
        executor.shutdown()
        node.destroy_node()


@pytest.fixture(autouse=True)
def discovered(client: GraphClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all commands use the same client: to join the graph takes seconds."""
    for command in (call, echo):
        monkeypatch.setattr(command, "joined", lambda name: nullcontext(client))
    monkeypatch.setattr(graph_client, "DISCOVERY", 0.2)
    monkeypatch.setattr(graph_client, "UNCHANGED", 0.1)


def test_a_goal_is_sent_and_its_end_decides(capsys: pytest.CaptureFixture[str]) -> None:
    fields = ("{direction: {z: -1}, path: [{x: 0.05}, {y: 1e-3}]}", "frame=on", "direction.z=.5")
    assert cli.main(["call", "wipe", *fields]) == 0
    printed = capsys.readouterr()
    assert "{phase: wipe, force: {x: 0.0, y: 0.0, z: 0.0}, wiped: 0.3333}\n" in printed.err
    ended = yaml.safe_load(printed.out)
    assert ended["status"] == "SUCCEEDED"
    assert (ended["result"]["error_string"], ended["result"]["wiped"]) == ("on", 2.5)
    assert cli.main(["call", "/lbr/wipe"]) == 1
    assert "status: ABORTED" in capsys.readouterr().out


def test_an_interrupt_cancels_the_goal_and_waits(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt() -> None:
        while "phase" not in capsys.readouterr().err:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    assert cli.main(["call", "wipe", f"speed={FOR_EVER}"]) == 130
    thread.join()
    assert "status: CANCELED" in capsys.readouterr().out


def test_services_and_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["call", "refuse", "{}"]) == 1
    assert yaml.safe_load(capsys.readouterr().out) == {"success": False, "message": "not now"}
    assert cli.main(["call", "fake/set_parameters", "gain=3"]) == 0
    assert cli.main(["call", "fake/set_parameters", "gain=25e-1"]) == 0
    assert cli.main(["call", "fake/set_parameters", "gain=often"]) == 1
    assert "successful: false" in capsys.readouterr().out
    assert cli.main(["call", "fake/get_parameters", "names=[gain]"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["values"][0]["double_value"] == 2.5


def test_a_latched_message_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["echo", "latched", "--once"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["name"] == ["a1"]
    assert cli.main(["echo", "latched", "--once", "--field", "header.stamp"]) == 0
    assert capsys.readouterr().out == "{sec: 0, nanosec: 0}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("call", "wype"), "did you mean /lbr/wipe? valid: /lbr/refuse, /lbr/wipe"),
        (("call", "wipe", "direction.w=1"), "'direction.w' (valid: x, y, z)"),
        (("call", "wipe", "path=[{x: 1}, {x: fast}]"), "path[1].x is 'fast' (valid: double)"),
        (("call", "wipe", "fast"), "'fast' names no field"),
        (("call", "fake/set_parameters", "gian=1"), "did you mean gain?"),
        (("call", "refuse", "please=1"), "unknown field 'please' (there are no fields)"),
        (("echo", "latcht"), "did you mean /lbr/latched?"),
        (("echo", "l\u00e4tched"), "name 'l\u00e4tched' is no name in ROS"),
        (("call", "a b"), "name 'a b' is no name in ROS (valid: letters"),
        (("echo", "latched", "--field", "header.stam"), "did you mean stamp?"),
    ],
)
def test_what_is_wrong_is_told_with_what_there_is(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words) == 2
    assert said in capsys.readouterr().err


def test_without_a_name_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["call"]) == 0
    assert capsys.readouterr().out == (
        "/lbr/refuse  std_srvs/srv/Trigger\n/lbr/wipe  contact_stack_msgs/action/Wipe\n"
    )
