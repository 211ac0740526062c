"""``contact-stack bench tamsi``: the simulator against its peers, on the same scenes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from contact_core.base.errors import ConfigError
from contact_core.base.results import add_json_option, at_least, write_json
from contact_experiments.tamsi.benchmark.golden import EVERY, record_all
from contact_experiments.tamsi.benchmark.measure import SceneResult, measure
from contact_experiments.tamsi.benchmark.report import (
    HEADER,
    UNITS,
    details_json,
    fit_lines,
    machine,
    machine_line,
    missing_lines,
    plot_cost,
    row,
    scene_json,
)
from contact_experiments.tamsi.benchmark.runners import DRAKE_SAP, DRAKE_TAMSI, table_cost
from contact_experiments.tamsi.benchmark.scenes import GROWTH, SCENES, make_scene

TOWERS = "towers"

LEGEND = """
CPU time per step, median over the rounds; ratio = peer / ours of the same round. All simulators
step the same bodies, shapes, pairs and forces in compiled code. Drake and ours have the same
contact stiffness and dissipation; MuJoCo (Newton, elliptic cones) has another law of contact, as
soft as makes its median depth ours, and beside it its default softness. A row in which depth or
number of contact points still differ by more than 20 % has a star.
"ours" are the default settings; "parity" are those of Drake's kTamsi, whose velocities at the
end of every run differ from ours by |dv|."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument(
        "--scene", nargs="+", choices=list(SCENES), metavar="NAME", default=list(SCENES),
        help=f"only these: {', '.join(SCENES)}",
    )  # fmt: skip
    parser.add_argument("--rounds", type=at_least(1), default=7, help="that count (default 7)")
    add_json_option(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", default=Path("out/bench/tamsi"),
        help="where the plot is written (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--golden", type=Path, metavar="FOLDER",
        help="only record Drake's trajectories for the tests, kept in test/tamsi_sim/golden",
    )  # fmt: skip


def main(args: argparse.Namespace) -> int:
    """Run the benchmark.

    Args:
        args: The parsed command line.

    Returns:
        0.

    Raises:
        AgreementError: If a run does not agree with Drake's kTamsi.
        PeerError: If golden trajectories are asked for and Drake has no kTamsi.
    """
    if args.golden:
        with tqdm(total=len(EVERY), unit="scene") as bar:
            record_all(args.golden, lambda name: bar.update())
        return 0
    about = machine()
    print(f"{machine_line(about)}\n{LEGEND}\n\n{HEADER}\n{UNITS}")
    results, tables = _measure([*args.scene, *_growth(args.scene)], args.rounds)
    for line in missing_lines(results.values()):
        print(line)
    print()
    for line in fit_lines(results.values()):
        print(line)
    costs = ", ".join(f"{name} {cost:.1f}" for name, cost in tables.items())
    print(f"\nof Drake's cost, diagram and table of forces take [us/step]: {costs}")
    scenes = [results[name] for name in args.scene if name in results]
    towers = sorted((r for n, r in results.items() if TOWERS in n), key=lambda r: r.bodies)
    print(f"plot: {plot_cost(scenes, towers, args.out / 'cost.png')}")
    if args.json:
        details = {name: details_json(result) for name, result in results.items()}
        for name, cost in tables.items():
            details[name]["drake_diagram_us"] = cost
        figures = {result.name: scene_json(result) for result in scenes}
        write_json({"machine": about, "scenes": figures, "details": details}, args.json)
    return 0


def _measure(names: Sequence[str], rounds: int) -> tuple[dict[str, SceneResult], dict[str, float]]:
    """Measure the scenes, and what Drake's tables of forces cost in each [us/step]."""
    results: dict[str, SceneResult] = {}
    tables: dict[str, float] = {}
    with tqdm(total=len(names) * (rounds + 1), unit="round", leave=False) as bar:
        for name in names:
            bar.set_description(name)
            try:
                scene = make_scene(name)
            except ConfigError as error:
                bar.write(f"{name}: {error}")
                bar.update(rounds + 1)
                continue
            results[name] = measure(scene, rounds, on_round=bar.update)
            if {DRAKE_TAMSI, DRAKE_SAP} & set(results[name].microseconds):
                tables[name] = table_cost(scene)
            bar.write(row(results[name]))
    return results, tables


def _growth(names: Sequence[str]) -> list[str]:
    """Return the further towers that the plot of the cost's growth needs."""
    return list(GROWTH) if all(name in names for name in SCENES if TOWERS in name) else []
