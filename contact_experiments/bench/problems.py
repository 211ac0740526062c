"""Quadratic programs to measure solvers with: the controller's own, and random ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from contact_aware_control.incident_log import load, replay
from contact_core.quadratic_program import (
    SOLVERS,
    DualActiveSetSolver,
    QuadraticProgram,
    QuadraticProgramSolution,
    QuadraticProgramSolver,
)
from contact_core.seeds import generator
from contact_experiments.bench.control_case import MOST_CONTACTS, ControlCase

JOINTS = 7
DEFAULT = "dual_active_set"


def of_controller(count: int) -> list[QuadraticProgram]:
    """Return problems that the controller solves with 0 to 4 contacts.

    Args:
        count: About how many.

    Returns:
        The problems.
    """
    with _noted() as problems:
        for contacts in range(MOST_CONTACTS + 1):
            case = ControlCase(contacts)
            for inputs in case.many(count // (MOST_CONTACTS + 1)):
                case.tick(inputs)
    return problems


def of_record(path: Path) -> list[QuadraticProgram]:
    """Return the problems of a flight record.

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


def random(count: int, seed: int = 0) -> list[QuadraticProgram]:
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

    class Noting(QuadraticProgramSolver):
        """Solve as always, and keep the problem."""

        def __init__(self) -> None:
            self._solver = DualActiveSetSolver()

        def solve(self, problem: QuadraticProgram) -> QuadraticProgramSolution:
            problems.append(problem)
            return self._solver.solve(problem)

    with SOLVERS.replaced(DEFAULT, Noting):
        yield problems
