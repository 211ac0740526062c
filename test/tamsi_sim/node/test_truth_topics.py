"""The ground truth costs nothing where nobody asks for it."""

from __future__ import annotations

from typing import Any

import pytest
from builtin_interfaces.msg import Time

from contact_core.robot.scene import Scene
from tamsi_sim.node.truth_topics import TruthTopics
from tamsi_sim.robot.plant import Plant


class Publisher:
    """Stands in for a publisher of ROS."""

    def __init__(self, listeners: int) -> None:
        self.listeners, self.messages = listeners, 0

    def get_subscription_count(self) -> int:
        return self.listeners

    def publish(self, message: Any) -> None:
        self.messages += 1


class Node:
    """Stands in for a node; some of its topics have listeners."""

    def __init__(self, heard: tuple[str, ...]) -> None:
        self.heard, self.publishers = heard, list[Publisher]()

    def create_publisher(self, kind: type, topic: str, quality: Any) -> Publisher:
        self.publishers.append(Publisher(int(topic in self.heard)))
        return self.publishers[-1]


@pytest.fixture(scope="module")
def plant() -> Plant:
    return Plant(Scene.load("free_space"))


@pytest.mark.parametrize(
    ("lockstep", "heard", "published"),
    [
        (False, (), 0),
        (False, ("truth/objects",), 3),
        # A late participant gets the past ticks as well.
        (True, (), 3),
    ],
)
def test_truth_is_published_to_those_who_listen(
    plant: Plant, lockstep: bool, heard: tuple[str, ...], published: int
) -> None:
    node = Node(heard)
    TruthTopics(node, "world", lockstep).publish(plant, Time())  # type: ignore[arg-type]
    assert sum(publisher.messages for publisher in node.publishers) == published
