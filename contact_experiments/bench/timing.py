"""Durations of many calls, summarised."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")


@dataclass(frozen=True)
class Timing:
    """Percentiles of durations.

    Attributes:
        count: Number of durations.
        p50_us: Median [us].
        p99_us: 99th percentile [us].
        p999_us: 99.9th percentile [us].
        max_us: Largest [us].
    """

    count: int
    p50_us: float
    p99_us: float
    p999_us: float
    max_us: float

    @classmethod
    def of(cls, nanoseconds: np.ndarray) -> Timing:
        """Summarise durations.

        Args:
            nanoseconds: Durations [ns], at least one.

        Returns:
            Their percentiles.
        """
        p50, p99, p999, largest = np.percentile(nanoseconds, (50, 99, 99.9, 100)) * 1e-3
        return cls(len(nanoseconds), float(p50), float(p99), float(p999), float(largest))

    def as_dict(self) -> dict[str, float]:
        """Return the percentiles for JSON."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        """Render one row of a table."""
        numbers = (self.p50_us, self.p99_us, self.p999_us, self.max_us)
        return " ".join(f"{number:10.1f}" for number in numbers)


HEADER = " ".join(f"{name:>10}" for name in ("p50 [us]", "p99 [us]", "p99.9 [us]", "max [us]"))
"""Column names of a table of timings."""


def durations(call: Callable[[Item], object], items: Iterable[Item]) -> np.ndarray:
    """Time a call for each of many arguments.

    Args:
        call: What is timed.
        items: Its arguments.

    Returns:
        The duration of each call [ns].
    """
    measured = []
    for item in items:
        start = time.perf_counter_ns()
        call(item)
        measured.append(time.perf_counter_ns() - start)
    return np.array(measured)
