"""Compile every kernel once, so that no node ever waits for the compiler.

Run by ``make setup`` as ``python -m contact_stack.app.warm``.
"""

from __future__ import annotations

import importlib
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

MODULES = (
    "tamsi_sim.integrators.warm",
    "irs_planner.node.warm",
    "contact_aware_control.estimation.warm",
    "contact_aware_control.warm",
)
"""Each has a function ``compile_kernels()``; the longest comes first."""


def main() -> None:
    """Compile the kernels of all packages into Numba's cache on disk, side by side."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(mp_context=context) as pool:
        list(pool.map(compile_package, MODULES))


def compile_package(name: str) -> None:
    """Compile the kernels of one package.

    Args:
        name: Its module of :data:`MODULES`.
    """
    importlib.import_module(name).compile_kernels()


if __name__ == "__main__":
    main()
