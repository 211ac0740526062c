"""Messages as nested values: filled from what a person types, and printed."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import yaml
from rosidl_parser.definition import (
    AbstractGenericString,
    AbstractNestedType,
    Array,
    BoundedSequence,
    NamespacedType,
)

from contact_core.base.errors import CommunicationError, ConfigError, choices

FLOATS = ("float", "double", "long double")
BYTE = "octet"

Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""That in C keeps up with topics of 200 Hz."""


def type_named(name: str) -> Any:
    """Return the class of a message, service or action.

    Args:
        name: As the graph has it, e.g. ``"std_srvs/srv/Trigger"``.

    Raises:
        CommunicationError: If its package is not installed here, or has no such type.
    """
    package, kind, short = name.split("/")
    try:
        return getattr(import_module(f"{package}.{kind}"), short)
    except (ImportError, AttributeError) as error:
        raise CommunicationError(f"the type {name} is not installed here") from error


def fill(message: Any, values: Any, where: str = "") -> Any:
    """Set fields of a message.

    Args:
        message: The message; what is not named stays as it is.
        values: Field -> text, or mapping or list of such; the type decides what a text means.
        where: Prefix of the names of fields in error messages.

    Returns:
        The message.

    Raises:
        ConfigError: If there is no such field, or a value is not one of it.
    """
    kinds = dict(zip(fields_of(message), message.SLOT_TYPES, strict=True))
    if not isinstance(values, Mapping):
        whole = where.rstrip(".") or "the message"
        raise ConfigError(f"{whole} is {values!r} (valid: a mapping of {', '.join(kinds)})")
    for name, value in values.items():
        if name not in kinds:
            valid = choices(kinds, name) if kinds else "there are no fields"
            raise ConfigError(f"unknown field '{where}{name}' ({valid})")
        setattr(message, name, _value(value, kinds[name], f"{where}{name}"))
    return message


def fields_of(message: Any) -> dict[str, str]:
    """Return the fields of a message and how their types are written."""
    return dict(message.get_fields_and_field_types())


def _value(value: Any, kind: Any, field: str) -> Any:
    """Return what a field takes, or raise a ConfigError."""
    if isinstance(kind, NamespacedType):
        part = getattr(import_module(".".join(kind.namespaces)), kind.name)()
        return fill(part, value, f"{field}.")
    if isinstance(kind, AbstractNestedType):
        if not isinstance(value, list):
            raise ConfigError(f"{field} is {value!r} (valid: a list)")
        most = kind.maximum_size if isinstance(kind, BoundedSequence) else len(value)
        if len(value) > most or (isinstance(kind, Array) and len(value) != kind.size):
            valid = f"exactly {kind.size}" if isinstance(kind, Array) else f"at most {most}"
            raise ConfigError(f"{field} has {len(value)} entries (valid: {valid})")
        return [_value(item, kind.value_type, f"{field}[{i}]") for i, item in enumerate(value)]
    if isinstance(kind, AbstractGenericString):
        if isinstance(value, str):
            return value
        raise ConfigError(f"{field} is {value!r} (valid: a text)")
    try:
        return _number(value, kind.typename)
    except (ValueError, TypeError, AttributeError):
        raise ConfigError(f"{field} is {value!r} (valid: {kind.typename})") from None


def _number(text: str, kind: str) -> Any:
    """Return a number of a type; raises what text that is none makes of it."""
    if kind == "boolean":
        return ("false", "true").index(text.lower()) == 1
    if kind in FLOATS:
        return float(re.sub(r"\.(inf|nan)$", r"\1", text.lower()))
    number = int(text, 0)
    bits = int(re.sub(r"\D", "", kind) or 8)
    low = -(2 ** (bits - 1)) if kind.startswith("int") else 0
    if not low <= number < low + 2**bits:
        raise ValueError
    return bytes([number]) if kind == BYTE else number


def as_values(message: Any, digits: int = 17) -> Any:
    """Return a message as nested mappings, lists, numbers and texts.

    Args:
        message: The message, or the value of a field.
        digits: Significant digits of its numbers.
    """
    if isinstance(message, float):
        return float(f"{message:.{digits}g}")
    if hasattr(message, "get_fields_and_field_types"):
        return {name: as_values(getattr(message, name), digits) for name in fields_of(message)}
    if isinstance(message, array | np.ndarray):
        message = message.tolist()
    if isinstance(message, list):
        return [as_values(item, digits) for item in message]
    return message[0] if isinstance(message, bytes) else message


def as_yaml(values: Any, one_line: bool = False) -> str:
    """Write values as YAML.

    Args:
        values: As of :func:`as_values`.
        one_line: Whether all of it stands on one line.

    Returns:
        The text with its last line ended.
    """
    text: str = yaml.dump(
        values,
        Dumper=Dumper,
        sort_keys=False,
        default_flow_style=True if one_line else None,
        allow_unicode=True,
        width=2**31 - 1,
    )
    return text.removesuffix("...\n")
