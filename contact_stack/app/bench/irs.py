"""``contact-stack bench irs``: every example of the planner through contact, in every mode."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from irs_planner import GradientMode, example_names
from irs_planner.benchmark import run_examples
from irs_planner.plots import figure_9

QUICK = ("pendulum", "pushing")
"""One example without and one with contact."""

COLUMNS = ("initial", "best", "final", "iterations", "seconds")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument("--quick", action="store_true", help=f"only {' and '.join(QUICK)}")
    parser.add_argument(
        "--example", nargs="+", choices=example_names(), metavar="NAME",
        help=f"only these: {', '.join(example_names())}",
    )  # fmt: skip
    parser.add_argument(
        "--mode", nargs="+", choices=[str(mode) for mode in GradientMode], help="only these"
    )
    parser.add_argument("--seed", type=int, default=0, help="of all samples (default 0)")
    parser.add_argument("--workers", type=int, default=1, help="threads (default 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", default=Path("out/bench/irs"),
        help="where the plot is written (default: %(default)s)",
    )  # fmt: skip


def main(args: argparse.Namespace) -> int:
    """Run the benchmark.

    Args:
        args: The parsed command line.

    Returns:
        0.
    """
    names = args.example or (QUICK if args.quick else example_names())
    examples: dict[str, Any] = {}
    print(header(), flush=True)
    for name in names:
        found = run_examples([name], args.mode, seed=args.seed, workers=args.workers)["examples"]
        examples.update(found)
        print("\n".join(rows(found)), flush=True)
    print(f"\nplot: {figure_9(args.out, {n: modes for n, modes in examples.items() if modes})}")
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({"examples": examples}, indent=2) + "\n")
    return 0


def header() -> str:
    """Return the titles of the table."""
    titles = "".join(f"{column:>12}" for column in COLUMNS)
    return f"{'example':<20}{'mode':<12}{titles}{'ms/iteration':>14}  status"


def rows(examples: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[str]:
    """Show figures as rows of a table.

    Args:
        examples: Example -> mode -> figures.

    Yields:
        One row per example and mode.
    """
    for name, modes in examples.items():
        for mode, figures in modes.items():
            cells = "".join(f"{figures[column]:>12.5g}" for column in COLUMNS)
            per_iteration = 1e3 * sum(figures["seconds_per_iteration"].values())
            yield f"{name:<20}{mode:<12}{cells}{per_iteration:>14.1f}  {figures['status']}"
