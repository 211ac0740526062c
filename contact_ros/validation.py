"""What enters a node: a value or a rejection, and how a node speaks of what it rejected.

A callback refuses what it cannot use by raising a :class:`ContactStackError`, mostly a
:class:`MessageError` from one of the functions here, which bound sizes before any work in
proportion to them, and numbers by what is plausible. What becomes of it is in
:mod:`contact_ros.guarded_node`.
"""

from __future__ import annotations

import dataclasses
import time
import traceback
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from contact_core.base.errors import CommunicationError
from contact_ros.diagnostics import Health, Level

MAX_NUMBERS = 100_000
"""Most numbers in one array of a request or goal."""

MAX_ITEMS = 20_000
"""Most messages and strings in a request or goal, at any depth; a trajectory has 2 per point."""

NUMBERS = frozenset(
    {"boolean", "octet", "byte", "char", "float", "double", "long double"}
    | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)
"""Types of fields that are single numbers."""

MAX_TEXT = 4096
"""Longest text in a request or goal [characters]."""

MAX_NAMES = 256
"""Most names of one kind that a node remembers."""

MAX_POSITION = 1e3
"""Largest plausible position of a joint, a point or a frame [rad or m]."""

MAX_FORCE = 1e5
"""Largest plausible force or torque [N or Nm]."""

MAX_REASON = 400
"""What is longer is cut in log and report [characters]."""

LOG_PERIOD = 5.0
"""Shortest time between two lines of the log [s]: states arrive 200 times a second."""

PLACES = 100
"""Number of places in the code whose tracebacks are logged."""

WORSE = {Level.OK: Level.WARN, Level.STALE: Level.ERROR}
"""What rejections make of a node that hears other messages, or no other."""

REJECTED, LATEST = "rejected_messages", "last_rejection"
"""Under which names a report counts them, and says why the latest was."""

Error = TypeVar("Error", bound=BaseException)
Value = TypeVar("Value")


class MessageError(CommunicationError):
    """A message cannot be used; its text says why.

    Repair the sender: sizes, names, units, finite numbers.
    """


def ending(error: Error) -> Error:
    """Mark an error as one that is meant to end the node whose callback raises it.

    Args:
        error: The error.

    Returns:
        The same.
    """
    error.__dict__["ends_node"] = True
    return error


@contextmanager
def ending_errors() -> Iterator[None]:
    """Mark every error of a block as :func:`ending`: that of a tick is none of a message's."""
    try:
        yield
    except Exception as error:
        ending(error)
        raise


def at_most(items: Sized, most: int, field: str) -> None:
    """Check a size, before any work in proportion to it.

    Args:
        items: A text or a sequence.
        most: How many characters or items it may have.
        field: Its name, for the error.

    Raises:
        MessageError: If it has more.
    """
    if len(items) > most:
        raise MessageError(f"{field} has {len(items)} entries (valid: at most {most})")


def number(value: float, field: str, low: float, high: float) -> float:
    """Check a number.

    Args:
        value: The number.
        field: Its name, for the error.
        low: Smallest plausible value.
        high: Largest plausible value.

    Returns:
        The number.

    Raises:
        MessageError: If it is not a number of this range.
    """
    if not low <= value <= high:
        raise MessageError(f"{field} is {value:g} (valid: {low:g} .. {high:g})")
    return value


def numbers(values: Sequence[float], field: str, largest: float) -> NDArray[np.float64]:
    """Check numbers.

    Args:
        values: The numbers, of a size that is checked already.
        field: Their name, for the error.
        largest: Largest plausible magnitude.

    Returns:
        The numbers, shape (n,).

    Raises:
        MessageError: If one is not finite or larger.
    """
    # A few numbers are faster to check as Python's own than as NumPy's.
    if not all(-largest <= value <= largest for value in values):
        raise MessageError(f"{field} is {list(values)[:16]} (valid: finite, at most {largest:g})")
    return np.array(values, dtype=np.float64)


def named_numbers(
    names: Sequence[str], values: Sequence[float], field: str, largest: float
) -> dict[str, float]:
    """Check numbers that belong to names, e.g. positions of joints.

    Args:
        names: The names.
        values: One number for each.
        field: Their name, for the error.
        largest: Largest plausible magnitude.

    Returns:
        Name -> number.

    Raises:
        MessageError: If there are too many, not as many numbers as names, or one is not finite
            or larger.
    """
    at_most(names, MAX_NAMES, "names")
    if len(names) != len(values):
        raise MessageError(f"{field} has {len(values)} values for {len(names)} names")
    return dict(zip(names, numbers(values, field, largest).tolist(), strict=True))


def joint_positions(message: Any, known: Mapping[str, float]) -> dict[str, float]:
    """Check positions of joints, and add them to those that are known.

    Args:
        message: A JointState; several nodes may publish some joints each.
        known: Name -> position [rad or m], of earlier messages.

    Returns:
        Name -> position of all, see :func:`remembered`.

    Raises:
        MessageError: See :func:`named_numbers`.
    """
    return remembered(
        known, named_numbers(message.name, message.position, "position", MAX_POSITION)
    )


def remembered(known: Mapping[str, Value], heard: Mapping[str, Value]) -> dict[str, Value]:
    """Add what was heard to what is known by name.

    Args:
        known: Name -> value, of earlier messages.
        heard: Name -> value, of as many names as may be remembered at most.

    Returns:
        Name -> value of all; above ``MAX_NAMES`` those that were not heard of for longest are
        forgotten.
    """
    older = {name: value for name, value in known.items() if name not in heard}
    return dict([*older.items(), *heard.items()][-MAX_NAMES:])


def vector(message: Any, field: str, largest: float) -> NDArray[np.float64]:
    """Check a point or a vector.

    Args:
        message: It has x, y and z.
        field: Its name, for the error.
        largest: Largest plausible magnitude of each.

    Returns:
        Its numbers, shape (3,).

    Raises:
        MessageError: If one is not finite or larger.
    """
    return numbers((message.x, message.y, message.z), field, largest)


def check_sizes(message: Any) -> None:
    """Measure a request or a goal, whatever its type.

    Args:
        message: The message.

    Raises:
        MessageError: If a text, an array or the whole is too large.
    """
    pending, items = [("", message)], 0
    while pending:
        name, value = pending.pop()
        if isinstance(value, array | np.ndarray):
            at_most(value, MAX_NUMBERS, name)
            continue
        items += 1
        if items > MAX_ITEMS:
            raise MessageError(f"the message has more than {MAX_ITEMS} items")
        if isinstance(value, str | bytes):
            at_most(value, MAX_TEXT, name)
        elif isinstance(value, list):
            at_most(value, MAX_ITEMS, name)
            pending += ((name, item) for item in value if not isinstance(item, int | float))
        else:
            pending += ((field, getattr(value, field)) for field in _sized_fields(value.__class__))


@cache
def _sized_fields(kind: type) -> tuple[str, ...]:
    """Return the fields of a type of message that have a size, or have fields that do."""
    message: Any = kind
    fields: Mapping[str, str] = message.get_fields_and_field_types()
    return tuple(name for name, type_ in fields.items() if type_ not in NUMBERS)


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
        self._latest: object = ""
        self._others: tuple[object, object] = (0, "")

    def add(self, reason: str) -> None:
        """Count one message.

        Args:
            reason: Why it was rejected.
        """
        self._count += 1
        self._reason = reason[:MAX_REASON]
        now = self._clock()
        if self._logged is None or now - self._logged >= LOG_PERIOD * 1e9:
            self._logged = now
            self._warn(_text(self._count, self._reason))

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
                that count stands, and its reason if it is the later one.

        Returns:
            The same with their number and the latest reason; worse, and for that reason, if
            there were any since the last report.
        """
        new, self._reported = self._count - self._reported, self._count
        others = health.values.get(REJECTED, 0), health.values.get(LATEST, "")
        if new:
            self._latest = self._reason
        elif others != self._others:
            self._latest = others[1]
        self._others = others
        values = {REJECTED: self._count, **health.values}
        if self._latest:
            values[LATEST] = self._latest
        if new and health.level in WORSE:
            return Health(WORSE[health.level], _text(new, self._reason), values)
        return dataclasses.replace(health, values=values)


def _text(count: int, reason: str) -> str:
    if count == 1:
        return f"message rejected: {reason}"
    return f"{count} messages rejected, the last: {reason}"


class InternalErrors:
    """Count mistakes of ours that a callback ran into, and keep them visible."""

    def __init__(self, log: Callable[[str], object]) -> None:
        """Start with none.

        Args:
            log: Takes the traceback, once for every place in the code.
        """
        self._log = log
        self._places: set[tuple[type, str, int | None]] = set()
        self.count = 0
        self.latest = ""

    def add(self, where: str, error: Exception) -> None:
        """Count one.

        Args:
            where: Topic, service or action whose callback it was.
            error: What was raised.
        """
        self.count += 1
        self.latest = f"{where}: {type(error).__name__}: {error}"[:MAX_REASON]
        frame = traceback.extract_tb(error.__traceback__)[-1:]
        place = (type(error), *((frame[0].filename, frame[0].lineno) if frame else ("", 0)))
        if place not in self._places and len(self._places) < PLACES:
            self._places.add(place)
            text = "".join(traceback.format_exception(error))
            self._log(f"internal error in {where}, please report it:\n{text}")

    def report(self, health: Health) -> Health:
        """Add them to the report of a node.

        Args:
            health: How the node is otherwise.

        Returns:
            The same if there were none, else an ERROR with their number and the latest.
        """
        if not self.count:
            return health
        values = {**health.values, "internal_errors": self.count}
        return Health(Level.ERROR, f"internal error, please report it: {self.latest}", values)
