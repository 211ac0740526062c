"""Checked access to the arrays and numbers of a goal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from contact_core.errors import ConfigError


def read_array(
    goal: Any,
    field: str,
    entries: tuple[str, ...],
    *,
    low: float = -math.inf,
    infinite: bool = False,
) -> np.ndarray | None:
    """Read an array of a goal.

    Args:
        goal: The goal's message.
        field: Name of the field.
        entries: Name of every entry.
        low: Smallest valid value.
        infinite: Whether infinite values are valid.

    Returns:
        The values; None if the array is empty, which stands for the problem's own.

    Raises:
        ConfigError: If size or a value is wrong.
    """
    values = np.array(getattr(goal, field), dtype=float)
    if values.size == 0:
        return None
    if values.size != len(entries):
        raise ConfigError(
            f"{field} has {values.size} values, but needs {len(entries)}: {', '.join(entries)}"
        )
    wrong = np.isnan(values) | (values < low) | (np.isinf(values) & (not infinite))
    if wrong.any():
        i = int(np.argmax(wrong))
        bound = f", >= {low:g}" if math.isfinite(low) else ""
        valid = f"a number{bound}" if infinite else f"finite{bound}"
        raise ConfigError(f"{field}[{i}] ({entries[i]}) is {values[i]:g} (valid: {valid})")
    return values


def read_number(goal: Any, field: str, high: float = math.inf) -> float:
    """Read a number that must not be negative.

    Args:
        goal: The goal's message.
        field: Name of the field.
        high: Largest valid value.

    Returns:
        The number; 0 mostly stands for the problem's own.

    Raises:
        ConfigError: If it is negative, not finite or too large.
    """
    value = getattr(goal, field)
    if not (math.isfinite(value) and 0.0 <= value <= high):
        valid = f"0 .. {high:g}" if math.isfinite(high) else "finite, >= 0"
        raise ConfigError(f"{field} is {value:g} (valid: {valid})")
    return float(value)
