"""Contact QPs per second: our dual active set against other solvers, on the same problems.

Run ``python benchmarks/irs/contact_qps.py [--json FILE]``. Solvers that are not installed
are left out.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse

from contact_stack.core.seeds import generator
from irs_planner import build_problem, load_example
from irs_planner.quasi_dynamic import PlanarQuasiDynamics
from irs_planner.scenes.contacts import find_contacts

COUNT = 2000
REPETITIONS = 5  # of the batch; the fastest counts, it takes some milliseconds
EXAMPLES = ("pushing", "pivoting_no_contact", "hand_move")


class ContactQp(NamedTuple):
    """min 1/2 v^T Q v + b^T v subject to C v <= d."""

    hessian: np.ndarray
    gradient: np.ndarray
    rows: np.ndarray
    bound: np.ndarray


Solver = Callable[[ContactQp], np.ndarray]


def sample_steps(name: str) -> tuple[PlanarQuasiDynamics, np.ndarray, np.ndarray]:
    """Return a model with random states and commands around the start of an example."""
    problem = build_problem(load_example(name))
    model = problem.dynamics
    assert isinstance(model, PlanarQuasiDynamics)
    rng = generator(0, name)
    noise = 0.01 * rng.standard_normal((COUNT, model.state_size))
    states = problem.initial_state + noise
    spread = 0.1 * rng.standard_normal((COUNT, model.input_size))
    return model, states, states[:, list(model.commanded_states)] + spread


def build_qps(
    model: PlanarQuasiDynamics, states: np.ndarray, inputs: np.ndarray
) -> list[ContactQp]:
    """Write out the QPs that the steps solve."""
    pairs, n, h = len(model.arrays.pair), model.state_size, model.time_step
    gap, direction = np.empty(pairs), np.empty((pairs, 2))
    normal, tangent = np.empty((pairs, n)), np.empty((pairs, n))
    friction, spring = model.arrays.friction[:, np.newaxis], model.model
    qps = []
    for state, command in zip(states, inputs, strict=True):
        find_contacts(model.arrays, state, gap, direction, normal, tangent)
        rays = np.concatenate((normal + friction * tangent, normal - friction * tangent))
        pull = spring.stiffness * (command - state[list(model.commanded_states)])
        gradient = -h * np.concatenate((spring.load, pull))
        qps.append(ContactQp(spring.hessian, gradient, -rays, np.tile(gap, 2) / h))
    return qps


def quadprog_solver() -> Solver:
    """Goldfarb and Idnani's method in C."""
    import quadprog

    return lambda qp: quadprog.solve_qp(qp.hessian, -qp.gradient, -qp.rows.T, -qp.bound)[0]


def osqp_solver() -> Solver:
    """Operator splitting, warm-started, through our own interface."""
    from contact_stack.core.quadratic_program import QuadraticProgram, make_solver

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


def measure() -> dict[str, dict[str, dict[str, float]]]:
    """Return ``{example: {solver: {"per_second", "largest_difference"}}}``.

    Ours solves a batch in compiled code, collision geometry included; the others are called
    once per problem from Python, as their interfaces have it. Differences are in q+ [m, rad].
    """
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for name in EXAMPLES:
        model, states, inputs = sample_steps(name)
        reached = model.step_batch(states, inputs)  # compiles
        seconds = []
        for _ in range(REPETITIONS):
            begin = time.perf_counter()
            model.step_batch(states, inputs)
            seconds.append(time.perf_counter() - begin)
        figures[name] = {"ours": {"per_second": COUNT / min(seconds), "largest_difference": 0.0}}
        solvable = np.isfinite(reached).all(axis=1)
        velocity = (reached - states)[solvable] / model.time_step
        qps = build_qps(model, states[solvable], inputs[solvable])
        for peer, make in PEERS.items():
            try:
                solve = make()
            except ImportError:
                continue
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


def main() -> None:
    """Measure, print a table, and write JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="file to write")
    arguments = parser.parse_args()
    figures = measure()
    for name, solvers in figures.items():
        for solver, values in solvers.items():
            print(
                f"{name:20s} {solver:9s} {values['per_second']:12,.0f} QP/s   "
                f"difference {values['largest_difference']:.1e}"
            )
    if arguments.json:
        arguments.json.write_text(json.dumps({"contact_qps": figures}, indent=2))


if __name__ == "__main__":
    main()
