"""``contact-stack bench irs``: every example of the planner through contact, in every mode."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tqdm import tqdm

from contact_core.base.figures import save
from contact_core.base.results import Columns, add_json_option, at_least, lines, write_json
from contact_experiments.irs.benchmark import compare_horizons, compare_orders, run_examples
from contact_experiments.irs.contact_qps import COUNT, measure_contact_qps, missing_peers
from contact_experiments.irs.sampling_peers import PROBLEMS, SEEDS, compare_with_sampling
from irs_planner import SMOOTHING_MODES, example_names
from irs_planner.plots import plot_costs

QUICK = ("pendulum", "pushing")
"""One example without and one with contact."""

PARTS = ("examples", "qps", "second_order", "horizons", "peers")
"""What is measured."""

PER_ITERATION = "seconds_per_iteration"
EXAMPLE_COLUMNS: Columns = (
    ("example", "example", 1.0, ""),
    ("mode", "mode", 1.0, ""),
    *((name, name, 1.0, ".5g") for name in ("initial", "best", "final", "iterations", "seconds")),
    ("ms/iteration", "spent", 1e3, ".1f"),
    ("status", "status", 1.0, ""),
)
QP_COLUMNS: Columns = (
    ("contact QPs of", "example", 1.0, ""),
    ("solver", "solver", 1.0, ""),
    ("per second", "per_second", 1.0, ",.0f"),
    ("difference", "largest_difference", 1.0, ".1e"),
)
PEER_COLUMNS: Columns = (
    ("problem", "problem", 1.0, ""),
    ("method", "method", 1.0, ""),
    ("plans", "seeds", 1.0, ""),
    ("goal reached", "reached", 1.0, ""),
    ("final error [tolerances]", "error", 1.0, ".2f"),
    ("processor time [s]", "seconds", 1.0, ".2f"),
)


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
    parser.add_argument("--mode", nargs="+", choices=list(SMOOTHING_MODES), help="only these")
    parser.add_argument(
        "--paper", action="store_true",
        help="exactly the paper's settings: Algorithm 1 alone, a fixed number of iterations",
    )  # fmt: skip
    parser.add_argument(
        "--part", nargs="+", choices=PARTS,
        help="only these (default: all; the examples, if --example or --mode chooses some)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="of all samples (default 0)")
    parser.add_argument(
        "--budget", type=at_least(0.001, 86400.0), default=20.0, metavar="SECONDS",
        help="processor time of a plan beside samplers on MuJoCo (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--threads", type=int, default=1, help="of the planner (default 1)")
    add_json_option(parser)
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
    if "horizons" in parts:
        figures["horizons"] = found = compare_horizons(seed=args.seed)
        times = ", ".join(
            f"{1e3 * seconds:.1f} ms for {horizon} steps"
            for horizon, seconds in zip(found["horizons"], found["seconds"], strict=True)
        )
        print(f"\none iteration of {found['example']}: {times}, {found['ratio']:.1f} times as long")
    if "peers" in parts:
        names, seeds = (PROBLEMS[:1], 1) if args.quick else (PROBLEMS, SEEDS)
        figures["peers"] = compare_with_sampling(names, args.budget, seeds)
        print("\n" + "\n".join(lines(figures["peers"], PEER_COLUMNS)))
    write_json(figures, args.json)
    return 0


def _run_examples(args: argparse.Namespace) -> dict[str, Any]:
    names = args.example or (QUICK if args.quick else example_names())
    options = {"seed": args.seed, "workers": args.threads, "paper": args.paper}
    examples: dict[str, Any] = {}
    for name in tqdm(names, unit="example"):
        examples |= run_examples([name], args.mode, **options)["examples"]
    rows = [
        {"example": name, "mode": mode, "spent": sum(figures[PER_ITERATION].values()), **figures}
        for name, modes in examples.items()
        for mode, figures in modes.items()
    ]
    print("\n".join(lines(rows, EXAMPLE_COLUMNS)))
    curves = {
        name: {mode: [figures["costs"]] for mode, figures in modes.items()}
        for name, modes in examples.items()
        if modes
    }
    print(f"\nplot: {save(plot_costs(curves), args.out / 'fig9.png')}")
    return examples


def qp_rows(figures: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[str]:
    """Show contact QPs per second as a table, one row per example and solver.

    Args:
        figures: Example -> solver -> figures.
    """
    rows = [
        {"example": name, "solver": solver, **values}
        for name, solvers in figures.items()
        for solver, values in solvers.items()
    ]
    return lines(rows, QP_COLUMNS)
