"""Whether a simulator stands in the robot's place: it says so beside the driver's topics.

The driver's messages are the hardware's own, and do not tell. So a simulator also publishes a topic
that no driver has; that it is there is enough, and no message of it has to arrive.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.node import Node
from rclpy.publisher import Publisher
from std_msgs.msg import String

from contact_ros.driver_profile import DriverProfile
from contact_ros.qos import LATCHED

TOPIC = "simulated_robot"

PERIOD = 0.5
"""How often the graph is looked at [s]."""


def announce_simulator(node: Node, profile: DriverProfile, what: str) -> Publisher:
    """Say that this node is no robot; to be called before it publishes a state.

    Args:
        node: The simulator's node.
        profile: The driver it plays.
        what: What it simulates, for a person.

    Returns:
        The publisher, to be kept.
    """
    publisher = node.create_publisher(String, profile.topic(TOPIC), LATCHED)
    publisher.publish(String(data=what))
    return publisher


class RobotIdentity:
    """Tells a node that is for a real robot whether a simulator answers."""

    def __init__(
        self,
        node: Node,
        profile: DriverProfile,
        wanted: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare.

        Args:
            node: The node.
            profile: Its driver.
            wanted: Whether only a real robot will do.
            clock: A steady clock [s].
        """
        self._node = node
        self._topic = profile.topic(TOPIC)
        self._wanted = wanted
        self._clock = clock
        self._looked: float | None = None
        self._simulated = False

    @property
    def wrong(self) -> bool:
        """Whether a simulator is in the place of the robot that is wanted, or beside it."""
        if self._wanted and (self._looked is None or self._clock() - self._looked >= PERIOD):
            self._looked = self._clock()
            self._simulated = self._node.count_publishers(self._topic) > 0
        return self._simulated
