"""Clocks of other machines that differ from ours, by the stamps of their diagnostics."""

from __future__ import annotations

from collections import deque

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node

from contact_ros.qos import DIAGNOSTICS
from contact_ros.stamps import to_nanoseconds

REPORTS = 5
"""Number of the latest reports of a node that are looked at."""

FORGET = 10.0
"""A node that was silent for so long is forgotten [s]."""

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
        offsets = self._offsets.setdefault(sender, deque(maxlen=REPORTS))
        offsets.append((sent - now) * SECONDS)
        self._heard[sender] = now

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
