"""MPC: Riccati against dense algebra and OSQP, with and without active bounds."""

import numpy as np
import pytest

from contact_core.base.errors import ConfigError
from contact_core.quadratic_program import QuadraticProgramStatus
from irs_planner.mpc import TrackingProblem, make_mpc_solver


def random_problem(seed=0, horizon=15, n=4, m=2, control_limit=np.inf, state_limit=np.inf):
    rng = np.random.default_rng(seed)
    bound = np.concatenate((np.full(n, np.inf), np.full(m, control_limit)))
    bound[0] = state_limit
    softness = np.zeros(n + m)
    softness[:n] = 1e-2
    return TrackingProblem(
        np.eye(n) + 0.1 * rng.normal(size=(horizon, n, n)),
        rng.normal(size=(horizon, n, m)),
        0.1 * rng.normal(size=(horizon, n)),
        rng.normal(size=(horizon + 1, n)),
        np.diag(rng.uniform(0.1, 1.0, n)),
        np.diag(rng.uniform(1.0, 3.0, n)),
        np.diag(rng.uniform(0.1, 1.0, m)),
        np.tile(-bound, (horizon, 1)),
        np.tile(bound, (horizon, 1)),
        softness,
    )


def simulate(problem, start, state, controls):
    states = [state]
    for t, w in enumerate(controls, start):
        states.append(
            problem.transition[t] @ states[-1] + problem.control[t] @ w + problem.offset[t]
        )
    return np.array(states)


def dense_solution(problem, start, state):
    """Minimise over all controls at once: states are affine in them."""
    horizon, _, m = problem.control.shape
    count = (horizon - start) * m
    zero = simulate(problem, start, state, np.zeros((horizon - start, m)))
    columns = [
        simulate(problem, start, state, unit.reshape(-1, m)) - zero for unit in np.eye(count)
    ]
    map_ = np.stack(columns, axis=-1)
    hessian = np.kron(np.eye(horizon - start), problem.control_weight)
    gradient = np.zeros(count)
    for k, t in enumerate(range(start, horizon + 1)):
        weight = problem.final_weight if t == horizon else problem.weight
        hessian += map_[k].T @ weight @ map_[k]
        gradient += map_[k].T @ weight @ (zero[k] - problem.reference[t])
    return np.linalg.solve(hessian, -gradient).reshape(-1, m)


@pytest.mark.parametrize("name", ["riccati", "osqp"])
@pytest.mark.parametrize("start", [0, 6, 14])
def test_without_bounds_one_pass_equals_dense_algebra(name, start):
    problem, state = random_problem(), np.array([1.0, -0.5, 0.3, 2.0])
    solver = make_mpc_solver(name)
    assert solver.prepare(problem) == QuadraticProgramStatus.OPTIMAL
    solution = solver.solve(start, state)
    expected = dense_solution(problem, start, state)
    np.testing.assert_allclose(
        solution.controls, expected, atol=1e-10 if name == "riccati" else 1e-5
    )
    if name == "riccati":
        assert solution.iterations == 0


@pytest.mark.parametrize("limits", [(0.3, np.inf), (np.inf, 0.5), (0.3, 0.5)])
@pytest.mark.parametrize("seed", range(4))
def test_with_active_bounds_riccati_agrees_with_osqp(limits, seed):
    problem = random_problem(seed, control_limit=limits[0], state_limit=limits[1])
    rng = np.random.default_rng(seed)
    riccati, osqp = make_mpc_solver("riccati"), make_mpc_solver("osqp")
    riccati.prepare(problem)
    osqp.prepare(problem)
    for start in (0, 7, 14):
        state = rng.normal(size=4)
        ours, theirs = riccati.solve(start, state), osqp.solve(start, state)
        assert ours.status == theirs.status == QuadraticProgramStatus.OPTIMAL
        np.testing.assert_allclose(ours.controls, theirs.controls, atol=2e-4)
        assert np.abs(ours.controls).max() <= limits[0] + 1e-8


def car_at_the_end_of_its_way():
    """A car two steps before its end, with the steering bounded: the goal is out of reach."""
    transition = np.tile(np.eye(5), (2, 1, 1))
    transition[:, 0, 4] = 0.063, -0.287
    transition[:, 1, 3] = 0.096, 0.094
    transition[:, 2, 3:] = (0.024, -0.002), (0.099, -0.022)
    control = np.zeros((2, 5, 2))
    control[:, 3, 0] = control[:, 4, 1] = 0.1
    control[:, 0, 1] = -0.01, 0.004
    offset = np.array([[0.026, 0.005, 0.0, 0.0, 0.0], [0.228, -0.03, 0.017, 0.0, 0.0]])
    weight = np.diag([5.0, 5.0, 3.0, 0.1, 0.1])
    bound = np.full((2, 7), np.inf)
    bound[:, 4] = np.pi / 4
    return TrackingProblem(
        transition,
        control,
        offset,
        np.tile([-3.0, -1.0, np.pi / 2, 0.0, 0.0], (3, 1)),
        weight,
        10.0 * weight,
        np.diag([0.5, 0.05]),
        -bound,
        bound,
        np.array([1e-6] * 5 + [0.0] * 2),
    )


def test_the_corrector_does_not_cycle():
    """Corrected steps alone would repeat themselves for ever on this problem."""
    problem, state = car_at_the_end_of_its_way(), np.array([-1.755, -0.928, 1.509, 0.155, -0.191])
    solutions = []
    for name in ("riccati", "osqp"):
        solver = make_mpc_solver(name)
        solver.prepare(problem)
        solutions.append(solver.solve(0, state))
    riccati, osqp = solutions
    assert riccati.status == QuadraticProgramStatus.OPTIMAL
    assert riccati.iterations < 20
    np.testing.assert_allclose(riccati.controls, osqp.controls, atol=1e-5)


def test_the_first_state_may_violate_its_soft_bound():
    problem, solver = random_problem(state_limit=0.1), make_mpc_solver("riccati")
    solver.prepare(problem)
    solution = solver.solve(0, np.array([5.0, 0.0, 0.0, 0.0]))
    assert solution.status == QuadraticProgramStatus.OPTIMAL
    assert solution.iterations > 0


def test_shrinking_horizon_follows_the_first_plan_if_the_model_is_right():
    """Bellman's principle: nothing changes if every prediction comes true."""
    problem, solver = random_problem(control_limit=0.3), make_mpc_solver("riccati")
    solver.prepare(problem)
    state = np.array([1.0, -0.5, 0.3, 2.0])
    plan = solver.solve(0, state).controls
    for t in range(len(plan)):
        again = solver.solve(t, state).controls
        np.testing.assert_allclose(again, plan[t:], atol=1e-5)
        state = simulate(problem, t, state, plan[t : t + 1])[1]


def problem_with_commands(seed, horizon=25):
    """As a scene with contact has it: controls are increments, commands have hard bounds."""
    rng = np.random.default_rng(seed)
    plain = random_problem(seed, horizon, n=3, control_limit=0.3, state_limit=0.5)
    identity, zero = np.tile(np.eye(2), (horizon, 1, 1)), np.zeros((horizon, 2, 3))
    center = 0.1 * np.cumsum(rng.normal(size=(horizon, 2)), axis=0)
    box = np.full((horizon, 7), np.inf)
    box[:, 0], box[:, 3:5], box[:, 5:] = 0.5, 0.2, 0.6
    middle = np.zeros((horizon, 7))
    middle[:, 3:5] = center
    return TrackingProblem(
        np.block([[plain.transition, plain.control], [zero, identity]]),
        np.concatenate((plain.control, identity), axis=1),
        np.pad(plain.offset, ((0, 0), (0, 2))),
        np.pad(plain.reference, ((0, 0), (0, 2))),
        np.pad(plain.weight, (0, 2)),
        np.pad(plain.final_weight, (0, 2)),
        plain.control_weight,
        middle - box,
        middle + box,
        np.array([1e-2] * 3 + [0.0] * 4),
    )


@pytest.mark.parametrize("seed", range(6))
def test_going_on_from_the_last_solution_equals_solving_afresh(seed):
    """Motions differ from what was predicted, so that active bounds change on the way."""
    problem, rng = problem_with_commands(seed), np.random.default_rng(seed)
    going_on, osqp = make_mpc_solver("riccati"), make_mpc_solver("osqp")
    going_on.prepare(problem)
    osqp.prepare(problem)
    state, bounded = np.zeros(5), 0
    for start in range(len(problem.control)):
        afresh = make_mpc_solver("riccati")
        afresh.prepare(problem)
        ours, expected = going_on.solve(start, state), afresh.solve(start, state)
        assert ours.status == expected.status == QuadraticProgramStatus.OPTIMAL
        np.testing.assert_allclose(ours.controls, expected.controls, atol=1e-5)
        if start % 6 == 0:
            theirs = osqp.solve(start, state)
            np.testing.assert_allclose(ours.controls, theirs.controls, atol=5e-4)
        ahead = simulate(problem, start, state, ours.controls)
        reach = np.hstack((ahead[1:], ours.controls))
        hard = problem.softness == 0.0
        assert (reach <= problem.upper[start:] + 1e-8)[:, hard].all()
        assert (reach >= problem.lower[start:] - 1e-8)[:, hard].all()
        bounded += int((np.abs(reach - problem.upper[start:]) < 1e-8).any())
        state = ahead[1] + [*(0.05 * rng.normal(size=3)), 0.0, 0.0]
    assert bounded > 5


def test_an_earlier_stage_can_be_solved_after_a_later_one():
    problem, state = problem_with_commands(0), np.zeros(5)
    first, again = make_mpc_solver("riccati"), make_mpc_solver("riccati")
    first.prepare(problem)
    again.prepare(problem)
    again.solve(9, np.array([3.0, -3.0, 1.0, 0.1, -0.1]))
    np.testing.assert_allclose(
        again.solve(0, state).controls, first.solve(0, state).controls, atol=1e-8
    )


@pytest.mark.parametrize("horizon", [50, 200])
def test_every_next_problem_costs_what_changes(horizon):
    """A round or two, however long the horizon: it goes on from the last solution."""
    problem, rng = random_problem(0, horizon, control_limit=0.2), np.random.default_rng(0)
    solver, state, rounds = make_mpc_solver("riccati"), np.ones(4), []
    solver.prepare(problem)
    for start in range(40):
        solution = solver.solve(start, state)
        rounds.append(solution.iterations)
        ahead = simulate(problem, start, state, solution.controls[:1])[1]
        state = ahead + 0.1 * rng.normal(size=4)
    assert 0.0 < np.mean(rounds[1:]) < 2.0


def test_a_first_guess_that_diverges_does_not_loosen_the_tolerance():
    """A hard bound of a state that no control moves alone is left to the interior point."""
    plain = random_problem(2, horizon=40, control_limit=2.0, state_limit=2.0)
    problem = plain._replace(transition=1.4 * plain.transition, softness=np.zeros(6))
    solutions = {}
    for name in ("riccati", "osqp"):
        solver = make_mpc_solver(name)
        solver.prepare(problem)
        solutions[name] = solver.solve(0, np.array([1.0, -0.5, 0.3, 2.0]))
    assert solutions["riccati"].status == QuadraticProgramStatus.OPTIMAL
    np.testing.assert_allclose(
        solutions["riccati"].controls[:10], solutions["osqp"].controls[:10], atol=1e-3
    )


def test_a_linearisation_with_nan_is_reported():
    problem = random_problem()
    problem.control[3, 0, 0] = np.nan
    for name in ("riccati", "osqp"):
        assert make_mpc_solver(name).prepare(problem) == QuadraticProgramStatus.NOT_CONVEX


def test_unknown_solver_lists_the_valid_ones():
    with pytest.raises(ConfigError, match="riccati, osqp"):
        make_mpc_solver("gurobi")


def test_every_status_has_a_remedy():
    assert all(status.remedy for status in QuadraticProgramStatus)
