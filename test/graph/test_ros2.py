"""The real `ros2 launch` starts and ends every graph, and the tools of ros2cli work on it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from contact_stack_msgs.msg import ControllerStatus
from ros2 import ENDS, Ros2Launch, needs_ros2, ros2

from contact_core.base.files import share
from contact_ros.client import GraphClient
from contact_ros.driver_profile import PROFILES
from contact_stack.launch import declared_arguments, find_launch_file, parse

pytestmark = [pytest.mark.graph, pytest.mark.verify]

QUIET = {"view": "false", "frames": "false", "gripper": "false", "bringup": "false"}
OTHERS = ("driver", "moveit")
"""They start nodes that are not ours."""

WITH_WRENCH = "client"
"""Its scene commands a wrench, which only one driver can."""

FAKED = ("control", "hardware")
"""They need a robot; the others bring a simulator, or need none."""

ACCEPTING = """/**:
  ros__parameters:
    accept_simulator: true
"""

Start = Callable[..., "subprocess.Popen[str]"]
Launch = Callable[..., Ros2Launch]


def is_held(status: ControllerStatus) -> bool:
    """Tell whether the arm is held, and nothing is wrong."""
    return bool(status.mode == ControllerStatus.HOLD)


@pytest.fixture
def launch(ros_domain: int, tmp_path: Path) -> Iterator[Launch]:
    """Start launch files with `ros2 launch`."""
    needs_ros2()
    started: list[Ros2Launch] = []

    def start(file: str, end: str = "interrupted", **arguments: str) -> Ros2Launch:
        started.append(Ros2Launch(file, end, tmp_path / f"output{len(started)}", **arguments))
        return started[-1]

    yield start
    for each in started:
        each.kill()


@pytest.fixture
def fakes(start_process: Start) -> Iterator[Callable[..., None]]:
    """Start fake robots, and end them."""
    started: list[subprocess.Popen[str]] = []

    def start(driver: str, namespace: str = "/lbr") -> None:
        words = ("-m", "contact_stack.cli", "fake", driver, "--namespace", namespace)
        started.append(start_process(sys.executable, *words))

    yield start
    for process in started:
        process.terminate()
        assert process.wait(20.0) == 0


def graphs() -> list[tuple[str, str, str]]:
    """Every launch file, with every driver that it can be told; all ways to end, in turns."""
    chosen = []
    for index, file in enumerate(sorted(path.name[:-11] for path in share("launch").iterdir())):
        told = {argument.name for argument in declared_arguments(find_launch_file(file))}
        many = "driver" in told and file != WITH_WRENCH
        for driver in () if file in OTHERS else PROFILES if many else ("lbr_fri",):
            for end in ENDS if file == "hardware" else (list(ENDS)[index % len(ENDS)],):
                chosen.append((file, driver, end))
    return chosen


@pytest.mark.parametrize(
    ("command", "code"), [("sh -c 'exit 3'", 3), ("sh -c 'kill -9 $$'", 137), ("sleep 60", 0)]
)
def test_our_command_gives_the_exit_code_of_what_failed(
    tmp_path: Path, start_process: Start, command: str, code: int
) -> None:
    needs_ros2()
    file = tmp_path / "one.launch.xml"
    file.write_text(f'<launch><executable cmd="{command}" output="screen"/></launch>')
    launched = start_process(sys.executable, "-m", "contact_stack.cli", "launch", str(file))
    if code == 0:
        next(line for line in launched.stdout if "process started" in line)
        time.sleep(1.0)  # within the first moment the launch loses its process
        launched.send_signal(signal.SIGINT)
    assert launched.wait(30.0) == code


@pytest.mark.parametrize(("file", "driver", "end"), graphs())
def test_a_launch_file_starts_its_nodes_and_leaves_nothing(
    launch: Launch,
    fakes: Callable[..., None],
    tmp_path: Path,
    file: str,
    driver: str,
    end: str,
) -> None:
    expectations = Path(__file__).parents[1] / "contact_stack/launch_expectations"
    arguments = yaml.safe_load((expectations / f"{file}.yaml").read_text()).get("arguments", {})
    told = {argument.name for argument in declared_arguments(find_launch_file(file))}
    asked = {**QUIET, "driver": driver}
    arguments |= {name: value for name, value in asked.items() if name in told}
    expected = {
        f"{node.namespace.rstrip('/')}/{node.name}"
        for node in parse(find_launch_file(file), arguments).nodes
    }
    if file in FAKED:
        fakes(driver)
    if file == "hardware":
        (tmp_path / "accepting.yaml").write_text(ACCEPTING)
        arguments["preflight_config"] = str(tmp_path / "accepting.yaml")
    graph = launch(file, end, **arguments)
    with GraphClient("listener") as client:

        def there() -> set[str]:
            found = client.node.get_node_names_and_namespaces()
            return {f"{namespace.rstrip('/')}/{name}" for name, namespace in found}

        graph.wait_until(lambda: expected <= there())
    graph.stop()


def test_two_robots_start_and_end_by_themselves(launch: Launch, fakes: Callable[..., None]) -> None:
    """One on each driver: who ends the one does not disturb the other."""
    graphs = {}
    for name, driver, end in (
        ("left", "lbr_fri", "interrupted"),
        ("right", "kuka_drivers", "terminated"),
    ):
        fakes(driver, f"/{name}")
        graphs[name] = launch("control", end, robot_name=name, driver=driver)
    for name in graphs:
        with GraphClient("listener", namespace=name) as client:
            client.wait_for(ControllerStatus, "controller_status", is_held, timeout=90.0)
    graphs["left"].stop()
    with GraphClient("listener", namespace="right") as client:
        for _ in range(3):
            assert is_held(client.wait_for(ControllerStatus, "controller_status"))
    graphs["right"].stop()


CONTROLLER = "/lbr/contact_aware_controller"
TRIGGER = "std_srvs/srv/Trigger"


@pytest.fixture
def tools(ros_domain: int) -> Iterator[Callable[..., str]]:
    """Run tools, which ask their daemon for the graph: on a busy machine others see it too late."""
    needs_ros2()
    ros2("daemon", "start")
    yield ros2
    ros2("daemon", "stop")


@pytest.mark.parametrize(
    ("file", "arguments"),
    [
        ("hardware", {"bringup": "false", "gripper_host": "127.0.0.1"}),
        ("sim", {"view": "false"}),
        ("planners", {}),
    ],
)
def test_tools_tell_of_every_node_and_its_parameters(
    launch: Launch, tools: Callable[..., str], file: str, arguments: dict[str, str]
) -> None:
    """These files start every node that is ours, but for the fake robot."""
    nodes = {f"/lbr/{node.name}" for node in parse(find_launch_file(file), arguments).nodes}
    graph = launch(file, **arguments)
    graph.wait_until(lambda: nodes <= set(tools("node", "list").split()))
    for node in sorted(nodes):
        assert "Publishers:" in tools("node", "info", node)
        names = tools("param", "list", node).split()
        assert "use_sim_time" in names
        assert f"{node}:" in tools("param", "dump", node)
        assert "value" in tools("param", "get", node, names[0])
        assert f"name: {names[0]}" in tools("param", "describe", node, names[0])
    graph.stop()


def test_tools_work_while_the_arm_is_held(
    launch: Launch, fakes: Callable[..., None], tools: Callable[..., str]
) -> None:
    fakes("lbr_fri")
    graph = launch("control", watchdog="true")
    with GraphClient("listener") as client:
        client.wait_for(ControllerStatus, "controller_status", is_held, timeout=90.0)
    # The tools' daemon hears of nodes in its own time.
    graph.wait_until(lambda: "/lbr/fake_robot" in tools("node", "list").split())
    assert "Publishers:" in tools("node", "info", "/lbr/fake_robot")

    assert "successful" in tools("param", "set", CONTROLLER, "force.limit", "25.0")
    assert "25.0" in tools("param", "get", CONTROLLER, "force.limit")
    assert "failed" in tools("param", "set", CONTROLLER, "force.limit", "-1.0")

    topics = dict(line.split() for line in tools("topic", "list", "-t").splitlines())
    assert topics["/lbr/controller_status"] == "[contact_stack_msgs/msg/ControllerStatus]"
    assert "Publisher count: 1" in tools("topic", "info", "-v", "/lbr/state")
    for topic in ("/lbr/controller_status", "/lbr/contacts", "/lbr/state", "/diagnostics"):
        assert tools("topic", "echo", "--once", topic).endswith("---\n"), topic

    assert f"{CONTROLLER}/stop [{TRIGGER}]" in tools("service", "list", "-t")
    for name in ("stop", "reset", "resume"):
        assert "Trigger_Response" in tools("service", "call", f"{CONTROLLER}/{name}", TRIGGER)

    actions = dict(line.split() for line in tools("action", "list", "-t").splitlines())
    assert f"{CONTROLLER}/follow_joint_trajectory" in actions
    for name in actions:
        assert "Action servers: 1" in tools("action", "info", name), name
    guide, kind = "/lbr/hand_guide", actions["/lbr/hand_guide"].strip("[]")
    done = tools("action", "send_goal", guide, kind, "{duration: 0.5}")
    assert "Goal finished with status" in done

    assert tools("lifecycle", "nodes").split() == [CONTROLLER]
    for transition, state in (("deactivate", "inactive"), ("activate", "active")):
        assert "successful" in tools("lifecycle", "set", CONTROLLER, transition)
        assert tools("lifecycle", "get", CONTROLLER).startswith(state)
    assert "deactivate" in tools("lifecycle", "list", CONTROLLER)
    graph.stop()
    for kind in {*topics.values(), *actions.values()}:
        assert ros2("interface", "show", kind.strip("[]")), kind
