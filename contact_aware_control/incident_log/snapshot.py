"""The inner state of a control loop as bytes.

The state is pickled, without what the loop was built from (robot, parameters, solver) and
without what it was given (states, contacts, goals): those are put back when it is restored.
Restoring creates objects of this package and plain numbers only, whatever the bytes say.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pinocchio as pin

from contact_aware_control.config import ControllerConfig
from contact_aware_control.control_loop import ContactReport, ControlLoop
from contact_aware_control.goal import Goal
from contact_aware_control.reference.base import Reference
from contact_aware_control.safety.command_guard import CommandGuard
from contact_core.arm_state import ArmState
from contact_core.errors import ModelError
from contact_core.quadratic_program import QuadraticProgramSolver, make_solver
from contact_core.robot import Robot

INPUTS = (ArmState, ContactReport, Goal, Reference)
"""What a loop is given; a snapshot refers to it instead of holding it."""

SAFE_MODULES = ("contact_aware_control.", "contact_core.")
SAFE_NAMES = {
    ("builtins", "complex"),
    ("builtins", "set"),
    ("builtins", "frozenset"),
    ("builtins", "range"),
    ("collections", "deque"),
    ("collections", "OrderedDict"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy._core.numeric", "_frombuffer"),
    ("pinocchio.pinocchio_pywrap_default", "SE3"),
}


def take(loop: ControlLoop) -> tuple[bytes, tuple[object, ...]]:
    """Take a snapshot between two ticks.

    Args:
        loop: The loop; it is not changed.

    Returns:
        (the snapshot, the inputs it refers to).
    """
    known: list[object] = []
    buffer = io.BytesIO()
    _Pickler(buffer, known).dump(loop)
    return buffer.getvalue(), tuple(known)


def restore(
    snapshot: bytes, known: Sequence[object], robot: Robot, config: ControllerConfig
) -> ControlLoop:
    """Rebuild a loop.

    Args:
        snapshot: From :func:`take`.
        known: The inputs it refers to.
        robot: The arm, for the new loop alone.
        config: The parameters of the old loop.

    Returns:
        A loop that continues where the old one was.

    Raises:
        ModelError: If the bytes are no snapshot of this version of the controller.
    """
    try:
        loop = _Unpickler(io.BytesIO(snapshot), known, robot, config).load()
    except (pickle.UnpicklingError, AttributeError, EOFError, ImportError, IndexError) as error:
        raise ModelError(f"the snapshot cannot be restored: {error}") from error
    if not isinstance(loop, ControlLoop):
        raise ModelError(f"the snapshot holds a {type(loop).__name__} instead of a ControlLoop")
    return loop


def dump_plain(value: object) -> bytes:
    """Return the bytes of a reference, for :func:`load_plain`."""
    return pickle.dumps(value)


def load_plain(data: bytes) -> Any:
    """Rebuild a reference.

    Args:
        data: From :func:`dump_plain`.

    Returns:
        The reference.

    Raises:
        ModelError: If the bytes hold anything that is not ours.
    """
    try:
        return _SafeUnpickler(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, AttributeError, EOFError, ImportError, IndexError) as error:
        raise ModelError(f"the reference cannot be restored: {error}") from error


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, known: list[object]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._known = known
        self._numbers: dict[int, int] = {}

    def persistent_id(self, obj: object) -> tuple[str, int] | None:
        if isinstance(obj, INPUTS):
            if id(obj) not in self._numbers:
                self._numbers[id(obj)] = len(self._known)
                self._known.append(obj)
            return "input", self._numbers[id(obj)]
        for kind, name in _BUILT.items():
            if isinstance(obj, kind):
                return name, 0
        return None


_BUILT: dict[type, str] = {
    Robot: "robot",
    ControllerConfig: "config",
    CommandGuard: "guard",
    QuadraticProgramSolver: "solver",
    pin.Model: "model",
    pin.Data: "data",
}


class _SafeUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        ours = module.startswith(SAFE_MODULES) and "." not in name
        if not ours and (module, name) not in SAFE_NAMES:
            raise pickle.UnpicklingError(f"it names {module}.{name}")
        found = super().find_class(module, name)
        # A function of ours could be called with arguments of the file's choice.
        if ours and not isinstance(found, type):
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is no class")
        return found


class _Unpickler(_SafeUnpickler):
    def __init__(
        self, file: io.BytesIO, known: Sequence[object], robot: Robot, config: ControllerConfig
    ) -> None:
        super().__init__(file)
        self._known = known
        self._makers: dict[str, Callable[[], object]] = {
            "robot": lambda: robot,
            "config": lambda: config,
            "guard": lambda: CommandGuard(robot, config),
            "solver": lambda: make_solver(config.solver),
            "model": lambda: robot.model,
            "data": robot.model.createData,
        }

    def persistent_load(self, pid: Any) -> object:
        name, number = pid
        if name == "input":
            return self._known[number]
        if name not in self._makers:
            raise pickle.UnpicklingError(f"it refers to a '{name}'")
        return self._makers[name]()
