"""The planner's answers when things go wrong, and its solvers and methods."""

from __future__ import annotations

import dataclasses
import itertools
import signal
import sys
import time

import numpy as np
import pytest

from contact_core.base.planning import PlanStatus, StopCondition
from robust_planner import continuation
from robust_planner.config import (
    ContinuationConfig,
    NonlinearSolverConfig,
    PlannerConfig,
    RiskConfig,
    TimeStepConfig,
    UncertaintyConfig,
)
from robust_planner.contact_model import PlanningProblemError
from robust_planner.continuation import robust_stages
from robust_planner.examples import Example, make_example
from robust_planner.models import sliding_block
from robust_planner.planner import plan
from robust_planner.problem import RobustProblem
from robust_planner.program import ProgramParameters
from robust_planner.result import RobustPlan, StageProgress
from robust_planner.solver import SolverMissingError
from robust_planner.solver.ipopt import IpoptSolver
from robust_planner.solver.solver import IterationCallback, SolverOutcome


@pytest.mark.parametrize(
    "continuation",
    [
        ContinuationConfig(method="relaxation"),
        ContinuationConfig(method="relaxation", relaxations=(1e-8,)),
        ContinuationConfig(method="penalty", penalties=(1e2, 1e3)),
    ],
    ids=("progressive tightening", "tight relaxation", "exact penalty"),
)
def test_all_methods_find_the_reference(block: Example, continuation: ContinuationConfig) -> None:
    """Up to local optima: relaxation may start to slide one knot later."""
    problem = dataclasses.replace(block.problem, knots=31)
    result = plan(problem, PlannerConfig(continuation=continuation))
    assert result.solved
    assert result.cost == pytest.approx(3280.18, rel=0.03)
    assert np.abs(result.trajectory.velocity).max() == pytest.approx(7.5, abs=0.1)


def test_strict_complementarity_of_a_short_problem(block: Example) -> None:
    problem = dataclasses.replace(block.problem, knots=21)
    strict = ContinuationConfig(method="relaxation", relaxations=(1e-2, 1e-5, 0.0))
    result = plan(problem, PlannerConfig(continuation=strict))
    assert result.residuals.complementarity <= 1e-6


def test_snopt_agrees(coarse_block: Example, coarse_block_reference: RobustPlan) -> None:
    pytest.importorskip("pydrake")
    solver = NonlinearSolverConfig(name="snopt", tolerance=1e-6)
    result = plan(coarse_block.problem, PlannerConfig(solver=solver))
    assert result.cost == pytest.approx(coarse_block_reference.cost, rel=1e-4)
    assert result.residuals.dynamics <= 1e-8


def test_pyramid_in_space_moves_along_the_diagonal() -> None:
    """In 3-D the block obeys both axes; by symmetry they are alike."""
    problem = RobustProblem(
        name="diagonal",
        model=sliding_block(dimension=3),
        start=(0.0, 0.0, 0.5, 0.0, 0.0, 0.0),
        goal=(1.0, 1.0, 0.5, 0.0, 0.0, 0.0),
        duration=1.0,
        knots=21,
        friction=0.5,
        state_weight=(1.0,) * 6,
        control_weight=(1.0, 1.0),
    )
    result = plan(problem)
    assert result.solved
    friction = result.trajectory.friction_force[:, 0]
    # The sum of the components reaches the cone: the pyramid, not the circle.
    np.testing.assert_allclose(-friction[2:-2].sum(axis=1), 0.5 * 9.81, atol=1e-3)


def test_free_time_steps_are_used_and_bounded(block: Example) -> None:
    problem = dataclasses.replace(block.problem, knots=31)
    steps = TimeStepConfig(free=True, shortest=0.5, longest=1.5)
    fixed, free = plan(problem), plan(problem, PlannerConfig(time_step=steps))
    durations = np.diff(free.trajectory.time)
    assert free.residuals.dynamics <= 1e-6
    assert free.cost < fixed.cost
    assert durations.min() >= 0.5 * problem.time_step - 1e-9
    assert durations.max() <= 1.5 * problem.time_step + 1e-9
    assert durations.max() > 1.1 * problem.time_step


def test_chance_constraints_may_come_first(sled: Example) -> None:
    risk = RiskConfig(enabled=True, beta=0.7, theta=0.7)
    continuation = ContinuationConfig(chance_fractions=(0.0, 0.01), weight_fractions=(0.1, 1.0))
    config = dataclasses.replace(sled.config, risk=risk, continuation=continuation)
    weights = [stage.parameters.residual_weight for stage in robust_stages(config)]
    assert weights == [0.0, 0.1, 1.0, 10.0]
    alone = dataclasses.replace(config, risk=RiskConfig())
    assert len(robust_stages(alone)) == 2


def test_expected_residual_may_be_approached_under_chance_constraints(sled: Example) -> None:
    continuation = ContinuationConfig(
        chance_fractions=(0.0,), weight_fractions=(0.1, 1.0), scaffold_theta=0.6
    )
    config = dataclasses.replace(sled.config, continuation=continuation)
    stages = robust_stages(config)
    weights = [stage.parameters.residual_weight for stage in stages]
    assert weights == [0.0, 1.0, 10.0, 10.0]
    assert [stage.risk.enabled for stage in stages] == [True, True, True, False]
    assert {stage.risk.theta for stage in stages[:-1]} == {0.6}
    bounded = dataclasses.replace(config, risk=RiskConfig(enabled=True, beta=0.5, theta=0.7))
    assert {stage.risk.theta for stage in robust_stages(bounded)} == {0.7}


def test_progress_is_reported_per_stage(block: Example) -> None:
    reports: list[StageProgress] = []
    continuation = ContinuationConfig(penalties=(1e2, 1e3))
    plan(block.problem, PlannerConfig(continuation=continuation), on_progress=reports.append)
    finished = [report for report in reports if report.finished]
    assert [report.stage for report in finished] == ["penalty 1/2", "penalty 2/2"]
    assert [report.penalty for report in finished] == [1e2, 1e3]
    assert all(a.elapsed <= b.elapsed for a, b in itertools.pairwise(reports))


def test_cancelled_plan_returns_the_best_iterate(block: Example) -> None:
    asked = 0

    def cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked > 40

    result = plan(block.problem, cancelled=cancelled)
    assert result.status is PlanStatus.CANCELED
    assert "best iterate" in result.status.remedy
    assert result.stages[-1].message == "User_Requested_Stop"
    assert result.stages[-1].parameters.penalty == 1e3
    assert 0 < result.stages[-1].iterations <= 41
    # Better than the straight line it started from, whose dynamics are off by metres.
    assert np.isfinite(result.residuals.worst)


def test_cancelled_snopt_returns_the_best_iterate(block: Example) -> None:
    pytest.importorskip("pydrake")
    answers = itertools.chain([False] * 20, itertools.repeat(True))
    config = PlannerConfig(solver=NonlinearSolverConfig(name="snopt"))
    result = plan(
        dataclasses.replace(block.problem, knots=31), config, cancelled=lambda: next(answers)
    )
    assert result.status is PlanStatus.CANCELED
    assert result.stages[-1].message == "stopped"
    assert 0 < result.stages[-1].iterations <= 20
    assert np.isfinite(result.residuals.worst)


def test_interrupt_ends_the_solve_and_reaches_the_caller(block: Example) -> None:
    """CasADi swallows what is raised in its callback: the solve must end all the same."""
    reports: list[StageProgress] = []

    def interrupt(progress: StageProgress) -> None:
        reports.append(progress)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        plan(block.problem, on_progress=interrupt)
    assert [report.iterations for report in reports] == [0]


@pytest.mark.parametrize("error", [ValueError, SystemExit])
def test_error_of_a_listener_reaches_the_caller(block: Example, error: type[BaseException]) -> None:
    def fail(progress: StageProgress) -> None:
        raise error(progress.stage)

    with pytest.raises(error, match="penalty 1/1"):
        plan(block.problem, on_progress=fail)


def test_cancelled_before_the_start_returns_the_guess(block: Example) -> None:
    result = plan(block.problem, cancelled=lambda: True)
    assert result.status is PlanStatus.CANCELED
    assert result.stages == ()


def test_exhausted_budget_is_a_status(block: Example) -> None:
    result = plan(block.problem, PlannerConfig(solver=NonlinearSolverConfig(budget=1e-3)))
    assert result.status is PlanStatus.TIME_BUDGET_REACHED


def test_iteration_limit_is_not_success(block: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(continuation, "MAX_RESTARTS", 1)
    config = PlannerConfig(solver=NonlinearSolverConfig(max_iterations=20))
    result = plan(block.problem, config)
    assert result.status is PlanStatus.NOT_CONVERGED
    assert [stage.name for stage in result.stages] == ["penalty 1/1"] * 2
    assert result.stages[-1].message == "Maximum_Iterations_Exceeded"
    assert result.residuals.worst > 1e-6


def test_claim_of_the_solver_is_checked(block: Example) -> None:
    """A penalty that is too weak converges to a plan that violates complementarity."""
    weak = PlannerConfig(continuation=ContinuationConfig(penalties=(0.1,)))
    result = plan(block.problem, weak)
    assert result.stages[-1].converged
    assert result.status is PlanStatus.RESIDUAL_TOO_LARGE
    assert result.residuals.complementarity > 1e-2


def test_impossible_horizon_returns_its_residuals(
    sled: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0.35 m in 0.1 s needs 3.5 m/s, the limit is 1.5 m/s."""
    monkeypatch.setattr(continuation, "MAX_RESTARTS", 0)
    problem = dataclasses.replace(sled.problem, duration=0.1, knots=21)
    config = dataclasses.replace(
        sled.config,
        uncertainty=UncertaintyConfig(),
        continuation=ContinuationConfig(penalties=(1.0,)),
    )
    result = plan(problem, config)
    assert result.status is PlanStatus.INFEASIBLE
    assert result.residuals.worst > 1e-3


def test_planning_ends_with_the_first_stage_that_is_not_solved(
    sled: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes after it would start from what solves nothing, and take its time."""
    monkeypatch.setattr(continuation, "MAX_RESTARTS", 1)
    config = dataclasses.replace(
        sled.config,
        uncertainty=UncertaintyConfig(),
        continuation=ContinuationConfig(penalties=(1.0, 10.0, 100.0)),
        solver=NonlinearSolverConfig(max_iterations=3),
    )
    result = plan(sled.problem, config)
    assert result.status is PlanStatus.NOT_CONVERGED
    assert [stage.name for stage in result.stages] == ["penalty 1/3", "penalty 1/3"]


def test_every_stage_but_a_cold_one_is_near_what_it_starts_from(
    sled: Example, sled_reference: RobustPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[bool] = []

    def solve(
        self: IpoptSolver,
        guess: np.ndarray,
        parameters: ProgramParameters,
        stop: StopCondition,
        on_iteration: IterationCallback,
        near: bool = False,
    ) -> SolverOutcome:
        starts.append(near)
        return SolverOutcome(guess, 0.0, True, False, 1, "at once")

    monkeypatch.setattr(IpoptSolver, "solve", solve)
    continuation = ContinuationConfig(penalties=(1.0, 10.0), weight_fractions=(0.1, 1.0))
    config = dataclasses.replace(sled.config, continuation=continuation)
    plan(sled.problem, config)
    assert starts == [False, True, True, True]
    starts.clear()
    plan(sled.problem, config, sled_reference)
    assert starts == [True, True]


def test_reference_of_another_problem_is_refused(
    block: Example, block_reference: RobustPlan
) -> None:
    problem = dataclasses.replace(block.robust_problem, knots=51)
    with pytest.raises(PlanningProblemError, match=r"\(101, 9\) variables \(valid: \(51, 9\)"):
        plan(problem, block.config, block_reference)


def test_missing_solver_is_named(block: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydrake.solvers", None)
    monkeypatch.delitem(sys.modules, "robust_planner.solver.snopt", raising=False)
    with pytest.raises(SolverMissingError, match=r"'snopt' is not installed: pip install drake"):
        plan(block.problem, PlannerConfig(solver=NonlinearSolverConfig(name="snopt")))


def test_unknown_solver_lists_the_known_ones(block: Example) -> None:
    with pytest.raises(SolverMissingError, match=r"'knitro' \(valid: ipopt, snopt\)"):
        plan(block.problem, PlannerConfig(solver=NonlinearSolverConfig(name="knitro")))


@pytest.mark.verify
def test_budget_is_kept_within_ten_percent() -> None:
    example = make_example("hopper")
    for budget in (1.0, 5.0):
        solver = dataclasses.replace(example.config.solver, budget=budget)
        began = time.monotonic()
        result = plan(example.problem, dataclasses.replace(example.config, solver=solver))
        assert result.status is PlanStatus.TIME_BUDGET_REACHED
        assert time.monotonic() - began <= 1.1 * budget
