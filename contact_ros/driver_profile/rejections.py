"""The count of messages that could not be used."""

from __future__ import annotations


class Rejections:
    """Count rejected messages and keep the reason of the latest."""

    def __init__(self) -> None:
        """Start with none."""
        self._count = 0
        self._reason = ""

    def add(self, reason: str) -> None:
        """Count one message.

        Args:
            reason: Why it was rejected.
        """
        self._count += 1
        self._reason = reason

    @property
    def count(self) -> int:
        """The number of messages rejected so far."""
        return self._count

    @property
    def reason(self) -> str:
        """Why the latest was rejected; empty if none was."""
        return self._reason
