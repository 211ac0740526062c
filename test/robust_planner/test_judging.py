"""Promises about the world: held against sliding in exact time, and what was never measured."""

from __future__ import annotations

import dataclasses

import casadi
import numpy as np
import pytest
from scipy import stats

from contact_core.base.errors import ConfigError
from contact_core.base.planning import PlanStatus
from contact_experiments.robust.sliding import slide
from robust_planner import (
    FailureConfig,
    FailureRate,
    Normal,
    PlanningProblemError,
    RiskSettings,
    RobustProblem,
    Samples,
    Uniform,
    draw_worlds,
    failure_rate,
    find_problem,
    plan_with_risk,
    true_rate,
)
from robust_planner.evaluation.tape import play, record
from robust_planner.evaluation.time_stepping import terms
from robust_planner.models import sliding_block
from robust_planner.risk import risk_planner
from robust_planner.risk.settings import ShootingConfig
from robust_planner.risk.worlds import Distribution, Worlds

MASS, TOLERANCE = 2.0, 0.08
FAILURE = FailureConfig(goal_tolerance=(TOLERANCE, 0.0, 0.0, 0.0))
QUICK = RiskSettings(
    worlds=6, samples=300, checks=1000, shooting=ShootingConfig(nodes=11, iterations=12)
)


@pytest.fixture(scope="module")
def puck() -> RobustProblem:
    """Knots of 30 ms: in one of them a body comes to rest and is pushed back."""
    return RobustProblem(
        name="puck",
        model=sliding_block(mass=MASS, half_height=0.1, max_force=40.0),
        start=(0.0, 0.1, 0.0, 0.0),
        goal=(0.8, 0.1, 0.0, 0.0),
        duration=1.2,
        knots=41,
        friction=0.45,
        state_weight=(1.0, 1.0, 1.0, 1.0),
        control_weight=(0.02,),
    )


def exact(problem: RobustProblem, controls: np.ndarray, worlds: Worlds) -> np.ndarray:
    """Return which worlds a plan fails in (n)."""
    mass = MASS * worlds.mass
    place, _ = slide(controls[:-1, 0], problem.time_step, worlds.friction, mass, mass)
    return np.asarray(np.abs(place - problem.goal[0]) > TOLERANCE)


def test_exact_sliding_is_what_is_calculated_by_hand() -> None:
    """0.1 s at 5 m/s^2, then it comes to rest and waits, then 0.1 s backwards at 5 m/s^2."""
    one, mass = np.array([0.4]), np.array([1.0])
    g = 9.81
    push = np.array([5.0 + 0.4 * g, 0.0, 0.0, 0.0, 0.0, -5.0 - 0.4 * g])
    place, speed = slide(push, 0.1, one, mass, mass)
    way = 0.5 * 0.5**2 / (0.4 * g)
    assert place[0] == pytest.approx(0.025 + way - 0.025)
    assert speed[0] == pytest.approx(-0.5)


def test_failures_are_those_of_exact_time(puck: RobustProblem) -> None:
    """Of pushes to and fro; with a step a knot three in a hundred worlds are another matter."""
    draw = np.random.default_rng(3)
    worlds = draw_worlds(puck, {"friction": Normal(0.45, 0.08), "mass": Normal(1.0, 0.05)},
                         1000, 0, "test")  # fmt: skip
    wrong = []
    for _ in range(3):
        controls = np.repeat(draw.normal(0.0, 25.0, (10, 1)), 4, axis=0)
        controls = np.concatenate([controls, [[0.0]]])
        end, _ = slide(controls[:-1, 0], 0.03, worlds.friction, *2 * (MASS * worlds.mass,))
        near = dataclasses.replace(puck, goal=(float(np.quantile(end, 0.8)), 0.1, 0.0, 0.0))
        failed = exact(near, controls, worlds)
        rate = true_rate(near, FAILURE, controls, worlds)
        assert abs(rate.failures - failed.sum()) <= rate.undecided + 2
        assert rate.low <= failed.mean() <= rate.high
        assert rate.undecided < 20
        assert 0.0 < rate.step < 0.002
        coarse = failure_rate(near, FAILURE, controls, worlds)
        wrong.append(abs(coarse.failures - failed.sum()) / len(worlds))
    assert max(wrong) > 0.03


def test_what_no_step_decides_is_counted_both_ways() -> None:
    rate = FailureRate(40, 1000, undecided=15, undecided_failures=10)
    assert rate.low == pytest.approx(FailureRate(30, 1000).low)
    assert rate.high == pytest.approx(FailureRate(45, 1000).high)
    assert FailureRate(1000, 1000, undecided=1000, undecided_failures=1000).open == 1.0


def _measured(count: int) -> Samples:
    values = 0.45 + 0.03 * stats.t(3).ppf(np.random.default_rng(0).random(count))
    return Samples(tuple(np.maximum(values, 0.05).tolist()))


def _rounded(step: float) -> Samples:
    values = Normal(0.42, 0.03).quantile(np.random.default_rng(0).random(300))
    return Samples(tuple((step * np.round(values / step)).tolist()))


def test_what_was_rounded_may_lie_anywhere_within_its_step() -> None:
    spread = _rounded(0.05).quantile((np.arange(300) + 0.5) / 300)
    assert np.all(np.diff(spread) > 0.0)
    np.testing.assert_allclose(spread, np.sort(_rounded(1e-9).values), atol=0.05)
    np.testing.assert_allclose(spread, np.sort(_rounded(0.05).values), atol=0.025)
    floors = Samples((0.3,) * 5 + (0.4,) * 5 + (0.5,) * 5)  # there may truly be three
    assert set(floors.quantile(np.linspace(0.0, 1.0, 50))) == {0.3, 0.4, 0.5}


@pytest.mark.parametrize(
    ("spread", "truth", "risk"),
    [
        pytest.param(Normal(0.45, 0.06), Normal(0.45, 0.06), 0.05, marks=pytest.mark.verify),
        pytest.param(Uniform(0.35, 0.55), Uniform(0.35, 0.55), 0.05, marks=pytest.mark.verify),
        (_measured(300), _measured(100_000), 0.05),
        (_rounded(0.05), Normal(0.42, 0.03), 0.1),
    ],
    ids=["normal", "uniform", "measured", "rounded"],
)
def test_a_promise_holds_in_exact_time(
    puck: RobustProblem,
    spread: Distribution,
    truth: Distribution,
    risk: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In 100 000 worlds; measured values are drawn afresh, from Student's distribution.

    With rounded ones taken as they are 14.7 % failed where 10 were accepted.
    """
    monkeypatch.setattr(risk_planner, "SIGMA_FACTORS", (1.0,))
    plan = plan_with_risk(puck, {"friction": spread}, FAILURE, risk, settings=QUICK)
    assert plan.status is PlanStatus.SUCCEEDED
    assert plan.failure_rate.measured == (300 if isinstance(spread, Samples) else 0)
    worlds = draw_worlds(puck, {"friction": truth}, 100_000, 1, "judge")
    assert exact(puck, plan.trajectory.control, worlds).mean() <= risk


@pytest.mark.parametrize("few", [(0, 0), (1, 0), (2, 2), (0, 9), (5, 4)])
def test_measured_values_bound_what_may_happen_beyond_them(few: tuple[int, int]) -> None:
    """For 97.5 % of the draws, and hardly for more, whichever tails fail."""
    left, right = few
    values = np.sort(np.random.default_rng(0).random((20_000, 300)), axis=1)
    fails = values[:, left] + 1.0 - values[:, 299 - right]
    bound = FailureRate(20 * (left + right), 6000, measured=300, ends=2).high
    assert 0.9 * 0.025 < (fails > bound).mean() < 1.1 * 0.025


def test_values_of_two_quantities_are_worth_as_many_worlds() -> None:
    """A plan that fails outside of a box: its rate in all pairs of 200 values, and its bound."""
    draw, broken = np.random.default_rng(0), 0
    for _ in range(2000):
        first, second = draw.random((2, 200))
        failed = 1.0 - (first > 0.04).mean() * (second < 0.95).mean()
        rate = FailureRate(round(40_000 * failed), 40_000, measured=200, ends=4)
        broken += rate.high < 1.0 - 0.96 * 0.95
        assert rate.low < rate.rate < rate.high
    assert broken <= 0.025 * 2000


def test_a_gap_to_a_ground_that_nothing_touches_is_refused(puck: RobustProblem) -> None:
    hanging = dataclasses.replace(puck.model, surfaces=("wall",))
    failure = FailureConfig(final_gap=0.01)
    failure.check(puck)
    with pytest.raises(ConfigError, match="no contact of 'sliding_block' touches the ground"):
        failure.check(dataclasses.replace(puck, model=hanging))


def test_measured_values_are_dealt(puck: RobustProblem) -> None:
    """Each as often as the others, in another order for another purpose and quantity."""
    values = tuple((0.5 + np.random.default_rng(0).random(300)).tolist())
    spread = {"friction": Samples(values), "mass": Samples(values)}
    worlds = draw_worlds(puck, spread, 900, 0, "one")
    np.testing.assert_array_equal(np.sort(worlds.friction), np.repeat(np.sort(values), 3))
    other = draw_worlds(puck, spread, 900, 0, "other")
    assert abs(np.corrcoef(worlds.friction, worlds.mass)[0, 1]) < 0.1
    assert abs(np.corrcoef(worlds.friction, other.friction)[0, 1]) < 0.1


def test_few_values_promise_little(puck: RobustProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is farther out than 30 values may happen in 17 % of the worlds."""
    monkeypatch.setattr(risk_planner, "SIGMA_FACTORS", (1.0,))
    bound = stats.beta.ppf(0.975, 2, 29)
    values = Normal(0.45, 0.05).quantile(np.random.default_rng(1).random(30))
    spread = {"friction": Samples(tuple(values.tolist()))}
    plan = plan_with_risk(puck, spread, FAILURE, 0.15, settings=QUICK)
    assert plan.status is PlanStatus.RISK_UNREACHABLE
    assert plan.failure_rate.high >= bound
    assert "30 measured values" in plan.remedy
    assert plan.failure_rate.failures == 0


def test_where_nothing_costs_anything_failures_still_do(puck: RobustProblem) -> None:
    free = dataclasses.replace(puck, state_weight=(0.0,) * 4, control_weight=(0.0,))
    plan = plan_with_risk(free, {"friction": Normal(0.45, 0.05)}, FAILURE, 0.2, settings=QUICK)
    assert plan.status in (PlanStatus.SUCCEEDED, PlanStatus.RISK_UNREACHABLE)


@pytest.mark.parametrize("name", ["hopper", "examples/robust_planner/insertion/insertion.yaml"])
def test_a_tape_has_what_casadi_has(name: str) -> None:
    problem = find_problem(name).problem
    size, shift = 2 * problem.model.coordinates, 2 * len(problem.model.obstacles)
    tape = terms(problem.model)
    work, found = np.empty(tape.registers), np.empty(tape.outputs)
    fixed = tape.instructions[: tape.fixed], tape.constants[: tape.fixed]
    play(*fixed, np.full(size + shift, np.nan), work, found)
    for given in 0.03 * np.random.default_rng(0).standard_normal((50, size + shift)):
        play(tape.instructions[tape.fixed :], tape.constants[tape.fixed :], given, work, found)
        q, v, s = np.split(given, [size // 2, size])
        model = problem.model
        true = (model.mass_matrix(q), model.bias_force(q, v), *model.shifted(q, s))
        rows = np.concatenate([np.asarray(casadi.DM(term)).ravel() for term in true])
        np.testing.assert_allclose(found, rows, rtol=1e-12, atol=1e-12)


def test_what_no_tape_can_hold_is_named() -> None:
    x = casadi.SX.sym("x")
    with pytest.raises(PlanningProblemError, match=r"'wave' has operation .* of CasADi"):
        record(casadi.Function("wave", [x], [casadi.erf(x)]))


def test_errors_of_long_steps_that_cancel_are_seen(puck: RobustProblem) -> None:
    """A hard push, then a slight one backwards that brings some to rest, and some back."""
    controls = np.concatenate([np.linspace(40.0, -15.0, 20), np.full(21, -8.0)])[:, None]
    spread = {"friction": Normal(0.4, 0.05), "mass": Normal(1.0, 0.03)}
    worlds = draw_worlds(puck, spread, 1500, 0, "test")
    mass = MASS * worlds.mass
    end, _ = slide(controls[:-1, 0], 0.03, worlds.friction, mass, mass)
    for share in (0.03, 0.05, 0.1):
        goal = float(np.quantile(end, share)) + TOLERANCE
        near = dataclasses.replace(puck, goal=(goal, 0.1, 0.0, 0.0))
        rate = true_rate(near, FAILURE, controls, worlds)
        assert abs(rate.failures - exact(near, controls, worlds).sum()) <= rate.undecided + 2
