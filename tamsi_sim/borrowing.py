"""Compilation of the engine's inner functions: they borrow arrays and count no references.

Numba counts references of every array of every argument at every call. An engine that
hands a hundred arrays from function to function would spend most of its time on that.
Inner functions never keep or allocate an array, so they are compiled without Numba's
run-time; the few functions that Python calls own the arrays while they run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

from contact_stack.core.kernel import FASTMATH

Function = TypeVar("Function", bound=Callable[..., Any])


def inner_kernel(function: Function) -> Function:
    """Compile a function that kernels call, not Python; it must not allocate arrays.

    Args:
        function: A function in Numba's nopython subset.

    Returns:
        The compiled function, with the options of ``contact_stack.core.kernel``.
    """
    options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}
    compiled: Function = njit(fastmath=FASTMATH, **options)(function)
    return compiled
