"""``contact-stack bench robust``: plans over a grid of uncertainties and risk bounds."""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Iterable
from typing import Any

from contact_core.base.results import add_json_option, look_up, write_json
from contact_core.base.sweep import Sweep, add_worker_options, chosen_workers
from contact_stack.robust.summary import summarize
from robust_planner.examples import make_example
from robust_planner.grid_figures import point_name
from robust_planner.sweep import GridPoint, plan_grid, plan_reference

RISK = 0.7
"""beta and theta of the grids for friction."""

QUICK = {"block": (GridPoint(0.1), GridPoint(0.1, RISK, RISK))}
FULL = {
    "block": tuple(
        GridPoint(sigma, risk, risk)
        for sigma in (0.01, 0.05, 0.1, 0.3, 1.0)
        for risk in (None, 0.51, RISK, 0.9)
    ),
    "sled": tuple(GridPoint(sigma, risk, risk) for sigma in (0.04, 0.08) for risk in (None, RISK)),
    "table_approach": tuple(GridPoint(sigma, 0.5, 0.9) for sigma in (0.002, 0.005)),
    # The chance constraint bounds the height at which force acts: beta = 0.5, as published.
    "hopper": (GridPoint(0.05), GridPoint(0.05, 0.5, 0.6)),
}
"""Problem -> grid."""

COLUMNS = (
    ("seconds", "seconds", ".1f"),
    ("cost", "cost", ".4g"),
    ("merit", "merit", ".2g"),
    ("speed [m/s]", "max_speed", ".2f"),
    ("mean [m]", "final_error.mean", "+.3f"),
    ("range [m]", "final_error.range", ".3f"),
    ("TAMSI [m]", "tamsi.final_error.range", ".3f"),
    ("impact m/s", "impact.largest", ".3f"),
    ("TAMSI m/s", "tamsi.impact.largest", ".3f"),
    ("impossible", "violation_rate", ".1%"),
    ("predicted", "violation_rate_predicted", ".1%"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument(
        "--quick", action="store_true", help="three plans of the block instead of all problems"
    )
    add_json_option(parser)
    add_worker_options(parser, processes=1)


def main(args: argparse.Namespace) -> int:
    """Run the benchmark.

    Args:
        args: The parsed command line.

    Returns:
        0; a plan that did not converge is a figure like the others.
    """
    sweep = Sweep(chosen_workers(args))
    print(f"{'problem':8} {'plan':40} {'status':>18} ", end="")
    print(" ".join(f"{title:>11}" for title, _, _ in COLUMNS), flush=True)
    results = [
        result
        for name, points in (QUICK if args.quick else FULL).items()
        for result in measure(name, points, sweep)
    ]
    write_json({"load": os.getloadavg()[0], "plans": results}, args.json)
    return 0


def measure(name: str, points: Iterable[GridPoint], sweep: Sweep) -> list[dict[str, Any]]:
    """Plan a problem without uncertainty, then every point of its grid from there.

    Args:
        name: The problem.
        points: The grid.
        sweep: Who plans.

    Returns:
        One summary per plan, as ``contact-stack robust`` writes it, with the grid point
        under ``"point"``, None for the reference.
    """
    example = make_example(name)
    reference = plan_reference(example, sweep=sweep)
    grid = plan_grid(example, points, reference, sweep=sweep)
    results = []
    for point, plan in [(None, reference), *grid.items()]:
        if point is None:
            config, problem = example.config, example.problem
        else:
            config, problem = point.configure(example.config), example.robust_problem
        entry = {"point": point_entry(point), **summarize(example, problem, config, plan)}
        results.append(entry)
        print(render(entry, "reference" if point is None else point_name(point)), flush=True)
    return results


def point_entry(point: GridPoint | None) -> dict[str, Any] | None:
    """Return a grid point for JSON, None for the reference."""
    if point is None:
        return None
    return dataclasses.asdict(point)


def render(entry: dict[str, Any], name: str) -> str:
    """Show a summary as a line of the table.

    Args:
        entry: The summary.
        name: What distinguishes the plan.

    Returns:
        The line.
    """
    values = ((look_up(entry, path), form) for _, path, form in COLUMNS)
    cells = ("-" if value is None else format(value, form) for value, form in values)
    line = f"{entry['problem']:8} {name:40} {entry['status']:>18} "
    return line + " ".join(f"{cell:>11}" for cell in cells)
