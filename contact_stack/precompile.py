"""Compile every kernel once, so that no node ever waits for the compiler.

``make setup`` runs ``python -m contact_stack.precompile graph``, then ``others``; workers of a
cluster call :func:`precompile_stack`.
"""

from __future__ import annotations

import importlib
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import entry_points

GRAPH, OTHERS = "graph", "others"

MODULES = {
    GRAPH: ("tamsi_sim.precompile", "contact_aware_control.precompile"),
    OTHERS: ("irs_planner.precompile", "robust_planner.precompile"),
}
"""What simulator, estimator and controller run, and the rest; the longest comes first.

Each has a function ``precompile()``."""

ELSEWHERE = "contact_stack.kernels"
"""Entry-point group of such functions of other packages; they count among the rest."""


def modules(group: str) -> tuple[str, ...]:
    """Return the modules of a group of :data:`MODULES`, those of other packages included."""
    others = entry_points(group=ELSEWHERE) if group == OTHERS else ()
    return (*MODULES[group], *(point.module for point in others))


def main(groups: list[str]) -> None:
    """Compile kernels into Numba's cache on disk, side by side.

    Args:
        groups: Of MODULES.
    """
    names = [name for group in groups for name in modules(group)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(mp_context=context) as pool:
        list(pool.map(precompile_module, names))


def precompile_stack() -> None:
    """Compile the kernels of all packages one after the other, in this process."""
    for group in MODULES:
        for name in modules(group):
            precompile_module(name)


def precompile_module(name: str) -> None:
    """Compile the kernels of one package.

    Args:
        name: The module with its function ``precompile()``.
    """
    importlib.import_module(name).precompile()


if __name__ == "__main__":
    main(sys.argv[1:] or list(MODULES))
