"""iRS-LQR: the paper's anchors, and what a caller relies on."""

import dataclasses
import itertools
import threading

import numpy as np
import pytest

from contact_core.base.config import from_mapping
from contact_core.base.errors import ConfigError
from irs_planner import (
    Bounds,
    PlannerSettings,
    PlanStatus,
    QuadraticCost,
    build_problem,
    load_example,
    plan,
)
from irs_planner.examples import example_settings


def problem(name, **changes):
    return dataclasses.replace(build_problem(load_example(name)), **changes)


def run(name, mode, iterations, seed=0, **settings):
    return plan(
        problem(name), PlannerSettings(mode=mode, iterations=iterations, seed=seed, **settings)
    )


def test_pendulum_with_exact_gradients_reaches_the_papers_cost():
    result = run("pendulum", "exact", 10)
    assert result.cost == pytest.approx(357.2965, abs=1e-3)
    assert result.states[-1, 0] == pytest.approx(np.pi, abs=0.1)


@pytest.mark.filterwarnings("error")
def test_a_motion_that_diverges_costs_infinity_without_a_warning():
    given = problem("pendulum")
    states = np.full((given.horizon + 1, 2), 1e200)
    assert given.evaluate(states, given.initial_inputs) == np.inf


@pytest.mark.parametrize("mode", ["first", "zero"])
def test_pendulum_bundles_come_close(mode):
    assert run("pendulum", mode, 10).cost < 360.0


def test_pushing_from_no_contact_is_flat_for_exact_gradients():
    result = run("pushing", "exact", 10)
    assert result.costs[0] == pytest.approx(134.41, abs=5e-3)
    np.testing.assert_allclose(result.costs, result.costs[0], rtol=1e-9)
    assert result.status == PlanStatus.GRADIENT_FLAT
    assert "bundled mode" in result.message


@pytest.mark.parametrize("mode", ["first", "zero", "log_barrier"])
def test_pushing_from_no_contact_works_with_bundles(mode):
    result = run("pushing", mode, 10)
    assert result.cost <= 33.4
    assert np.abs(np.diff(result.inputs, axis=0)).max() <= 0.04 + 1e-6
    assert np.abs(result.link_forces["hand_z"]).max() > 0.1


@pytest.mark.parametrize(("mode", "limit"), [("first", 11.4), ("zero", 12.5)])
def test_hand_moves_the_ball(mode, limit):
    assert run("hand_move", mode, 20).cost <= limit


@pytest.mark.parametrize("mode", ["first", "log_barrier"])
def test_pivoting_from_no_contact(mode):
    assert run("pivoting_no_contact", "exact", 2).status == PlanStatus.GRADIENT_FLAT
    result = run("pivoting_no_contact", mode, 6)
    assert result.cost <= 0.8 * result.costs[0]


def test_dubins_parks_and_respects_the_soft_steering_bound():
    result = run("dubins_hard", "first", 12)
    assert result.cost < 0.1 * result.costs[0]
    assert np.abs(result.states[:, 4]).max() < np.pi / 4 + 0.01


def test_quadrotor_follows_the_helix_with_zero_order_gradients():
    result = run("quadrotor", "zero", 2)
    assert result.cost < 0.03 * result.costs[0]


def test_result_is_the_best_iterate_and_consistent():
    given = problem("hand_spin")
    result = plan(given, PlannerSettings(mode="first", iterations=14))
    assert result.cost == min(result.costs) < result.costs[-1]
    assert given.evaluate(result.states, result.inputs) == result.cost
    np.testing.assert_array_equal(
        given.dynamics.rollout(given.initial_state, result.inputs), result.states
    )
    np.testing.assert_array_equal(result.final_error, result.states[-1] - given.goal)


@pytest.mark.parametrize("mode", ["first", "zero"])
def test_same_seed_same_bits_for_one_and_two_workers(mode):
    one, two = (run("pushing", mode, 3, seed=5, workers=workers) for workers in (1, 2))
    np.testing.assert_array_equal(one.inputs, two.inputs)
    assert one.costs == two.costs
    assert run("pushing", mode, 3, seed=6).costs != one.costs


def test_callback_sees_every_iteration():
    reports = []
    result = plan(
        problem("pushing"), PlannerSettings(mode="first", iterations=3), callback=reports.append
    )
    assert tuple(reports) == result.iterations
    assert [report.iteration for report in reports] == [1, 2, 3]
    assert [report.cost for report in reports] == list(result.costs[1:])
    assert reports[0].std == pytest.approx(0.3)
    assert all(a.elapsed < b.elapsed for a, b in itertools.pairwise(reports))
    assert all(report.times.total > 0 for report in reports)


def test_cancellation_returns_the_best_iterate_so_far():
    cancel, reports = threading.Event(), []

    def stop_after_two(report):
        reports.append(report)
        if report.iteration == 2:
            cancel.set()

    result = plan(
        problem("pushing"),
        PlannerSettings(mode="first", iterations=50),
        callback=stop_after_two,
        cancel=cancel,
    )
    assert result.status == PlanStatus.CANCELED
    assert len(reports) == 2
    assert result.cost == reports[-1].best_cost


def test_time_budget_returns_the_best_iterate_so_far():
    result = plan(
        problem("pushing"), PlannerSettings(mode="first", iterations=100_000, time_budget=0.3)
    )
    assert result.status == PlanStatus.TIME_BUDGET_REACHED
    assert result.usable
    assert result.cost < result.costs[0]


def test_a_budget_that_is_over_at_once_returns_the_first_guess():
    given = problem("pushing")
    result = plan(given, PlannerSettings(time_budget=1e-9))
    np.testing.assert_array_equal(result.inputs, given.initial_inputs)


def test_convergence_test_stops_early():
    result = run("pendulum", "exact", 200, tolerance=1e-6, patience=3)
    assert result.status == PlanStatus.SUCCEEDED
    changes = np.abs(np.diff(result.costs)) / result.costs[:-1]
    assert len(changes) < 30
    assert (changes[-3:] <= 1e-6).all()
    assert changes[-4] > 1e-6


def test_warm_start_goes_on_where_the_last_plan_ended():
    first = run("pendulum", "exact", 3)
    again = plan(
        problem("pendulum", initial_inputs=first.inputs),
        PlannerSettings(mode="exact", iterations=3),
    )
    assert again.costs[0] == pytest.approx(first.cost)
    assert again.cost < first.cost


def test_trust_region_only_improves():
    without = run("hand_move", "first", 12)
    refined = run("hand_move", "first", 12, refinements=15)
    assert refined.costs[: len(without.costs)] == without.costs
    assert refined.cost < 0.9 * without.cost


def test_osqp_can_replace_the_riccati_solver():
    riccati, osqp = (run("pushing", "log_barrier", 1, mpc_solver=s) for s in ("riccati", "osqp"))
    assert osqp.costs[1] == pytest.approx(riccati.costs[1], rel=1e-2)


def test_coupled_model_plans_too():
    result = plan(problem("pushing", decoupled=False), PlannerSettings(mode="first", iterations=6))
    assert result.cost < 60.0


def test_initial_penetration_is_reported():
    start = np.array([0.0, 0.5, 0.0, 0.0, 0.2])
    result = plan(problem("pushing", initial_state=start), PlannerSettings())
    assert result.status == PlanStatus.INITIAL_PENETRATION
    assert not result.usable


def test_no_contact_is_reported():
    """The barrier feels the box, but moving the hand is too expensive."""
    given = problem("pushing")
    heavy = QuadraticCost(given.cost.state, given.cost.final, np.full(2, 1e9))
    result = plan(
        dataclasses.replace(given, cost=heavy), PlannerSettings(mode="log_barrier", iterations=2)
    )
    assert result.status == PlanStatus.NO_CONTACT


def test_unreachable_goal_is_reported():
    given = problem("pushing")
    given = dataclasses.replace(
        given,
        initial_state=np.array([0.0, 0.5, 0.0, 0.0, -0.1]),
        initial_inputs=np.tile([0.0, -0.1], (60, 1))[:12],
        reference=np.tile([0.0, 5.0, 0.0, 0.0, -0.2], (13, 1)),
        tolerance=np.array([0.1, 0.1, np.inf, np.inf, np.inf]),
    )
    result = plan(given, PlannerSettings(mode="first", iterations=4))
    assert result.status == PlanStatus.GOAL_UNREACHABLE
    assert not result.goal_reached


def test_goal_tolerances_decide_whether_the_goal_is_reached():
    loose, tight = (
        plan(
            problem("pendulum", tolerance=np.array([value, np.inf])),
            PlannerSettings(mode="exact", iterations=8),
        )
        for value in (0.1, 1e-9)
    )
    assert loose.goal_reached
    assert not tight.goal_reached
    assert tight.status == PlanStatus.ITERATIONS_REACHED
    assert "from its goal" in tight.message


def test_a_guess_that_cannot_be_simulated_is_reported():
    inputs = np.full((200, 1), 1e308)
    with np.errstate(all="ignore"):
        result = plan(problem("pendulum", initial_inputs=inputs), PlannerSettings(mode="exact"))
    assert result.status == PlanStatus.SOLVER_FAILED


def test_every_status_has_a_remedy():
    assert all(status.remedy for status in PlanStatus)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"initial_state": np.zeros(4)}, "initial_state has shape"),
        ({"initial_state": np.full(5, np.nan)}, "not finite"),
        ({"initial_inputs": np.zeros((60, 3))}, "initial_inputs has shape"),
        ({"reference": np.zeros((60, 5))}, "reference has shape"),
        ({"tolerance": np.zeros(5)}, "positive"),
        ({"cost": QuadraticCost(np.ones(5), np.ones(5), np.zeros(2))}, "must be positive"),
        ({"cost": QuadraticCost(-np.ones(5), np.ones(5), np.ones(2))}, "cost.state must be >= 0"),
        ({"bounds": Bounds(increment=np.array([-0.1, 0.1]))}, "increment must be >= 0"),
        ({"bounds": Bounds(input_low=np.zeros(3))}, "input_low has shape"),
        (
            {"bounds": Bounds(bounded_states=(9,), state_low=np.zeros(1), state_high=np.ones(1))},
            "valid: 0 .. 4",
        ),
    ],
)
def test_bad_problems_are_explained(changes, message):
    with pytest.raises(ConfigError, match=message):
        problem("pushing", **changes)


@pytest.mark.parametrize(
    "values", [{"samples": 0}, {"mode": "newton"}, {"iterations": -1}, {"time_budget": -1.0}]
)
def test_bad_settings_are_rejected(values):
    with pytest.raises(ConfigError, match=next(iter(values))):
        from_mapping(PlannerSettings, values)


@pytest.mark.verify
@pytest.mark.parametrize("mode", ["first", "zero"])
@pytest.mark.parametrize("seed", range(8))
def test_pushing_on_eight_seeds(mode, seed):
    assert run("pushing", mode, 10, seed).cost <= 33.4


@pytest.mark.verify
@pytest.mark.parametrize(("mode", "limit"), [("first", 11.4), ("zero", 12.5)])
def test_hand_on_forty_seeds(mode, limit):
    """The costs scatter around the limit: not every seed meets it.

    Measured: 37 of 40 seeds (first order), 38 of 40 (zero order), and 7 of the first 8 each.
    """
    costs = np.array([run("hand_move", mode, 20, seed).cost for seed in range(40)])
    assert np.mean(costs <= limit) >= 0.9
    assert np.median(costs) <= limit - 0.1


@pytest.mark.parametrize(
    ("mode", "fewer"),
    [
        pytest.param("first", {}, marks=pytest.mark.verify),
        pytest.param("zero", {}, marks=pytest.mark.verify),
        pytest.param("log_barrier", {}, marks=pytest.mark.verify),
        ("log_barrier", {"iterations": 3, "refinements": 3}),
    ],
)
def test_the_iiwa_pushes_a_box_it_did_not_touch(mode, fewer):
    """Bundled gradients bring the box from 160 mm and 32 degrees near its goal pose."""
    config = load_example("iiwa_push")
    settings = dataclasses.replace(example_settings(config), mode=mode, **fewer)
    result = plan(build_problem(config), settings)
    x, y, _, _, _, yaw = result.final_error[:6]
    assert result.cost < 0.15 * result.costs[0]
    assert np.hypot(x, y) < 0.06
    assert abs(yaw) < np.deg2rad(8.0)


def test_exact_gradients_leave_the_iiwa_where_it_is():
    result = run("iiwa_push", "exact", 2)
    assert result.status is PlanStatus.GRADIENT_FLAT
