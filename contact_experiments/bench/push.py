"""``contact-stack bench push``: push anything, in closed loop, and how often it gets there."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from contact_core.figures import BLUE, BROWN, GREEN, ORANGE, dress, save
from contact_core.results import Columns, lines, write_json
from contact_core.scene_config import ENGINES
from contact_core.sweep import Sweep, add_worker_options, chosen_workers
from contact_experiments.push.cases import PushCase, draw_cases, run_case, summarize
from contact_experiments.push.shapes import Part, Thing
from irs_planner.scenes.planar_scene import Box, Circle

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
    ("force p50 [N]", "force_p50_N", 1.0, ".1f"),
    ("p99", "force_p99_N", 1.0, ".1f"),
    ("peak", "force_peak_N", 1.0, ".1f"),
)
OUTLINES = 8
"""Outlines of a thing on its way."""


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
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", default=Path("out/bench/push"),
        help="where results are kept, to go on after an interrupt, and plots (default %(default)s)",
    )  # fmt: skip
    add_worker_options(parser)


def main(args: argparse.Namespace) -> int:
    """Run the benchmark.

    Args:
        args: The parsed command line.

    Returns:
        0; a goal that is not reached is a figure like the others.
    """
    sweep = Sweep(chosen_workers(args), args.out / "results")
    cases = draw_cases(args.cases, args.seed, args.kick, args.engine)
    rows = sweep.run(run_case, [(case,) for case in cases], "pushes")
    print("\n".join(lines(rows, COLUMNS)))
    figures = summarize(rows)
    print(
        f"\n{figures['reached']} of {figures['cases']} at the goal (95 %: "
        f"{figures['low']:.0%} to {figures['high']:.0%}), median {figures['median_s']:.0f} s; "
        f"force p99 at most {figures['force_p99_N']:.1f} N, peak {figures['force_peak_N']:.1f} N"
    )
    path = save(draw(cases, rows), args.out / "pushes.png")
    print(f"plot: {path}")
    write_json({**figures, "pushes": [_without_path(row) for row in rows]}, args.json)
    return 0


def draw(cases: list[PushCase], rows: list[dict[str, Any]]) -> Figure:
    """Draw every push from above: outlines of the thing, path of the tool, the goal.

    Args:
        cases: The pushes.
        rows: What :func:`run_case` returned.
    """
    across = min(5, len(cases))
    down = math.ceil(len(cases) / across)
    figure = Figure(figsize=(3.0 * across, 3.2 * down), layout="constrained")
    for number, (case, row) in enumerate(zip(cases, rows, strict=True), 1):
        axes = figure.add_subplot(down, across, number)
        path, task = np.array(row["path"]), case.draw()[0]
        for pose in path[:: max(1, len(path) // OUTLINES), :3]:
            _draw_thing(axes, task.thing, pose, color=BROWN, alpha=0.15)
        _draw_thing(axes, task.thing, path[-1, :3], color=ORANGE, alpha=0.8)
        _draw_thing(axes, task.thing, np.array(task.goal), color=GREEN, alpha=0.35)
        axes.plot(*path[:, 3:5].T, color=BLUE, lw=0.8)
        dress(axes)
        axes.set_aspect("equal")
        mark = "" if row["reached"] else ", not reached"
        axes.set_title(f"{case.shape} {case.seed}: {row['seconds']:.0f} s{mark}", fontsize=9)
    return figure


def _draw_thing(axes: Any, thing: Thing, pose: np.ndarray, **style: Any) -> None:
    """Fill the parts of a thing at a pose (3)."""
    cosine, sine = math.cos(pose[2]), math.sin(pose[2])
    turn = np.array([[cosine, -sine], [sine, cosine]])
    for part in thing.parts:
        axes.fill(*(pose[:2, np.newaxis] + turn @ _outline(part)), lw=0, **style)


def _outline(part: Part) -> np.ndarray:
    """Return the outline (2, N) of a part in its frame [m]."""
    if isinstance(part, Circle):
        angle = np.linspace(0.0, 2.0 * math.pi, 40)
        circle = part.radius * np.array([np.cos(angle), np.sin(angle)])
        return np.asarray(np.array(part.center)[:, np.newaxis] + circle)
    if isinstance(part, Box):
        corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * np.array(part.size) / 2.0
        return np.asarray((corners + part.center).T)
    return np.array(part.points).T


def _without_path(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "path"}
