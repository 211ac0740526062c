"""Samples of one quantity over time, and how several are brought to common ticks."""

from __future__ import annotations

from bisect import bisect_right
from typing import Generic, TypeVar

Sample = TypeVar("Sample")


class Series(Generic[Sample]):
    """Samples in the order of their stamps."""

    def __init__(self) -> None:
        """Start empty."""
        self.stamps: list[int] = []
        self.samples: list[Sample] = []

    def append(self, stamp: int, sample: Sample) -> None:
        """Add a sample; one that is not newer than the last is dropped.

        Args:
            stamp: Its time [ns].
            sample: The sample.
        """
        if not self.stamps or stamp > self.stamps[-1]:
            self.stamps.append(stamp)
            self.samples.append(sample)

    def at(self, stamp: int) -> Sample | None:
        """Return the latest sample that is not newer than a time.

        Args:
            stamp: The time [ns].

        Returns:
            The sample, None before the first.
        """
        index = bisect_right(self.stamps, stamp)
        return self.samples[index - 1] if index else None

    def between(self, start: int, end: int) -> list[Sample]:
        """Return the samples of an interval.

        Args:
            start: First stamp [ns].
            end: Last stamp [ns].

        Returns:
            The samples, in order.
        """
        return self.samples[bisect_right(self.stamps, start - 1) : bisect_right(self.stamps, end)]
