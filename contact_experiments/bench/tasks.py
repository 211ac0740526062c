"""``contact-stack bench tasks``: tasks of others, from their own starts and by their own judges."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import binomtest

from contact_core.base.figures import save
from contact_core.base.results import Columns, add_json_option, at_least, lines, write_json
from contact_core.base.sweep import Sweep, add_sweep_options, chosen_workers
from contact_experiments.tasks.push_t import GOAL, TEE, centered, make_environment, play
from contact_stack.demo.push_anything.drawing import draw_push
from contact_stack.demo.push_anything.task import PushTask

TASKS = ("push_t",)
COLUMNS: Columns = (
    ("start", "seed", 1, "d"),
    ("reached", "reached", 1, "d"),
    ("steps", "steps", 1, "d"),
    ("coverage", "coverage", 1.0, ".3f"),
    ("overlap [px]", "overlap_px", 1.0, ".1f"),
    ("updates", "updates", 1, "d"),
    ("searches", "searches", 1, "d"),
    ("CPU [s]", "cpu_s", 1.0, ".1f"),
)
DRAWN = 10
"""Starts in the picture, those that took longest."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument(
        "task", choices=TASKS, help="push_t: Push-T of gym-pusht, by what its observation says"
    )
    parser.add_argument(
        "--starts", type=at_least(1), default=100, metavar="N", help="how many (default 100)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of the first start; then every next one (default 0)"
    )
    add_json_option(parser)
    add_sweep_options(parser, "out/bench/tasks", "a picture of the slowest")


def main(args: argparse.Namespace) -> int:
    """Run the benchmark.

    Args:
        args: The parsed command line.

    Returns:
        0; a start that does not succeed is a figure like the others.

    Raises:
        ContactStackError: If the environment is not installed.
    """
    make_environment().close()
    sweep = Sweep(chosen_workers(args), args.out / "results")
    rows = sweep.run(play, [(args.seed + k,) for k in range(args.starts)], "starts")
    print("\n".join(lines(rows, COLUMNS)))
    figures = summarize(rows)
    print(
        f"\n{figures['reached']} of {figures['starts']} reached (95 %: {figures['low']:.0%} to "
        f"{figures['high']:.0%}), after {figures['steps'][0]:.0f} steps in the median, "
        f"{figures['steps'][1]:.0f} at most; {figures['overlapping']} starts overlapped"
    )
    print(
        "processor time of an update {:.1f} ms in the median, p99 {:.1f}, at most {:.1f}; ".format(
            *figures["update_ms"]
        )
        + "of a search {:.1f} s, p99 {:.1f}, at most {:.1f}; the environment waits".format(
            *figures["search_s"]
        )
    )
    print(f"plot: {save(draw(rows), args.out / 'push_t.png')}")
    write_json({**figures, "rows": [_without_lists(row) for row in rows]}, args.json)
    return 0


def summarize(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how often a task was solved, with a Wilson interval of 95 %, and what it took.

    Args:
        rows: What :func:`play` returned.
    """
    reached = sum(row["reached"] for row in rows)
    interval = binomtest(reached, len(rows)).proportion_ci(0.95, "wilson")
    # What never gets there takes for ever.
    steps = [row["steps"] if row["reached"] else math.inf for row in rows]
    return {
        "starts": len(rows),
        "reached": reached,
        "share": reached / len(rows),
        "low": float(interval.low),
        "high": float(interval.high),
        "steps": [float(np.median(steps)), float(np.max(steps))],
        "overlapping": sum(row["overlap_px"] > 0.0 for row in rows),
        "update_ms": _quantiles([1e3 * time for row in rows for time in row["update_s"]]),
        "search_s": _quantiles([time for row in rows for time in row["search_s"]]),
        "cpu_s": _quantiles([row["cpu_s"] for row in rows]),
    }


def draw(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the ways of the starts that took longest, as the environment does: y is down.

    Args:
        rows: What :func:`play` returned.
    """
    slowest = sorted(rows, key=lambda row: (row["reached"], -row["steps"]))[:DRAWN]
    across = min(5, len(slowest))
    down = math.ceil(len(slowest) / across)
    figure = Figure(figsize=(3.0 * across, 3.2 * down), layout="constrained")
    goal = centered(np.array(GOAL))
    for number, row in enumerate(slowest, 1):
        axes = figure.add_subplot(down, across, number)
        path = np.array(row["path"])
        draw_push(axes, PushTask(TEE, tuple(path[0, :3]), tuple(goal)), path[:, :3], path[:, 3:])
        axes.invert_yaxis()
        mark = "" if row["reached"] else ", not reached"
        axes.set_title(f"start {row['seed']}: {row['steps']} steps{mark}", fontsize=9)
    return figure


def _quantiles(values: Sequence[float]) -> list[float]:
    """Return median, 99th percentile and maximum; 0 of nothing."""
    return np.percentile(values or [0.0], (50, 99, 100)).tolist()


def _without_lists(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if not isinstance(value, list)}
