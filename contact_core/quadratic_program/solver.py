"""The interface every QP solver implements."""

from __future__ import annotations

from abc import ABC, abstractmethod

from contact_core.quadratic_program.problem import QuadraticProgram
from contact_core.quadratic_program.solution import QuadraticProgramSolution


class QuadraticProgramSolver(ABC):
    """Solves one problem after the other, reusing its memory; not thread-safe."""

    @abstractmethod
    def solve(self, problem: QuadraticProgram) -> QuadraticProgramSolution:
        """Solve a problem.

        Args:
            problem: The problem; its arrays must be contiguous doubles.

        Returns:
            The solution. Its arrays stay valid after the next solve.
        """
