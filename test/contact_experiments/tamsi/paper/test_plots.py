"""The plots: every axis is named, and every curve of the data is there."""

import numpy as np
import pytest

from contact_experiments.tamsi.integrators.integrator import SolverEffort
from contact_experiments.tamsi.paper.box_figures import INTEGRATORS as IMPLICIT
from contact_experiments.tamsi.paper.box_figures import (
    ResidualHistory,
    WorkPrecisionPoint,
    plot_residuals,
    plot_work_precision,
)
from contact_experiments.tamsi.paper.gripper_figures import (
    Convergence,
    ShakeTrial,
    plot_convergence,
    plot_robustness,
)
from contact_experiments.tamsi.paper.moving_configuration import SCENES, LineSearchGain, plot_gains
from contact_experiments.tamsi.paper.speed import INTEGRATORS, SimulationRun, plot_speed

STEPS = (1e-3, 1e-2)
EFFORT = SolverEffort(100, 1, 1, 10, 10, 0, 0, 4, 4, 1, 1e-3)


def histories():
    residuals = np.array([1e-2, 1e-3])
    return {name: ResidualHistory(0.16, residuals, True) for name in ("ie_fn", "ie_fn_tals")}


def points():
    return [
        WorkPrecisionPoint(name, h, h, round(1 / h), 1, 0, True) for name in IMPLICIT for h in STEPS
    ]


def trials():
    return [
        ShakeTrial(name, h, k, False, 0, 0.02 if held else 5.0, 0.0 if held else 12.0)
        for name, held in (("tamsi", True), ("semi_implicit", False))
        for h in STEPS
        for k in (1e3, 1e4)
    ]


def runs():
    line = np.array([0.0, 1.0])
    return {"soft": [SimulationRun(name, line, line, EFFORT, True) for name in INTEGRATORS]}


def studies():
    steps = np.array(STEPS)
    return {("tamsi", "soft"): Convergence(steps, steps, 2.0 * steps)}


def comparisons():
    return [LineSearchGain(scene, h, EFFORT, EFFORT, True) for scene in SCENES for h in STEPS]


@pytest.mark.parametrize(
    ("plot", "data", "curves"),
    [
        (plot_residuals, histories, 2),
        (plot_work_precision, points, len(IMPLICIT)),
        (plot_robustness, trials, 0),
        (plot_speed, runs, len(INTEGRATORS)),
        (plot_convergence, studies, 2),
        (plot_gains, comparisons, 2 * len(SCENES)),
    ],
)
def test_axes_are_named_and_all_curves_are_drawn(plot, data, curves, tmp_path):
    figure = plot(data())
    lines = [line for axes in figure.axes for line in axes.lines if len(line.get_xdata()) == 2]
    drawn = [line for line in lines if line.get_marker() != "None" or plot is plot_speed]
    assert len(drawn) == curves
    for axes in figure.axes:
        assert axes.get_xlabel()
        assert axes.get_ylabel()
    figure.savefig(tmp_path / "figure.png")


def test_robustness_says_what_became_of_every_mug():
    texts = [text.get_text() for axes in plot_robustness(trials()).axes for text in axes.texts]
    assert texts.count("20 mm") == 4
    assert texts.count("lost\n> 10") == 4
