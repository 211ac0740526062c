"""The node behind the live page: it listens to the graph, and asks it what a person wants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from contact_stack_msgs.msg import Contact, ContactArray, ControllerStatus
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from contact_aware_control.config import ControllerConfig
from contact_core.arm_state import ArmState
from contact_core.config import nested, parameter
from contact_core.description import read_urdf
from contact_core.errors import choices
from contact_core.robot import HELD_OBJECT, Robot
from contact_core.scene import Scene
from contact_ros.border import (
    LARGEST_FORCE,
    LARGEST_POSITION,
    MOST_NAMES,
    MessageError,
    at_most,
    named_numbers,
    number,
    numbers,
    vector,
)
from contact_ros.diagnostics import Diagnostics
from contact_ros.driver_profile import DriverConfig, StateReader, driver_profile
from contact_ros.entry_point import run
from contact_ros.geometry import quaternion_to_array
from contact_ros.guarded_node import GuardedNode
from contact_ros.identity import SIMULATED_TOPIC, RobotNodeConfig, announce_robot
from contact_ros.parameters import read
from contact_ros.qos import LATCHED, signal_subscription
from contact_stack.viewer.commands import GraphCommands
from contact_stack.viewer.page import Page, Snapshot

MODES = {
    ControllerStatus.INACTIVE: "INACTIVE",
    ControllerStatus.HOLD: "HOLD",
    ControllerStatus.TRACKING: "TRACKING",
    ControllerStatus.CONSERVATIVE: "CONSERVATIVE",
    ControllerStatus.FAULT: "FAULT",
}


LOCAL = ("127.0.0.1", "localhost", "::1")
"""Hosts that nobody else reaches."""


@dataclass(frozen=True)
class ViewerConfig(RobotNodeConfig):
    """The live page in the browser."""

    driver: str = parameter("lbr_fri", "driver profile the robot or simulator speaks")
    arm: DriverConfig = nested(DriverConfig)
    host: str = parameter("127.0.0.1", "address the page listens on")
    port: int = parameter(
        8080, "port of the page; the next free one if it is taken", low=1024, high=65535
    )
    rate: float = parameter(30.0, "how often the page is brought up to date", unit="Hz",
                            low=1.0, high=60.0)  # fmt: skip
    history: float = parameter(15.0, "time shown in the plots", unit="s", low=1.0, high=120.0)
    commands: bool = parameter(
        True, "offer buttons and links to drag, where a simulator is heard and the host is local"
    )


class ViewerNode(GuardedNode):
    """Keep the latest of every topic and draw it at the page's rate."""

    def __init__(self) -> None:
        """Open the page and print its address.

        Raises:
            ContactStackError: If a parameter, the robot or the scene is wrong.
        """
        super().__init__("viewer")
        config = read(self, ViewerConfig)
        self._now = Snapshot(force_limit=ControllerConfig().force.limit)
        self._first: int | None = None
        objects = Scene.load(config.scene).objects if config.scene else {}
        # What can be held is part of the robot's load, not of its environment.
        self._movable = {name for name, item in objects.items() if item.free}
        robot = config.description()
        self._announcement = announce_robot(self, robot)
        self._page = Page(
            robot.urdf,
            {name: read_urdf(item.urdf) for name, item in objects.items()},
            config.host,
            config.port,
            history=math.ceil(config.history * config.rate),
        )
        # In any mode the latest sample is enough: the page is no participant.
        latest = signal_subscription(lockstep=False)
        heard = [
            self.create_subscription(message_type, topic, callback, latest)
            for message_type, topic, callback in (
                (JointState, "gripper/joint_states", self._gripper),
                (TFMessage, "truth/objects", self._objects),
                (ContactArray, "truth/contacts", self._true_contacts),
                (ContactArray, "contacts", self._estimated_contacts),
                (ControllerStatus, "controller_status", self._status),
            )
        ]
        # The driver's names of the joints need not be those of our description.
        self._arm_joints = robot.arm_joints
        profile = driver_profile(
            config.driver, config.arm, None, robot.arm_joints, self.get_namespace()
        )
        self._reader = StateReader(self, profile, lockstep=False, on_state=self._arm)
        self.poll(config.rate, *heard, *self._reader.pollable)
        self._robot = robot
        self._links = (*Robot.from_description(robot).link_names, HELD_OBJECT)
        self._offered = not config.commands or config.host not in LOCAL
        self._simulator = self.create_subscription(
            String, profile.topic(SIMULATED_TOPIC), self._simulated, LATCHED
        )
        self._diagnostics = Diagnostics(self, self._reader.health)
        self.create_timer(
            1.0 / config.rate,
            lambda: self._page.draw(self._now),
            clock=Clock(clock_type=ClockType.STEADY_TIME),
        )
        self.get_logger().info(f"live page at {self._page.address}")

    def close(self) -> None:
        """Close the page."""
        self._page.close()

    def _simulated(self, message: String) -> None:
        """Offer commands: what moves is no robot."""
        if self._offered:
            return
        self._offered = True
        robot, page = self._robot, self._page
        commands = GraphCommands(self, robot.base_link, robot.open_position, page.say)
        page.offer(commands, robot.tool_link, self._links, ControllerConfig().force.limit)

    def _arm(self, state: ArmState) -> None:
        # The driver's clock may count from 1970, which nobody can read off an axis.
        if self._first is None:
            self._first = state.stamp
        self._now.time = 1e-9 * (state.stamp - self._first)
        arm = zip(self._arm_joints, state.position.tolist(), strict=True)
        self._now.joints = {**self._now.joints, **dict(arm)}

    def _gripper(self, message: JointState) -> None:
        moved = named_numbers(message.name, message.position, "position", LARGEST_POSITION)
        joints = {**self._now.joints, **moved}
        at_most(joints, MOST_NAMES, "joints")
        self._now.joints = joints

    def _objects(self, message: TFMessage) -> None:
        self._now.objects = {
            frame.child_frame_id: (
                vector(frame.transform.translation, "translation", LARGEST_POSITION),
                numbers(quaternion_to_array(frame.transform.rotation).tolist(), "rotation", 1.01),
            )
            for frame in message.transforms
        }

    def _true_contacts(self, message: ContactArray) -> None:
        contacts = [c for c in message.contacts if c.other not in self._movable]
        self._now.true_points, self._now.true_forces = _points_and_forces(contacts)

    def _estimated_contacts(self, message: ContactArray) -> None:
        contacts = message.contacts
        self._now.estimated_points, self._now.estimated_forces = _points_and_forces(contacts)
        self._now.felt = [
            f"feels **{np.linalg.norm(force):.1f} N** at {self._called(contact.link)}"
            + ("" if contact.identifiable else ", or elsewhere")
            for contact, force in zip(contacts, self._now.estimated_forces, strict=True)
        ]

    def _called(self, link: str) -> str:
        """Return a link's name as it is shown; a sender may call it anything."""
        return link if link in self._links else "a link that this robot does not have"

    def _status(self, message: ControllerStatus) -> None:
        if message.mode not in MODES:
            raise MessageError(f"mode is {message.mode} ({choices(MODES)})")
        limits = numbers(message.force_limit, "force_limit", LARGEST_FORCE)
        self._now.force_limit = max(limits.tolist(), default=self._now.force_limit)
        self._now.position_error = _error(message, "position_error")
        self._now.rotation_error = _error(message, "rotation_error")
        self._now.state = MODES[message.mode]
        self._now.remedy = message.remedy


def _points_and_forces(contacts: Sequence[Contact]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    at_most(contacts, MOST_NAMES, "contacts")
    return (
        [vector(contact.point, "point", LARGEST_POSITION) for contact in contacts],
        [vector(contact.force, "force", LARGEST_FORCE) for contact in contacts],
    )


def _error(message: ControllerStatus, field: str) -> float:
    """Return an error of the status, NaN where there is no reference."""
    value = float(getattr(message, field))
    return value if math.isnan(value) else number(value, field, 0.0, LARGEST_POSITION)


def main() -> int:
    """Run the viewer.

    Returns:
        The exit code.
    """
    return run(ViewerNode)
