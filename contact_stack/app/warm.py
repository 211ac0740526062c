"""Compile every kernel once, so that no node ever waits for the compiler.

Run by ``make setup`` as ``python -m contact_stack.app.warm``.
"""

from __future__ import annotations

import importlib

MODULES = (
    "tamsi_sim.warm",
    "contact_aware_control.warm",
    "contact_aware_control.estimation.warm",
    "irs_planner.node.warm",
)
"""Each has a function ``compile_kernels()``."""


def main() -> None:
    """Compile the kernels of all packages into Numba's cache on disk."""
    for name in MODULES:
        importlib.import_module(name).compile_kernels()


if __name__ == "__main__":
    main()
