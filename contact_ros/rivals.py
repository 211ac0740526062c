"""Who else publishes what only one node of a graph should."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from rclpy.node import Node

from contact_ros.diagnostics import Health, Level
from contact_ros.stamps import steady_timer

PERIOD = 0.5
"""How often the graph is looked at [s]."""

UNKNOWN = "_NODE_NAME_UNKNOWN_"
"""In place of a node's name where rclpy does not know it, or not any more."""


def publishers(node: Node, topic: str) -> list[str]:
    """Return the full names of the nodes that publish a topic, sorted; one for each publisher.

    Args:
        node: Who asks.
        topic: The topic, before it is remapped.
    """
    return sorted(
        f"{info.node_namespace.rstrip('/')}/{info.node_name}"
        for info in node.get_publishers_info_by_topic(node.resolve_topic_name(topic))
    )


class RivalReport:
    """A warning in a node's log and report, for as long as somebody else does its work, too.

    Attributes:
        problem: Who does what, and the remedy; empty for nobody.
    """

    def __init__(self, node: Node) -> None:
        """Know of nobody.

        Args:
            node: Who warns.
        """
        self.problem = ""
        self._logger = node.get_logger()

    def change(self, problem: str) -> None:
        """Take over what is wrong now; the log says it once."""
        if problem and problem != self.problem:
            self._logger.warning(problem)
        self.problem = problem

    def report(self, health: Health) -> Health:
        """Add what is wrong to the node's report."""
        if not self.problem:
            return health
        values = {**health.values, "rivals": self.problem}
        if health.level is Level.OK:
            return Health(Level.WARN, self.problem, values)
        return dataclasses.replace(health, values=values)


class SolePublisher(RivalReport):
    """Says so where another node publishes a topic of which this one should be the only one."""

    def __init__(self, node: Node, remedies: Mapping[str, str]) -> None:
        """Look again and again, in the executor's thread.

        Args:
            node: The node; it publishes each of the topics once.
            remedies: Topic -> what to do about a second publisher.
        """
        super().__init__(node)
        self._node, self._remedies = node, remedies
        self._timer = steady_timer(node, PERIOD, self._update)

    def _update(self) -> None:
        problems = []
        for topic, remedy in self._remedies.items():
            names = publishers(self._node, topic)
            if len(names) > 1:
                name = self._node.resolve_topic_name(topic)
                problems.append(f"{name} is published by {' and '.join(names)}: {remedy}")
        self.change("; ".join(problems))
