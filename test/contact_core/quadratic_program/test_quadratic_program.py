"""Named problems with known answers, random ones against quadprog, and every failure."""

import numpy as np
import pytest
import quadprog

from contact_core.base.errors import ConfigError, ModelError
from contact_core.quadratic_program import (
    SOLVERS,
    DualActiveSetSolver,
    QuadraticProgram,
    QuadraticProgramStatus,
    allocate_workspace,
    make_solver,
    solve_dual_active_set,
    solve_relaxed,
)

OPTIMAL = QuadraticProgramStatus.OPTIMAL
INFEASIBLE = QuadraticProgramStatus.INFEASIBLE


def optimality_error(problem, solution):
    """Return the largest violation of the KKT conditions, which an optimal solution meets."""
    x, multipliers = solution.x, solution.multipliers
    rows, n = problem.constraint_matrix.shape
    y, z_lower, z_upper = np.split(multipliers, (rows, rows + n))
    hessian = np.tril(problem.hessian) + np.tril(problem.hessian, -1).T
    slope = hessian @ x + problem.gradient + problem.constraint_matrix.T @ y - z_lower + z_upper
    left = problem.constraint_bound - problem.constraint_matrix @ x
    distance = np.concatenate((left, x - problem.lower, problem.upper - x))
    held = multipliers != 0.0
    slack = np.abs(multipliers[held] * distance[held])
    return max(
        np.abs(slope).max(),
        -distance.min(),
        -multipliers.min(initial=0.0),
        slack.max(initial=0.0),
    )


def unconstrained():
    return QuadraticProgram.from_arrays(np.diag([2.0, 4.0]), [-2.0, 4.0]), [1.0, -1.0]


def projection_on_box():
    problem = QuadraticProgram.from_arrays(
        np.eye(3), [-2.0, 0.3, 5.0], lower=[-1.0, -1.0, -1.0], upper=[1.0, 1.0, 1.0]
    )
    return problem, [1.0, -0.3, -1.0]


def projection_on_half_space():
    # The point (1, 1) projected on x + y <= 1.
    problem = QuadraticProgram.from_arrays(np.eye(2), [-1.0, -1.0], [[1.0, 1.0]], [1.0])
    return problem, [0.5, 0.5]


def goldfarb_idnani_example():
    # x = (0.4761905, 1.0476190, 2.0952381) with the last two constraints active.
    problem = QuadraticProgram.from_arrays(
        np.eye(3),
        [0.0, -5.0, 0.0],
        [[4.0, 3.0, 0.0], [-2.0, -1.0, 0.0], [0.0, 2.0, -1.0]],
        [8.0, -2.0, 0.0],
    )
    return problem, [10.0 / 21.0, 22.0 / 21.0, 44.0 / 21.0]


def fixed_variable():
    # Equal bounds: x is fixed at 0.25, y follows from the coupling of H.
    problem = QuadraticProgram.from_arrays(
        [[2.0, 1.0], [1.0, 2.0]], [0.0, -1.0], lower=[0.25, -9.0], upper=[0.25, 9.0]
    )
    return problem, [0.25, 0.375]


def duplicated_constraint():
    problem = QuadraticProgram.from_arrays(
        np.eye(2), [-1.0, -1.0], [[1.0, 1.0], [1.0, 1.0], [2.0, 2.0]], [1.0, 1.0, 2.0]
    )
    return problem, [0.5, 0.5]


def degenerate_vertex():
    # Three lines through (0, 0), which is the minimiser: more than two are active.
    problem = QuadraticProgram.from_arrays(
        np.eye(2), [-1.0, -1.0], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0.0, 0.0, 0.0]
    )
    return problem, [0.0, 0.0]


def constraint_switched_off():
    problem = QuadraticProgram.from_arrays(np.eye(1), [-3.0], [[1.0], [1.0]], [np.inf, 2.0])
    return problem, [2.0]


NAMED = [
    unconstrained,
    projection_on_box,
    projection_on_half_space,
    goldfarb_idnani_example,
    fixed_variable,
    duplicated_constraint,
    degenerate_vertex,
    constraint_switched_off,
]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("named", NAMED)
def test_named_problems(named, solver):
    problem, expected = named()
    solution = make_solver(solver).solve(problem)
    assert solution.optimal
    tolerance = 1e-12 if solver == "dual_active_set" else 1e-6
    np.testing.assert_allclose(solution.x, expected, atol=tolerance)
    assert optimality_error(problem, solution) < 10 * tolerance


def contradiction(rows, bounds, **box):
    return QuadraticProgram.from_arrays(np.eye(2), [0.0, 0.0], rows, bounds, **box)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "problem",
    [
        contradiction([[1.0, 0.0], [-1.0, 0.0]], [-1.0, -1.0]),
        contradiction([[1.0, 1.0]], [-3.0], lower=[-1.0, -1.0], upper=[1.0, 1.0]),
        contradiction([[1.0, 0.0]], [0.0], lower=[1.0, -1.0], upper=[0.5, 1.0]),
    ],
    ids=["opposite rows", "row outside the box", "empty box"],
)
def test_contradictions_are_infeasible(problem, solver):
    solution = make_solver(solver).solve(problem)
    assert solution.status == INFEASIBLE
    assert "relax" in solution.status.remedy


def test_empty_row_that_asks_for_the_impossible_is_infeasible():
    problem = QuadraticProgram.from_arrays(np.eye(2), [0.0, 0.0], [[0.0, 0.0]], [-1.0])
    assert DualActiveSetSolver().solve(problem).status == INFEASIBLE


@pytest.mark.parametrize("solver", SOLVERS)
def test_indefinite_hessian_is_not_convex(solver):
    problem = QuadraticProgram.from_arrays(
        np.diag([1.0, -1.0]), [0.0, 1.0], lower=[-1.0, -1.0], upper=[1.0, 1.0]
    )
    assert make_solver(solver).solve(problem).status == QuadraticProgramStatus.NOT_CONVEX


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "field", ["hessian", "gradient", "constraint_matrix", "constraint_bound", "lower", "upper"]
)
def test_nan_anywhere_is_reported(field, solver):
    problem, _ = projection_on_half_space()
    getattr(problem, field).flat[0] = np.nan
    assert make_solver(solver).solve(problem).status == QuadraticProgramStatus.NOT_FINITE


def test_only_the_lower_triangle_of_the_hessian_is_read():
    problem = QuadraticProgram.from_arrays([[2.0, 77.0], [1.0, 2.0]], [-3.0, -3.0])
    solution = DualActiveSetSolver().solve(problem)
    np.testing.assert_allclose(solution.x, [1.0, 1.0], atol=1e-14)
    assert optimality_error(problem, solution) < 1e-14


def test_active_set_names_what_holds_the_solution_back():
    problem, _ = projection_on_box()
    # No rows: indices 0..2 are lower bounds, 3..5 upper bounds.
    assert list(DualActiveSetSolver().solve(problem).active_set) == [2, 3]


def random_problem(rng):
    """A random problem of up to 8 variables; about a third of them infeasible."""
    n = int(rng.integers(1, 9))
    m = int(rng.integers(0, 12))
    factor = rng.normal(size=(n, n))
    rows = rng.normal(size=(m, n))
    if m > 2 and rng.random() < 0.3:
        rows[1] = rows[0] * rng.uniform(0.5, 2.0)
    bound = rng.normal(size=m) + 1.0
    width = 10.0 ** rng.uniform(-3.0, 1.0, size=n)
    return QuadraticProgram.from_arrays(
        factor @ factor.T + 10.0 ** rng.uniform(-3, 0) * np.eye(n),
        rng.normal(size=n),
        rows,
        bound,
        -width,
        width,
    )


def reference_solution(problem):
    """Return quadprog's answer, None if it finds the problem infeasible."""
    n = problem.size
    normals = np.vstack((-problem.constraint_matrix, np.eye(n), -np.eye(n)))
    offsets = np.concatenate((-problem.constraint_bound, problem.lower, -problem.upper))
    try:
        return quadprog.solve_qp(problem.hessian, -problem.gradient, normals.T, offsets)[0]
    except ValueError as error:
        if "inconsistent" in str(error):
            return None
        raise


def sweep(count, seed):
    """Compare with quadprog; return the number of infeasible problems."""
    rng = np.random.default_rng(seed)
    solver = DualActiveSetSolver()
    infeasible = 0
    for _ in range(count):
        problem = random_problem(rng)
        expected = reference_solution(problem)
        solution = solver.solve(problem)
        if expected is None:
            infeasible += 1
            assert solution.status == INFEASIBLE
            continue
        assert solution.status == OPTIMAL
        np.testing.assert_allclose(solution.x, expected, atol=1e-9)
        assert optimality_error(problem, solution) < 1e-9
    return infeasible


def test_random_problems_agree_with_quadprog():
    assert sweep(2000, seed=0) > 50


@pytest.mark.verify
def test_a_hundred_thousand_random_problems_agree_with_quadprog():
    assert sweep(100_000, seed=1) > 2500


def controller_like(rng):
    """A problem as the controller makes them: milliradians, newtons, steep force rows."""
    m = int(rng.integers(0, 5))
    jacobian = rng.normal(size=(6, 7)) * 0.5
    hessian = jacobian.T @ jacobian + 1e-3 * np.eye(7)
    return QuadraticProgram.from_arrays(
        hessian,
        -hessian @ rng.normal(scale=3e-3, size=7),
        rng.normal(scale=500.0, size=(m, 7)),
        rng.uniform(-1.0, 10.0, size=m),
        np.full(7, -2e-3),
        np.full(7, 2e-3),
    )


def test_problems_of_the_controller_agree_with_quadprog():
    rng = np.random.default_rng(2)
    solver = DualActiveSetSolver()
    for _ in range(2000):
        problem = controller_like(rng)
        expected = reference_solution(problem)
        solution = solver.solve(problem)
        if expected is None:
            assert solution.status == INFEASIBLE
        else:
            np.testing.assert_allclose(solution.x, expected, atol=1e-12)


def test_osqp_agrees_on_problems_of_the_controller():
    rng = np.random.default_rng(3)
    exact, osqp = DualActiveSetSolver(), make_solver("osqp")
    compared = 0
    for _ in range(100):
        problem = controller_like(rng)
        ours, theirs = exact.solve(problem), osqp.solve(problem)
        if ours.optimal and theirs.optimal:
            compared += 1
            np.testing.assert_allclose(theirs.x, ours.x, atol=1e-6)
    assert compared > 60


@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1e-3, 1e6])
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_unit_of_the_objective_does_not_matter(solver, unit):
    problem = QuadraticProgram(
        unit * np.eye(2), np.array([-unit, 0.0]), np.array([[1.0, 0.0]]), np.array([0.5]),
        np.full(2, -np.inf), np.full(2, np.inf),
    )  # fmt: skip
    solution = make_solver(solver).solve(problem)
    assert solution.status == QuadraticProgramStatus.OPTIMAL
    np.testing.assert_allclose(solution.x, [0.5, 0.0], atol=1e-7)
    assert solution.multipliers[0] == pytest.approx(0.5 * unit, rel=1e-6)


def test_the_same_problem_gives_the_same_bits():
    problem = random_problem(np.random.default_rng(5))
    solver = DualActiveSetSolver()
    first = solver.solve(problem)
    for seed in range(20):
        solver.solve(random_problem(np.random.default_rng(seed)))
    again = solver.solve(problem)
    assert first.x.tobytes() == again.x.tobytes()
    assert first.multipliers.tobytes() == again.multipliers.tobytes()


def test_raw_kernel_solves_into_given_memory():
    problem, expected = goldfarb_idnani_example()
    work = allocate_workspace(problem.size, problem.constraints)
    x, multipliers = np.empty(3), np.empty(3 + 2 * 3)
    status, iterations = solve_dual_active_set(
        problem.hessian,
        problem.gradient,
        problem.constraint_matrix,
        problem.constraint_bound,
        problem.lower,
        problem.upper,
        work,
        x,
        multipliers,
    )
    assert status == OPTIMAL
    assert iterations >= 2
    np.testing.assert_allclose(x, expected, atol=1e-12)


def test_unknown_solver_lists_the_known_ones():
    with pytest.raises(ConfigError, match="dual_active_set, osqp"):
        make_solver("gurobi")


def test_wrong_shape_is_named():
    with pytest.raises(ModelError, match="constraint_matrix"):
        QuadraticProgram.from_arrays(np.eye(2), [0.0, 0.0], np.ones((3, 2)), [1.0])


def contradicting(bounds, gradient=0.0):
    """Return x <= bounds[0] and -x <= bounds[1], within +-10."""
    return QuadraticProgram.from_arrays(
        [[1.0]], [gradient], [[1.0], [-1.0]], bounds, [-10.0], [10.0]
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_can_be_met_is_not_relaxed(solver):
    solution, missing = solve_relaxed(make_solver(solver), contradicting([-2.0, 5.0]), 2)
    assert missing == 0.0
    np.testing.assert_allclose(solution.x, [-2.0], atol=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_contradicting_constraints_miss_equally_much(solver):
    """x <= -2 and x >= 1: half way, whatever the objective."""
    solution, missing = solve_relaxed(make_solver(solver), contradicting([-2.0, -1.0], 5.0), 2)
    assert solution.optimal
    np.testing.assert_allclose(solution.x, [-0.5], atol=1e-2)
    assert missing == pytest.approx(1.5, abs=1e-2)
    assert len(solution.multipliers) == 4


@pytest.mark.parametrize(("asked", "kept"), [(0.0, 0.0), (-0.5, 0.05)])
@pytest.mark.parametrize("solver", SOLVERS)
def test_one_constraint_is_not_paid_for_with_another(solver, asked, kept):
    """x + y <= -10, of which -2 is in reach, and y >= 0 (or 0.5): y does not go down for x."""
    problem = QuadraticProgram.from_arrays(
        np.eye(2), [0.0, 0.0], [[1.0, 1.0], [0.0, -1.0]], [-10.0, asked], [-1.0, -1.0], [1.0, 1.0]
    )
    solution, missing = solve_relaxed(make_solver(solver), problem, 2)
    np.testing.assert_allclose(solution.x, [-1.0, kept], atol=1e-2)
    assert missing == pytest.approx(9.0 + kept, abs=2e-2)


def test_a_constraint_out_of_reach_is_nearly_approached():
    problem = QuadraticProgram.from_arrays([[1.0]], [0.0], [[1.0]], [-100.0], [-10.0], [10.0])
    solution, missing = solve_relaxed(DualActiveSetSolver(), problem, 1)
    np.testing.assert_allclose(solution.x, [-9.0])
    assert missing == pytest.approx(91.0)


def test_only_soft_constraints_give_way():
    problem = contradicting([-2.0, -1.0])
    solution, missing = solve_relaxed(DualActiveSetSolver(), problem, 1)
    np.testing.assert_allclose(solution.x, [1.0], atol=1e-6)
    assert missing == pytest.approx(3.0)
    assert not solve_relaxed(DualActiveSetSolver(), problem, 0)[0].optimal
