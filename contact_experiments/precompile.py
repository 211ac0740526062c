"""Compile every kernel once, so that no node ever waits for the compiler.

Run by ``make setup`` as ``python -m contact_experiments.precompile``, and by workers of a cluster.
"""

from __future__ import annotations

import importlib
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

MODULES = (
    "contact_experiments.tamsi.precompile",
    "irs_planner.precompile",
    "contact_aware_control.precompile",
    "robust_planner.precompile",
)
"""Each has a function ``precompile()``; the longest comes first."""


def main() -> None:
    """Compile the kernels of all packages into Numba's cache on disk, side by side."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(mp_context=context) as pool:
        list(pool.map(precompile_module, MODULES))


def precompile_stack() -> None:
    """Compile the kernels of all packages one after the other, in this process."""
    for name in MODULES:
        precompile_module(name)


def precompile_module(name: str) -> None:
    """Compile the kernels of one package.

    Args:
        name: Its module of :data:`MODULES`.
    """
    importlib.import_module(name).precompile()


if __name__ == "__main__":
    main()
