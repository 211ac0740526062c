"""Films of the block in Fig. 4d and of the hopper in Fig. 6a."""

from __future__ import annotations

import numpy as np
from matplotlib.patches import Rectangle

from contact_core.base.figures import BLUE, CYCLE, RED, new_figure
from contact_core.base.sweep import Sweep
from contact_experiments.papers.pictures import MovingFigure
from contact_experiments.robust.paper_figures import EDGE, hopper_in_frames, rough_blocks
from robust_planner.grid_figures import greek
from robust_planner.models import joint_positions

PAUSE = 0.5
"""How long it is seen where the blocks rest [s]."""


def film_4d(sweep: Sweep) -> MovingFigure:
    """Fig. 4d: the plans are executed under several frictions at once, in real time."""
    study, named = rough_blocks(sweep)
    goal = study.example.problem.goal[0]
    figure, grid = new_figure(len(named), 1, (6.5, 1.5 * len(named)), sharex=True)
    blocks: list[tuple[Rectangle, np.ndarray, np.ndarray]] = []
    for axes, (name, errors) in zip(grid.flat, named.items(), strict=True):
        axes.grid(visible=False)
        reached = np.concatenate([run.position[:, 0] for run in errors.simulations])
        for index, (mu, run) in enumerate(zip(errors.friction, errors.simulations, strict=True)):
            block = Rectangle((0.0, 0.0), EDGE, EDGE, color=CYCLE[index % len(CYCLE)], alpha=0.35)
            block.set_label(f"μ = {mu:.2f}")
            axes.add_patch(block)
            blocks.append((block, run.time, run.position[:, 0]))
        axes.axvline(goal, color="black", linestyle=":", linewidth=1.0)
        axes.axhline(0.0, color="black", linewidth=1.0)
        axes.set(aspect="equal", ylim=(0.0, 1.1 * EDGE), yticks=[], title=greek(name))
        axes.set_xlim(reached.min() - EDGE, reached.max() + EDGE)
        axes.spines["left"].set_visible(False)
    grid[-1, 0].set_xlabel("position [m]; the dotted line is the goal")
    grid[0, 0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")

    def draw(time: float) -> None:
        for block, times, places in blocks:
            block.set_x(float(np.interp(time, times, places)) - 0.5 * EDGE)

    return MovingFigure(figure, draw, max(times[-1] for _, times, _ in blocks) + PAUSE)


def film_6a(sweep: Sweep) -> MovingFigure:
    """Fig. 6a: the hopper by its plan without uncertainty and by robust ones, in real time."""
    plans = hopper_in_frames(sweep)
    figure, grid = new_figure(len(plans), 1, (7.0, 2.4 * len(plans)), sharex=True, sharey=True)
    points = {name: joint_positions(plan.trajectory.position) for name, plan in plans.items()}
    everywhere = np.concatenate([found.reshape(-1, 2) for found in points.values()])
    low, high = everywhere.min(axis=0) - 0.2, everywhere.max(axis=0) + 0.2
    moving = []
    for axes, (name, plan) in zip(grid.flat, plans.items(), strict=True):
        axes.plot(*points[name][:, 2].T, color="0.8", linewidth=0.8)
        axes.axhline(0.0, color="black", linewidth=1.0)
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal", ylabel="z [m]")
        axes.set_title(greek(name), fontsize=10)
        (leg,) = axes.plot([], [], "o-", color=BLUE, linewidth=2.0, markersize=4)
        (foot,) = axes.plot([], [], color=BLUE, linewidth=4.0)
        (base,) = axes.plot([], [], "s", color=RED, markersize=9)
        moving.append((plan.trajectory.time, points[name], leg, foot, base))
    grid[-1, 0].set_xlabel("x [m]")

    def draw(time: float) -> None:
        for times, places, leg, foot, base in moving:
            k = int(np.argmin(np.abs(times - time)))
            body, knee, ankle, toe, heel = places[k]
            leg.set_data(*np.array([body, knee, ankle]).T)
            foot.set_data(*np.array([heel, toe]).T)
            base.set_data(*body[:, None])

    return MovingFigure(figure, draw, max(times[-1] for times, *_ in moving))
