"""A node that tests use to listen to the graph and to send goals."""

from __future__ import annotations

import io
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import rclpy
import yaml
from contact_stack_msgs.action import FollowPoseTrajectory
from contact_stack_msgs.msg import ContactArray, ControllerStatus
from control_msgs.action import FollowJointTrajectory, ParallelGripperCommand
from diagnostic_msgs.msg import DiagnosticArray
from own_domain import own_domain
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import qos_profile_sensor_data
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from contact_core.base.files import share
from contact_ros.stamps import NANOSECONDS, to_nanoseconds
from contact_stack.launch import NodeGraph, find_launch_file, parse

REPOSITORY = Path(__file__).resolve().parents[2]

TOPICS = {
    "truth/joint_states": JointState,
    "truth/contacts": ContactArray,
    "contacts": ContactArray,
    "controller_status": ControllerStatus,
    "gripper/joint_states": JointState,
    "/diagnostics": DiagnosticArray,
}


NODES = ("tamsi_sim", "contact_estimator", "contact_aware_controller")
"""Of `sim.launch.xml`, in the order of their start."""


RATE = 50.0
"""Of graphs [Hz]: a quarter of the usual, so that a slow or busy machine keeps up."""

FULL_RATE = 200.0
"""Of those that a test takes the time of [Hz]."""


def at_rate(rate: float, folder: Path, arguments: dict[str, str]) -> dict[str, str]:
    """Have a graph tick at a rate.

    Args:
        rate: Ticks per second [Hz].
        folder: Where to write its scene and its controller's parameters.
        arguments: Of ``sim.launch.xml``.

    Returns:
        The arguments with these files; as they are where the scene is a file.
    """
    name = arguments.get("scene", "mug_placement")
    if name.endswith(".yaml"):
        return arguments
    scene = share("config", "scenes", f"{name}.yaml")
    values = yaml.safe_load(scene.read_text())
    values["period"] = 1.0 / rate
    (folder / scene.name).write_text(yaml.safe_dump(values))
    controller = controller_at(rate, folder, "contact_aware_controller")
    return {**arguments, "scene": str(folder / scene.name), "controller_config": controller}


def controller_at(rate: float, folder: Path, config: str) -> str:
    """Write one of our parameter files for a controller of that rate [Hz]; return where it is."""
    values = yaml.safe_load(share("config", f"{config}.yaml").read_text())
    parameters = values["/**/contact_aware_controller"]["ros__parameters"]
    parameters |= {"rate": rate, "safety.contacts_timeout": 10.0 / rate}
    (folder / f"{config}.yaml").write_text(yaml.safe_dump(values))
    return str(folder / f"{config}.yaml")


class GraphClient:
    """Keeps every message of the topics above, with its arrival time.

    Attributes:
        node: The node of the test.
        heard: Arrival time [s] and message, by topic.
        pids: Process of each node of the graph, where :func:`shared_graph` has started that.
        output: What its nodes print.
        logs: Folder of its logs and incident records.
    """

    def __init__(self) -> None:
        """Join the graph in namespace lbr."""
        # Of its own, so that there may be one for a file and another one for a test.
        self._context = Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node("test_client", namespace="lbr", context=self._context)
        self.pids: dict[str, int] = {}
        self.output = io.StringIO()
        self.logs = Path()
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.heard: dict[str, list[tuple[float, Any]]] = {topic: [] for topic in TOPICS}
        for topic, message_type in TOPICS.items():
            self.node.create_subscription(
                message_type,
                topic,
                lambda message, topic=topic: self.heard[topic].append((time.monotonic(), message)),
                qos_profile_sensor_data,
            )
        self.pose = ActionClient(self.node, FollowPoseTrajectory, "follow_pose_trajectory")
        self.joints = ActionClient(self.node, FollowJointTrajectory, "follow_joint_trajectory")
        self.gripper = ActionClient(self.node, ParallelGripperCommand, "gripper")

    def runs(self) -> bool:
        """Tell whether no node of the graph has died."""
        return all(Path(f"/proc/{pid}/exe").exists() for pid in self.pids.values())

    def close(self) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()

    def latest(self, topic: str) -> Any:
        """Return the latest message of a topic, None if there was none."""
        return self.heard[topic][-1][1] if self.heard[topic] else None

    def spin_until(self, condition: Callable[[], Any], timeout: float = 60.0) -> Any:
        """Handle messages until a condition is truthy, and return its value."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            value = condition()
            if value:
                return value
            self._executor.spin_once(timeout_sec=0.05)
        raise TimeoutError(f"the condition did not come true within {timeout} s")

    def spin_for(self, duration: float) -> None:
        """Handle messages for a while."""
        end = time.monotonic() + duration
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.05)

    def wait_simulated(self, duration: float) -> None:
        """Handle messages until that much simulated time has passed; a busy machine is slow."""
        end = self.stamp() + round(duration * NANOSECONDS)
        self.spin_until(lambda: self.stamp() >= end, 60.0)

    def stamp(self) -> int:
        """Return the time of the latest state of the simulation [ns]."""
        return to_nanoseconds(self.latest("truth/joint_states").header.stamp)

    def wait_until_ready(self, gripper: bool = True) -> None:
        """Wait until all servers are found, the arm is held and the estimator has tared."""
        self.spin_until(self.pose.server_is_ready, 60.0)
        self.spin_until(self.joints.server_is_ready)
        if gripper:
            self.spin_until(self.gripper.server_is_ready)
        self.spin_until(
            lambda: (
                self.latest("controller_status")
                and self.latest("controller_status").mode == ControllerStatus.HOLD
                and self.latest("contacts")
                and self.latest("contacts").state != ContactArray.UNTARED
                and self.latest("truth/joint_states")
            )
        )

    def send(self, client: ActionClient, goal: Any) -> Any:
        """Send a goal that is expected to be accepted; return its handle."""
        future = client.send_goal_async(goal)
        self.spin_until(future.done)
        assert future.result().accepted
        return future.result()

    def result(self, client: ActionClient, goal: Any, timeout: float = 60.0) -> Any:
        """Send a goal and return its result."""
        future = self.send(client, goal).get_result_async()
        self.spin_until(future.done, timeout)
        return future.result().result

    def call(self, service_type: Any, name: str, request: Any) -> Any:
        """Call a service."""
        client = self.node.create_client(service_type, name)
        self.spin_until(client.service_is_ready)
        future = client.call_async(request)
        self.spin_until(future.done)
        return future.result()


@contextmanager
def shared_graph(driver: str, gripper: bool = True, **arguments: str) -> Iterator[GraphClient]:
    """Start ``sim.launch.xml`` in a domain of its own, for several tests; it is ready.

    Args:
        driver: The driver profile.
        gripper: Whether the scene has one.
        **arguments: Of the launch file; nobody watches unless that is said.
    """
    with (
        own_domain() as environment,
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory() as folder,
    ):
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setenv("PYTHONPATH", str(REPOSITORY), prepend=os.pathsep)
        patch.setenv("ROS_LOG_DIR", folder)
        words = {"view": "false", "frames": "false", "driver": driver}
        words |= at_rate(RATE, Path(folder), arguments)
        output = io.StringIO()
        with NodeGraph(parse(find_launch_file("sim"), words), output) as graph:
            client = GraphClient()
            try:
                client.wait_until_ready(gripper)
                client.output, client.logs = output, Path(folder)
                client.pids = dict(zip(NODES, graph.pids, strict=False))
                yield client
            finally:
                client.close()
