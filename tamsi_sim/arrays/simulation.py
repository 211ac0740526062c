"""The whole simulation behind one pointer, and the phases of a step that are compiled once.

Passing all arrays to a function one by one would cost microseconds per call and seconds of
compilation per function. A :class:`Simulation` is one pointer; a kernel that gets it borrows
just the selections that it hands on: ``simulation.state`` is a few loads from memory, without
reference counting (inside a kernel of ``contact_core.base.kernel`` that borrows).

Numba compiles what a function calls once more with each of its callers, over all levels. A
:func:`phase` ends that: it is compiled by itself, once, and called by its address.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numba import typeof, types
from numba.core import cgutils, imputils
from numba.core.runtime.context import NRTContext
from numba.experimental import structref
from numba.extending import intrinsic, lower_getattr_generic

from contact_core.base.kernel import Function, inlined_kernel, inner_kernel, kernel
from tamsi_sim.arrays.data import LENGTH, NEXT, Model, Work
from tamsi_sim.arrays.settings import SchemeSettings


@structref.register
class _SimulationType(types.StructRef):
    """Numba type of :class:`Simulation`."""


if TYPE_CHECKING:

    class _Fields(Model, Work):  # type: ignore[misc]
        """What a simulation has by the names of its parts: the selections of both."""

        phases: np.ndarray
        settings: SchemeSettings

else:
    _Fields = structref.StructRefProxy


class Simulation(_Fields):
    """Model, workspace and settings behind one pointer; the arrays stay shared with Python.

    Its other attributes are the selections of :class:`Model` and :class:`Work`, by their names.

    Attributes:
        phases: Addresses of the compiled phases.
        settings: The scalars of the scheme.
    """


structref.define_proxy(
    Simulation, _SimulationType, ["phases", "settings", *Model._fields, *Work._fields]
)


@lower_getattr_generic(_SimulationType)
def _borrow(context: Any, builder: Any, handle: Any, value: Any, name: str) -> Any:
    """Load a selection; it is only counted where a kernel has Numba's run-time."""
    proxy = cgutils.create_struct_proxy(handle)(context, builder, value=value)
    # Kernels that borrow have no run-time of their own; this only computes an address.
    address = NRTContext(context, True).meminfo_data(builder, proxy.meminfo)
    payload = handle.get_data_type()
    layout = context.data_model_manager[payload].get_value_type()
    data = cgutils.create_struct_proxy(payload)(
        context, builder, ref=builder.bitcast(address, layout.as_pointer())
    )
    return imputils.impl_ret_borrowed(
        context, builder, handle.field_dict[name], getattr(data, name)
    )


@kernel
def _bundle(fields: tuple[Any, ...]) -> Simulation:
    return Simulation(*fields)


COLLIDE, SEAMS, EVALUATE, SOLVE, PROCEED, STEP, PERIOD = range(7)
"""Numbers of the phases: they are part of compiled code."""

_kernels: dict[int, Any] = {}
_addresses = np.zeros(PERIOD + 1, dtype=np.int64)


def make_simulation(model: Model, work: Work, settings: SchemeSettings) -> Simulation:
    """Bundle model, workspace and settings for the kernels.

    Args:
        model: The model.
        work: The workspace.
        settings: The settings.
    """
    work.pace[LENGTH] = work.pace[NEXT] = settings.time_step
    simulation = _bundle((_addresses, settings, *model, *work))
    for number, compiled in _kernels.items():
        if _addresses[number] == 0:
            _addresses[number] = _address(compiled, typeof(simulation))
    return simulation


def _address(compiled: Any, handle: types.Type) -> int:
    """Compile a phase, or load it from disk, and return where it is."""
    compiled.compile((handle,))
    result = compiled.overloads[(handle,)]
    return int(result.library.get_pointer_to_function(result.fndesc.mangled_name))


def phase(number: int) -> Callable[[Function], Function]:
    """Compile a function of a simulation that returns an integer, and call it by its address.

    Args:
        number: Its number, see above.

    Returns:
        A decorator of a function in Numba's nopython subset, which must not allocate arrays;
        it returns an inner kernel that calls the compiled one.
    """

    def decorate(function: Function) -> Function:
        # What is first compiled for a phase becomes part of it.
        _kernels[number] = inlined_kernel(function)

        def call(simulation: Simulation) -> int:
            return _call(simulation.phases[number], simulation)

        call.__doc__ = function.__doc__
        return cast(Function, inner_kernel(call))

    return decorate


@intrinsic
def _called(typing_context: Any, address: Any, simulation: Any) -> Any:
    """Call the compiled function at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        location, handle = arguments
        layout = context.call_conv.get_function_type(types.int64, (simulation,))
        function = builder.inttoptr(location, layout.as_pointer())
        _, result = context.call_conv.call_function(
            builder, function, types.int64, (simulation,), [handle]
        )
        return result

    return types.int64(types.int64, simulation), generate


_call = cast(Callable[[int, Simulation], int], _called)
