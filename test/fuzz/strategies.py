"""Messages of any type, from its interface definition: sound, absurd, and one field from sound."""

from __future__ import annotations

import copy
import importlib
import math
import re
from typing import Any

import numpy as np
from hypothesis import strategies as st

ABSURD = (
    *(math.nan, math.inf, -math.inf, 1e308, -1e308, 1e300, 5e-324, 1e20, 1e10, -1e10, 86.0, 3.0),
    *(0.0, 1.0, -1.0, 0.1, 1e-3),
)
FLOATS = st.one_of(st.floats(-2.0, 2.0), st.sampled_from(ABSURD))
# An assignment to a field of 32 bits refuses what is larger.
FLOATS_32 = st.sampled_from([x for x in ABSURD if not math.isfinite(x) or abs(x) < 1e38])

NAMES = (
    *("", "lbr_A1", "lbr_A7", "lbr_link_6", "tool", "elbow", "finger_left_joint", "mug", "gripper"),
    *("contact_estimator", "contact_aware_controller", "demo", "pushing", "block", "box_pushing"),
    *("first", "paper", "friction", "power", "use_sim_time", "activate", "x" * 300, "x" * 5000),
    *("é" * 20, "\u0000", "名前", "🦾", " ", "/", "a/b", "%s%n", "-1", "nan"),
)
STRINGS = st.one_of(
    st.sampled_from(NAMES), st.text(st.characters(blacklist_categories=["Cs"]), max_size=12)
)

SIZES = st.sampled_from([*[0, 1, 2, 3, 6, 7, 8, 9, 16, 17, 64] * 4, 300, 2000, 20_000])
MAX_DISTINCT = 3
"""So many items of an array differ; the others repeat them."""

BOXED = 200
"""Most messages in an array: more, and one example takes longer than it teaches."""

TIME = st.sampled_from([0, 1, 2, 5, 1_000_000, 1_795_000_000, -1, 2**31 - 1, -(2**31)])


def _integers(kind: str) -> st.SearchStrategy[int]:
    signed, bits = not kind.startswith("u"), int(re.sub(r"\D", "", kind))
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    few = [x for x in (0, 1, 2, 3, 7, 77, low, high) if low <= x <= high]
    return st.one_of(st.sampled_from(few), st.integers(low, high))


def _numeric(kind: str) -> st.SearchStrategy[Any] | None:
    if kind == "double":
        return FLOATS
    if kind == "float":
        return FLOATS_32
    if kind in ("boolean", "bool"):
        return st.booleans()
    if kind == "octet":
        return st.sampled_from([bytes([0]), bytes([255])])
    if kind == "byte" or re.fullmatch(r"u?int\d+", kind):
        return _integers("uint8" if kind == "byte" else kind)
    return None


def values(kind: str, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values of a field, by its type as the interface definition writes it."""
    if found := re.fullmatch(r"sequence<(.+?)(?:, (\d+))?>", kind):
        bound = int(found[2]) if found[2] else None
        return _arrays(found[1], depth, bound)
    if found := re.fullmatch(r"(.+)\[(\d+)\]", kind):
        return _fixed(found[1], int(found[2]), depth)
    if kind.startswith(("string", "wstring")):
        return STRINGS
    numeric = _numeric(kind)
    return messages(message_type(kind), depth + 1) if numeric is None else numeric


def _repeated(items: list[Any], size: int) -> list[Any]:
    return [items[k % len(items)] for k in range(size)] if items else []


def _arrays(kind: str, depth: int, bound: int | None) -> st.SearchStrategy[list[Any]]:
    most = bound if bound is not None else (BOXED if "/" in kind else 20_000)
    few = st.lists(values(kind, depth), min_size=1, max_size=MAX_DISTINCT)
    sizes = st.sampled_from([0, 1, 2]) if depth > 1 else SIZES
    return st.builds(lambda items, size: _repeated(items, min(size, most)), few, sizes)


def _fixed(kind: str, size: int, depth: int) -> st.SearchStrategy[Any]:
    few = st.lists(values(kind, depth), min_size=1, max_size=MAX_DISTINCT)
    return few.map(lambda items: _repeated(items, size))


def message_type(name: str) -> type:
    """Return the class of ``package/Name``."""
    package, _, message = name.partition("/")
    return getattr(importlib.import_module(f"{package}.msg"), message.rpartition("/")[2])


def messages(kind: type, depth: int = 0) -> st.SearchStrategy[Any]:
    """Messages of a type with anything in every field."""
    if kind.__name__ in ("Time", "Duration"):
        return st.builds(kind, sec=TIME, nanosec=st.sampled_from([0, 5, 999_999_999, 2**32 - 1]))
    fields = {
        name: values(field, depth) for name, field in kind.get_fields_and_field_types().items()
    }
    return st.builds(kind, **fields)


def mutations(sound: Any) -> st.SearchStrategy[Any]:
    """A sound message with up to three fields, at any depth, that are anything."""
    places = list(_places(sound, ()))
    if not places:
        return st.just(sound)
    change = st.sampled_from(places).flatmap(
        lambda place: st.tuples(st.just(place[0]), values(place[1], depth=2))
    )
    return st.lists(change, max_size=3).map(lambda changes: _changed(sound, changes))


def _places(message: Any, path: tuple[Any, ...]) -> Any:
    for name, kind in message.get_fields_and_field_types().items():
        yield (*path, name), kind
        value = getattr(message, name)
        if hasattr(value, "get_fields_and_field_types"):
            yield from _places(value, (*path, name))
        elif isinstance(value, list) and value:
            if hasattr(value[0], "get_fields_and_field_types"):
                for k in {0, len(value) - 1}:
                    yield from _places(value[k], (*path, name, k))
        elif isinstance(value, np.ndarray) or hasattr(value, "typecode"):
            inner = re.sub(r"^sequence<(.+?)(, \d+)?>$|\[\d+\]$", r"\1", kind)
            for k in {0, len(value) - 1} if len(value) else ():
                yield (*path, name, k), inner


def _changed(sound: Any, changes: list[tuple[tuple[Any, ...], Any]]) -> Any:
    message = copy.deepcopy(sound)
    for path, value in changes:
        target = message
        try:
            for step in path[:-1]:
                target = target[step] if isinstance(step, int) else getattr(target, step)
            if isinstance(path[-1], int):
                target[path[-1]] = value
            else:
                setattr(target, path[-1], value)
        except IndexError:  # an earlier change has taken the place away
            pass
    return message


def bytes_of(serialised: bytes) -> st.SearchStrategy[bytes]:
    """Bytes that are no message, or nearly one."""
    head = serialised[:4]
    cut = st.integers(0, len(serialised)).map(lambda end: serialised[:end])
    noise = st.binary(max_size=80).map(lambda tail: head + tail)
    return st.one_of(cut, noise, st.just(head + bytes(1_000_000)), st.binary(max_size=8))


def finite(message: Any, unknown: frozenset[str] = frozenset(), path: str = "") -> str:
    """Return the first field of a message that is not finite; empty if there is none."""
    for name in message.get_fields_and_field_types():
        value = getattr(message, name)
        where = f"{path}.{name}" if path else name
        if name in unknown:
            continue
        if hasattr(value, "get_fields_and_field_types"):
            if bad := finite(value, unknown, where):
                return bad
        elif isinstance(value, float):
            if not math.isfinite(value):
                return f"{where} = {value}"
        elif isinstance(value, list):
            for item in value:
                if hasattr(item, "get_fields_and_field_types") and (
                    bad := finite(item, unknown, where)
                ):
                    return bad
        elif isinstance(value, np.ndarray) or getattr(value, "typecode", "") in ("d", "f"):
            numbers = np.asarray(value, dtype=float)
            if not np.isfinite(numbers).all():
                return f"{where} = {numbers}"
    return ""
