"""IPOPT's cold and warm starts."""

from __future__ import annotations

import dataclasses

import numpy as np
import threadpoolctl

from contact_core.base.planning import StopCondition
from robust_planner.config import NonlinearSolverConfig
from robust_planner.examples import Example
from robust_planner.program import ProgramParameters
from robust_planner.result import RobustPlan
from robust_planner.solver.ipopt import IpoptSolver
from robust_planner.transcription import transcribe


def solve_again(sled: Example, reference: RobustPlan, near: bool) -> list[int]:
    """Iterations from a solution: that of another program, and then the program's own."""
    config = dataclasses.replace(sled.config, solver=NonlinearSolverConfig(warm_start=True))
    program = transcribe(sled.problem, config, "penalty", robust=False)
    solver = IpoptSolver(program, config.solver)
    values, iterations = reference.values, []
    for _ in range(2):
        outcome = solver.solve(
            values,
            ProgramParameters(penalty=110.0),
            StopCondition(60.0),
            lambda count, left: None,
            near,
        )
        assert outcome.converged
        if near:  # a cold start may go elsewhere
            np.testing.assert_allclose(outcome.values[:, 0], reference.values[:, 0], atol=1e-3)
        values = outcome.values
        iterations.append(outcome.iterations)
    return iterations


def test_warm_start_stays_where_the_solution_is(sled: Example, sled_reference: RobustPlan) -> None:
    warm, cold = (solve_again(sled, sled_reference, near) for near in (True, False))
    assert warm[0] + warm[1] < cold[0] + cold[1]
    assert warm[1] < cold[1]


def test_the_linear_solver_uses_one_thread(sled: Example, sled_reference: RobustPlan) -> None:
    """Or rounding, and with it a plan, would depend on the number of processors."""
    config = dataclasses.replace(sled.config, solver=NonlinearSolverConfig(max_iterations=1))
    program = transcribe(sled.problem, config, "penalty", robust=False)
    threads = []

    def count(iteration: int, left: float) -> None:
        threads.extend(
            library["num_threads"]
            for library in threadpoolctl.threadpool_info()
            if "casadi" in library["filepath"]
        )

    parameters, stop = ProgramParameters(penalty=110.0), StopCondition(60.0)
    IpoptSolver(program, config.solver).solve(sled_reference.values, parameters, stop, count)
    assert set(threads) == {1}
