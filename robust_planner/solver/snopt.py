"""SNOPT through Drake: a second opinion from a different kind of algorithm."""

from __future__ import annotations

from typing import Any

import casadi
import numpy as np
from pydrake.autodiffutils import ExtractGradient, ExtractValue, InitializeAutoDiff
from pydrake.solvers import MathematicalProgram, SolverOptions
from pydrake.solvers import SnoptSolver as DrakeSnoptSolver

from contact_core.base.planning import StopCondition
from robust_planner.config import NonlinearSolverConfig
from robust_planner.program import ProgramParameters, StagedProgram
from robust_planner.solver.ipopt import assemble
from robust_planner.solver.solver import (
    BestIterate,
    IterationCallback,
    NonlinearSolver,
    SolverOutcome,
)


class _StopError(Exception):
    """Leaves SNOPT, which has no other way out."""


class SnoptSolver(NonlinearSolver):
    """Sequential quadratic programming, without second derivatives."""

    def __init__(self, program: StagedProgram, config: NonlinearSolverConfig) -> None:
        """Build the derivatives of a program.

        Args:
            program: The program.
            config: Tolerances and limits.
        """
        self._program = program
        self._tolerance = config.tolerance
        self._defect = _Stage(program.defect)
        self._knot = _Stage(program.knot)
        nlp, self._lower_g, self._upper_g = assemble(program)
        gradient = casadi.gradient(nlp["f"], nlp["x"])
        self._objective = casadi.Function(
            "objective", [nlp["x"], nlp["p"]], [nlp["f"], gradient, nlp["g"]]
        )
        self._options = SolverOptions()
        solver = DrakeSnoptSolver.id()
        self._options.SetOption(solver, "Major iterations limit", config.max_iterations)
        self._options.SetOption(solver, "Iterations limit", 1000 * config.max_iterations)
        self._options.SetOption(solver, "Major optimality tolerance", config.tolerance)
        self._options.SetOption(solver, "Major feasibility tolerance", config.tolerance)

    def solve(
        self,
        guess: np.ndarray,
        parameters: ProgramParameters,
        stop: StopCondition,
        on_iteration: IterationCallback,
        near: bool = False,
    ) -> SolverOutcome:
        """Find a local optimum; see the base class.

        Iterations are function evaluations. SNOPT always stays close to its guess.
        """
        p = parameters.vector()
        # The type hints of pydrake do not admit what its functions take.
        drake: Any = MathematicalProgram()
        w = drake.NewContinuousVariables(*guess.shape, "w")
        lower, upper = self._program.lower, self._program.upper
        drake.AddBoundingBoxConstraint(lower.ravel(), upper.ravel(), w.ravel())
        zeros = np.zeros(self._defect.rows)
        for k in range(len(guess) - 1):
            self._defect.bind(drake, np.concatenate([w[k], w[k + 1]]), p, zeros, zeros)
            bounds = self._program.knot_lower, self._program.knot_upper
            self._knot.bind(drake, w[k + 1], p, *bounds)
        best = BestIterate(guess, self._tolerance)
        evaluations = 0

        def cost(x: np.ndarray) -> Any:
            nonlocal evaluations
            values = _values(x)
            f, gradient, g = (np.asarray(item).ravel() for item in self._objective(values, p))
            violation = float(np.max(np.maximum(self._lower_g - g, g - self._upper_g)))
            best.offer(values.reshape(guess.shape), float(f[0]), violation)
            on_iteration(evaluations, best.violation)
            evaluations += 1
            if stop.reason is not None:
                raise _StopError
            if x.dtype == float:
                return f[0]
            return _with_gradient(f, gradient[None] @ ExtractGradient(x))[0]

        drake.AddCost(cost, w.ravel())
        solver: Any = DrakeSnoptSolver()
        try:
            answer = solver.Solve(drake, guess.ravel(), self._options)
        except RuntimeError:
            if stop.reason is None:
                raise
            return SolverOutcome(best.values, best.cost, False, True, evaluations, "stopped")
        converged = bool(answer.is_success())
        last = answer.GetSolution(w.ravel()).reshape(guess.shape)
        return SolverOutcome(
            values=last if converged else best.values,
            cost=float(answer.get_optimal_cost()) if converged else best.cost,
            converged=converged,
            interrupted=False,
            iterations=evaluations,
            message=f"SNOPT exit {answer.get_solver_details().info}",
        )


class _Stage:
    """A stage function with its Jacobian, in the form Drake evaluates."""

    def __init__(self, function: casadi.Function) -> None:
        inputs = [function.sx_in(i) for i in range(function.n_in())]
        self._x, p = casadi.vertcat(*inputs[:-1]), inputs[-1]
        value = function(*inputs)
        jacobian = casadi.jacobian(value, self._x)
        self.rows = int(value.numel())
        self._pattern = list(zip(*jacobian.sparsity().get_triplet(), strict=True))
        self._evaluate = casadi.Function(function.name(), [self._x, p], [value, jacobian])

    def bind(
        self,
        drake: Any,
        variables: np.ndarray,
        p: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
    ) -> None:
        """Add lower <= stage(variables) <= upper to a program."""

        def evaluate(x: np.ndarray) -> np.ndarray:
            value, jacobian = (item.full() for item in self._evaluate(_values(x), p))
            if x.dtype == float:
                return np.asarray(value).ravel()
            return _with_gradient(value.ravel(), jacobian @ ExtractGradient(x))

        binding = drake.AddConstraint(evaluate, lower, upper, variables)
        binding.evaluator().SetGradientSparsityPattern(self._pattern)


def _with_gradient(value: Any, gradient: Any) -> np.ndarray:
    return np.asarray(InitializeAutoDiff(value, gradient)).ravel()


def _values(x: np.ndarray) -> np.ndarray:
    return x if x.dtype == float else np.asarray(ExtractValue(x)).ravel()
