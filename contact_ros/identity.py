"""Which robot this is: the parameters that name it, and whether all nodes mean the same one.

Every node that has read a robot's file says so by its fingerprint, on a latched topic. Who commands
the arm compares: a node that means another robot is named, and the arm is not commanded.

The driver's messages are the hardware's own, and do not tell whether a simulator stands in the
robot's place. So a simulator also publishes a topic that no driver has; that it is there is enough,
and no message of it has to arrive. Whether it is paused it says on another one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from rclpy.node import Node
from rclpy.publisher import Publisher
from std_msgs.msg import String

from contact_core.base.config import parameter
from contact_core.base.errors import ConfigError
from contact_core.robot.description import RobotDescription
from contact_core.robot.scene import Scene
from contact_ros.driver_profile import DriverProfile
from contact_ros.qos import LATCHED, LATCHED_BY_MANY
from contact_ros.validation import MessageError, at_most

CONTROLLER = "contact_aware_controller"
"""Name of the node that commands the arm."""

SIMULATED_TOPIC = "simulated_robot"
PAUSED_TOPIC = "simulation_paused"
FINGERPRINT_TOPIC = "robot_fingerprint"

PERIOD = 0.5
"""How often the graph is looked at [s]."""

ANNOUNCEMENT = re.compile(r"(\w{1,256}) ([0-9a-f]{12}) ([^\n]{1,256})")
"""Node, fingerprint and name of its robot."""


@dataclass(frozen=True)
class RobotNodeConfig:
    """A node that knows the robot."""

    robot: str = parameter(
        "", "the robot, a file of config/robots or a path; empty: that of the scene"
    )
    scene: str = parameter(
        "", "the scene that is simulated, a file of config/scenes or a path; empty on a real robot"
    )

    def description(self) -> RobotDescription:
        """Read the robot.

        Raises:
            ConfigError: If neither robot nor scene is set, or a file is missing or invalid.
            ModelError: If the robot's parts do not fit together.
        """
        if self.robot:
            return RobotDescription.load(self.robot)
        if self.scene:
            return Scene.load(self.scene).robot
        raise ConfigError(
            "which robot? set the parameter robot, or scene for the one that is simulated"
        )


def announce_simulator(node: Node, profile: DriverProfile, what: str) -> Publisher:
    """Say that this node is no robot; to be called before it publishes a state.

    Args:
        node: The simulator's node.
        profile: The driver it plays.
        what: What it simulates, for a person.

    Returns:
        The publisher, to be kept.
    """
    publisher = node.create_publisher(String, profile.topic(SIMULATED_TOPIC), LATCHED)
    publisher.publish(String(data=what))
    return publisher


def announce_robot(node: Node, description: RobotDescription) -> Publisher:
    """Say which robot this node means.

    Args:
        node: The node.
        description: Its robot.

    Returns:
        The publisher, to be kept.
    """
    publisher = node.create_publisher(String, FINGERPRINT_TOPIC, LATCHED)
    publisher.publish(
        String(data=f"{node.get_name()} {description.fingerprint} {description.name}")
    )
    return publisher


class RobotIdentity:
    """Tells whoever is to command the arm that it is not the robot that is meant."""

    def __init__(
        self,
        node: Node,
        profile: DriverProfile,
        description: RobotDescription,
        real: bool,
        clock: Callable[[], float] = time.monotonic,
        announce: bool = True,
    ) -> None:
        """Announce the robot, and listen to which one the others mean.

        Args:
            node: The node.
            profile: Its driver.
            description: Its robot.
            real: Whether only a real robot will do.
            clock: A steady clock [s].
            announce: Whether to; who is only to ask stops nobody else.
        """
        self._node = node
        self._topic = profile.topic(SIMULATED_TOPIC)
        self._robot = description
        self._real = real
        self._clock = clock
        self._looked: float | None = None
        self._simulated = False
        self._others: dict[str, str] = {}
        self._announcement = announce_robot(node, description) if announce else None
        self._subscription = node.create_subscription(
            String, FINGERPRINT_TOPIC, self._announced, LATCHED_BY_MANY
        )

    @property
    def problem(self) -> str:
        """What is wrong, in words; empty if this is the robot that is meant."""
        if self._looked is None or self._clock() - self._looked >= PERIOD:
            self._looked = self._clock()
            self._simulated = self._real and self._node.count_publishers(self._topic) > 0
            self._forget_who_has_gone()
        if self._simulated:
            return "a simulator answers where a real robot was asked for"
        return next(iter(self._others.values()), "")

    def _forget_who_has_gone(self) -> None:
        if self._others:
            topic = self._node.resolve_topic_name(FINGERPRINT_TOPIC)
            there = {i.node_name for i in self._node.get_publishers_info_by_topic(topic)}
            self._others = {who: what for who, what in self._others.items() if who in there}

    def _announced(self, message: String) -> None:
        found = ANNOUNCEMENT.fullmatch(message.data)
        if found is None:
            raise MessageError("not of the form: node, twelve hexadecimal digits, robot")
        who, fingerprint, name = found.groups()
        self._others.pop(who, None)
        if fingerprint != self._robot.fingerprint:
            at_most(self._others, 10, "nodes that mean another robot")
            self._others[who] = (
                f"{who} means robot {name} ({fingerprint}), {self._node.get_name()} means "
                f"{self._robot.name} ({self._robot.fingerprint})"
            )
