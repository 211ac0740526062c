"""``contact-stack bench risk``: how often plans fail that the arm executes in drawn worlds."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from contact_core.figures import add_legend, new_figure, save
from contact_core.results import Rows, add_json_option, at_least, table, write_json
from contact_core.sweep import Sweep, add_worker_options, chosen_workers
from contact_experiments.robust.arm_runs import (
    draw_slides,
    plan_slides,
    run_slide,
    summarize_slides,
)

ROWS: Rows = (
    ("failures, planner", "promised", 100.0, "%"),
    ("failures of the arm", "failures", 1.0, "runs"),
    ("  of", "runs", 1.0, "runs"),
    ("  95 % interval, low", "low", 100.0, "%"),
    ("  95 % interval, high", "high", 100.0, "%"),
    ("largest error", "worst_m", 1e3, "mm"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument(
        "--runs", type=at_least(1), default=100, metavar="N",
        help="worlds in which each plan is executed (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--risk", type=float, default=0.05, help="accepted (default %(default)s), 0.001..0.5"
    )
    parser.add_argument(
        "--sigma", type=float, default=0.1, help="of the friction (default %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the worlds (default %(default)s)")
    add_json_option(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", default=Path("out/bench/risk"),
        help="where results are kept, to go on after an interrupt, and plots (default %(default)s)",
    )  # fmt: skip
    add_worker_options(parser)


def main(args: argparse.Namespace) -> int:
    """Run the benchmark.

    Args:
        args: The parsed command line.

    Returns:
        0; a broken promise is a figure like the others.
    """
    sweep = Sweep(chosen_workers(args), args.out / "results")
    ((example, plan),) = sweep.run(plan_slides, [(args.risk, args.sigma)], "plans")
    cases = draw_slides(example, plan, args.runs, args.seed)
    ways = sweep.run(run_slide, [(case,) for case in cases], "slides of the arm")
    plans = summarize_slides(example, cases, ways)
    plans["nominal"]["promised"] = plan.nominal_rate.rate
    plans["with risk"]["promised"] = plan.failure_rate.rate
    print("\n".join(table(plans, ROWS)))
    print(f"accepted: {100.0 * args.risk:g} %, {plan.status.name}")
    tolerance = example.failure.goal_tolerance[0]
    print(f"plot: {save(draw(plans, tolerance), args.out / 'slides.png')}")
    write_json({"risk": args.risk, "status": plan.status.name, "plans": plans}, args.json)
    return 0


def draw(plans: Mapping[str, Any], tolerance: float) -> Figure:
    """Draw where the sled ended with each friction.

    Args:
        plans: See :func:`summarize_slides`.
        tolerance: Largest error that is no failure [m].
    """
    figure, grid = new_figure(1, 1, (7.0, 4.0))
    axes = grid[0, 0]
    for marker, (name, runs) in zip("ox", plans.items(), strict=True):
        error = 1e3 * np.array(runs["error_m"])
        label = f"{name}: {runs['failures']} of {runs['runs']} fail"
        axes.plot(runs["friction"], error, marker, ms=4, label=label)
    axes.axhspan(-1e3 * tolerance, 1e3 * tolerance, color="C2", alpha=0.15, label="no failure")
    axes.set_xlabel("friction of the table")
    axes.set_ylabel("final error of the sled [mm]")
    add_legend(figure, axes, columns=3)
    return figure
