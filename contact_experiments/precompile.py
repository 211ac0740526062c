"""Compile every kernel once, so that no node ever waits for the compiler.

``make setup`` runs ``python -m contact_experiments.precompile graph``, then ``others``; workers of
a cluster call :func:`precompile_stack`.
"""

from __future__ import annotations

import importlib
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

MODULES = {
    "graph": ("tamsi_sim.precompile", "contact_aware_control.precompile"),
    "others": (
        "irs_planner.precompile",
        "contact_experiments.tamsi.precompile",
        "robust_planner.precompile",
    ),
}
"""What simulator, estimator and controller run, and the rest; the longest comes first.

Each has a function ``precompile()``."""


def main(groups: list[str]) -> None:
    """Compile kernels into Numba's cache on disk, side by side.

    Args:
        groups: Of MODULES.
    """
    names = [name for group in groups for name in MODULES[group]]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(mp_context=context) as pool:
        list(pool.map(precompile_module, names))


def precompile_stack() -> None:
    """Compile the kernels of all packages one after the other, in this process."""
    for names in MODULES.values():
        for name in names:
            precompile_module(name)


def precompile_module(name: str) -> None:
    """Compile the kernels of one package.

    Args:
        name: Its module of :data:`MODULES`.
    """
    importlib.import_module(name).precompile()


if __name__ == "__main__":
    main(sys.argv[1:] or list(MODULES))
