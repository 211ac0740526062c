"""Sec. VI-E: the same push, planned with quasi-dynamic and with second-order dynamics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from contact_core.base.figures import new_figure
from contact_core.base.sweep import Sweep
from contact_experiments.irs.benchmark import ORDERS, seconds_per_iteration
from contact_experiments.irs.runs import SEEDS, SYSTEMS, run_all
from contact_experiments.papers.figure import spread
from contact_experiments.papers.pictures import FigureResult
from irs_planner.plots.figures import draw_costs, frame_costs, mode_style, name_lines

MODES = ("exact", "zero")
"""A first-order bundle would differentiate every sample through 100 steps of the simulator."""
TIMED = 3
"""Iterations whose time is taken, in each round."""
STYLES = {"quasi_dynamic": "--", "second_order": "-"}


def section_vi_e(
    sweep: Sweep, rounds: int = 5, seeds: Sequence[int] = SEEDS, iterations: int = TIMED
) -> FigureResult:
    """Sec. VI-E: time per iteration of both orders, and the cost they reach."""
    tasks = [
        (name, mode, seed, iterations)
        for seed in range(rounds)
        for mode in MODES
        for name in ORDERS.values()
    ]
    seconds = sweep.run(seconds_per_iteration, tasks, "time of an iteration", one_at_a_time=True)
    timed = {task[:3]: value for task, value in zip(tasks, seconds, strict=True)}
    found = run_all(sweep, ("pushing", "second_order"), MODES, seeds)
    curves = dict(zip(ORDERS, found.values(), strict=True))

    figure, ((left, right),) = new_figure(1, 2, (9.6, 4.2))
    numbers: dict[str, Any] = {}
    for column, mode in enumerate(MODES):
        times = {
            order: np.array([timed[name, mode, seed] for seed in range(rounds)])
            for order, name in ORDERS.items()
        }
        numbers[mode] = {
            **{f"{order}_s": spread(values) for order, values in times.items()},
            "ratio": spread(times["second_order"] / times["quasi_dynamic"]),
        }
        for shift, (order, values) in zip((-0.2, 0.2), times.items(), strict=True):
            middle = float(np.median(values))
            error = [[middle - values.min()], [values.max() - middle]]
            left.bar(
                column + shift, middle, 0.36, yerr=error, color=mode_style(mode)["color"],
                alpha=0.45 if order == "quasi_dynamic" else 1.0,
            )  # fmt: skip
            left.annotate(
                order.replace("_", "-"), (column + shift, values.max()), (0, 4),
                textcoords="offset points", ha="center", fontsize=9,
            )  # fmt: skip
        for order, modes in curves.items():
            style = {**mode_style(mode), "ls": STYLES[order]}
            style["label"] = f"{order.replace('_', '-')}, {style['label']}"
            draw_costs(right, [run.costs for run in modes[mode]], **style)
            numbers[mode][f"{order}_best"] = spread([run.best for run in modes[mode]])
    left.set_yscale("log")
    left.margins(y=0.15)
    left.set(ylabel="time of an iteration [s]", xlim=(-0.6, len(MODES) - 0.4))
    left.set_title(SYSTEMS["pushing"].title)
    left.set_xticks(range(len(MODES)), [mode_style(mode)["label"] for mode in MODES])
    rows = [[run.costs for run in runs] for modes in curves.values() for runs in modes.values()]
    frame_costs(right, rows)
    right.set(ylabel="cost", title=SYSTEMS["pushing"].title)
    name_lines(figure)
    return figure, numbers
