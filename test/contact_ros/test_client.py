"""The client of scripts: whoever does not answer is named, and the graph is left in any case."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from control_msgs.action import ParallelGripperCommand
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from std_msgs.msg import String
from std_srvs.srv import Trigger

from contact_core.base.errors import CommunicationError
from contact_ros.client import GraphClient

pytestmark = pytest.mark.graph


@pytest.fixture
def client(ros_domain: int) -> Iterator[GraphClient]:
    with GraphClient() as client:
        yield client


def test_names_are_relative_to_the_robot(client: GraphClient) -> None:
    assert client.node.get_fully_qualified_name() == "/lbr/client"


def test_a_message_is_returned_and_those_that_do_not_fit_are_passed_over(
    client: GraphClient,
) -> None:
    publisher = client.node.create_publisher(String, "words", 1)
    words = iter(["no", "no", "yes"] * 1000)
    client.node.create_timer(0.01, lambda: publisher.publish(String(data=next(words))))
    heard = client.wait_for(String, "words", lambda message: message.data == "yes")
    assert heard.data == "yes"


def test_a_service_answers(client: GraphClient) -> None:
    def serve(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.message = "here"
        return response

    client.node.create_service(Trigger, "ask", serve)
    assert client.call(Trigger, "ask", Trigger.Request()).message == "here"


def test_a_goal_that_is_not_answered_is_cancelled(client: GraphClient) -> None:
    """Its server may have accepted it, and the arm would move with nobody told."""
    cancelled = threading.Event()

    def accept(goal: object) -> GoalResponse:
        time.sleep(0.5)
        return GoalResponse.ACCEPT

    def cancel(goal: object) -> CancelResponse:
        cancelled.set()
        return CancelResponse.ACCEPT

    with GraphClient("host") as host:
        server = ActionServer(
            host.node, ParallelGripperCommand, "gripper", lambda goal: None,
            goal_callback=accept, cancel_callback=cancel,
            handle_accepted_callback=lambda goal: None,
        )  # fmt: skip
        hosting = threading.Thread(target=lambda: host.wait_until(cancelled.is_set, 20.0))
        hosting.start()
        client.find("gripper", client.servers)
        with pytest.raises(CommunicationError, match=r"'gripper' did not answer within 0\.2 s"):
            client.send(
                ParallelGripperCommand, "gripper", ParallelGripperCommand.Goal(), timeout=0.2
            )
        hosting.join()
        server.destroy()
    assert cancelled.is_set()


def test_a_goal_is_gone_when_its_server_is_started_anew(client: GraphClient) -> None:
    """DDS takes the one that was killed for alive for a while; the client must not wait for it."""

    @contextmanager
    def at_work(host: GraphClient) -> Iterator[None]:
        over = threading.Event()
        hosting = threading.Thread(target=lambda: host.wait_until(over.is_set, 60.0))
        hosting.start()
        try:
            yield
        finally:
            over.set()
            hosting.join()

    def serve(host: GraphClient) -> ActionServer:
        return ActionServer(
            host.node, ParallelGripperCommand, "gripper", lambda goal: None,
            handle_accepted_callback=lambda goal: None,
        )  # fmt: skip

    with GraphClient("host") as killed, GraphClient("host") as successor:
        servers = [serve(killed)]
        with at_work(killed):
            sent = client.send(ParallelGripperCommand, "gripper", ParallelGripperCommand.Goal())
        with pytest.raises(CommunicationError, match="the goal did not end within 2 s"):
            client.end_of(sent, 2.0)  # a slow server has not ended
        client.node.create_timer(
            0.5, lambda: servers.append(serve(successor)) if len(servers) < 2 else None
        )
        with (
            at_work(successor),
            pytest.raises(CommunicationError, match="'gripper' does not know the goal"),
        ):
            client.end_of(sent, 20.0)
        for server in servers:
            server.destroy()


def test_whoever_does_not_answer_is_named(client: GraphClient) -> None:
    with pytest.raises(CommunicationError, match=r"no message on 'contacts' within 0.2 s"):
        client.wait_for(String, "contacts", timeout=0.2)
    with pytest.raises(CommunicationError, match=r"on 'contacts' meets the condition within 0.2 s"):
        client.wait_for(String, "contacts", lambda message: False, timeout=0.2)
    with pytest.raises(CommunicationError, match="nobody serves 'tare'"):
        client.call(Trigger, "tare", Trigger.Request(), timeout=0.2)
    with pytest.raises(CommunicationError, match="nobody serves 'gripper'"):
        client.run(ParallelGripperCommand, "gripper", ParallelGripperCommand.Goal(), timeout=0.2)
