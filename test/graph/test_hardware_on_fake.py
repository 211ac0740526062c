"""hardware.md line by line, from the first state to a motion, on the fake of each driver."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from browser import Browser
from contact_stack_msgs.action import FollowPoseTrajectory
from contact_stack_msgs.msg import ControllerStatus, PoseTrajectoryPoint
from docs_blocks import FENCED, REPOSITORY
from geometry_msgs.msg import Vector3
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from page import visit
from rcl_interfaces.srv import SetParameters
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from contact_core.base.files import share
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_experiments.fake import DRIVERS
from contact_ros.client import GraphClient
from contact_ros.geometry import to_pose

Start = Callable[..., "subprocess.Popen[str]"]
CLI = (sys.executable, "-m", "contact_stack.cli")
PAGE = REPOSITORY / "docs/hardware.md"
CHECKS = ("state rate", "joints", "limits", "tare", "payload", "weight", "torque sign", "stiffness")
ATTEMPTS = 2
"""On a busy machine a state may be late, and the arm is held."""

pytestmark = [pytest.mark.graph, pytest.mark.verify]


def short_way_down() -> FollowPoseTrajectory.Goal:
    """A goal 3 mm below where the fake robot starts."""
    description = RobotDescription.load("iiwa14_wsg50")
    robot = Robot.from_description(description)
    robot.update(np.array(description.joints.home))
    point = PoseTrajectoryPoint(
        time_from_start=Duration(seconds=2.0).to_msg(), pose=to_pose(robot.tool_pose())
    )
    point.pose.position.z -= 0.003
    goal = FollowPoseTrajectory.Goal()
    goal.trajectory.points = [point]
    return goal


class Reader:
    """A person who has the page, and a checkout."""

    def __init__(self, folder: Path, start_process: Start, driver: str) -> None:
        self.folder, self.client = folder, GraphClient("hand")
        self._start, self._driver = start_process, driver
        self.log = folder / "launch.log"
        self.log.touch()
        (folder / "config").symlink_to(share("config"))

    def type(self, line: str) -> None:
        """Do what a line of the page says, for the driver of this reader."""
        line = line.replace("fake lbr_fri", f"fake {self._driver}")
        line = line.replace("driver:=lbr_fri", f"driver:={self._driver.rstrip('2')}")
        match shlex.split(line.rstrip("& ")):
            case ["sed", *_]:
                subprocess.run(line, shell=True, cwd=self.folder, check=True)
            case ["contact-stack", "fake", *words]:
                by_hand = ["--by-hand"] if self._driver == "kuka_drivers" else []
                self.robot = self._start(*CLI, "fake", *words, *by_hand)
            case ["contact-stack", "launch", *words]:
                launch = shlex.join([*CLI, "launch", *words])
                self.launch = self._start(
                    *("bash", "-c", f"cd {self.folder}; exec {launch} > {self.log} 2>&1")
                )
            case ["ros2", "topic", "pub", "--once", topic, "geometry_msgs/msg/Vector3", *values]:
                self._publish(topic, yaml.safe_load(values[0]) if values else {})
            case ["ros2", "param", "set", node, name, value]:
                self._set(node, name, yaml.safe_load(value))
            case ["ros2", "lifecycle", "set", node, transition]:
                self._change(node, transition)
            case _:
                raise AssertionError(f"who could follow this: {line}")

    def until(self, text: str, patience: float = 90.0) -> bool:
        """Wait until the launch says something; return whether it has."""
        end = time.monotonic() + patience
        while text not in self.log.read_text():
            assert self.launch.poll() is None, self.log.read_text()
            if time.monotonic() > end:
                return False
            time.sleep(0.2)
        return True

    def _publish(self, topic: str, values: dict[str, float]) -> None:
        """Do as `ros2 topic pub --once`, and let it be so for a second."""
        hand = self.client.node.create_publisher(Vector3, topic, 1)
        self.client.wait_until(hand.get_subscription_count, problem="nobody listens")
        hand.publish(Vector3(**values))
        time.sleep(1.0)

    def _set(self, node: str, name: str, value: Any) -> None:
        """Do as `ros2 param set`."""
        parameter = Parameter(name, value=value).to_parameter_msg()
        request = SetParameters.Request(parameters=[parameter])
        (result,) = self.client.call(SetParameters, f"{node}/set_parameters", request).results
        assert result.successful, result.reason

    def _change(self, node: str, transition: str) -> None:
        """Do as `ros2 lifecycle set`."""
        request = ChangeState.Request(transition=Transition(label=transition))
        assert self.client.call(ChangeState, f"{node}/change_state", request).success


def section(title: str) -> list[str]:
    """Return the lines of the shell of a section of the page."""
    text = FENCED.sub("", PAGE.read_text()).split(f"## {title}\n")[1].split("\n## ")[0]
    return [line[4:] for line in text.splitlines() if line.startswith("    ")]


def moves(client: GraphClient) -> bool:
    """Tell whether a goal succeeds; on a busy machine states are late or lost: the arm is held."""
    result = client.run(
        FollowPoseTrajectory, "follow_pose_trajectory", short_way_down(), timeout=30.0
    )
    if result.error_string:
        print(result.error_string)
        for service in ("reset", "resume"):
            client.call(Trigger, f"contact_aware_controller/{service}", Trigger.Request())
    return not result.error_string


@pytest.fixture(params=DRIVERS)
def reader(
    request: pytest.FixtureRequest, start_process: Start, tmp_path: Path
) -> Iterator[Reader]:
    """Somebody with a fake robot in the place of each driver."""
    reader = Reader(tmp_path, start_process, request.param)
    with reader.client:
        yield reader
    processes = (reader.launch, reader.robot)
    for process in processes:
        process.send_signal(signal.SIGINT)
    assert [process.wait(20.0) for process in processes] == [0, 0]


def test_the_page_leads_to_an_arm_that_moves(reader: Reader) -> None:
    *before, first, second, third = section("Without an arm")
    for line in before:
        reader.type(line)
    if reader.robot.args[-1] == "--by-hand":
        # The first of the section is a command of the doctor.
        for line in section("What the drivers need")[1:]:
            reader.type(line)
    assert reader.until("PUSH"), reader.log.read_text()
    status = reader.client.wait_for(ControllerStatus, "controller_status")
    assert status.mode == ControllerStatus.INACTIVE
    for _ in range(ATTEMPTS):
        for line in (first, second, third):
            reader.type(line)
        if reader.until("is active", 5.0):
            break
    said = reader.log.read_text()
    for check in CHECKS:
        assert f"OK    {check}: " in said, said
    reader.client.wait_for(
        ControllerStatus, "controller_status", lambda s: s.mode == ControllerStatus.HOLD
    )
    assert any(moves(reader.client) for _ in range(ATTEMPTS))
    look_at_the_page(reader)


def look_at_the_page(reader: Reader) -> None:
    """See the arm where it is, and the controller's state, whatever the driver calls its joints."""
    address = re.search(r"live page at (http://\S+)", reader.log.read_text())
    assert address is not None
    description = RobotDescription.load("iiwa14_wsg50")
    robot = Robot.from_description(description)
    robot.update(np.array(description.joints.home))
    last = visit(address[1], 3.0).poses["/robot/lbr_A7"]
    np.testing.assert_allclose(
        last.translation, robot.link_pose("lbr_link_7").translation, atol=0.02
    )
    with Browser() as browser:
        browser.do("open", address=address[1])
        browser.do("wait", text="HOLD", seconds=60)
        browser.picture(Path(f"out/test/page/hardware_{reader.robot.args[4]}.png"))
        assert browser.do("errors") == []
