"""Work in parts of some milliseconds: whoever does it may see to something else in between."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

Result = TypeVar("Result")
Parts = Generator[None, None, Result]
"""A generator that pauses after every part, and returns the result."""


def pauses(amount: int, a_part: int) -> Parts[None]:
    """Pause before work that is done in one piece, so often that it counts for what it is.

    Args:
        amount: Of work.
        a_part: As much of it as is a part.
    """
    for _ in range(0, amount, a_part):
        yield


def at_once(parts: Parts[Result]) -> Result:
    """Do all parts and return the result.

    Args:
        parts: The work.
    """
    while True:
        try:
            next(parts)
        except StopIteration as end:
            result: Result = end.value
            return result
