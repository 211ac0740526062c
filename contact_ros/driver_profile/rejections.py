"""The messages that could not be used: counted, logged and reported, never passed over."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from contact_ros.diagnostics import Health, Level

LOG_PERIOD = 5.0
"""Shortest time between two lines of the log [s]: states arrive 200 times a second."""

WORSE = {Level.OK: Level.WARN, Level.STALE: Level.ERROR}
"""What rejections make of a node that hears other messages, or no other."""


class Rejections:
    """Count rejected messages, and say so in the log and in a node's report."""

    def __init__(
        self, warn: Callable[[str], object], clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        """Start with none.

        Args:
            warn: Takes a line for the log: the first at once, later ones every few seconds.
            clock: A steady clock [ns].
        """
        self._warn = warn
        self._clock = clock
        self._logged: int | None = None
        self._count = 0
        self._reported = 0
        self._reason = ""

    def add(self, reason: str) -> None:
        """Count one message.

        Args:
            reason: Why it was rejected.
        """
        self._count += 1
        self._reason = reason
        now = self._clock()
        if self._logged is None or now - self._logged >= LOG_PERIOD * 1e9:
            self._logged = now
            self._warn(_text(self._count, reason))

    @property
    def count(self) -> int:
        """The number of messages rejected so far."""
        return self._count

    @property
    def reason(self) -> str:
        """Why the latest was rejected; empty if none was."""
        return self._reason

    def report(self, health: Health) -> Health:
        """Add the rejections to the report of a node.

        Args:
            health: How the node is otherwise; where it counts ``rejected_messages`` itself,
                that count stands.

        Returns:
            The same with their number and the latest reason; worse, and for that reason, if
            there were any since the last report.
        """
        values = {"rejected_messages": self._count, **health.values}
        if self._count:
            values["last_rejection"] = self._reason
        new, self._reported = self._count - self._reported, self._count
        if new and health.level in WORSE:
            return Health(WORSE[health.level], _text(new, self._reason), values)
        return replace(health, values=values)


def _text(count: int, reason: str) -> str:
    if count == 1:
        return f"message rejected: {reason}"
    return f"{count} messages rejected, the last: {reason}"
