"""Time and accuracy of QP solvers."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from contact_core.errors import ConfigError
from contact_core.quadratic_program import SOLVERS, QuadraticProgram, make_solver
from contact_experiments.bench.timing import Timing, durations

ORACLE = "quadprog"
WARM_UP = 50

Solve = Callable[[QuadraticProgram], "np.ndarray | None"]


@dataclass(frozen=True)
class SolverResult:
    """One solver on one set of problems.

    Attributes:
        solver: Its name.
        problems: The set's name.
        timing: Durations of a solve, Python's share included.
        unsolved: Problems without a solution; infeasible ones are among the random ones.
        disagreements: Problems that only one of solver and oracle calls infeasible; None
            without oracle.
        largest_error: Largest distance of a minimiser to the oracle's, max norm; None
            without oracle.
    """

    solver: str
    problems: str
    timing: Timing
    unsolved: int
    disagreements: int | None
    largest_error: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        return dataclasses.asdict(self)


def has_oracle() -> bool:
    """Return whether quadprog is installed."""
    return importlib.util.find_spec(ORACLE) is not None


def measure(name: str, problems: Sequence[QuadraticProgram]) -> list[SolverResult]:
    """Measure every solver that is installed.

    Args:
        name: Name of the set of problems.
        problems: The problems.

    Returns:
        One result per solver, the oracle last.
    """
    solvers: dict[str, Solve] = {}
    for solver in SOLVERS:
        try:
            solvers[solver] = _ours(solver)
        except ConfigError:
            continue
    if has_oracle():
        solvers[ORACLE] = _oracle()
    truth = [solvers[ORACLE](problem) for problem in problems] if has_oracle() else None
    return [_measured(s, name, solve, problems, truth) for s, solve in solvers.items()]


def _measured(
    solver: str,
    name: str,
    solve: Solve,
    problems: Sequence[QuadraticProgram],
    truth: Sequence[np.ndarray | None] | None,
) -> SolverResult:
    durations(solve, problems[:WARM_UP])
    timing = Timing.of(durations(solve, problems))
    answers = [solve(problem) for problem in problems]
    unsolved = sum(answer is None for answer in answers)
    if truth is None:
        return SolverResult(solver, name, timing, unsolved, None, None)
    pairs = list(zip(answers, truth, strict=True))
    errors = [float(np.abs(a - b).max()) for a, b in pairs if a is not None and b is not None]
    return SolverResult(
        solver,
        name,
        timing,
        unsolved,
        sum((a is None) != (b is None) for a, b in pairs),
        max(errors, default=0.0),
    )


def _ours(name: str) -> Solve:
    solver = make_solver(name)

    def solve(problem: QuadraticProgram) -> np.ndarray | None:
        solution = solver.solve(problem)
        return solution.x if solution.optimal else None

    return solve


def _oracle() -> Solve:
    quadprog = importlib.import_module(ORACLE)

    def solve(problem: QuadraticProgram) -> np.ndarray | None:
        identity = np.eye(problem.size)
        normals = np.vstack((-problem.constraint_matrix, identity, -identity))
        offsets = np.concatenate((-problem.constraint_bound, problem.lower, -problem.upper))
        try:
            answer: np.ndarray = quadprog.solve_qp(
                problem.hessian, -problem.gradient, normals.T, offsets
            )[0]
        except ValueError:
            return None
        return answer

    return solve
