"""Small dense quadratic programs: one problem type, interchangeable solvers."""

from contact_core.quadratic_program.dual_active_set import (
    DualActiveSetSolver,
    solve_dual_active_set,
)
from contact_core.quadratic_program.problem import QuadraticProgram
from contact_core.quadratic_program.registry import SOLVERS, make_solver
from contact_core.quadratic_program.solution import (
    QuadraticProgramSolution,
    QuadraticProgramStatus,
)
from contact_core.quadratic_program.solver import QuadraticProgramSolver
from contact_core.quadratic_program.workspace import Workspace, allocate_workspace

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
]
