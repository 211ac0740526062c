"""Compilation of kernels: functions that Numba turns into machine code.

A :func:`kernel` is called from Python and owns its arrays. Kernels below it borrow them: Numba
counts the references of every array of every argument at every call, which would take longer
than the work of a small function, so they are compiled without Numba's run-time. They must not
allocate or keep an array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit, types
from numba.core.registry import CPUDispatcher

from contact_core.base.kernel_cache import cache_of

Function = TypeVar("Function", bound=Callable[..., Any])

# Assuming finite numbers is not safe: a NaN has to stay a NaN until a status reports it. Nor is
# re-association: which loops run vectorised depends on where arrays lie in memory, and the last
# bit of a sum would then differ from run to run.
FASTMATH = {"contract", "arcp", "nsz"}

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": FASTMATH,
}
_BORROWING: dict[str, Any] = {**_OPTIONS, "_nrt": False}
# Unpacking arrays of a Python object takes more code than most functions have.
_NOT_FOR_PYTHON: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def kernel(function: Function) -> Function:
    """Compile a function to machine code, cached on disk, with the GIL released.

    Args:
        function: A function in Numba's nopython subset.

    Returns:
        The compiled function. Division by zero yields inf or NaN, as in C.
    """
    return _compile(function, _OPTIONS)


def inner_kernel(function: Function) -> Function:
    """Compile a function that kernels call, and Python cannot; it must not allocate arrays.

    Args:
        function: A function in Numba's nopython subset.

    Returns:
        The compiled function, with the options of :func:`kernel`.
    """
    return _compile(function, {**_BORROWING, **_NOT_FOR_PYTHON})


def inlined_kernel(function: Function) -> Function:
    """Compile an inner kernel that becomes part of its callers.

    A call hands over a description of every array of its arguments. Functions of one contact
    or one joint would take longer to call than to run.

    Numba hands the option down: inner kernels that are first compiled for an inlined one become
    part of it, too. So the routines of the narrow phase are one function in the end.

    Args:
        function: A function in Numba's nopython subset.

    Returns:
        The compiled function, with the options of :func:`kernel`.
    """
    return _compile(function, {**_BORROWING, **_NOT_FOR_PYTHON, "forceinline": True})


def pasted_kernel(function: Function) -> Function:
    """Let the source of a function become part of its callers; it is not compiled by itself.

    For big functions with one caller, which would otherwise be compiled twice.

    Args:
        function: A function in Numba's nopython subset.

    Returns:
        The function for kernels to call.
    """
    return _compile(function, {**_BORROWING, **_NOT_FOR_PYTHON, "inline": "always"})


def leaf_kernel(function: Function) -> Function:
    """Compile an inner kernel that Python can call as well: it has few and small arguments.

    Args:
        function: A function in Numba's nopython subset.

    Returns:
        The compiled function, with the options of :func:`kernel`.
    """
    return _compile(function, _BORROWING)


class _ForKernels(CPUDispatcher):
    """A compiled function without what Python needs to call it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse; Numba would call an address that is none."""
        name = f"{self.py_func.__module__}.{self.py_func.__name__}"
        raise TypeError(f"{name} is an inner kernel: kernels call it, Python cannot")


def _compile(function: Function, options: dict[str, Any]) -> Function:
    """Compile a function when it is first called with arguments of some types.

    A number in the source is a type of its own to Numba; it is an integer like all others here,
    lest a function is compiled once more for every number it is called with.
    """
    compiled: Any = njit(**options)(function)
    cache = cache_of(function)
    if cache is not None:
        compiled._cache = cache
    if "no_cpython_wrapper" in options:
        compiled.__class__ = _ForKernels
    of_types = compiled.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        plain = {name: types.unliteral(kind) for name, kind in kws.items()}
        return of_types(tuple(types.unliteral(kind) for kind in args), plain)

    compiled.get_call_template = get_call_template
    return cast(Function, compiled)
