"""Fields of a handle read without counting references: right values, nothing freed or kept."""

import gc
import sys
import weakref

import numpy as np
from numba import types
from numba.experimental import structref

from contact_core.kernel import kernel
from tamsi_sim.arrays.borrowing import borrowed, inner_kernel


@structref.register
class _PairType(types.StructRef):
    """Numba type of :class:`Pair`."""


class Pair(structref.StructRefProxy):
    """Two arrays and a number behind one pointer."""


structref.define_proxy(Pair, _PairType, ["left", "right", "scale"])


@kernel
def make_pair(left, right, scale):
    return Pair(left, right, scale)


@inner_kernel
def _add(pair):
    left, right, scale = borrowed(pair)
    for i in range(left.shape[0]):
        left[i] += scale * right[i]
    return left[0]


@kernel
def add(pair):
    return _add(pair)


def test_fields_are_those_of_the_handle_and_are_shared():
    left, right = np.zeros(3), np.array([1.0, 2.0, 3.0])
    pair = make_pair(left, right, 0.5)
    assert add(pair) == 0.5
    assert add(pair) == 1.0
    np.testing.assert_array_equal(left, right)


def test_calls_neither_keep_nor_free_anything():
    left = np.zeros(3)
    pair = make_pair(left, np.ones(3), 1.0)
    add(pair)
    before = sys.getrefcount(left)
    for _ in range(1000):
        add(pair)
    assert sys.getrefcount(left) == before
    assert left[0] == 1001.0
    alive = weakref.ref(left)
    del left
    gc.collect()
    assert alive() is not None  # the handle holds it
    del pair
    gc.collect()
    assert alive() is None
