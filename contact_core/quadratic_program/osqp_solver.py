"""OSQP (operator splitting): behind the interface of this package, and for sparse problems."""

from __future__ import annotations

import numpy as np
import osqp
import scipy.sparse

from contact_core.quadratic_program.problem import (
    QuadraticProgram,
    QuadraticProgramSolution,
    QuadraticProgramSolver,
    QuadraticProgramStatus,
)

_STATUS = {
    osqp.SolverStatus.OSQP_SOLVED: QuadraticProgramStatus.OPTIMAL,
    osqp.SolverStatus.OSQP_SOLVED_INACCURATE: QuadraticProgramStatus.ITERATION_LIMIT,
    osqp.SolverStatus.OSQP_MAX_ITER_REACHED: QuadraticProgramStatus.ITERATION_LIMIT,
    osqp.SolverStatus.OSQP_PRIMAL_INFEASIBLE: QuadraticProgramStatus.INFEASIBLE,
    osqp.SolverStatus.OSQP_PRIMAL_INFEASIBLE_INACCURATE: QuadraticProgramStatus.INFEASIBLE,
    osqp.SolverStatus.OSQP_NON_CVX: QuadraticProgramStatus.NOT_CONVEX,
    osqp.SolverStatus.OSQP_DUAL_INFEASIBLE: QuadraticProgramStatus.NOT_CONVEX,
}


class OsqpSolver(QuadraticProgramSolver):
    """Iterative and warm-started; about 1e-7 accurate at the default tolerance."""

    def __init__(self, tolerance: float = 1e-9, max_iterations: int = 20000) -> None:
        """Choose the accuracy.

        Args:
            tolerance: Absolute and relative residual at which OSQP stops, of the problem whose
                greatest entry of the Hessian is one.
            max_iterations: Its iteration limit.
        """
        self._settings = {
            "eps_abs": tolerance,
            "eps_rel": tolerance,
            "max_iter": max_iterations,
            "check_termination": 5,
            "verbose": False,
        }
        self._models: dict[tuple[int, int], osqp.OSQP] = {}

    def solve(self, problem: QuadraticProgram) -> QuadraticProgramSolution:
        """Solve a problem, see :meth:`QuadraticProgramSolver.solve`."""
        m, n = problem.constraint_matrix.shape
        if not _is_finite(problem):
            return _failure(problem, QuadraticProgramStatus.NOT_FINITE)
        if np.any(problem.lower > problem.upper):
            return _failure(problem, QuadraticProgramStatus.INFEASIBLE)
        # OSQP stores the upper triangle of H, column by column: the rows of the lower one.
        scale = _scale(np.tril(problem.hessian), problem.gradient)
        hessian, gradient = problem.hessian[np.tril_indices(n)] / scale, problem.gradient / scale
        rows = np.vstack((problem.constraint_matrix, np.eye(n)))
        bounds = {
            "l": np.concatenate((np.full(m, -np.inf), problem.lower)),
            "u": np.concatenate((problem.constraint_bound, problem.upper)),
        }
        model = self._models.get((m, n))
        if model is None:
            model = self._setup(hessian, gradient, rows, bounds)
            if model is None:
                return _failure(problem, QuadraticProgramStatus.NOT_CONVEX)
            self._models[m, n] = model
        else:
            model.update(q=gradient, Px=hessian, Ax=rows.ravel(order="F"), **bounds)
        result = model.solve(raise_error=False)
        status = _STATUS.get(result.info.status_val, QuadraticProgramStatus.ITERATION_LIMIT)
        if status != QuadraticProgramStatus.OPTIMAL:
            # A failed solve leaves a diverged warm start behind.
            del self._models[m, n]
            return _failure(problem, status)
        dual = scale * np.array(result.y)
        multipliers = np.concatenate(
            (np.maximum(dual[:m], 0.0), np.maximum(-dual[m:], 0.0), np.maximum(dual[m:], 0.0))
        )
        return QuadraticProgramSolution(
            status, np.array(result.x), multipliers, int(result.info.iter)
        )

    def _setup(
        self,
        hessian: np.ndarray,
        gradient: np.ndarray,
        rows: np.ndarray,
        bounds: dict[str, np.ndarray],
    ) -> osqp.OSQP | None:
        """Create a model whose matrices are stored dense, so that any entry can change."""
        n = rows.shape[1]
        column_ends = np.cumsum(np.arange(n + 1))
        row_indices = np.concatenate([np.arange(j + 1) for j in range(n)])
        upper = scipy.sparse.csc_matrix((hessian, row_indices, column_ends), shape=(n, n))
        dense = scipy.sparse.csc_matrix(
            (
                rows.ravel(order="F"),
                np.tile(np.arange(rows.shape[0]), n),
                np.arange(n + 1) * rows.shape[0],
            ),
            shape=rows.shape,
        )
        model = osqp.OSQP()
        try:
            model.setup(upper, gradient, dense, **bounds, **self._settings)
        except (ValueError, osqp.OSQPException):
            return None
        return model


def solve_sparse(
    hessian: scipy.sparse.csc_matrix,
    gradient: np.ndarray,
    rows: scipy.sparse.csc_matrix,
    lower: np.ndarray,
    upper: np.ndarray,
    tolerance: float = 1e-7,
    max_iterations: int = 50_000,
) -> tuple[QuadraticProgramStatus, np.ndarray, int]:
    """Minimise x' H x / 2 + g' x subject to lower <= C x <= upper, once and from nothing.

    Args:
        hessian: (n, n) H.
        gradient: (n) g.
        rows: (m, n) C.
        lower: (m) -inf for none.
        upper: (m) inf for none.
        tolerance: Absolute and relative residual at which OSQP stops, of the problem whose greatest
            entry of H is one; it polishes then.
        max_iterations: Its iteration limit.

    Returns:
        (status, best known x (n), number of iterations).
    """
    model, scale = osqp.OSQP(), _scale(hessian.data, gradient)
    model.setup(
        hessian / scale, gradient / scale, rows, lower, upper,
        eps_abs=tolerance, eps_rel=tolerance, max_iter=max_iterations, polishing=True,
        verbose=False,
    )  # fmt: skip
    result = model.solve(raise_error=False)
    status = _STATUS.get(result.info.status_val, QuadraticProgramStatus.NOT_CONVEX)
    return status, np.array(result.x), int(result.info.iter)


def _scale(hessian: np.ndarray, gradient: np.ndarray) -> float:
    """Return what the objective is measured in, so that residuals do not depend on its unit."""
    largest = np.abs(hessian).max(initial=0.0) or np.abs(gradient).max(initial=0.0)
    return float(largest) or 1.0


def _is_finite(problem: QuadraticProgram) -> bool:
    return bool(
        np.isfinite(problem.hessian).all()
        and np.isfinite(problem.gradient).all()
        and np.isfinite(problem.constraint_matrix).all()
        and (problem.constraint_bound > -np.inf).all()
        and (problem.lower < np.inf).all()
        and (problem.upper > -np.inf).all()
    )


def _failure(problem: QuadraticProgram, status: QuadraticProgramStatus) -> QuadraticProgramSolution:
    n = problem.size
    return QuadraticProgramSolution(status, np.zeros(n), np.zeros(problem.constraints + 2 * n), 0)
