"""Who else publishes what only one node of a graph should."""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from rclpy.node import Node

from contact_ros.diagnostics import Health, Level
from contact_ros.stamps import steady_timer, to_nanoseconds

PERIOD = 0.5
"""How often the graph is looked at [s]."""

MAX_STAMPS = 1000
"""So many of the latest stamps of a topic are looked at."""

LEAST_JUMP, SAME_PLACE = 5e-3, 0.5
"""A jump is larger than this, and than what coarse encoders flicker by [rad, m]; what comes back is
within this share of the jump from where it was."""

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


class StampOrder:
    """How the stamps of one topic follow each other; those of two sources interleave."""

    def __init__(self, repeats: bool = True) -> None:
        """Start without a message.

        Args:
            repeats: Whether one source may repeat a stamp, as a hung driver does.
        """
        self._repeats = repeats
        self._last: int | None = None
        self._steps: deque[float] = deque(maxlen=MAX_STAMPS)

    def heard(self, message: Any) -> float:
        """Take note of a message; one without a header tells nothing.

        Args:
            message: The message.

        Returns:
            By how much its stamp is newer than that of the last one [s]; inf if it does not say.
        """
        if not hasattr(message, "header"):
            return math.inf
        stamp = to_nanoseconds(message.header.stamp)
        last, self._last = self._last, stamp
        if last is None:
            return math.inf
        self._steps.append(1e-9 * (stamp - last))
        return self._steps[-1]

    def interleaved(self, shortest: float) -> bool:
        """Tell whether more than a few were too close, or went back, of late.

        Args:
            shortest: Time between two messages of one source [s].
        """
        # Messages may be heard in another thread meanwhile; a copy is made in one go.
        steps = list(self._steps)
        odd = sum(step < shortest and not (self._repeats and step == 0.0) for step in steps)
        return odd > max(2, 0.1 * len(steps))

    def forget(self) -> None:
        """Look at later messages only."""
        self._steps.clear()


class PositionOrder:
    """How the positions of some joints follow each other; those of two sources go there and back.

    It needs no stamps: a relay copies them, and few messages of another source hardly show among
    the many of a driver.
    """

    def __init__(self) -> None:
        """Start without a message."""
        self._last = self._left = np.full(1, np.nan)
        self._returns = [-math.inf] * 3

    def heard(self, positions: np.ndarray, now: float) -> None:
        """Take note of where the joints are said to be.

        Args:
            positions: (n) [rad, m].
            now: When that is heard [s].
        """
        step = np.abs(positions - self._last).max(initial=0.0)
        if step > LEAST_JUMP:
            if np.abs(positions - self._left).max() < SAME_PLACE * step:
                self._returns = [*self._returns[1:], now]
            self._left = self._last
        self._last = positions

    def mixed(self, now: float) -> bool:
        """Tell whether that was more than a mistake, of late.

        Args:
            now: The time [s].
        """
        return now - self._returns[0] < PERIOD


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
