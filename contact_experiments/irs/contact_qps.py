"""Contact QPs per second: our dual active set against other solvers, on the same problems.

Solvers that are not installed are left out, see :func:`missing_peers`.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse

from contact_core.base.seeds import generator
from irs_planner.examples import build_problem, load_example
from irs_planner.quasi_dynamic import QuasiDynamics

COUNT = 2000
REPETITIONS = 5  # of the batch; the fastest counts, it takes some milliseconds
EXAMPLES = ("pushing", "pivoting_no_contact", "hand_move", "iiwa_push")


class ContactQp(NamedTuple):
    """min 1/2 v^T Q v + b^T v subject to C v <= d."""

    hessian: np.ndarray
    gradient: np.ndarray
    rows: np.ndarray
    bound: np.ndarray


Solver = Callable[[ContactQp], np.ndarray]


def sample_steps(name: str, count: int) -> tuple[QuasiDynamics, np.ndarray, np.ndarray]:
    """Return a model with random states and commands around the start of an example.

    Args:
        name: The example.
        count: How many.
    """
    problem = build_problem(load_example(name))
    model = problem.dynamics
    assert isinstance(model, QuasiDynamics)
    rng = generator(0, name)
    noise = 0.01 * rng.standard_normal((count, model.coordinates))
    states = model.complete(problem.initial_state[: model.coordinates] + noise)
    spread = 0.1 * rng.standard_normal((count, model.input_size))
    return model, states, states[:, list(model.commanded_states)] + spread


def build_qps(model: QuasiDynamics, states: np.ndarray, inputs: np.ndarray) -> list[ContactQp]:
    """Write out the QPs that the steps solve.

    Args:
        model: The contact model.
        states: (K, n) x.
        inputs: (K, m) u.
    """
    qps = []
    for state, command in zip(states, inputs, strict=True):
        spring, rows = model.spring_model(state), model.contact_rows(state)
        pull = spring.stiffness * (command - state[list(model.commanded_states)])
        gradient = -model.time_step * np.concatenate((spring.load, pull))
        qps.append(ContactQp(spring.hessian, gradient, rows.negated, rows.gap / model.time_step))
    return qps


def quadprog_solver() -> Solver:
    """Goldfarb and Idnani's method in C."""
    import quadprog

    return lambda qp: quadprog.solve_qp(qp.hessian, -qp.gradient, -qp.rows.T, -qp.bound)[0]


def osqp_solver() -> Solver:
    """Operator splitting, warm-started, through our own interface."""
    from contact_core.quadratic_program import QuadraticProgram, make_solver

    solver = make_solver("osqp")

    def solve(qp: ContactQp) -> np.ndarray:
        problem = QuadraticProgram.from_arrays(qp.hessian, qp.gradient, qp.rows, qp.bound)
        return solver.solve(problem).x

    return solve


def piqp_solver() -> Solver:
    """Proximal interior point, dense."""
    import piqp

    def solve(qp: ContactQp) -> np.ndarray:
        solver = piqp.DenseSolver()
        solver.setup(qp.hessian, qp.gradient, G=qp.rows, h_u=qp.bound)
        solver.solve()
        return np.array(solver.result.x)

    return solve


def clarabel_solver() -> Solver:
    """Interior point in Rust, sparse."""
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False

    def solve(qp: ContactQp) -> np.ndarray:
        cone = [clarabel.NonnegativeConeT(len(qp.bound))]
        hessian, rows = sparse.csc_matrix(qp.hessian), sparse.csc_matrix(qp.rows)
        solver = clarabel.DefaultSolver(hessian, qp.gradient, rows, qp.bound, cone, settings)
        return np.array(solver.solve().x)

    return solve


PEERS: dict[str, Callable[[], Solver]] = {
    "quadprog": quadprog_solver,
    "osqp": osqp_solver,
    "piqp": piqp_solver,
    "clarabel": clarabel_solver,
}


def missing_peers() -> list[str]:
    """Return the names of the solvers that are not installed."""
    return [name for name in PEERS if importlib.util.find_spec(name) is None]


def measure_contact_qps(
    examples: Sequence[str] = EXAMPLES, count: int = COUNT
) -> dict[str, dict[str, dict[str, float]]]:
    """Measure how many contact QPs every solver does in a second.

    Ours solves a batch in compiled code, collision geometry included; the others are called
    once per problem from Python, as their interfaces have it.

    Args:
        examples: Contact examples to take the problems from.
        count: Problems per example.

    Returns:
        ``{example: {solver: {"per_second", "largest_difference"}}}``; differences from ours
        are in q+ [m, rad].
    """
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for name in examples:
        model, states, inputs = sample_steps(name, count)
        reached = model.step_batch(states, inputs)  # compiles
        seconds = []
        for _ in range(REPETITIONS):
            begin = time.perf_counter()
            model.step_batch(states, inputs)
            seconds.append(time.perf_counter() - begin)
        figures[name] = {"ours": {"per_second": count / min(seconds), "largest_difference": 0.0}}
        solvable = np.isfinite(reached).all(axis=1)
        velocity = (reached - states)[solvable, : model.coordinates] / model.time_step
        qps = build_qps(model, states[solvable], inputs[solvable])
        for peer in [name for name in PEERS if name not in missing_peers()]:
            solve = PEERS[peer]()
            solve(qps[0])
            begin = time.perf_counter()
            answers = np.array([solve(qp) for qp in qps])
            elapsed = time.perf_counter() - begin
            difference = np.abs(answers - velocity).max() * model.time_step
            figures[name][peer] = {
                "per_second": len(qps) / elapsed,
                "largest_difference": float(difference),
            }
    return figures
