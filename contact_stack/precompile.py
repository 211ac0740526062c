"""Compile every kernel once, so that no node ever waits for the compiler.

``make setup`` runs ``python -m contact_stack.precompile graph``, then ``others``; workers of a
cluster call :func:`precompile_stack`. Where that has not been done, a command that starts a graph
calls :func:`compile_once`.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import entry_points

from tqdm import tqdm

from contact_core.base.errors import ContactStackError
from contact_stack.checks import CheckStatus
from contact_stack.checks.machine import compiled_kernels

COMMAND = (sys.executable, "-m", "contact_stack.precompile", "graph")
USUAL = 120
"""How long it takes on two processors [s]."""


GRAPH, OTHERS = "graph", "others"

MODULES = {
    GRAPH: ("tamsi_sim.precompile", "contact_aware_control.precompile", "contact_stack.fri.gate"),
    OTHERS: ("irs_planner.precompile", "robust_planner.precompile"),
}
"""What simulator, estimator and controller run, and the rest; the longest comes first.

Each has a function ``precompile()``."""

GRAPH_PACKAGES = ("contact_core", *(name.partition(".")[0] for name in MODULES[GRAPH]))

ELSEWHERE = "contact_stack.kernels"
"""Entry-point group of such functions of other packages; they count among the rest."""


def compile_once() -> None:
    """Compile what a graph runs and is not in Numba's cache, and show how long it takes.

    Nodes would do so themselves, all at the same time, and be silent for minutes. Those of
    planners still do, before they offer their actions.

    Raises:
        ContactStackError: If it fails.
    """
    if compiled_kernels(GRAPH_PACKAGES).status is CheckStatus.OK:
        return
    done = subprocess.Popen(COMMAND, stderr=subprocess.PIPE, text=True, start_new_session=True)
    bar = f"{{desc}}: {{n}} s, usually {USUAL} s"
    with tqdm(desc="compile the numerical kernels, once", bar_format=bar) as progress:
        while True:
            try:
                _, errors = done.communicate(timeout=1.0)
                break
            except subprocess.TimeoutExpired:
                progress.update(1)
            except BaseException:
                # With the processes that compile for it.
                os.killpg(done.pid, signal.SIGTERM)
                done.wait()
                raise
    if done.returncode != 0:
        reason = (errors.strip().splitlines() or ["no message"])[-1]
        raise ContactStackError(f"the numerical kernels cannot be compiled: {reason}")


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
