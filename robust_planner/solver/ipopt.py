"""IPOPT through CasADi, with exact Hessians: the default solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np
import threadpoolctl

from contact_core.base.planning import StopCondition
from contact_core.base.signals import deferred
from robust_planner.config import NonlinearSolverConfig
from robust_planner.program import ProgramParameters, StagedProgram
from robust_planner.solver.solver import (
    BestIterate,
    IterationCallback,
    NonlinearSolver,
    SolverOutcome,
)


class _CasadiBlas(threadpoolctl.OpenBLASController):
    """The OpenBLAS that CasADi brings for IPOPT's linear solver, under a name of its own."""

    filename_prefixes = ("libcasadi-tp-openblas",)


threadpoolctl.register(_CasadiBlas)


def assemble(program: StagedProgram) -> tuple[dict[str, casadi.MX], np.ndarray, np.ndarray]:
    """Write all knots as one vector, knot by knot.

    Args:
        program: The stages.

    Returns:
        Expressions ``x`` (N n), ``p``, ``f`` and ``g``, and the bounds of ``g``: first
        the defects, then the inequalities of the knots.
    """
    count, size = program.lower.shape
    w = casadi.MX.sym("w", size, count)
    p = casadi.MX.sym("p", 3)
    past, future = w[:, :-1], w[:, 1:]
    defects = program.defect.map(count - 1)(past, future, casadi.repmat(p, 1, count - 1))
    inequalities = program.knot.map(count - 1)(future, casadi.repmat(p, 1, count - 1))
    running = program.running_cost.map(count - 1)(past, casadi.repmat(p, 1, count - 1))
    contact = program.contact_cost.map(count - 1)(future, casadi.repmat(p, 1, count - 1))
    zeros = np.zeros(defects.numel())
    nlp = {
        "x": casadi.vec(w),
        "p": p,
        "f": casadi.sum2(running) + casadi.sum2(contact),
        "g": casadi.vertcat(casadi.vec(defects), casadi.vec(inequalities)),
    }
    lower = np.concatenate([zeros, np.tile(program.knot_lower, count - 1)])
    upper = np.concatenate([zeros, np.tile(program.knot_upper, count - 1)])
    return nlp, lower, upper


CONVERGED = ("Solve_Succeeded", "Solved_To_Acceptable_Level")

BARRIERS: dict[str, dict[str, Any]] = {
    "monotone": {},
    "probing": {"ipopt.mu_strategy": "adaptive", "ipopt.mu_oracle": "probing"},
}

# Stay where the last solution was: IPOPT would otherwise move far into the interior.
WARM_START = {
    "ipopt.warm_start_init_point": "yes",
    "ipopt.mu_init": 1e-5,
    **{
        f"ipopt.warm_start_{name}": 1e-7
        for name in (
            "bound_push",
            "bound_frac",
            "slack_bound_push",
            "slack_bound_frac",
            "mult_bound_push",
        )
    },
}


@dataclass(frozen=True)
class _Solution:
    """Where a warm start begins."""

    values: np.ndarray
    bound_multipliers: casadi.DM
    multipliers: casadi.DM


class IpoptSolver(NonlinearSolver):
    """Interior-point solver; the first choice."""

    def __init__(self, program: StagedProgram, config: NonlinearSolverConfig) -> None:
        """Build the derivatives of a program.

        Args:
            program: The program.
            config: Tolerances and limits.
        """
        self._program = program
        self._config = config
        self._nlp, self._lower_g, self._upper_g = assemble(program)
        self._watch = _IterationWatch(program, self._lower_g, self._upper_g, config.tolerance)
        self._cold = self._build(BARRIERS[config.barrier])
        self._warm: casadi.Function | None = None
        self._last: _Solution | None = None

    def solve(
        self,
        guess: np.ndarray,
        parameters: ProgramParameters,
        stop: StopCondition,
        on_iteration: IterationCallback,
        near: bool = False,
    ) -> SolverOutcome:
        """Find a local optimum; see the base class."""
        solver, multipliers = self._start_from(guess, near)
        # With more threads its rounding, and where it ends, would depend on the machine.
        with deferred() as signals, threadpoolctl.threadpool_limits(1, "blas"):
            best = self._watch.begin(guess, stop, on_iteration, signals)
            answer = solver(
                x0=guess.ravel(),
                p=parameters.vector(),
                lbx=self._program.lower.ravel(),
                ubx=self._program.upper.ravel(),
                lbg=self._lower_g,
                ubg=self._upper_g,
                **multipliers,
            )
        if self._watch.error is not None:
            raise self._watch.error
        stats = solver.stats()
        converged = stats["return_status"] in CONVERGED
        last = np.asarray(answer["x"]).reshape(guess.shape)
        self._last = _Solution(last, answer["lam_x"], answer["lam_g"]) if converged else None
        return SolverOutcome(
            values=last if converged else best.values,
            cost=float(answer["f"]) if converged else best.cost,
            converged=converged,
            interrupted=self._watch.interrupted,
            iterations=int(stats["iter_count"]),
            message=stats["return_status"],
        )

    def _start_from(
        self, guess: np.ndarray, near: bool
    ) -> tuple[casadi.Function, dict[str, casadi.DM]]:
        """Choose between a cold start and a warm one, with multipliers if the guess has any."""
        if not (near and self._config.warm_start):
            return self._cold, {}
        if self._warm is None:
            self._warm = self._build(WARM_START)
        last = self._last
        if last is None or not np.array_equal(last.values, guess):
            return self._warm, {}
        return self._warm, {"lam_x0": last.bound_multipliers, "lam_g0": last.multipliers}

    def _build(self, options: Mapping[str, Any]) -> casadi.Function:
        common: dict[str, Any] = {
            "iteration_callback": self._watch,
            # Derivatives of the whole program as one expression: a third of the time per iteration.
            "expand": True,
            "print_time": False,
            "error_on_fail": False,
            "ipopt.print_level": 0,
            "ipopt.sb": "yes",
            "ipopt.max_iter": self._config.max_iterations,
            "ipopt.tol": self._config.tolerance,
            "ipopt.constr_viol_tol": 1e-8,
            "ipopt.bound_relax_factor": self._config.bound_relaxation,
        }
        return casadi.nlpsol("ipopt", "ipopt", self._nlp, {**common, **options})


class _IterationWatch(casadi.Callback):
    """What IPOPT calls at every iteration.

    CasADi swallows whatever is raised in a callback, so signals are deferred while IPOPT
    runs, and everything else that is raised is kept; both end the solve.
    """

    def __init__(
        self, program: StagedProgram, lower: np.ndarray, upper: np.ndarray, tolerance: float
    ) -> None:
        casadi.Callback.__init__(self)
        self._shape = program.lower.shape
        self._bounds = (lower, upper)
        self._tolerance = tolerance
        self.interrupted = False
        self.error: BaseException | None = None
        self.construct("iteration_watch", {})

    def begin(
        self,
        guess: np.ndarray,
        stop: StopCondition,
        on_iteration: IterationCallback,
        signals: Sequence[int],
    ) -> BestIterate:
        """Forget the previous solve."""
        self._best = BestIterate(guess, self._tolerance)
        self._stop, self._on_iteration, self._signals = stop, on_iteration, signals
        self._iterations = 0
        self.interrupted = False
        self.error = None
        return self._best

    def get_n_in(self) -> int:
        return casadi.nlpsol_n_out()

    def get_n_out(self) -> int:
        return 1

    def get_name_in(self, index: int) -> str:
        return str(casadi.nlpsol_out(index))

    def get_name_out(self, index: int) -> str:
        return "stop"

    def get_sparsity_in(self, index: int) -> casadi.Sparsity:
        name = casadi.nlpsol_out(index)
        sizes = {"f": 1, "x": int(np.prod(self._shape)), "g": len(self._bounds[0])}
        sizes["lam_x"], sizes["lam_g"] = sizes["x"], sizes["g"]
        return casadi.Sparsity.dense(sizes[name], 1) if name in sizes else casadi.Sparsity(0, 0)

    def eval(self, arguments: Sequence[casadi.DM]) -> list[int]:
        try:
            self._inspect(arguments)
        except BaseException as error:
            self.error = error
            self.interrupted = True
        return [int(self.interrupted)]

    def _inspect(self, arguments: Sequence[casadi.DM]) -> None:
        names = {casadi.nlpsol_out(i): value for i, value in enumerate(arguments)}
        g = np.asarray(names["g"]).ravel()
        lower, upper = self._bounds
        violation = float(np.max(np.maximum(lower - g, g - upper), initial=0.0))
        values = np.asarray(names["x"]).reshape(self._shape)
        self._best.offer(values, float(names["f"]), violation)
        self._on_iteration(self._iterations, self._best.violation)
        self._iterations += 1
        self.interrupted = bool(self._signals) or self._stop.reason is not None
