"""Plans with a promise: judged by other simulators, analytic cases and fresh worlds."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from contact_core.base.errors import ConfigError
from contact_core.base.planning import PlanStatus, StopCondition
from contact_stack.robust.risk import simulate_in_tamsi
from robust_planner import (
    FailureConfig,
    FailureRate,
    Normal,
    RiskSettings,
    Samples,
    Uniform,
    draw_worlds,
    failure_rate,
    make_example,
    plan_with_risk,
    simulate_worlds,
)
from robust_planner.contact_model import GRAVITY
from robust_planner.examples import Example
from robust_planner.models import sliding_block
from robust_planner.risk import risk_planner
from robust_planner.risk.failure import severity, use_of_bounds
from robust_planner.risk.judging import first_substeps
from robust_planner.risk.settings import ShootingConfig
from robust_planner.risk.worlds import Uncertain, in_world, one_world, spread_worlds

QUICK = RiskSettings(
    worlds=8,
    samples=1000,
    checks=4000,
    shooting=ShootingConfig(nodes=26, iterations=40),
)


@pytest.fixture(autouse=True)
def one_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(risk_planner, "SIGMA_FACTORS", (1.0,))


def test_worlds_are_stepped_as_one_by_one() -> None:
    """The hopper: two contacts, limits, a configuration-dependent inertia; everything uncertain."""
    problem = make_example("hopper").problem
    controls = np.random.default_rng(1).normal(0.0, 20.0, (problem.knots, 3))
    uncertain = {
        "friction": Normal(0.5, 0.2),
        "height": Uniform(-0.05, 0.05),
        "mass": Samples((0.8, 1.0, 1.3)),
        "start.x": Normal(0.0, 0.1),
    }
    worlds = draw_worlds(problem, uncertain, 4, 0, "test")
    motion = simulate_worlds(problem, controls, worlds)
    for index in range(len(worlds)):
        own = in_world(problem, worlds, index)
        world = one_world(own, own.friction, float(worlds.height[index]))
        run = simulate_worlds(own, controls, world)
        # Rounding grows exponentially in a leg without feedback.
        np.testing.assert_allclose(motion.position[index, :40], run.position[0, :40], atol=1e-6)
        np.testing.assert_allclose(
            motion.normal_force[index, :40], run.normal_force[0, :40], atol=1e-3, rtol=1e-6
        )


def test_a_sliding_block_stops_where_friction_stops_it() -> None:
    """After a push for 0.1 s: v^2 / (2 mu g), up to a time step of sliding."""
    problem = make_example("block").problem
    controls = np.zeros((problem.knots, 1))
    controls[:10] = 30.0
    worlds = draw_worlds(problem, {"friction": Uniform(0.4, 0.8)}, 20, 0, "test")
    motion = simulate_worlds(problem, controls, worlds)
    speed = 0.1 * (30.0 - worlds.friction * GRAVITY)
    way = 0.05 * speed + speed**2 / (2.0 * worlds.friction * GRAVITY)
    np.testing.assert_allclose(motion.position[:, -1, 0], way, atol=0.01 * speed.max())
    # It slips as fast as it slides, and rests on its weight.
    bounds = FailureConfig(slip_speed=2.0, contact_force=5.0)
    use = severity(use_of_bounds(problem, bounds, motion, worlds))
    weight = motion.normal_force.reshape(len(worlds), -1).max(axis=1)
    slip = np.abs(motion.velocity[:, :, 0]).max(axis=1)
    np.testing.assert_allclose(use, np.maximum(slip / 2.0, weight / 5.0), rtol=1e-6)


@pytest.mark.parametrize("mass", [1.0, 5e-5])
def test_slip_between_two_knots_counts_however_light_a_body_is(mass: float) -> None:
    """It lands, slides and has stopped before the next knot."""
    block = make_example("block").problem
    problem = dataclasses.replace(
        block, model=sliding_block(mass), start=(0.0, 0.7, 2.0, 0.0), duration=2.0, knots=5
    )
    worlds = one_world(problem, 0.8)
    motion = simulate_worlds(problem, np.zeros((5, 1)), worlds, substeps=500)
    assert np.abs(motion.velocity[0, 1:, 0]).min() < 1e-9 < motion.velocity[0, 0, 0]
    # Sliding begins with what the impact leaves: mu times the speed of the fall less.
    left = 2.0 - 0.8 * np.sqrt(2.0 * GRAVITY * 0.2)
    assert motion.slip.max() == pytest.approx(left, abs=0.02)
    use = use_of_bounds(problem, FailureConfig(slip_speed=0.1), motion, worlds)
    assert severity(use)[0] == pytest.approx(10.0 * motion.slip.max())


def test_impact_speed_is_that_of_a_fall() -> None:
    problem = make_example("table_approach").problem
    worlds = draw_worlds(problem, {"height": Uniform(-0.03, 0.03)}, 20, 0, "test")
    motion = simulate_worlds(problem, np.zeros((problem.knots, 1)), worlds, substeps=10)
    fall = np.sqrt(2.0 * GRAVITY * (0.1 - worlds.height))
    np.testing.assert_allclose(motion.impact_speed.max(axis=(1, 2)), fall, rtol=1e-9)
    use = use_of_bounds(problem, FailureConfig(impact_speed=1.4), motion, worlds)
    failed = severity(use) > 1.0
    assert 0 < failed.sum() < len(worlds)
    np.testing.assert_array_equal(failed, motion.impact_speed.max(axis=(1, 2)) > 1.4)


@pytest.mark.parametrize("speed", [0.1, 0.4])
def test_a_bounce_is_that_of_its_equation(speed: float) -> None:
    """Hunt and Crossley's, integrated by somebody else: what comes back of the speed."""
    problem = make_example("table_approach").problem
    stiffness, dissipation, mass = problem.stiffness, problem.dissipation, 1.5

    def fall(_: float, state: np.ndarray) -> list[float]:
        depth, towards = state
        force = stiffness * depth * max(1.0 + dissipation * towards, 0.0)
        return [towards, -force / mass]

    def leaves(_: float, state: np.ndarray) -> float:
        return float(state[0] + 1e-12)

    leaves.terminal, leaves.direction = True, -1.0  # type: ignore[attr-defined]
    true = integrate.solve_ivp(fall, (0.0, 0.1), (0.0, speed), events=leaves, rtol=1e-8, atol=1e-12)
    start = (0.0, 0.05 + 0.01 * speed, 0.0, -speed)
    falling = dataclasses.replace(problem, start=start, duration=0.06, knots=7)
    weight = np.full((falling.knots, 1), mass * GRAVITY)
    # Of a millisecond, as a search begins with.
    motion = simulate_worlds(falling, weight, spread_worlds(problem, {}, 0, 0.5, 0), 10)
    assert motion.impact_speed.max() == pytest.approx(speed)
    back = motion.velocity[0, -1, 1]
    assert back == pytest.approx(-true.y[1, -1], rel=0.002)
    assert 0.2 * speed < back < 0.8 * speed


def test_impacts_are_those_of_tamsi_sim() -> None:
    """Of controls that change from knot to knot; with one step a knot they are 0.08 m/s off."""
    problem = make_example("table_approach").problem
    failure = FailureConfig(impact_speed=0.2)
    controls = np.random.default_rng(0).normal(10.0, 20.0, (problem.knots, 1))
    worlds = draw_worlds(problem, {"height": Normal(0.0, 0.005)}, 20, 0, "test")
    substeps = first_substeps(problem, failure, RiskSettings())
    ours = simulate_worlds(problem, controls, worlds, substeps)
    judged = simulate_in_tamsi(problem, controls, worlds)
    speed, true = (motion.impact_speed.max(axis=(1, 2)) for motion in (ours, judged))
    assert true.min() > 0.2
    np.testing.assert_allclose(speed, true, atol=0.03)
    np.testing.assert_allclose(ours.position, judged.position[:, ::10], atol=1e-4)
    assert first_substeps(problem, FailureConfig(final_gap=1.0), RiskSettings()) == 1


@pytest.mark.parametrize("name", ["block", "table_approach"])
def test_what_differs_late_is_simulated_as_by_itself(name: str) -> None:
    """Runs with the same controls so far share their beginning, to the last bit."""
    problem = make_example(name).problem
    controls = np.tile(np.random.default_rng(0).normal(10.0, 20.0, (problem.knots, 1)), (4, 1, 1))
    controls[[1, 3], 20] += 1.0
    worlds = spread_worlds(problem, make_example(name).uncertain, 2, 0.5, 0)
    worlds = worlds.select(np.array([0, 0, 1, 1]))
    motion = simulate_worlds(problem, controls, worlds, 5)
    for index in range(4):
        own = simulate_worlds(problem, controls[index], worlds.select([index]), 5)
        for name, values in vars(own).items():
            np.testing.assert_array_equal(getattr(motion, name)[index], values[0])


def test_it_does_not_matter_at_which_knot_something_hits() -> None:
    """Or secants would tell that an impact a little later is none."""
    problem = make_example("table_approach").problem
    worlds = draw_worlds(problem, {"height": Uniform(-0.03, 0.03)}, 20, 0, "test")
    motion = simulate_worlds(problem, np.zeros((problem.knots, 1)), worlds)
    use = use_of_bounds(problem, FailureConfig(impact_speed=1.4), motion, worlds)
    assert len(set(motion.impact_speed[:, :, 0].argmax(axis=1))) > 1
    np.testing.assert_allclose(use[:, 0], motion.impact_speed.max(axis=(1, 2)) / 1.4)


@pytest.mark.parametrize(
    ("distribution", "other"),
    [
        (Normal(0.5, 0.1), stats.norm(0.5, 0.1)),
        (Uniform(0.2, 0.6), stats.uniform(0.2, 0.4)),
    ],
)
def test_draws_follow_their_distribution(
    distribution: Normal | Uniform, other: stats.rv_continuous
) -> None:
    problem = make_example("block").problem
    worlds = draw_worlds(problem, {"friction": distribution}, 5000, 0, "test")
    assert stats.kstest(worlds.friction, other.cdf).pvalue > 0.01
    again = draw_worlds(problem, {"friction": distribution}, 5000, 0, "test")
    np.testing.assert_array_equal(worlds.friction, again.friction)


def test_spread_worlds_leave_the_tails_out() -> None:
    problem = make_example("block").problem
    uncertain = {"friction": Normal(0.5, 0.1), "mass": Uniform(0.9, 1.1)}
    worlds = spread_worlds(problem, uncertain, 9, 0.1, 0)
    assert worlds.friction[0] == pytest.approx(0.5)
    assert worlds.friction.max() == pytest.approx(stats.norm(0.5, 0.1).ppf(0.975))
    assert worlds.mass.min() == pytest.approx(0.9 + 0.2 * 0.025)


def test_interval_covers_the_rate_as_often_as_it_says() -> None:
    """Exactly: the probability of all counts whose interval has the true rate in it."""
    counts = np.arange(30)
    rates = [FailureRate(int(count), 100) for count in counts]
    covering = np.array([rate.low <= 0.05 <= rate.high for rate in rates])
    assert stats.binom.pmf(counts, 100, 0.05)[covering].sum() >= 0.95


@pytest.fixture(scope="module")
def sled() -> Example:
    example = make_example("sled")
    return dataclasses.replace(example, uncertain={"friction": Normal(0.4, 0.1)})


@pytest.mark.verify
def test_the_sled_keeps_its_promise(sled: Example) -> None:
    """In worlds that had no part in planning, and in tamsi_sim."""
    problem = sled.robust_problem
    plan = plan_with_risk(problem, sled.uncertain, sled.failure, 0.05, sled.config, QUICK)
    assert plan.status is PlanStatus.SUCCEEDED
    assert plan.kept
    fresh = draw_worlds(problem, sled.uncertain, 10_000, 7, "test")
    rate = failure_rate(problem, sled.failure, plan.trajectory.control, fresh)
    assert rate.high <= 0.06
    assert plan.nominal_rate.low >= 0.5
    assert np.abs(plan.trajectory.control).max() <= 60.0 + 1e-9
    few = fresh.select(slice(0, 150))
    judged = failure_rate(problem, sled.failure, plan.trajectory.control, few, simulate_in_tamsi)
    assert judged.low <= 0.05


@pytest.mark.verify
def test_what_cannot_be_had_is_called_unreachable(sled: Example) -> None:
    """A tenth of the tolerance: no push without feedback comes that close so often."""
    failure = FailureConfig(goal_tolerance=(0.002, 0.0, 0.0, 0.0))
    quick = dataclasses.replace(QUICK, shooting=ShootingConfig(nodes=11, iterations=5))
    plan = plan_with_risk(sled.robust_problem, sled.uncertain, failure, 0.05, sled.config, quick)
    assert plan.status is PlanStatus.RISK_UNREACHABLE
    assert plan.failure_rate.low > 0.05
    assert plan.failure_rate.rate <= plan.nominal_rate.rate
    assert "least risk found" in plan.remedy


def search_of(example: Example, uncertain: Uncertain, failure: FailureConfig) -> Any:
    problem, stop = example.robust_problem, StopCondition(60.0)
    quick = dataclasses.replace(QUICK, shooting=ShootingConfig(nodes=11, iterations=5))
    return risk_planner._Search(problem, uncertain, failure, 0.1, quick, stop)


def test_worlds_that_fail_are_found_among_those_that_may_not() -> None:
    """What falls hits a low table fastest; the lowest twentieth may fail."""
    example = make_example("table_approach")
    uncertain, failure = {"height": Uniform(-0.03, 0.03)}, FailureConfig(impact_speed=1.4)
    search, knots = search_of(example, uncertain, failure), example.robust_problem.knots
    failing = search._failing(np.zeros((knots, 1)), 0.1).height
    fast = 0.1 - 1.4**2 / (2.0 * GRAVITY)
    seen = risk_planner._seen_worlds(example.robust_problem, uncertain, QUICK).height
    np.testing.assert_allclose(np.sort(failing), np.sort(seen[(seen >= -0.027) & (seen < fast)]))
    assert np.all(np.diff(failing) <= 0.0)  # the one that fails least is the first
    assert len(search._failing(np.full((knots, 1), 1.5 * GRAVITY), 0.1)) == 0


def test_controls_that_exceed_a_limit_of_speed_are_no_plan(sled: Example) -> None:
    """A block was pushed at 2.8 m/s where 1.5 are allowed, and the promise kept."""
    problem = sled.robust_problem
    search = search_of(sled, sled.uncertain, FailureConfig(goal_tolerance=(9.0, 0.0, 0.0, 0.0)))
    fast, slow = np.full((problem.knots, 1), 9.0), np.zeros((problem.knots, 1))
    assert search.offer(fast).failures == 0
    search.offer(slow)
    np.testing.assert_array_equal(search.best, slow)
    assert not search.solve(fast) or np.abs(search.trajectory(search.best).velocity).max() <= 1.5


def test_what_fails_far_too_often_is_rated_in_few_worlds(sled: Example) -> None:
    search = search_of(sled, sled.uncertain, sled.failure)
    rate = search.offer(np.zeros((sled.robust_problem.knots, 1)))  # stays where it is
    assert (rate.failures, rate.samples) == (risk_planner.FEW, risk_planner.FEW)
    anywhere = FailureConfig(goal_tolerance=(9.0, 0.0, 0.0, 0.0))
    search = search_of(sled, sled.uncertain, anywhere)
    assert search.offer(np.zeros((sled.robust_problem.knots, 1))).samples == QUICK.samples


@pytest.mark.parametrize(("failures", "better"), [(9, False), (2, True)])
def test_what_is_rated_in_few_worlds_has_to_be_better_for_sure(
    sled: Example, monkeypatch: pytest.MonkeyPatch, failures: int, better: bool
) -> None:
    """Out of time, it rests on 32: nine of them fail by luck where 30 % do."""
    search = search_of(sled, sled.uncertain, sled.failure)
    known, late = np.zeros((2, sled.robust_problem.knots, 1))
    monkeypatch.setattr(search, "_rate", lambda *_: FailureRate(600, 2000))
    search.offer(known)
    search._stop = StopCondition(0.0)
    monkeypatch.setattr(search, "_rate", lambda *_: FailureRate(failures, 32))
    search.offer(late)
    assert (search.best is late) is better


def test_a_used_up_budget_ends_the_search(sled: Example) -> None:
    plan = plan_with_risk(
        sled.robust_problem, sled.uncertain, sled.failure, 0.05, sled.config, QUICK,
        stop=StopCondition(0.1),
    )  # fmt: skip
    assert plan.status is PlanStatus.TIME_BUDGET_REACHED


def test_a_nominal_plan_at_a_limit_is_still_what_there_is(
    sled: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulated, what is at a limit may be a hair beyond it; no plan at all is worse."""
    monkeypatch.setattr(risk_planner._Search, "_keeps_limits", lambda *_: False)
    monkeypatch.setattr(risk_planner, "_starts", lambda *_: iter([np.zeros((0, 1))]))
    monkeypatch.setattr(risk_planner._Search, "solve", lambda *_: True)
    plan = plan_with_risk(
        sled.robust_problem, sled.uncertain, sled.failure, 0.05, sled.config, QUICK
    )
    assert plan.status is PlanStatus.RISK_UNREACHABLE
    np.testing.assert_array_equal(plan.trajectory.control, plan.nominal.trajectory.control)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"risk": 0.6}, "risk is 0.6 \\(valid: >= 0.001, <= 0.5\\)"),
        ({"failure": FailureConfig()}, "nothing counts as a failure"),
        ({"failure": FailureConfig(goal_tolerance=(0.1,))}, "goal_tolerance has 1 values"),
        ({"uncertain": {"colour": Normal(0.0, 1.0)}}, "unknown uncertain quantity 'colour'"),
        ({"uncertain": {"mass": Uniform(-2.0, -1.0)}}, "mass: its smallest value is -2 .*a factor"),
        ({"uncertain": {"friction": Normal(-0.3, 0.01)}}, "friction: half .* are below -0.3"),
        ({"start": np.zeros((3, 1))}, "start has controls \\(3, 1\\)"),
        ({"settings": RiskSettings(checks=100), "risk": 0.01}, "checks is 100, too few"),
    ],
)
def test_bad_values_are_named(sled: Example, changes: dict[str, object], message: str) -> None:
    given = {"uncertain": sled.uncertain, "failure": sled.failure, "risk": 0.05, **changes}
    with pytest.raises(ConfigError, match=message):
        plan_with_risk(sled.robust_problem, **given)  # type: ignore[arg-type]


@pytest.mark.verify
@pytest.mark.timeout(300)
@pytest.mark.parametrize("risk", [0.05, 0.01])
@pytest.mark.parametrize("name", ["block", "sled", "table_approach"])
def test_promises_hold_in_tamsi_sim(
    name: str, risk: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4000 runs: the 95 % interval ends below 7 %, or 1.4 times what was promised."""
    monkeypatch.setattr(risk_planner, "SIGMA_FACTORS", (1.0, 2.0))
    example = make_example(name)
    uncertain = example.uncertain
    if name == "sled":
        uncertain = {"friction": Normal(0.4, 0.1)}
    problem = example.robust_problem
    plan = plan_with_risk(problem, uncertain, example.failure, risk, example.config)
    assert plan.status is PlanStatus.SUCCEEDED
    worlds = draw_worlds(problem, uncertain, 4000, 1, "judge in tamsi_sim")
    judged = failure_rate(
        problem, example.failure, plan.trajectory.control, worlds, simulate_in_tamsi
    )
    assert judged.high <= 1.4 * risk, judged
