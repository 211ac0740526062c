"""A node's report on /diagnostics, and what it watches: ages of signals, clocks of others."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol, runtime_checkable

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from contact_ros.qos import DIAGNOSTICS
from contact_ros.stamps import steady_timer, to_nanoseconds

PERIOD = 1.0
"""Period of the reports [s], as tools for diagnostics expect."""


class Level(Enum):
    """How well a node is."""

    OK = DiagnosticStatus.OK
    WARN = DiagnosticStatus.WARN
    ERROR = DiagnosticStatus.ERROR
    STALE = DiagnosticStatus.STALE


@dataclass(frozen=True)
class Health:
    """What a node reports.

    Attributes:
        level: How well it is.
        message: One sentence, with the remedy if something is wrong.
        values: Figures by name, with the unit in the name, e.g. ``tick_p99_us``.
    """

    level: Level
    message: str
    values: Mapping[str, object] = field(default_factory=dict)


@runtime_checkable
class Reporting(Protocol):
    """A node that has something to add to every report of its own."""

    def report(self, health: Health) -> Health:
        """Add it."""


class Diagnostics:
    """Publish a node's health at 1 Hz of real time."""

    def __init__(self, node: Node, health: Callable[[], Health], hardware: str = "") -> None:
        """Start publishing.

        Args:
            node: The node that reports.
            health: Called for each report, in the executor's thread.
            hardware: What the reports are about; by default the robot, by its namespace.
        """
        self._hardware = hardware or node.get_namespace().strip("/") or "robot"
        self._node = node
        self._health = health
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", DIAGNOSTICS)
        self._timer = steady_timer(node, PERIOD, self.publish)

    def publish(self) -> None:
        """Publish one report now."""
        health = self._health()
        if isinstance(self._node, Reporting):
            health = self._node.report(health)
        status = DiagnosticStatus(
            level=health.level.value,
            name=self._node.get_fully_qualified_name(),
            message=health.message,
            hardware_id=self._hardware,
            values=[KeyValue(key=key, value=str(value)) for key, value in health.values.items()],
        )
        report = DiagnosticArray(status=[status])
        report.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(report)


class AgeMonitor:
    """Tell how long ago a signal last arrived.

    Ages are counted by arrival, not by the sender's stamp: the sender's clock may differ.
    """

    def __init__(self, limit: float, clock: Callable[[], int] = time.monotonic_ns) -> None:
        """Start with a signal that has never arrived.

        Args:
            limit: Age above which the signal is stale [s].
            clock: A steady clock [ns].
        """
        self._limit = round(limit * 1e9)
        self._clock = clock
        self._last: int | None = None

    def arrived(self) -> None:
        """Note that the signal has just arrived."""
        self._last = self._clock()

    @property
    def age(self) -> float:
        """Time since the last arrival [s], infinite before the first one."""
        if self._last is None:
            return math.inf
        return (self._clock() - self._last) * 1e-9

    @property
    def stale(self) -> bool:
        """True if the signal is older than the limit, or has never arrived."""
        return self._last is None or self._clock() - self._last > self._limit


REPORTS = 5
"""Number of the latest reports of a node that are looked at."""

FORGET = 10.0
"""A node that was silent for so long is forgotten [s]."""

MAX_SENDERS = 256
"""Number of nodes whose clocks are watched; more are not listened to."""

SECONDS = 1e-9


class ClockOffsets:
    """Offsets of clocks, from times at which messages were sent and heard.

    A message is heard by its delay later than it was sent. Delays vary and are never negative,
    so that the quickest of some messages tells most about the offset.

    Attributes:
        limit: Largest offset that is taken for agreement [s].
    """

    def __init__(self, limit: float) -> None:
        """Start without a message.

        Args:
            limit: Largest offset that is taken for agreement [s].
        """
        self.limit = limit
        self._offsets: dict[str, deque[float]] = {}
        self._heard: dict[str, int] = {}

    def heard(self, sender: str, sent: int, now: int) -> None:
        """Take a message into account.

        Args:
            sender: Who sent it.
            sent: When, on the sender's clock [ns].
            now: When it was heard, on ours [ns].
        """
        if sender not in self._offsets and len(self._offsets) >= MAX_SENDERS:
            self._forget(now)
            if len(self._offsets) >= MAX_SENDERS:
                return
        offsets = self._offsets.setdefault(sender, deque(maxlen=REPORTS))
        offsets.append((sent - now) * SECONDS)
        self._heard[sender] = now

    def _forget(self, now: int) -> None:
        """Forget who was silent for long."""
        silent = [s for s, heard in self._heard.items() if abs(now - heard) * SECONDS >= FORGET]
        for sender in silent:
            del self._offsets[sender], self._heard[sender]

    def beyond(self, now: int) -> dict[str, float]:
        """Return the senders whose clocks differ.

        Args:
            now: The time on our clock [ns].

        Returns:
            Offsets beyond the limit by sender [s], positive where a clock is ahead of ours.
        """
        offsets = {
            sender: max(offsets)
            for sender, offsets in self._offsets.items()
            if abs(now - self._heard[sender]) * SECONDS < FORGET
        }
        return {sender: value for sender, value in offsets.items() if abs(value) > self.limit}


class ClockMonitor:
    """Listen to /diagnostics, and say whose clock differs from this node's."""

    def __init__(self, node: Node, limit: float) -> None:
        """Start listening.

        Args:
            node: The node whose clock counts.
            limit: Largest offset that is taken for agreement [s].
        """
        self._clock = node.get_clock()
        self._offsets = ClockOffsets(limit)
        node.create_subscription(DiagnosticArray, "/diagnostics", self._heard, DIAGNOSTICS)

    @property
    def limit(self) -> float:
        """Largest offset that is taken for agreement [s]."""
        return self._offsets.limit

    @limit.setter
    def limit(self, limit: float) -> None:
        self._offsets.limit = limit

    @property
    def warning(self) -> str:
        """Which clock differs most, and the remedy; empty if none does."""
        offsets = self._offsets.beyond(self._clock.now().nanoseconds)
        if not offsets:
            return ""
        name, offset = max(offsets.items(), key=lambda item: abs(item[1]))
        side = "ahead of" if offset > 0.0 else "behind"
        return f"the clock of {name} is {abs(offset):.2f} s {side} ours: synchronise the machines"

    def _heard(self, report: DiagnosticArray) -> None:
        if report.status:
            self._offsets.heard(
                report.status[0].name,
                to_nanoseconds(report.header.stamp),
                self._clock.now().nanoseconds,
            )
