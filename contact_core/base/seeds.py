"""Independent, reproducible random streams from one seed."""

from __future__ import annotations

import zlib

import numpy as np


def generator(seed: int, purpose: str) -> np.random.Generator:
    """Return the random generator of one purpose.

    Streams of different purposes are independent, and adding a purpose does not
    change the draws of another one.

    Args:
        seed: The seed of the run, a non-negative integer.
        purpose: What the numbers are for, e.g. ``"torque noise"``.

    Returns:
        A generator that depends on ``seed`` and ``purpose`` alone.
    """
    return np.random.default_rng([seed, zlib.crc32(purpose.encode())])
