"""Films of the plans in Fig. 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from contact_core.base.sweep import Sweep
from contact_experiments.irs.paper.plans import DRAWN, PLANS
from contact_experiments.irs.runs import SEEDS, SYSTEMS, run_all
from contact_experiments.papers.pictures import MovingFigure
from irs_planner.plots.drawing import PlanarDrawing
from irs_planner.quasi_dynamic import PlanarQuasiDynamics

WIDTH = 2.7
"""Of a system [inch]."""


def film_1(sweep: Sweep, systems: Sequence[str] = DRAWN) -> MovingFigure:
    """Fig. 1: the plans with exact gradients above those with bundled ones, in real time."""
    found = run_all(sweep, systems, tuple(PLANS), SEEDS[:1])
    figure = Figure(figsize=(WIDTH * len(found), 2.0 * WIDTH), layout="constrained")
    grid = figure.subplots(len(PLANS), len(found), squeeze=False)
    moving: list[tuple[Axes, PlanarDrawing, int, int]] = []
    duration = 0.0
    for column, (system, modes) in zip(grid.T, found.items(), strict=True):
        problem = SYSTEMS[system].problem()
        assert isinstance(problem.dynamics, PlanarQuasiDynamics)
        states = [runs[0].states for runs in modes.values()]
        # One drawing for both plans has one window for both.
        drawing = PlanarDrawing(problem.dynamics, np.vstack(states), problem.goal)
        last = len(states[0]) - 1
        duration = max(duration, last * drawing.time_step)
        for row, (axes, mode) in enumerate(zip(column, modes, strict=True)):
            axes.set_title(f"{SYSTEMS[system].title}, {PLANS[mode]}", fontsize=9)
            moving.append((axes, drawing, row * (last + 1), last))

    def draw(time: float) -> None:
        for axes, drawing, first, last in moving:
            for artist in (*axes.patches, *axes.lines):  # faster than all of the axes
                artist.remove()
            step = min(round(time / drawing.time_step), last)
            drawing.draw(axes, first + step, drawing.views[0])

    return MovingFigure(figure, draw, duration)
