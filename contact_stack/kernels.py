"""Compiles the kernels of a graph before it starts, where `make setup` has not done so."""

from __future__ import annotations

import subprocess
import sys

from tqdm import tqdm

from contact_core.base.errors import ContactStackError
from contact_stack.checks import CheckStatus
from contact_stack.checks.machine import compiled_kernels

COMMAND = (sys.executable, "-m", "contact_stack.precompile", "graph")
USUAL = 120
"""How long it takes on two processors [s]."""


def compile_once() -> None:
    """Compile what is not in Numba's cache, and show how long it takes.

    Nodes would do so themselves, all at the same time, and be silent for minutes. Those of
    planners still do, before they offer their actions.

    Raises:
        ContactStackError: If it fails.
    """
    if compiled_kernels().status is CheckStatus.OK:
        return
    done = subprocess.Popen(COMMAND, stderr=subprocess.PIPE, text=True)
    bar = f"{{desc}}: {{n}} s, usually {USUAL} s"
    with tqdm(desc="compile the numerical kernels, once", bar_format=bar) as progress:
        while True:
            try:
                _, errors = done.communicate(timeout=1.0)
                break
            except subprocess.TimeoutExpired:
                progress.update(1)
            except BaseException:
                done.terminate()
                done.wait()
                raise
    if done.returncode != 0:
        reason = (errors.strip().splitlines() or ["no message"])[-1]
        raise ContactStackError(f"the numerical kernels cannot be compiled: {reason}")
