"""The sequence of programs that leads from a straight line to a robust plan, and its solution."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from contact_core.base.planning import StopCondition
from robust_planner.chance_constraint import MIN_RISK_BOUND
from robust_planner.config import (
    ContinuationConfig,
    PlannerConfig,
    RiskConfig,
    with_monotone_barrier,
)
from robust_planner.problem import RobustProblem
from robust_planner.program import ProgramParameters
from robust_planner.residuals import Residuals, check
from robust_planner.result import StageProgress, StageRecord
from robust_planner.solver import make_solver
from robust_planner.solver.solver import IterationCallback, NonlinearSolver
from robust_planner.trajectory import ContactTrajectory, to_trajectory
from robust_planner.transcription import transcribe


@dataclass(frozen=True)
class ProgramStage:
    """One program of the sequence.

    Attributes:
        name: For instance ``"penalty 2/3"``.
        method: How certain pairs are imposed.
        robust: Whether the uncertain pair is treated as uncertain.
        parameters: s, rho and alpha.
        risk: Chance constraints of the uncertain pair.
    """

    name: str
    method: str
    robust: bool
    parameters: ProgramParameters
    risk: RiskConfig


def reference_stages(config: PlannerConfig) -> list[ProgramStage]:
    """Tighten complementarity under the mean contact parameters.

    Args:
        config: Its method chooses the exact penalty rho, ascending, or the relaxation
            s, descending.

    Returns:
        The stages.
    """
    continuation = config.continuation
    if continuation.method == "penalty":
        parameters = [ProgramParameters(penalty=rho) for rho in continuation.penalties]
    else:
        parameters = [ProgramParameters(relaxation=s) for s in continuation.relaxations]
    return _numbered(continuation.method, parameters)


def robust_stages(config: PlannerConfig) -> list[ProgramStage]:
    """Raise the weight of the expected residual, from the reference plan on.

    Args:
        config: Without an expected residual there is one stage, for the chance constraints;
            with both, the constraints may come first. An expected residual alone may be
            approached under chance constraints, which keep the plan near the terrain.

    Returns:
        The stages; none if nothing is uncertain.
    """
    if not config.robust:
        return []
    continuation, risk = config.continuation, config.risk
    if not config.expected_residual.enabled:
        return _robust(continuation, [(0.0, risk)])
    alpha = config.expected_residual.weight
    fractions = continuation.weight_fractions
    if not risk.enabled and continuation.scaffold_theta > 0.0:
        risk = RiskConfig(enabled=True, beta=MIN_RISK_BOUND, theta=continuation.scaffold_theta)
    if risk.enabled:
        fractions = (*continuation.chance_fractions, *fractions)
    weights = [(alpha * fraction, risk) for fraction in fractions]
    if risk is not config.risk:
        weights.append((alpha, config.risk))
    return _robust(continuation, weights)


def _robust(
    continuation: ContinuationConfig, weights: list[tuple[float, RiskConfig]]
) -> list[ProgramStage]:
    """Number the stages of given alpha and chance constraints."""
    s, rho = continuation.robust_relaxation, continuation.robust_penalty
    return [
        ProgramStage(
            name=f"robust {index}/{len(weights)}",
            method=continuation.robust_method,
            robust=True,
            parameters=ProgramParameters(s, rho, alpha),
            risk=risk,
        )
        for index, (alpha, risk) in enumerate(weights, start=1)
    ]


def _numbered(method: str, parameters: list[ProgramParameters]) -> list[ProgramStage]:
    return [
        ProgramStage(f"{method} {index}/{len(parameters)}", method, False, item, RiskConfig())
        for index, item in enumerate(parameters, start=1)
    ]


REPORT_PERIOD = 0.5
"""Time between two reports within a stage [s]."""

MAX_RESTARTS = 2
"""How often a stage that did not converge is solved again from its best iterate."""


OnProgress = Callable[[StageProgress], None]


@dataclass(frozen=True)
class Candidate:
    """An iterate that might become the plan.

    Attributes:
        values: Decision variables (N, n).
        trajectory: The same, with names.
        residuals: Our check of it.
    """

    values: np.ndarray
    trajectory: ContactTrajectory
    residuals: Residuals


class StageSolver:
    """Writes the program of a stage, where it differs from the last one, and solves it."""

    def __init__(
        self,
        problem: RobustProblem,
        config: PlannerConfig,
        stop: StopCondition,
        on_progress: OnProgress | None = None,
        near: bool = False,
    ) -> None:
        """Choose the problem.

        Args:
            problem: What to plan.
            config: How.
            stop: Asked by the solver at every iteration.
            on_progress: Called when a stage starts and ends and now and then in between.
            near: Whether the first stage starts from a plan.
        """
        self._problem = problem
        self._config = config
        self._stop = stop
        self._on_progress = on_progress
        self._solver: NonlinearSolver | None = None
        self._program: tuple[str, bool, PlannerConfig] | None = None
        # Whether the next stage starts from what solves one that differs little.
        self._near = near

    def judge(self, values: np.ndarray, robust: bool) -> Candidate:
        """Check an iterate.

        Args:
            values: Decision variables (N, n).
            robust: Whether the uncertain pair is treated as uncertain.

        Returns:
            The candidate.
        """
        trajectory = to_trajectory(values, self._problem)
        residuals = check(trajectory, self._problem, self._config, robust)
        return Candidate(values, trajectory, residuals)

    def attempts(
        self, stage: ProgramStage, start: np.ndarray
    ) -> Iterator[tuple[Candidate, StageRecord]]:
        """Solve a stage, again from its best iterate if it does not converge.

        Args:
            stage: The stage.
            start: Decision variables to start from (N, n).

        Yields:
            What came of each attempt.

        Raises:
            SolverMissingError: If the chosen solver is not installed.
        """
        solver = self._solver_of(stage)
        for _ in range(1 + MAX_RESTARTS):
            candidate, record = self._solve(stage, solver, start)
            yield candidate, record
            self._near = record.converged
            if record.converged or self._stop.reason is not None:
                return
            start = candidate.values

    def _solver_of(self, stage: ProgramStage) -> NonlinearSolver:
        program = (stage.method, stage.robust, _configure(stage, self._config))
        if self._solver is None or self._program != program:
            method, robust, config = self._program = program
            staged = transcribe(self._problem, config, method, robust)
            self._solver = make_solver(staged, config.solver)
        return self._solver

    def _solve(
        self, stage: ProgramStage, solver: NonlinearSolver, start: np.ndarray
    ) -> tuple[Candidate, StageRecord]:
        began = self._stop.elapsed
        outcome = solver.solve(
            start, stage.parameters, self._stop, self._reporter(stage), self._near
        )
        candidate = self.judge(outcome.values, stage.robust)
        self._report(stage, outcome.iterations, candidate.residuals.worst, finished=True)
        record = StageRecord(
            name=stage.name,
            parameters=stage.parameters,
            iterations=outcome.iterations,
            seconds=self._stop.elapsed - began,
            converged=outcome.converged,
            message=outcome.message,
            residuals=candidate.residuals,
        )
        return candidate, record

    def _reporter(self, stage: ProgramStage) -> IterationCallback:
        """Report the first iteration, and one now and then."""
        last = self._stop.elapsed

        def report(iterations: int, residual: float) -> None:
            nonlocal last
            if iterations == 0 or self._stop.elapsed - last >= REPORT_PERIOD:
                last = self._stop.elapsed
                self._report(stage, iterations, residual, finished=False)

        return report

    def _report(
        self, stage: ProgramStage, iterations: int, residual: float, finished: bool
    ) -> None:
        parameters = stage.parameters
        if self._on_progress is None:
            return
        self._on_progress(
            StageProgress(
                stage=stage.name,
                relaxation=parameters.relaxation,
                penalty=parameters.penalty,
                residual_weight=parameters.residual_weight,
                iterations=iterations,
                residual=residual,
                elapsed=self._stop.elapsed,
                finished=finished,
            )
        )


def _configure(stage: ProgramStage, config: PlannerConfig) -> PlannerConfig:
    """Impose the stage's chance constraints; leave out a cost whose weight is zero.

    Robust stages stay near what they start from: no step may lead far away, nor may they start
    from elsewhere because the reference was found faster.
    """
    if config.robust:
        config = with_monotone_barrier(config)
    if not stage.robust:
        return config
    enabled = config.expected_residual.enabled and stage.parameters.residual_weight > 0.0
    residual = dataclasses.replace(config.expected_residual, enabled=enabled)
    return dataclasses.replace(config, expected_residual=residual, risk=stage.risk)
