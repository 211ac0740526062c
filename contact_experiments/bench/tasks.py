"""``contact-stack bench tasks``: tasks of others, from their own starts and by their own judges."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from itertools import islice, product
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import binomtest

from contact_core.base.figures import save
from contact_core.base.results import Columns, add_json_option, at_least, lines, write_json
from contact_core.base.sweep import Sweep, add_sweep_options, chosen_workers
from contact_experiments.bench.push import COLUMNS as PUSH_COLUMNS
from contact_experiments.bench.push import report
from contact_experiments.push.cases import run_case
from contact_experiments.tasks import random_objects
from contact_experiments.tasks.crossing_pushes import COUNT, TIMEOUT, run_crossing
from contact_experiments.tasks.push_t import GOAL, TEE, centered, make_environment, play
from contact_experiments.tasks.random_objects import RandomObject, drawn, grasp
from contact_experiments.tasks.random_pushes import RandomPush, pushable
from contact_stack.demo.push_anything.drawing import draw_push
from contact_stack.demo.push_anything.task import PushTask

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
DROP_STEPS = (1e-3, 5e-3)
"""Of the simulator [s]."""
DROP_COLUMNS: Columns = (
    ("object", "number", 1, "d"),
    ("step [ms]", "step", 1.0, "g"),
    ("at rest", "rest", 1, "d"),
    ("with short steps", "fine", 1, "d"),
    ("gain [mJ]", "gain", 1.0, ".2g"),
    ("status", "status", 1, ""),
)
LIFT_COLUMNS: Columns = (
    ("object", "number", 1, "d"),
    ("shaken [mm]", "slip", 1.0, ".4f"),
    ("[degrees]", "turn", 1.0, ".4f"),
    ("held [mm]", "creep", 1.0, ".1e"),
    ("[degrees] ", "twist", 1.0, ".1e"),
    ("status", "status", 1, ""),
)
CROSS_COLUMNS: Columns = (
    ("seed", "seed", 1, "d"),
    ("objects", "objects", 1, ""),
    ("reached", "reached", 1, ""),
    ("there", "there", 1, "d"),
    ("time [s]", "seconds", 1.0, ".0f"),
    ("left [mm]", "left_mm", 1.0, ".1f"),
    ("[deg]", "left_deg", 1.0, ".1f"),
    ("places", "searches", 1, "d"),
    ("searching [s]", "searching_s", 1.0, ".0f"),
    ("peak [N]", "force_peak_N", 1.0, ".1f"),
    ("a look p99 [ms]", "look_ms", 1.0, ".0f"),
)
SLIP, TURN = 0.1, 0.05
"""What is held moves less in the hand than that [mm, degrees]."""
DRAWN = 10
"""Starts in the picture, those that took longest."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument(
        "task",
        choices=list(TASKS),
        help="push_t: Push-T of gym-pusht, by what its observation says; drop, lift, push, cross: "
        "objects of pybullet that fall on the ground, that the gripper lifts, shakes and holds, or "
        "that the arm pushes over a table to within 1 cm and 5 degrees, one, or three whose ways "
        "cross",
    )
    parser.add_argument(
        "--starts",
        type=at_least(1),
        default=100,
        metavar="N",
        help="how many, of pybullet's how many objects (default 100)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="of the first start, then every next one; of pybullet's objects that of the draw "
        "(default 0)",
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
        ContactStackError: If what the task is of is not installed.
    """
    figures = TASKS[args.task](args, Sweep(chosen_workers(args), args.out / "results"))
    write_json(figures, args.json)
    return 0


def push_t(args: argparse.Namespace, sweep: Sweep) -> dict[str, Any]:
    """Run Push-T, and print and draw what came of it.

    Args:
        args: The parsed command line.
        sweep: Runs the starts.

    Returns:
        The figures.

    Raises:
        ContactStackError: If the environment is not installed.
    """
    make_environment().close()
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
    return {**figures, "rows": [_without_lists(row) for row in rows]}


def drop(args: argparse.Namespace, sweep: Sweep) -> dict[str, Any]:
    """Drop objects, and print which do not come to rest.

    Args:
        args: The parsed command line.
        sweep: Runs them.

    Returns:
        The figures.

    Raises:
        ContactStackError: If the objects are not installed.
    """
    numbers = list(islice(drawn(args.seed), args.starts))
    rows = sweep.run(random_objects.drop, list(product(numbers, DROP_STEPS)), "objects")
    print("\n".join(lines([row for row in rows if not row["rest"]], DROP_COLUMNS)))
    figures = {}
    for step in DROP_STEPS:
        own = [row for row in rows if row["step"] == 1e3 * step]
        late = sum(row["fine"] and not row["rest"] for row in own)
        gain = max(row["gain"] for row in own)
        figures[f"{1e3 * step:g} ms"] = {"late": late, "gain": gain, "rows": own}
        print(
            f"\nsteps of {1e3 * step:g} ms: {sum(row['rest'] for row in own)} of {len(own)} at rest"
            f" after {random_objects.FALL:g} s; {late} of the others would be with shorter steps; "
            f"energy at most {gain:.2g} mJ beyond that at the start"
        )
    return figures


def lift(args: argparse.Namespace, sweep: Sweep) -> dict[str, Any]:
    """Lift, shake and hold objects, and print how they moved in the hand.

    Args:
        args: The parsed command line.
        sweep: Runs them.

    Returns:
        The figures.

    Raises:
        ContactStackError: If the objects are not installed.
    """
    fitting = (n for n in drawn(args.seed) if grasp(RandomObject.read(n)) is not None)
    rows = sweep.run(random_objects.lift, [(n,) for n in islice(fitting, args.starts)], "objects")
    print("\n".join(lines(rows, LIFT_COLUMNS)))
    held = sum(
        row["status"] == "OK"
        and max(row["slip"], row["creep"]) < SLIP
        and max(row["turn"], row["twist"]) < TURN
        for row in rows
    )
    interval = binomtest(held, len(rows)).proportion_ci(0.95, "wilson")
    print(
        f"\n{held} of {len(rows)} moved less than {SLIP:g} mm and {TURN:g} degrees in the"
        f" hand, shaken for {random_objects.SHAKE_TIME:g} s and held for {random_objects.HOLD:g} s "
        f"(95 %: {interval.low:.0%} to {interval.high:.0%})"
    )
    return {"held": held, "objects": len(rows), "rows": rows}


def push(args: argparse.Namespace, sweep: Sweep) -> dict[str, Any]:
    """Push objects over a table, and print how often they get there.

    Args:
        args: The parsed command line.
        sweep: Runs them.

    Returns:
        The figures.

    Raises:
        ContactStackError: If the objects are not installed.
    """
    numbers = islice(filter(pushable, drawn(args.seed)), args.starts)
    rows = sweep.run(run_case, [(RandomPush(n),) for n in numbers], "pushes")
    print("\n".join(lines(rows, PUSH_COLUMNS)))
    return report(rows)


def cross(args: argparse.Namespace, sweep: Sweep) -> dict[str, Any]:
    """Push several objects on one table to goals whose ways cross, and print how it went.

    Args:
        args: The parsed command line.
        sweep: Runs them.

    Returns:
        The figures.

    Raises:
        ContactStackError: If the objects are not installed.
    """
    rows = sweep.run(run_crossing, [(args.seed + k,) for k in range(args.starts)], "tables")
    print("\n".join(lines(rows, CROSS_COLUMNS)))
    reached, there = (sum(row[name] for row in rows) for name in ("reached", "there"))
    interval = binomtest(reached, len(rows)).proportion_ci(0.95, "wilson")
    print(
        f"\n{reached} of {len(rows)} tables as they are to be within {TIMEOUT:.0f} s (95 %: "
        f"{interval.low:.0%} to {interval.high:.0%}); {there} of {COUNT * len(rows)} objects are"
    )
    return {"reached": reached, "there": there, "tables": len(rows), "rows": rows}


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


TASKS = {"push_t": push_t, "drop": drop, "lift": lift, "push": push, "cross": cross}
"""What ``bench tasks`` runs."""
