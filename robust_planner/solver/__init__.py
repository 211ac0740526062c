"""Nonlinear-programming solvers behind one interface, by name."""

from __future__ import annotations

from collections.abc import Callable

from contact_core.base.errors import ConfigError, ContactStackError, choices
from contact_core.base.planning import PlanStatus
from contact_core.base.registry import Registry
from robust_planner.config import NonlinearSolverConfig
from robust_planner.program import StagedProgram
from robust_planner.solver.ipopt import IpoptSolver
from robust_planner.solver.solver import NonlinearSolver


class SolverMissingError(ContactStackError):
    """The chosen solver is unknown or not installed.

    Choose one that the message lists, or install it.

    Attributes:
        plan_status: How a plan ended that needs it.
    """

    plan_status = PlanStatus.SOLVER_MISSING


def _snopt(program: StagedProgram, config: NonlinearSolverConfig) -> NonlinearSolver:
    # Drake is optional and takes a second to import: only those who choose it pay for it.
    from robust_planner.solver.snopt import SnoptSolver

    return SnoptSolver(program, config)


SOLVERS: Registry[Callable[[StagedProgram, NonlinearSolverConfig], NonlinearSolver]] = Registry(
    "solver", {"ipopt": IpoptSolver, "snopt": _snopt}
)


def make_solver(program: StagedProgram, config: NonlinearSolverConfig) -> NonlinearSolver:
    """Create the solver of a program.

    Args:
        program: The program.
        config: Names the solver.

    Returns:
        The solver.

    Raises:
        SolverMissingError: If there is no solver of that name, or it is not installed.
    """
    try:
        return SOLVERS[config.name](program, config)
    except ConfigError as error:
        raise SolverMissingError(str(error)) from error
    except ImportError as error:
        raise SolverMissingError(
            f"solver '{config.name}' is not installed: pip install drake ({choices(SOLVERS)})"
        ) from error
