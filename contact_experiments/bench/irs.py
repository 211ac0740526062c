"""``contact-stack bench irs``: every example of the planner through contact, in every mode."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from contact_core.results import write_json
from contact_experiments.irs.benchmark import compare_orders, run_examples
from contact_experiments.irs.contact_qps import COUNT, measure_contact_qps, missing_peers
from irs_planner import GradientMode, example_names
from irs_planner.plots import figure_9

QUICK = ("pendulum", "pushing")
"""One example without and one with contact."""

PARTS = ("examples", "qps", "second_order")
"""What is measured."""

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
    parser.add_argument(
        "--paper", action="store_true",
        help="exactly the paper's settings: Algorithm 1 alone, a fixed number of iterations",
    )  # fmt: skip
    parser.add_argument(
        "--part", nargs="+", choices=PARTS,
        help="only these (default: all; the examples, if --example or --mode chooses some)",
    )  # fmt: skip
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
    figures: dict[str, Any] = {"paper": args.paper}
    parts = args.part or (PARTS[:1] if args.example or args.mode or args.quick else PARTS)
    if "examples" in parts:
        figures["examples"] = _run_examples(args)
    if "qps" in parts:
        figures["contact_qps"] = measure_contact_qps(count=100 if args.quick else COUNT)
        print("\n" + "\n".join(qp_rows(figures["contact_qps"])), flush=True)
        if missing := missing_peers():
            print(f"not installed: {', '.join(missing)} (they come with the extra 'experiments')")
    if "second_order" in parts:
        figures["second_order"] = order = compare_orders(seed=args.seed)
        print(
            f"\none iteration of pushing, mode {order['mode']}: quasi-dynamic "
            f"{1e3 * order['quasi_dynamic']:.1f} ms, second-order "
            f"{1e3 * order['second_order']:.0f} ms, {order['ratio']:.0f} times as long "
            "(bundled_gradients: 36)"
        )
    write_json(figures, args.json)
    return 0


def _run_examples(args: argparse.Namespace) -> dict[str, Any]:
    names = args.example or (QUICK if args.quick else example_names())
    examples: dict[str, Any] = {}
    print(header(), flush=True)
    for name in names:
        found = run_examples(
            [name], args.mode, seed=args.seed, workers=args.workers, paper=args.paper
        )["examples"]
        examples.update(found)
        print("\n".join(rows(found)), flush=True)
    print(f"\nplot: {figure_9(args.out, {n: modes for n, modes in examples.items() if modes})}")
    return examples


def qp_rows(figures: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Iterator[str]:
    """Show contact QPs per second as rows of a table.

    Args:
        figures: Example -> solver -> figures.

    Yields:
        The titles, then one row per example and solver.
    """
    yield f"{'contact QPs of':<20}{'solver':<12}{'per second':>12}{'difference':>12}"
    for name, solvers in figures.items():
        for solver, values in solvers.items():
            yield (
                f"{name:<20}{solver:<12}{values['per_second']:>12,.0f}"
                f"{values['largest_difference']:>12.1e}"
            )


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
