"""Compilation options shared by every Numba kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])

# Assuming finite numbers is not safe: a NaN has to stay a NaN until a status reports it. Nor is
# re-association: which loops run vectorised depends on where arrays lie in memory, and the last
# bit of a sum would then differ from run to run.
FASTMATH = {"contract", "arcp", "nsz"}


def kernel(function: Function) -> Function:
    """Compile a function to machine code, cached on disk, with the GIL released.

    Args:
        function: A function in Numba's nopython subset.

    Returns:
        The compiled function. Division by zero yields inf or NaN, as in C.
    """
    compile_function = njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy")
    return cast(Function, compile_function(function))
