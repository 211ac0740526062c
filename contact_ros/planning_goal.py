"""Goals of planning actions: what one states replaces values of a configuration.

A number that is 0, an empty text and an empty list state nothing: the value stays. What is stated
has to be valid for the parameter that it replaces, whose range is that of its field.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from contact_core.base.config import Range, flatten, with_values
from contact_core.base.errors import ConfigError
from contact_ros.validation import MessageError

Config = TypeVar("Config")

MAX_NUMBER = 1e9
"""Largest plausible number of a planning goal, in any unit."""

MAX_STEP = 10.0
"""Longest plausible time step of a plan [s]."""

FINITE = Range()


def check_numbers(message: Any, where: str = "") -> None:
    """Refuse a goal with absurd numbers; whether NaN and infinity are valid is its reader's matter.

    Args:
        message: The goal, or a message within it, of sizes that are checked already.
        where: What stands before its fields' names in errors.

    Raises:
        MessageError: If the magnitude of a finite number is above ``MAX_NUMBER``.
    """
    for field, kind in message.get_fields_and_field_types().items():
        value = getattr(message, field)
        if kind == "double" or kind == "sequence<double>":
            values = np.atleast_1d(np.asarray(value, dtype=np.float64))
            absurd = np.isfinite(values) & (np.abs(values) > MAX_NUMBER)
            if absurd.any():
                found = float(values[int(np.argmax(absurd))])
                raise MessageError(
                    f"{where}{field} is {found:g} (valid: magnitudes up to {MAX_NUMBER:g})"
                )
        elif kind.startswith("sequence<") and "/" in kind:
            for i, item in enumerate(value):
                check_numbers(item, f"{where}{field}[{i}].")
        elif "/" in kind:
            check_numbers(value, f"{where}{field}.")


def is_stated(goal: Any, field: str) -> bool:
    """Return whether a goal has something in a field.

    Args:
        goal: The message.
        field: Name of the field.
    """
    value = getattr(goal, field)
    return bool(value) if isinstance(value, int | float | str) else len(value) > 0


def read_fields(
    config: Config,
    goal: Any,
    fields: Mapping[str, str],
    entries: Sequence[str] = (),
    *,
    valid: Mapping[str, Range] | None = None,
    always: Collection[str] = (),
) -> Config:
    """Return a configuration with the values that a goal states.

    Args:
        config: What holds where the goal states nothing.
        goal: The message.
        fields: Field of the message -> dotted name of the parameter.
        entries: Name of every entry of the fields that are arrays.
        valid: Field -> values that are valid in this goal, if others than the parameter's.
        always: Fields in which 0 is a value as well.

    Raises:
        ConfigError: If a value is not valid, or an array has another size.
    """
    known, changes = flatten(config), {}
    for field, name in fields.items():
        if field in always or is_stated(goal, field):
            limits, value = (valid or {}).get(field, known[name][1]), getattr(goal, field)
            if isinstance(value, int | float | str):
                limits.check(field, value)
            else:
                value = read_array(goal, field, entries, limits)
            changes[name] = value
    return with_values(config, changes) if changes else config


def read_array(
    goal: Any, field: str, entries: Sequence[str], valid: Range | None = FINITE
) -> tuple[float, ...]:
    """Return an array of a goal; empty if it states none.

    Args:
        goal: The message.
        field: Name of the field.
        entries: Name of every entry.
        valid: The valid values; None for all, NaN and infinity as well.

    Raises:
        ConfigError: If a value is not valid, or there are not as many as entries.
    """
    values = tuple(getattr(goal, field))
    if len(values) not in (0, len(entries)):
        raise ConfigError(
            f"{field} has {len(values)} values, but needs {len(entries)}: {', '.join(entries)}"
        )
    if valid is not None:
        for i, value in enumerate(values):
            valid.check(f"{field}[{i}] ({entries[i]})", value)
    return values
