"""``contact-stack bench encounters``: hands and edges meet an arm that is not as described."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from typing import Any

from contact_aware_control.config import ControllerConfig
from contact_core.base.results import Columns, add_json_option, at_least, lines, write_json
from contact_core.base.sweep import Sweep, add_sweep_options, chosen_workers
from contact_experiments.control.encounter import ROBOTS, calibrated, draw_episode
from contact_experiments.control.encounter_figures import EpisodeFigures, run_episode, summarize
from contact_stack.demo.contact_tracking.variants import VARIANTS
from contact_stack.precompile import compile_once

WHAT: Columns = (
    ("robot", "robot", 1.0, ""),
    ("controller", "controller", 1.0, ""),
    ("episodes", "episodes", 1, "d"),
)
TOLD: Columns = (
    *WHAT,
    ("free [h]", "free_h", 1.0, ".2f"),
    ("phantoms/h", "phantoms_h", 1.0, ".0f"),
    ("time", "phantom", 1.0, ".1%"),
    ("tool: /h", "tool_phantoms_h", 1.0, ".0f"),
    ("touches", "touches", 1, "d"),
    ("felt", "felt", 1.0, ".0%"),
    ("p90 [s]", "felt_p90", 1.0, ".2f"),
    ("locatable", "locatable", 1, "d"),
    ("announced", "announced", 1.0, ".0%"),
    ("right", "right", 1.0, ".1%"),
    ("of loc.", "right_locatable", 1.0, ".1%"),
    ("told", "told", 1.0, ".0%"),
    ("in region", "in_region", 1.0, ".1%"),
    ("mislead.", "misleading", 1.0, ".1%"),
    ("link", "right_link", 1.0, ".1%"),
    ("wrong", "wrong", 1, "d"),
    ("error p50 [cm]", "error_p50", 100.0, ".1f"),
    ("p90", "error_p90", 100.0, ".1f"),
    ("flicker [1/s]", "flicker", 1.0, ".2f"),
)
PRESSED: Columns = (
    *WHAT,
    ("can yield", "yielding", 1, "d"),
    ("p99/limit p50", "p99_p50", 1.0, ".2f"),
    ("p90", "p99_p90", 1.0, ".2f"),
    ("<= 1.2", "p99_kept", 1.0, ".0%"),
    ("cannot: p50", "fast_p50", 1.0, ".2f"),
    ("p90", "fast_p90", 1.0, ".2f"),
    ("peak/v sqrt(km) p50", "peak_p50", 1.0, ".2f"),
    ("p90", "peak_p90", 1.0, ".2f"),
    ("tracking p50 [mm]", "tracking_p50", 1e3, ".1f"),
    ("p99", "tracking_p99", 1e3, ".1f"),
    ("faults", "faults", 1, "d"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument(
        "--episodes", type=at_least(1), default=50, metavar="N",
        help="of every robot and controller (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=int, default=0, help="of the first episode; then every next one (default 0)"
    )
    parser.add_argument(
        "--robot", nargs="+", choices=ROBOTS, default=list(ROBOTS[:3]),
        help="default: all but the UR5e, whose torques come from motor currents",
    )  # fmt: skip
    parser.add_argument(
        "--controller", nargs="+", choices=VARIANTS, default=["qp"], help="default: qp"
    )
    add_json_option(parser)
    add_sweep_options(parser, "out/bench/encounters")


def main(args: argparse.Namespace) -> int:
    """Run the benchmark.

    Args:
        args: The parsed command line.

    Returns:
        0; what is not felt, or pressed too hard, is a figure like the others.
    """
    compile_once()
    sweep = Sweep(chosen_workers(args, compile_once), args.out / "results")
    seeds = range(args.seed, args.seed + args.episodes)
    episodes = [draw_episode(robot, seed) for robot in args.robot for seed in seeds]
    arms = sorted({(episode.robot, episode.arm) for episode in episodes})
    known = dict(zip(arms, sweep.run(calibrated, arms, "calibrations"), strict=True))
    tasks = [
        (episode, known[episode.robot, episode.arm], controller)
        for controller in args.controller
        for episode in episodes
    ]
    found = sweep.run(run_episode, tasks, "episodes")
    rows = table(found)
    print("\n".join([*lines(rows, TOLD), "", *lines(rows, PRESSED)]))
    write_json({"rows": rows, "episodes": [dataclasses.asdict(e) for e in found]}, args.json)
    return 0


def table(episodes: Sequence[EpisodeFigures]) -> list[dict[str, Any]]:
    """Sum episodes up by robot and controller.

    Args:
        episodes: What came of them.
    """
    limit = ControllerConfig().force.limit
    kinds = dict.fromkeys((e.robot, e.controller) for e in episodes)
    groups = [(*kind, [e for e in episodes if (e.robot, e.controller) == kind]) for kind in kinds]
    if len(groups) > 1:
        for controller in dict.fromkeys(e.controller for e in episodes):
            groups.append(("all", controller, [e for e in episodes if e.controller == controller]))
    return [
        {"robot": robot, "controller": controller, **summarize(own, limit)}
        for robot, controller, own in groups
    ]
