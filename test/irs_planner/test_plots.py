"""Every figure can be drawn, and shows something."""

import matplotlib as mpl
import numpy as np
import pytest

from contact_core.base.figures import save
from contact_core.base.sweep import Sweep
from contact_experiments.irs import contact_figures, smoothing_figures
from irs_planner import PlannerSettings, build_problem, load_example, plan

mpl.use("Agg")
plots = pytest.importorskip("irs_planner.plots")


def assert_shows_something(path):
    pixels = mpl.image.imread(path)[..., :3]
    assert min(pixels.shape[:2]) > 100
    assert 0.01 < np.mean(pixels < 0.9) < 0.9


@pytest.mark.parametrize("number", [2, 3, 4, 5, 7, 8])
def test_figures_of_the_paper(number, tmp_path):
    module = smoothing_figures if number <= 4 else contact_figures
    figure, numbers = getattr(module, f"figure_{number}")(Sweep(show=False), samples=20)
    assert numbers
    assert_shows_something(save(figure, tmp_path / "figure.png"))


def test_cost_curves_and_frames(tmp_path):
    problem = build_problem(load_example("pushing"))
    result = plan(problem, PlannerSettings(mode="zero", iterations=2))
    curves = {
        "pushing": {"zero": [result.costs]},
        "again": {"first": [result.costs, (*result.costs[:-1], np.inf)]},
    }
    assert_shows_something(save(plots.plot_costs(curves), tmp_path / "costs.png"))
    strip = tmp_path / "strip.png"
    assert_shows_something(
        plots.draw_strip(problem.dynamics, result.states, problem.goal, strip, frames=3)
    )
    movie = tmp_path / "movie.gif"
    plots.animate(problem.dynamics, result.states[:3], problem.goal, movie)
    assert movie.read_bytes()[:3] == b"GIF"


def test_a_plan_in_3d_is_drawn_from_above_and_from_the_side(tmp_path):
    problem = build_problem(load_example("iiwa_push"))
    states = problem.dynamics.rollout(problem.initial_state, problem.initial_inputs[:4])
    drawn = problem.dynamics, states, problem.goal
    assert_shows_something(plots.draw_strip(*drawn, tmp_path / "strip.png"))
    assert plots.animate(*drawn, tmp_path / "motion.gif").stat().st_size > 1_000
