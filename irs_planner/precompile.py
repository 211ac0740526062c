"""Compile or load everything the planner's node runs, before the first goal arrives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from irs_planner.examples import build_problem, load_example
from irs_planner.global_plan import plan_globally
from irs_planner.irs_lqr import plan
from irs_planner.mpc import RiccatiSolver, TrackingProblem
from irs_planner.problem import PlannerSettings
from irs_planner.search import SearchSettings
from irs_planner.smoothing import mode_names

EXAMPLES = ("pendulum", "pushing", "iiwa_push")
"""One without contact, one in the plane and one in space."""

SEARCHED = ("push_t", "iiwa_push")
"""Problems with tolerances, one in the plane and one in space."""

SHARE = 0.2
"""Of their way, as far as one push leads."""


def precompile() -> None:
    """Plan one iteration of a small example in every mode, and search for a near goal."""
    for name in EXAMPLES:
        problem = build_problem(load_example(name))
        for mode in mode_names(problem.dynamics):
            plan(problem, PlannerSettings(mode=mode, iterations=1, samples=2))
    for name in SEARCHED:
        problem = build_problem(load_example(name))
        start = problem.initial_state
        near = replace(problem, reference=start + SHARE * (problem.reference - start))
        plan_globally(near, SearchSettings(attempts=3, shortening=0.0))
    _solve_interior_point()


def _solve_interior_point() -> None:
    """Meet a bound that active sets do not hold, as few examples do."""
    one, bound = np.ones((1, 1)), np.array([[0.5, np.inf]])
    stage = one[np.newaxis]
    solver = RiccatiSolver()
    solver.prepare(
        TrackingProblem(
            stage, 2.0 * stage, one, np.ones((2, 1)), one, one, one, -bound, bound, np.zeros(2)
        )
    )
    solver.solve(0, np.ones(1))
