"""Time and accuracy of QP solvers, on the controller's own problems and on random ones."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
from tqdm import tqdm

from contact_aware_control.incident_log import load, replay
from contact_core.base.seeds import generator
from contact_core.quadratic_program import (
    SOLVERS,
    DualActiveSetSolver,
    QuadraticProgram,
    QuadraticProgramSolution,
    make_solver,
)
from contact_experiments.bench.control_case import MAX_CONTACTS, ControlCase, Timing, durations

JOINTS = 7
ORACLE = "quadprog"
WARM_UP = 50

Solve = Callable[[QuadraticProgram], "np.ndarray | None"]


def controller_problems(count: int) -> list[QuadraticProgram]:
    """Return problems that the controller solves with 0 to 4 contacts.

    Args:
        count: About how many.

    Returns:
        The problems.
    """
    with _noted() as problems:
        for contacts in range(MAX_CONTACTS + 1):
            case = ControlCase(contacts)
            for inputs in case.many(count // (MAX_CONTACTS + 1)):
                case.tick(inputs)
    return problems


def recorded_problems(path: Path) -> list[QuadraticProgram]:
    """Return the problems of an incident record.

    Args:
        path: The record.

    Returns:
        The problems.

    Raises:
        ContactStackError: If it cannot be replayed.
    """
    with _noted() as problems:
        for _ in replay(load(path)):
            pass
    return problems


def random_problems(count: int, seed: int = 0) -> list[QuadraticProgram]:
    """Return random problems of the controller's size; about one in ten is infeasible.

    Args:
        count: How many.
        seed: Seed of the problems.

    Returns:
        The problems.
    """
    rng = generator(seed, "bench problems")
    problems = []
    for _ in range(count):
        rows = int(rng.integers(0, 7))
        factor = rng.normal(size=(JOINTS, JOINTS))
        problems.append(
            QuadraticProgram.from_arrays(
                factor @ factor.T + 10.0 ** rng.uniform(-4, 0) * np.eye(JOINTS),
                rng.normal(size=JOINTS),
                rng.normal(size=(rows, JOINTS)),
                rng.normal(loc=0.5, size=rows),
                -rng.uniform(0.0, 1.0, size=JOINTS),
                rng.uniform(0.0, 1.0, size=JOINTS),
            )
        )
    return problems


@contextmanager
def _noted() -> Iterator[list[QuadraticProgram]]:
    """Keep every problem that the default solver is given."""
    problems: list[QuadraticProgram] = []
    solve = DualActiveSetSolver.solve

    def noting(solver: DualActiveSetSolver, problem: QuadraticProgram) -> QuadraticProgramSolution:
        problems.append(problem)
        return solve(solver, problem)

    with patch.object(DualActiveSetSolver, "solve", noting):
        yield problems


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


def has_oracle() -> bool:
    """Return whether quadprog is installed."""
    return importlib.util.find_spec(ORACLE) is not None


def measure_solvers(name: str, problems: Sequence[QuadraticProgram]) -> list[SolverResult]:
    """Measure every solver, and the oracle if it is installed.

    Args:
        name: Name of the set of problems.
        problems: The problems.

    Returns:
        One result per solver, the oracle last.
    """
    solvers = {solver: _ours(solver) for solver in SOLVERS}
    if has_oracle():
        solvers[ORACLE] = _oracle()
    truth = [solvers[ORACLE](problem) for problem in problems] if has_oracle() else None
    shown = tqdm(solvers.items(), f"solvers, {name} problems", leave=False)
    return [_measured(s, name, solve, problems, truth) for s, solve in shown]


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
