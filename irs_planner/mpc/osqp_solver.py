"""MPC by OSQP, an operator-splitting solver for sparse QPs."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse

from contact_core.quadratic_program import QuadraticProgramStatus
from contact_core.quadratic_program.osqp_solver import solve_sparse
from irs_planner.mpc.tracking_problem import MpcSolution, MpcSolver, TrackingProblem


class OsqpMpcSolver(MpcSolver):
    """One sparse QP per start; slower than Riccati, kept as an independent check."""

    def __init__(self, tolerance: float = 1e-7, max_iterations: int = 50_000) -> None:
        """Choose the accuracy.

        Args:
            tolerance: Absolute and relative residual at which OSQP stops.
            max_iterations: Its iteration limit.
        """
        self._tolerance, self._max_iterations = tolerance, max_iterations
        self._problem: TrackingProblem | None = None

    def prepare(self, problem: TrackingProblem) -> QuadraticProgramStatus:
        """Take over a new linearisation, see :meth:`MpcSolver.prepare`."""
        self._problem = problem
        finite = all(np.isfinite(a).all() for a in (problem.transition, problem.control))
        return QuadraticProgramStatus.OPTIMAL if finite else QuadraticProgramStatus.NOT_CONVEX

    def solve(self, start: int, state: np.ndarray) -> MpcSolution:
        """Solve from one stage to the end, see :meth:`MpcSolver.solve`.

        Variables: [s_{t+1}; w_t] of every stage, then as many violations of soft bounds.
        """
        problem = self._problem
        assert problem is not None
        horizon, n, m = problem.control.shape
        stages, width = horizon - start, n + m
        dynamics, offset = _dynamics(problem, start, state)
        soft = np.where(problem.softness > 0.0, 1.0, 0.0)
        hessian = [
            sparse.block_diag((2.0 * weight, 2.0 * problem.control_weight))
            for weight in [problem.weight] * (stages - 1) + [problem.final_weight]
        ]
        penalty = sparse.diags(np.divide(1.0, problem.softness, where=soft > 0, out=soft * 0.0))
        zero = np.zeros((stages, m))
        gradient = np.hstack((_reference_gradient(problem, start), zero)).reshape(-1)
        violation = sparse.kron(sparse.identity(stages), sparse.diags(soft))
        status, x, iterations = solve_sparse(
            sparse.block_diag((*hessian, *([penalty] * stages)), format="csc"),
            np.concatenate((gradient, np.zeros(stages * width))),
            sparse.bmat(
                [[dynamics, None], [sparse.identity(stages * width), violation]], format="csc"
            ),
            np.concatenate((offset, problem.lower[start:].reshape(-1))),
            np.concatenate((offset, problem.upper[start:].reshape(-1))),
            self._tolerance,
            self._max_iterations,
        )
        controls = x[: stages * width].reshape(stages, width)[:, n:]
        if not np.isfinite(controls).all():
            controls = np.zeros((stages, m))
        return MpcSolution(status, controls, iterations)


def _dynamics(
    problem: TrackingProblem, start: int, state: np.ndarray
) -> tuple[sparse.csc_matrix, np.ndarray]:
    """Return the equality constraints: (rows, right-hand side)."""
    horizon, n, m = problem.control.shape
    stages, width = horizon - start, n + m
    rows = sparse.lil_matrix((stages * n, stages * width))
    offset = problem.offset[start:].copy()
    for k in range(stages):
        row, column = slice(k * n, (k + 1) * n), k * width
        rows[row, column : column + n] = np.eye(n)
        rows[row, column + n : column + width] = -problem.control[start + k]
        if k > 0:
            rows[row, column - width : column - m] = -problem.transition[start + k]
    offset[0] += problem.transition[start] @ state
    return rows.tocsc(), offset.reshape(-1)


def _reference_gradient(problem: TrackingProblem, start: int) -> np.ndarray:
    """Return (stages, n) the linear cost of s_{t+1}."""
    gradient = -2.0 * problem.reference[start + 1 :] @ problem.weight
    gradient[-1] = -2.0 * problem.final_weight @ problem.reference[-1]
    return gradient
