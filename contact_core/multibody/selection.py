"""Selections: arrays that kernels take together, each declared once, in a named tuple.

``force: Annotated[np.ndarray, float, "nc", 3]`` is an array of numbers of shape (nc, 3). What
makes selections reads these declarations: an array has a size by its name, e.g. ``"nt + 1"``,
and else by its number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

Selection = TypeVar("Selection")


def allocate(selection: Callable[..., Selection], sizes: Mapping[str, int]) -> Selection:
    """Return a selection of zeros; a selection inside of it is allocated likewise.

    Args:
        selection: Its type.
        sizes: Name of a size -> size.

    Raises:
        KeyError: If a size is missing.
    """
    fields = {}
    for name, declared in _declarations(selection).items():
        if get_origin(declared) is Annotated:
            _, kind, *shape = get_args(declared)
            shape = [sizes[size] if isinstance(size, str) else size for size in shape]
            fields[name] = np.zeros(shape, dtype=kind)
        else:
            fields[name] = allocate(declared, sizes)
    return selection(**fields)


def no_rows(selection: type) -> dict[str, list[Any]]:
    """Return empty lists by the names of a selection's arrays, for :func:`from_rows`."""
    return {name: [] for name in _declarations(selection)}


def from_rows(selection: Callable[..., Selection], rows: Mapping[str, Sequence[Any]]) -> Selection:
    """Return a selection of arrays that were collected row by row.

    Args:
        selection: Its type.
        rows: Name of an array -> its rows, of the declared shape without the first size.

    Raises:
        ValueError: If a row has another size.
    """
    fields = {}
    for name, declared in _declarations(selection).items():
        _, kind, _, *shape = get_args(declared)
        fields[name] = np.array(rows[name], dtype=kind).reshape(len(rows[name]), *shape)
    return selection(**fields)


@cache
def _declarations(selection: Any) -> dict[str, Any]:
    return get_type_hints(selection, include_extras=True)
