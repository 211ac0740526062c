"""Small dense quadratic programs: one problem type, interchangeable solvers by name."""

from __future__ import annotations

from collections.abc import Callable

from contact_core.base.registry import Registry
from contact_core.quadratic_program.dual_active_set import (
    DualActiveSetSolver,
    solve_dual_active_set,
)
from contact_core.quadratic_program.factorization import Workspace, allocate_workspace
from contact_core.quadratic_program.problem import (
    QuadraticProgram,
    QuadraticProgramSolution,
    QuadraticProgramSolver,
    QuadraticProgramStatus,
    solve_relaxed,
)

__all__ = [
    "SOLVERS",
    "DualActiveSetSolver",
    "QuadraticProgram",
    "QuadraticProgramSolution",
    "QuadraticProgramSolver",
    "QuadraticProgramStatus",
    "Workspace",
    "allocate_workspace",
    "make_solver",
    "solve_dual_active_set",
    "solve_relaxed",
]


def _osqp() -> QuadraticProgramSolver:
    # Importing OSQP takes a third of a second: only those who choose it pay for it.
    from contact_core.quadratic_program.osqp_solver import OsqpSolver

    return OsqpSolver()


SOLVERS: Registry[Callable[[], QuadraticProgramSolver]] = Registry(
    "QP solver",
    {"dual_active_set": DualActiveSetSolver, "osqp": _osqp},
    group="contact_stack.qp_solvers",
)
"""What makes a solver, by its name."""


def make_solver(name: str) -> QuadraticProgramSolver:
    """Create a solver.

    Args:
        name: One of ``SOLVERS``.

    Returns:
        The solver.

    Raises:
        ConfigError: If there is no solver of that name.
    """
    return SOLVERS[name]()
