"""``contact-stack bench control``: QP solvers, the controller's tick, the loop's timing."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tqdm import tqdm

from contact_core.base.figures import BLUE, new_figure, save
from contact_core.base.results import Columns, add_json_option, lines, write_json
from contact_experiments.bench import solvers
from contact_experiments.bench.control_case import (
    MAX_CONTACTS,
    Timing,
    time_ticks,
)
from contact_experiments.bench.loop_timing import LOOP_CONTACTS, JitterResult, measure_loop
from contact_experiments.bench.solvers import SolverResult

RATES = (200.0, 1000.0)

TIMING_COLUMNS: Columns = (
    ("p50 [us]", "timing.p50_us", 1.0, ".1f"),
    ("p99 [us]", "timing.p99_us", 1.0, ".1f"),
    ("p99.9 [us]", "timing.p999_us", 1.0, ".1f"),
    ("max [us]", "timing.max_us", 1.0, ".1f"),
)
SOLVER_COLUMNS: Columns = (
    ("QP solver", "solver", 1.0, ""),
    ("problems", "problems", 1.0, ""),
    *TIMING_COLUMNS,
    ("error", "largest_error", 1.0, ".1e"),
    ("unsolved", "unsolved", 1, "d"),
    ("wrong", "disagreements", 1, "d"),
)

BUSY_LOAD = 0.3
"""Load per processor above which figures say more about the machine than about us."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument("--quick", action="store_true", help="a tenth of the effort")
    add_json_option(parser)
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        default=Path("out/bench/control.png"),
        help="where the plot is written (default: %(default)s)",
    )
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="incident record whose problems the solvers get, instead of a made-up motion's",
    )


def main(args: argparse.Namespace) -> int:
    """Run the benchmark.

    Args:
        args: The parsed command line.

    Returns:
        0.
    """
    share = 0.1 if args.quick else 1.0
    load = os.getloadavg()[0]
    if load > BUSY_LOAD * len(os.sched_getaffinity(0)):
        print(f"the machine is busy (load {load:.1f}): expect large percentiles\n")
    recorded = (
        solvers.recorded_problems(args.record)
        if args.record
        else solvers.controller_problems(round(10000 * share))
    )
    solved = [
        *solvers.measure_solvers("controller", recorded),
        *solvers.measure_solvers("random", solvers.random_problems(round(10000 * share))),
    ]
    print(render_solvers(solved), flush=True)
    numbers = tqdm(range(MAX_CONTACTS + 1), "ticks, by number of contacts", leave=False)
    ticks = {n: time_ticks(n, round(6000 * share)) for n in numbers}
    print(render_ticks(ticks), flush=True)
    kinds = [(rate, idle) for rate in RATES for idle in (False, True)]
    kinds_shown = tqdm(kinds, f"loops, {60.0 * share:g} s each", leave=False)
    loops = [measure_loop(rate, 60.0 * share, idle) for rate, idle in kinds_shown]
    print(render_loops(loops), flush=True)
    plot(solved, ticks, loops, args.plot)
    print(f"\nplot: {args.plot}")
    write_json(summary(solved, ticks, loops), args.json)
    return 0


def summary(
    solved: Sequence[SolverResult], ticks: Mapping[int, Timing], loops: Sequence[JitterResult]
) -> dict[str, object]:
    """Collect the figures for a program.

    Args:
        solved: The solvers.
        ticks: Number of contacts -> durations of a tick.
        loops: The runs of the loop.

    Returns:
        Everything, by part.
    """
    return {
        "load": os.getloadavg()[0],
        "oracle": solvers.ORACLE if solvers.has_oracle() else None,
        "solvers": [asdict(result) for result in solved],
        "ticks": [{"contacts": n, **asdict(timing)} for n, timing in ticks.items()],
        "loops": [asdict(result) for result in loops],
    }


def render_solvers(results: Sequence[SolverResult]) -> str:
    """Show the solvers as a table."""
    text = lines([asdict(result) for result in results], SOLVER_COLUMNS)
    if not solvers.has_oracle():
        text.append("quadprog is not installed: errors are unknown (pip install quadprog)")
    return "\n".join(text)


def render_ticks(ticks: Mapping[int, Timing]) -> str:
    """Show the controller's tick as a table."""
    rows = [{"contacts": n, "timing": asdict(timing)} for n, timing in ticks.items()]
    return "\n".join(["", *lines(rows, (("tick, contacts", "contacts", 1, "d"), *TIMING_COLUMNS))])


def render_loops(loops: Sequence[JitterResult]) -> str:
    """Show the loop's timing as a table."""
    rows: list[dict[str, Any]] = []
    for loop in loops:
        name = f"{_name(loop)} for {loop.duration:.0f} s"
        rows.append({"name": name, "timing": asdict(loop.delay), "missed": loop.miss_fraction})
        if not loop.idle:
            tick = f"its tick, {LOOP_CONTACTS} contacts"
            rows.append({"name": tick, "timing": asdict(loop.tick), "missed": None})
    columns = (
        ("loop, delay of a tick", "name", 1.0, ""), *TIMING_COLUMNS,
        ("missed", "missed", 1.0, ".3%"),
    )  # fmt: skip
    return "\n".join(["", *lines(rows, columns), f"scheduling: {loops[0].scheduling}"])


def plot(
    solved: Sequence[SolverResult],
    ticks: Mapping[int, Timing],
    loops: Sequence[JitterResult],
    path: Path,
) -> None:
    """Draw median, 99th and 99.9th percentile of everything.

    Args:
        solved: The solvers.
        ticks: Number of contacts -> durations of a tick.
        loops: The runs of the loop.
        path: The PNG to write.
    """
    bars = {f"{r.solver}, {r.problems}": r.timing for r in solved}
    bars |= {f"tick, {contacts} contacts": timing for contacts, timing in ticks.items()}
    bars |= {f"delay at {_name(loop)}": loop.delay for loop in loops}
    figure, ((axes,),) = new_figure(1, 1, (8.0, 0.4 * len(bars) + 1.2))
    for row, timing in enumerate(bars.values()):
        axes.plot([timing.p50_us, timing.p999_us], [row, row], color=BLUE, lw=1)
        for value, marker in ((timing.p50_us, "o"), (timing.p99_us, "s"), (timing.p999_us, "|")):
            axes.plot(value, row, marker, color=BLUE)
    axes.set_yticks(range(len(bars)), list(bars))
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("time [µs]: median (disc), 99 % (square), 99.9 % (bar)")
    save(figure, path)


def _name(loop: JitterResult) -> str:
    return f"{loop.rate:.0f} Hz, idle" if loop.idle else f"{loop.rate:.0f} Hz"
