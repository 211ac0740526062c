"""hardware.launch.xml against the simulator in the robot's place."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from client import GraphClient
from contact_stack_msgs.msg import ControllerStatus
from faults import goal_down, mode
from geometry_msgs.msg import Vector3
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState

from contact_core.base.files import share
from contact_ros.driver_profile import DriverConfig, driver_profile
from contact_stack.launch import NodeGraph, parse

pytestmark = [pytest.mark.graph, pytest.mark.verify]

# The machine of a test may be busy: how often states arrive is checked elsewhere.
PATIENT = """/**:
  ros__parameters:
    limits: {rate_error: 1.0, gap: 100.0}
    accept_simulator: ACCEPT
"""
LAUNCH_FILE = Path(__file__).parent / "hardware_on_simulator.launch.xml"


@pytest.fixture
def start(
    ros_domain: int, alive: Callable[[int], bool], driver: str, tmp_path: Path
) -> Iterator[Callable[..., tuple[NodeGraph, io.StringIO]]]:
    """Start the launch file; at the end no process may be left."""
    patient = tmp_path / "preflight.yaml"
    controller = tmp_path / "controller.yaml"
    for_hardware = share("config", "contact_aware_controller_hardware.yaml").read_text()
    graphs: list[NodeGraph] = []
    with ExitStack() as stack:

        def launch(accept: bool = True, **arguments: str) -> tuple[NodeGraph, io.StringIO]:
            output = io.StringIO()
            patient.write_text(PATIENT.replace("ACCEPT", str(accept).lower()))
            accepting = f"ros__parameters:\n    accept_simulator: {str(accept).lower()}\n"
            controller.write_text(for_hardware.replace("ros__parameters:\n", accepting))
            files = {"preflight_config": str(patient), "controller_config": str(controller)}
            plan = parse(LAUNCH_FILE, {"driver": driver, **files, **arguments})
            graphs.append(stack.enter_context(NodeGraph(plan, output)))
            return graphs[-1], output

        yield launch
    for graph in graphs:
        assert not any(alive(pid) for pid in graph.pids)


def test_only_after_the_push_the_arm_may_move(
    start: Callable[..., tuple[NodeGraph, io.StringIO]], client: GraphClient
) -> None:
    """At rest nothing is commanded; a hand pushes sideways and down; then a goal succeeds."""
    graph, output = start()
    hand = client.node.create_publisher(Vector3, "tamsi_sim/push", 1)
    client.spin_until(lambda: graph.check() or "PUSH the wrist" in output.getvalue(), 60.0)
    assert mode(client) == ControllerStatus.INACTIVE
    for force in ((0.0, 15.0, 0.0), (0.0, 0.0, -15.0)):
        hand.publish(Vector3(**dict(zip("xyz", force, strict=True))))
        client.spin_for(2.0)
    hand.publish(Vector3())
    client.spin_until(lambda: graph.check() or "is active" in output.getvalue())
    report = output.getvalue()
    at_rest = ("state rate", "joints", "limits", "tare", "payload", "weight")
    for name in (*at_rest, "torque sign", "stiffness"):
        assert f"OK    {name}: " in report
    client.spin_until(lambda: mode(client) == ControllerStatus.HOLD)
    assert client.result(client.pose, goal_down(client, 0.003, 2.0)).error_string == ""


@pytest.mark.parametrize("driver", ["lbr_fri"], indirect=True)
def test_a_driver_of_another_period_is_refused(
    start: Callable[..., tuple[NodeGraph, io.StringIO]], client: GraphClient
) -> None:
    """10 ms is the default of the driver: the controller never commands it, and says why."""
    start(state_every="2")
    client.spin_until(lambda: client.latest("controller_status"), 60.0)
    end = time.monotonic() + 20.0

    def reason() -> str:
        for _, message in client.heard["/diagnostics"]:
            for status in message.status:
                for pair in status.values:
                    if pair.key == "last_rejection":
                        return str(pair.value)
        return ""

    assert "every 10 ms instead of every 5 ms" in client.spin_until(reason, end - time.monotonic())
    assert {status.mode for _, status in client.heard["controller_status"]} == {
        ControllerStatus.INACTIVE
    }


@pytest.mark.parametrize("driver", ["lbr_fri"], indirect=True)
def test_a_simulator_is_no_robot(
    start: Callable[..., tuple[NodeGraph, io.StringIO]], client: GraphClient
) -> None:
    """The pre-flight check ends the launch; the controller, activated by hand, says why not."""
    graph, output = start(accept=False)
    commands: list[object] = []
    profile = driver_profile("lbr_fri", DriverConfig(), 0.005)
    client.node.create_subscription(
        profile.command_type, profile.topic(profile.command_topic), commands.append, 1
    )
    client.spin_until(lambda: "FAIL  robot: a simulator answers" in output.getvalue(), 60.0)
    activate = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_ACTIVATE))
    assert client.call(ChangeState, "contact_aware_controller/change_state", activate).success
    client.spin_until(lambda: client.latest("controller_status").status_name == "WRONG_ROBOT")
    client.spin_for(1.0)
    assert mode(client) == ControllerStatus.INACTIVE
    assert not commands
    # Nor does it heed a pause: states of a robot that stop are a fault.
    heard = client.node.get_subscriptions_info_by_topic("/lbr/simulation_paused")
    assert "contact_aware_controller" not in {end.node_name for end in heard}
    graph.wait()
    assert graph.exit_code == 2
