"""Operations on vectors that do not allocate."""

from __future__ import annotations

import math

import numpy as np

from tamsi_sim.arrays.borrowing import inner_kernel


@inner_kernel
def copy(source: np.ndarray, target: np.ndarray) -> None:
    """Copy a vector into another."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@inner_kernel
def norm(vector: np.ndarray) -> float:
    """Return the Euclidean norm."""
    square = 0.0
    for i in range(vector.shape[0]):
        square += vector[i] * vector[i]
    return math.sqrt(square)
