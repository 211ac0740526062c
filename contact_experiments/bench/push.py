"""``contact-stack bench push``: push anything, in closed loop, and how often it gets there."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from contact_core.base.figures import save
from contact_core.base.results import Columns, add_json_option, lines, write_json
from contact_core.base.sweep import Sweep, add_sweep_options, chosen_workers
from contact_core.robot.scene_config import ENGINES
from contact_experiments.push.cases import draw_cases, run_case, summarize
from contact_experiments.push.clutter import CLUTTER, run_clutter
from contact_stack.demo.push_anything.drawing import draw_push
from contact_stack.demo.push_anything.pusher import PushCase

COLUMNS: Columns = (
    ("shape", "shape", 1.0, ""),
    ("seed", "seed", 1.0, ""),
    ("reached", "reached", 1.0, ""),
    ("time [s]", "seconds", 1.0, ".1f"),
    ("from [mm]", "from_mm", 1.0, ".0f"),
    ("[deg]", "from_deg", 1.0, ".0f"),
    ("left [mm]", "left_mm", 1.0, ".1f"),
    ("[deg]", "left_deg", 1.0, ".1f"),
    ("places", "searches", 1.0, ""),
    ("searching [s]", "searching_s", 1.0, ".1f"),
    ("force p50 [N]", "force_p50_N", 1.0, ".1f"),
    ("p99", "force_p99_N", 1.0, ".1f"),
    ("peak", "force_peak_N", 1.0, ".1f"),
)
CLUTTER_COLUMNS: Columns = (
    ("scene", "scene", 1.0, ""),
    ("seed", "seed", 1.0, ""),
    ("reached", "reached", 1.0, ""),
    ("time [s]", "seconds", 1.0, ".1f"),
    ("left [tolerances]", "left_tolerances", 1.0, ".1f"),
    ("places", "searches", 1.0, ""),
    ("searching [s]", "searching_s", 1.0, ".1f"),
    ("force peak [N]", "force_peak_N", 1.0, ".1f"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument(
        "--cases", type=int, default=10, metavar="N", help="pushes, one shape after the other"
    )
    parser.add_argument("--seed", type=int, default=0, help="of everything drawn (default 0)")
    parser.add_argument("--kick", action="store_true", help="kick it away in the middle")
    parser.add_argument(
        "--engine", choices=ENGINES, default="tamsi", help="what simulates it (default tamsi)"
    )
    parser.add_argument(
        "--whole-arm", action="store_true",
        help="plan with the whole arm in 3-D, as move_objects does; without, from above",
    )  # fmt: skip
    parser.add_argument(
        "--clutter", action="store_true",
        help="instead of shapes, things behind walls, in slots and in each other's way",
    )  # fmt: skip
    add_json_option(parser)
    add_sweep_options(parser, "out/bench/push", "plots")


def main(args: argparse.Namespace) -> int:
    """Run the benchmark.

    Args:
        args: The parsed command line.

    Returns:
        0; a goal that is not reached is a figure like the others.
    """
    sweep = Sweep(chosen_workers(args), args.out / "results")
    if args.clutter:
        rows = sweep.run(run_clutter, [(name, args.seed) for name in CLUTTER], "scenes")
        print("\n".join(lines(rows, CLUTTER_COLUMNS)))
        write_json({"scenes": rows}, args.json)
        return 0
    cases = draw_cases(args.cases, args.seed, args.kick, args.engine, args.whole_arm)
    rows = sweep.run(run_case, [(case,) for case in cases], "pushes")
    print("\n".join(lines(rows, COLUMNS)))
    figures = report(rows)
    path = save(draw(cases, rows), args.out / "pushes.png")
    print(f"plot: {path}")
    write_json(figures, args.json)
    return 0


def report(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Print how often things got there, and what it took.

    Args:
        rows: What :func:`run_case` returned.

    Returns:
        The figures.
    """
    figures = summarize(rows)
    print(
        f"\n{figures['reached']} of {figures['cases']} at the goal (95 %: "
        f"{figures['low']:.0%} to {figures['high']:.0%}), median {figures['median_s']:.0f} s; "
        f"force p99 at most {figures['force_p99_N']:.1f} N, peak {figures['force_peak_N']:.1f} N"
    )
    print(
        "a look while it pushes takes {:.1f} ms, p99 {:.1f}, at most {:.1f}; while it looks for "
        "another place {:.1f} ms, p99 {:.1f}, at most {:.1f} (medians of the cases)".format(
            *figures["look_ms"], *figures["search_ms"]
        )
    )
    return {**figures, "pushes": [_without_path(row) for row in rows]}


def draw(cases: list[PushCase], rows: list[dict[str, Any]]) -> Figure:
    """Draw every push from above.

    Args:
        cases: The pushes.
        rows: What :func:`run_case` returned.
    """
    across = min(5, len(cases))
    down = math.ceil(len(cases) / across)
    figure = Figure(figsize=(3.0 * across, 3.2 * down), layout="constrained")
    for number, (case, row) in enumerate(zip(cases, rows, strict=True), 1):
        axes = figure.add_subplot(down, across, number)
        path = np.array(row["path"])
        draw_push(axes, case.draw()[0], path[:, :3], path[:, 3:5])
        mark = "" if row["reached"] else ", not reached"
        axes.set_title(f"{case.shape} {case.seed}: {row['seconds']:.0f} s{mark}", fontsize=9)
    return figure


def _without_path(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "path"}
