"""Batches over several threads; kernels release the GIL."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np


def map_batch(
    function: Callable[..., Any], workers: int, *batches: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Apply a function of batches to contiguous parts of them, one part per thread.

    Every point of a batch is computed on its own, so the result does not depend on the
    number of workers.

    Args:
        function: Takes (K, ...) arrays and returns one array or a tuple of arrays whose
            first axis is K as well.
        workers: Number of threads, >= 1.
        batches: The arguments, with the same first axis.

    Returns:
        The concatenated results, always as a tuple.
    """
    count = len(batches[0])
    parts = min(workers, count)
    if parts <= 1:
        return _as_tuple(function(*batches))
    edges = [count * i // parts for i in range(parts + 1)]
    pieces = [tuple(batch[a:b] for batch in batches) for a, b in itertools.pairwise(edges)]
    with ThreadPoolExecutor(parts) as pool:
        results = [_as_tuple(r) for r in pool.map(lambda piece: function(*piece), pieces)]
    return tuple(np.concatenate(arrays) for arrays in zip(*results, strict=True))


def _as_tuple(result: Any) -> tuple[np.ndarray, ...]:
    return tuple(result) if isinstance(result, tuple) else (result,)
