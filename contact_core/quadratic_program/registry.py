"""QP solvers by name."""

from __future__ import annotations

from collections.abc import Callable

from contact_core.errors import ConfigError, choices
from contact_core.quadratic_program.dual_active_set import DualActiveSetSolver
from contact_core.quadratic_program.solver import QuadraticProgramSolver


def _osqp() -> QuadraticProgramSolver:
    # Importing OSQP takes a third of a second: only those who choose it pay for it.
    from contact_core.quadratic_program.osqp_solver import OsqpSolver

    return OsqpSolver()


SOLVERS: dict[str, Callable[[], QuadraticProgramSolver]] = {
    "dual_active_set": DualActiveSetSolver,
    "osqp": _osqp,
}


def make_solver(name: str) -> QuadraticProgramSolver:
    """Create a solver.

    Args:
        name: One of ``SOLVERS``.

    Returns:
        The solver.

    Raises:
        ConfigError: If there is no solver of that name, or it is not installed.
    """
    if name not in SOLVERS:
        raise ConfigError(f"unknown QP solver '{name}' ({choices(SOLVERS)})")
    try:
        return SOLVERS[name]()
    except ImportError as error:
        raise ConfigError(f"QP solver '{name}' is not installed: pip install {name}") from error
