"""Shrinking-horizon MPC: one problem type, interchangeable solvers."""

from irs_planner.mpc.solvers import MPC_SOLVERS, RiccatiSolver, make_mpc_solver
from irs_planner.mpc.tracking_problem import MpcSolution, MpcSolver, TrackingProblem

__all__ = [
    "MPC_SOLVERS",
    "MpcSolution",
    "MpcSolver",
    "RiccatiSolver",
    "TrackingProblem",
    "make_mpc_solver",
]
