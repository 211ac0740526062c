"""Compilation of the engine's inner functions: they borrow arrays and count no references.

Numba counts references of every array of every argument at every call. An engine that
hands a hundred arrays from function to function would spend most of its time on that.
Inner functions never keep or allocate an array, so they are compiled without Numba's
run-time; the few functions that Python calls own the arrays while they run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit, types
from numba.core import cgutils
from numba.core.runtime.context import NRTContext
from numba.extending import intrinsic

from contact_core.kernel import FASTMATH

Function = TypeVar("Function", bound=Callable[..., Any])
_OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": FASTMATH,
    "_nrt": False,
}
# Unpacking a hundred arrays of a Python object takes more code than most functions have.
_NOT_FOR_PYTHON: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def inner_kernel(function: Function) -> Function:
    """Compile a function that kernels call, and Python cannot; it must not allocate arrays.

    Args:
        function: A function in Numba's nopython subset.

    Returns:
        The compiled function, with the options of ``contact_core.kernel``.
    """
    compiled: Function = njit(**_OPTIONS, **_NOT_FOR_PYTHON)(function)
    return compiled


def inlined_kernel(function: Function) -> Function:
    """Compile an inner kernel that becomes part of its callers.

    A call hands over a description of every array of a Model or Work. Functions of one
    contact or one joint would take longer to call than to run.

    Args:
        function: A function in Numba's nopython subset.

    Returns:
        The compiled function, with the options of ``contact_core.kernel``.
    """
    compiled: Function = njit(forceinline=True, **_OPTIONS, **_NOT_FOR_PYTHON)(function)
    return compiled


def leaf_kernel(function: Function) -> Function:
    """Compile an inner kernel that Python can call as well: it has few and small arguments.

    Args:
        function: A function in Numba's nopython subset.

    Returns:
        The compiled function, with the options of ``contact_core.kernel``.
    """
    compiled: Function = njit(**_OPTIONS)(function)
    return compiled


@intrinsic
def _borrowed(typing_context: Any, handle: Any) -> Any:
    payload = handle.get_data_type()
    result = types.Tuple(list(handle.field_dict.values()))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        proxy = cgutils.create_struct_proxy(handle)(context, builder, value=arguments[0])
        # Inner kernels have no run-time of their own; this only computes an address.
        address = NRTContext(context, True).meminfo_data(builder, proxy.meminfo)
        layout = context.data_model_manager[payload].get_value_type()
        data = cgutils.create_struct_proxy(payload)(
            context, builder, ref=builder.bitcast(address, layout.as_pointer())
        )
        fields = [getattr(data, name) for name in handle.field_dict]
        return context.make_tuple(builder, result, fields)

    return result(handle), generate


borrowed = cast(Callable[[Any], Any], _borrowed)
"""Return the fields of a ``structref`` as a tuple, inside an inner kernel.

Reading them one by one would count every array up, and down at the end, which takes longer
than a step of a small scene. Whoever holds the handle keeps them alive.
"""
