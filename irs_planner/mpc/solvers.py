"""Solvers of MPC by name, and the one on the Riccati recursion.

It goes by active sets from the last solution, else by interior point.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from contact_core.base.registry import Registry
from contact_core.quadratic_program import QuadraticProgramStatus
from irs_planner.mpc.active_set import (
    Policy,
    allocate_policy,
    improve_policy,
    solve_active_set,
    take_over,
)
from irs_planner.mpc.interior_point import BoundList, list_bounds, solve_interior_point
from irs_planner.mpc.riccati import StageMemory, allocate_stages
from irs_planner.mpc.tracking_problem import MpcSolution, MpcSolver, TrackingProblem


class RiccatiSolver(MpcSolver):
    """Solves the shrinking problems one out of another, as far as the same bounds are active."""

    def __init__(self) -> None:
        """Create the solver; memory is allocated by :meth:`prepare`."""
        self._problem: TrackingProblem | None = None
        self._policy: Policy | None = None
        self._known = 0
        self._bounds: BoundList | None = None
        self._memory: StageMemory | None = None

    def prepare(self, problem: TrackingProblem) -> QuadraticProgramStatus:
        """Compute the policy without bounds, see :meth:`MpcSolver.prepare`."""
        self._problem = problem
        self._policy = allocate_policy(problem)
        self._known, self._bounds, self._memory = 0, None, None
        convex = improve_policy(problem, 0, len(problem.control) - 1, self._policy)
        return QuadraticProgramStatus.OPTIMAL if convex else QuadraticProgramStatus.NOT_CONVEX

    def solve(self, start: int, state: np.ndarray) -> MpcSolution:
        """Solve from one stage to the end, see :meth:`MpcSolver.solve`."""
        assert self._problem is not None and self._policy is not None
        policy = self._policy
        policy.state[start] = state
        code, rounds, self._known = solve_active_set(self._problem, start, self._known, policy)
        status = QuadraticProgramStatus(code)
        if status is not QuadraticProgramStatus.ITERATION_LIMIT:
            return MpcSolution(status, policy.control[start:].copy(), rounds)
        return self._solve_interior_point(start, state)

    def _solve_interior_point(self, start: int, state: np.ndarray) -> MpcSolution:
        """Solve without the last solution; the next solve goes on from this one."""
        assert self._problem is not None and self._policy is not None
        problem, policy = self._problem, self._policy
        horizon, n, m = problem.control.shape
        if self._bounds is None or self._memory is None:
            self._bounds, self._memory = list_bounds(problem), allocate_stages(horizon, n, m)
        self._memory.state[start] = state
        self._memory.control[start:] = np.clip(
            policy.control[start:], problem.lower[start:, n:], problem.upper[start:, n:]
        )
        code, rounds = solve_interior_point(problem, self._bounds, start, self._memory)
        status = QuadraticProgramStatus(code)
        if status is QuadraticProgramStatus.OPTIMAL:
            take_over(self._bounds, self._bounds.first[start], policy)
            self._known = horizon
        return MpcSolution(status, self._memory.control[start:].copy(), rounds)


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
