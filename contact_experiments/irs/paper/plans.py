"""Fig. 1 and 9: the plans with exact and with bundled gradients, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from contact_core.base.sweep import Sweep
from contact_experiments.irs.runs import SEEDS, SYSTEMS, PlanRun, run_all
from contact_experiments.papers.figure import spread
from contact_experiments.papers.pictures import FigureResult
from irs_planner.plots.drawing import PlanarDrawing
from irs_planner.plots.figures import ZERO, draw_costs, frame_costs, name_lines, plot_costs
from irs_planner.quasi_dynamic import PlanarQuasiDynamics

DRAWN = ("hand", "pushing", "pivoting", "plate")
"""Fig. 1."""
PLOTTED = tuple(name for name in SYSTEMS if name != "second_order")
"""Fig. 9."""
PLANS = {"exact": "exact", "first": "bundled"}
FRAMES = 5
MANY_SAMPLES = 3000
"""Of the zero-order bundle where 100 are too few."""


def figure_1(sweep: Sweep, systems: Sequence[str] = DRAWN) -> FigureResult:
    """Fig. 1: the best plans with exact and with bundled gradients, as strips of motion."""
    found = run_all(sweep, systems, tuple(PLANS), SEEDS[:1])
    return _draw_motions(found), {
        system: {
            PLANS[mode]: {"cost": runs[0].best, **_left(system, runs[0])}
            for mode, runs in modes.items()
        }
        for system, modes in found.items()
    }


def _left(system: str, run: PlanRun) -> dict[str, float]:
    """Return how far the object ends from its goal."""
    error = run.states[-1] - SYSTEMS[system].problem().goal
    return {
        "distance_left_m": float(np.hypot(*error[:2])),
        "angle_left_deg": float(np.degrees(abs(error[2]))),
    }


def _draw_motions(found: Mapping[str, Mapping[str, Sequence[PlanRun]]]) -> Figure:
    columns = min(2, len(found))
    figure = Figure(figsize=(7.0 * columns, 3.5 * -(-len(found) // columns)), layout="constrained")
    blocks = figure.subfigures(-(-len(found) // columns), columns, squeeze=False, wspace=0.03)
    for block, (system, modes) in zip(blocks.flat, found.items(), strict=False):
        problem = SYSTEMS[system].problem()
        assert isinstance(problem.dynamics, PlanarQuasiDynamics)
        states = [runs[0].states for runs in modes.values()]
        # One drawing for both plans has one window for both.
        drawing = PlanarDrawing(problem.dynamics, np.vstack(states), problem.goal)
        grid = block.subplots(len(modes), FRAMES, squeeze=False)
        for row, (mode, runs) in enumerate(modes.items()):
            last = len(runs[0].states) - 1
            for axes, t in zip(grid[row], np.linspace(0, last, FRAMES).astype(int), strict=True):
                drawing.draw(axes, row * (last + 1) + t, drawing.views[0])
                if row == 0:
                    axes.set_title(f"{t * drawing.time_step:.1f} s", fontsize=9)
            grid[row, 0].set_ylabel(f"{PLANS[mode]}\ncost {runs[0].best:.4g}", fontsize=9)
        block.suptitle(SYSTEMS[system].title, fontsize=11)
    return figure


def figure_9(
    sweep: Sweep, systems: Sequence[str] = PLOTTED, seeds: Sequence[int] = SEEDS
) -> FigureResult:
    """Fig. 9: cost against iteration, in every mode that is registered."""
    found = run_all(sweep, systems, seeds=seeds)
    curves = {
        SYSTEMS[system].title: {mode: [run.costs for run in runs] for mode, runs in modes.items()}
        for system, modes in found.items()
    }
    figure = plot_costs(curves)
    numbers: dict[str, Any] = {
        system: {mode: _costs(runs) for mode, runs in modes.items()}
        for system, modes in found.items()
    }
    if "dubins_hard" in systems:
        many = run_all(sweep, ["dubins_hard"], ["zero"], seeds, MANY_SAMPLES)["dubins_hard"]["zero"]
        numbers["dubins_hard"]["zero_many"] = _costs(many)
        axes = figure.axes[list(systems).index("dubins_hard")]
        rows = [run.costs for run in many]
        label = f"zero order, {MANY_SAMPLES} samples"
        draw_costs(axes, rows, color=ZERO, ls=":", marker="^", mfc="none", label=label)
        frame_costs(axes, [*curves[SYSTEMS["dubins_hard"].title].values(), rows])
        figure.legends[0].remove()
        name_lines(figure)
    return figure, numbers


def _costs(runs: Sequence[PlanRun]) -> dict[str, Any]:
    best, final = [run.best for run in runs], [run.final for run in runs]
    return {
        "initial": runs[0].costs[0],
        "first": runs[0].costs[1],
        "best": spread(best) if len(runs) > 1 else best[0],
        "final": spread(final) if len(runs) > 1 else final[0],
        "status": [run.status for run in runs],
        "mpc_failures": [run.mpc_failures for run in runs],
        "costs": [list(run.costs) for run in runs],
    }
