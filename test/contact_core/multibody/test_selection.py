"""Arrays are made as they are declared, and the docstrings say what is declared."""

import re
from typing import Annotated, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np
import pytest

from contact_core.multibody.collision import arrays as collision
from contact_core.multibody.rigid_body import arrays as rigid_body
from contact_core.multibody.selection import allocate, from_rows, no_rows
from tamsi_sim.arrays import data


class Inner(NamedTuple):
    index: Annotated[np.ndarray, int, "n + 1"]


class Balls(NamedTuple):
    center: Annotated[np.ndarray, float, "n", 3]


class Outer(NamedTuple):
    number: Annotated[np.ndarray, float, "n", 3]
    inner: Inner


def test_arrays_have_the_declared_shapes_and_types():
    found = allocate(Outer, {"n": 2, "n + 1": 3})
    assert (found.number.shape, found.number.dtype) == ((2, 3), np.float64)
    assert (found.inner.index.shape, found.inner.index.dtype) == ((3,), np.int64)
    assert not found.number.any()


def test_a_size_that_is_missing_is_named():
    with pytest.raises(KeyError, match=r"n \+ 1"):
        allocate(Outer, {"n": 2})


def test_rows_become_arrays_also_without_any():
    rows = no_rows(Inner)
    assert from_rows(Inner, rows).index.dtype == np.int64
    rows = no_rows(Balls)
    assert from_rows(Balls, rows).center.shape == (0, 3)
    rows["center"].append((1.0, 2.0))
    with pytest.raises(ValueError, match="reshape"):
        from_rows(Balls, rows)


def declarations():
    for module in (rigid_body, collision, data):
        for selection in vars(module).values():
            if not (isinstance(selection, type) and selection.__module__ == module.__name__):
                continue
            for name, hint in get_type_hints(selection, include_extras=True).items():
                if get_origin(hint) is Annotated:
                    yield selection, name, get_args(hint)[2:]


def test_the_docstrings_say_what_is_declared():
    count = 0
    for selection, name, shape in declarations():
        said = re.search(rf"^ +{name}: \(([^)]+)\)", selection.__doc__, re.MULTILINE)
        assert said, f"{selection.__name__}.{name} has no shape in the docstring"
        words = [word.strip() for word in said[1].split(",")]
        assert len(words) == len(shape), f"{selection.__name__}.{name}"
        for word, size in zip(words, shape, strict=True):
            if isinstance(size, str) or word.isdigit():
                assert word == str(size), f"{selection.__name__}.{name}"
        count += 1
    assert count > 100
