"""Shrinking-horizon MPC: one problem type, interchangeable solvers."""

from collections.abc import Callable

from contact_core.base.registry import Registry
from irs_planner.mpc.riccati_solver import RiccatiSolver
from irs_planner.mpc.tracking_problem import MpcSolution, MpcSolver, TrackingProblem

__all__ = [
    "MPC_SOLVERS",
    "MpcSolution",
    "MpcSolver",
    "RiccatiSolver",
    "TrackingProblem",
    "make_mpc_solver",
]


def _osqp() -> MpcSolver:
    # Importing OSQP takes a third of a second: only those who choose it pay for it.
    from irs_planner.mpc.osqp_solver import OsqpMpcSolver

    return OsqpMpcSolver()


MPC_SOLVERS: Registry[Callable[[], MpcSolver]] = Registry(
    "MPC solver", {"riccati": RiccatiSolver, "osqp": _osqp}
)


def make_mpc_solver(name: str) -> MpcSolver:
    """Create an MPC solver.

    Args:
        name: One of ``MPC_SOLVERS``.

    Returns:
        The solver.

    Raises:
        ConfigError: If there is no solver of that name.
    """
    return MPC_SOLVERS[name]()
