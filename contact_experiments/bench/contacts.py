"""``contact-stack bench contacts``: accuracy, honesty and speed of the contact estimator."""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from contact_aware_control.estimation import EstimatorConfig, make_estimator
from contact_aware_control.estimation.calibration import EXACT
from contact_core.base.config import from_mapping, unflatten
from contact_core.base.figures import BLUE, new_figure, save
from contact_core.base.results import Columns, add_json_option, lines, write_json
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_experiments.bench.contact_trials import (
    Setting,
    TrialRobot,
    at_once_figures,
    pair_figures,
    run_at_once,
    run_pair,
    run_single,
    run_tool,
    single_figures,
)

ROBOT = "iiwa14_wsg50"
LINKS = tuple(f"lbr_link_{i}" for i in range(1, 8))
LOCATABLE = LINKS[4:]
NOISES = (0.1, 0.3, 0.5)
FRICTIONS = (0.0, 0.5, 0.8)
PAIRS = ((4, 6), (4, 7), (5, 6), (5, 7), (6, 7))
"""Links touched one after the other, the second beyond the first."""

AT_ONCE = (*PAIRS, (2, 6), (3, 5))
"""Links touched from the same sample on."""

TOOL = {"fingers": False, "held object": True}
"""What is touched of the tool -> whether it is held."""

COUNTS = (100, 500, 1000, 5000)
"""Numbers of particles whose speed is measured."""

Figures = Mapping[str, Any]

SINGLE: Columns = (
    ("link", "setting.link", 1.0, ""),
    ("noise [Nm]", "setting.noise", 1.0, ".1f"),
    ("bias [Nm]", "setting.bias", 1.0, ".1f"),
    ("mu <", "setting.friction", 1.0, ".1f"),
    ("loc p50 [cm]", "location_p50", 100.0, ".2f"),
    ("p90 [cm]", "location_p90", 100.0, ".1f"),
    ("force p50 [N]", "force_p50", 1.0, ".2f"),
    ("settling p90 [s]", "settling_p90", 1.0, ".3f"),
    ("link", "right_link", 1.0, ".1%"),
    ("ident.", "identifiable", 1.0, ".1%"),
    ("mislead.", "misleading", 1.0, ".1%"),
    ("places", "modes", 1.0, ".2f"),
)
SECOND: Columns = (
    ("first, 0.3 Nm", "first", 1.0, ""),
    ("second", "second", 1.0, ""),
    ("first [cm]", "first_p50", 100.0, ".1f"),
    ("second [cm]", "second_p50", 100.0, ".1f"),
    ("<= 5 cm", "found", 1.0, ".1%"),
    ("two", "two", 1.0, ".1%"),
    ("ended", "ended", 1.0, ".1%"),
)
PARTS: Columns = (
    ("tool, 0.3 Nm", "part", 1.0, ""),
    ("loc p50 [cm]", "location_p50", 100.0, ".2f"),
    ("p90 [cm]", "location_p90", 100.0, ".1f"),
    ("force p50 [N]", "force_p50", 1.0, ".2f"),
    ("link", "right_link", 1.0, ".1%"),
    ("ident.", "identifiable", 1.0, ".1%"),
    ("mislead.", "misleading", 1.0, ".1%"),
)
SAME_MOMENT: Columns = (
    ("at once, 0.3 Nm", "first", 1.0, ""),
    ("and", "second", 1.0, ""),
    ("explained", "explained", 1.0, ".1%"),
    ("left p90 [noise]", "unexplained_p90", 1.0, ".2f"),
    ("honest", "honest", 1.0, ".1%"),
    ("both <= 5 cm", "located", 1.0, ".1%"),
    ("ident.", "identifiable", 1.0, ".1%"),
    ("two", "two", 1.0, ".1%"),
)
SPEED: Columns = (
    ("particles", "particles", 1.0, ".0f"),
    ("p50 [ms]", "p50_ms", 1.0, ".3f"),
    ("p99 [ms]", "p99_ms", 1.0, ".3f"),
    ("particles/s", "particles_per_second", 1.0, ".3g"),
)

MAX_SHOWN = 10.0
"""Errors [cm, N] are drawn up to here; also those of contacts that are not found."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument("--quick", action="store_true", help="a tenth of the trials")
    parser.add_argument("--trials", type=int, default=200, help="trials per row (%(default)s)")
    add_json_option(parser)
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        default=Path("out/bench/contacts.png"),
        help="where the plot is written (default: %(default)s)",
    )


def main(args: argparse.Namespace) -> int:
    """Run the benchmark.

    Args:
        args: The parsed command line.

    Returns:
        0.
    """
    trials = max(2, args.trials // 10) if args.quick else args.trials
    settings = singles()
    kinds = len(settings) + len(PAIRS) + len(TOOL) + len(AT_ONCE)
    with tqdm(total=kinds * trials, unit="trial") as progress:
        rows = [measure(setting, trials, progress) for setting in settings]
        pairs = [measure_pair(a, b, 0.3, trials, progress) for a, b in PAIRS]
        tool = [measure_tool(part, 0.3, trials, progress) for part in TOOL]
        at_once = [measure_at_once(a, b, 0.3, trials, progress) for a, b in AT_ONCE]
    speeds = [measure_speed(count, 100 if args.quick else 1000) for count in COUNTS]
    print(render(rows, pairs, tool, at_once, speeds))
    plot(rows, pairs, args.plot)
    print(f"\nplot: {args.plot}")
    figures = {
        "load": os.getloadavg()[0],
        "single": rows,
        "pairs": pairs,
        "tool": tool,
        "at_once": at_once,
        "speed": speeds,
    }
    write_json(figures, args.json)
    return 0


def singles() -> list[Setting]:
    """List what is measured with one contact: noise, friction, bias."""
    by_noise = [Setting(link, noise) for noise in NOISES for link in LINKS]
    by_friction = [
        Setting(link, 0.3, friction=friction) for friction in FRICTIONS for link in LOCATABLE
    ]
    by_bias = [Setting(link, 0.3, bias=0.5) for link in LOCATABLE]
    return by_noise + by_friction + by_bias


def measure(setting: Setting, trials: int, progress: tqdm | None = None) -> Figures:
    """Run many trials of one setting.

    Args:
        setting: The setting.
        trials: Their number; their seeds are 0, 1, ...
        progress: Advanced by one per trial.

    Returns:
        The setting and :func:`single_figures`.
    """
    trial = make_trial()
    outcomes = [run_single(trial, setting, seed) for seed in _seeds(trials, progress)]
    about = {"setting": dataclasses.asdict(setting), "trials": trials}
    return {**about, **single_figures(outcomes)}


def _seeds(trials: int, progress: tqdm | None) -> Iterator[int]:
    """Yield the seed of every trial; the bar advances when it is done."""
    for seed in range(trials):
        yield seed
        if progress is not None:
            progress.update()


def measure_pair(
    first: int, second: int, noise: float, trials: int, progress: tqdm | None = None
) -> Figures:
    """Run many trials of two contacts.

    Args:
        first: Number of the link touched first, from 1.
        second: Number of the link touched second.
        noise: Standard deviation of the torque [Nm].
        trials: Their number.
        progress: Advanced by one per trial.

    Returns:
        The names of the links and :func:`pair_figures`.
    """
    trial = make_trial()
    one, other = (Setting(LINKS[link - 1], noise) for link in (first, second))
    outcomes = [run_pair(trial, one, other, seed) for seed in _seeds(trials, progress)]
    return {"first": one.link, "second": other.link, **pair_figures(outcomes)}


def measure_tool(part: str, noise: float, trials: int, progress: tqdm | None = None) -> Figures:
    """Run many trials of contacts with the tool.

    Args:
        part: What is touched, of TOOL.
        noise: Standard deviation of the torque [Nm].
        trials: Their number.
        progress: Advanced by one per trial.

    Returns:
        The ``part`` and :func:`single_figures`.
    """
    trial = make_trial()
    outcomes = [run_tool(trial, TOOL[part], noise, seed) for seed in _seeds(trials, progress)]
    return {"part": part, **single_figures(outcomes)}


def measure_at_once(
    first: int, second: int, noise: float, trials: int, progress: tqdm | None = None
) -> Figures:
    """Run many trials of two contacts that begin in the same sample.

    Args:
        first: Number of the link of one, from 1.
        second: Number of the link of the other.
        noise: Standard deviation of the torque [Nm].
        trials: Their number.
        progress: Advanced by one per trial.

    Returns:
        The names of the links and :func:`at_once_figures`.
    """
    trial = make_trial()
    one, other = (Setting(LINKS[link - 1], noise) for link in (first, second))
    outcomes = [run_at_once(trial, one, other, seed) for seed in _seeds(trials, progress)]
    return {"first": one.link, "second": other.link, **at_once_figures(outcomes)}


def measure_speed(
    particles: int, updates: int, estimator: str = EstimatorConfig().estimator
) -> Figures:
    """Time updates in contact.

    Args:
        particles: Number of particles.
        updates: Number of updates.
        estimator: Name of the estimator.

    Returns:
        Number of ``particles``, median ``p50_ms`` and 99th percentile ``p99_ms`` of an update's
        duration [ms], and ``particles_per_second`` of the median.
    """
    trial = make_trial(particles, estimator)
    trial.begin(0, 0.3, 0.0)
    _, _, torque = trial.touch("lbr_link_6", 0.3, smallest=10.0)
    trial.hold(torque, 50)
    trial.update_ns.clear()
    trial.hold(torque, updates)
    p50, p99 = 1e-6 * np.percentile(trial.update_ns, (50, 99))
    return {
        "particles": particles,
        "p50_ms": float(p50),
        "p99_ms": float(p99),
        "particles_per_second": float(1e3 * particles / p50),
    }


def make_trial(
    particles: int = EstimatorConfig().particles.count,
    estimator: str = EstimatorConfig().estimator,
) -> TrialRobot:
    """Build robot and estimator.

    Args:
        particles: Number of particles.
        estimator: Name of the estimator.

    Returns:
        The robot of the trials.
    """
    robot = Robot.from_description(RobotDescription.load(ROBOT))
    # The torques of these trials are those of the described arm.
    values = {
        "particles.count": particles, "estimator": estimator, "errors.calibration": EXACT,
    }  # fmt: skip
    config = from_mapping(EstimatorConfig, unflatten(values))
    return TrialRobot(robot, make_estimator(robot, config))


def render(
    rows: Sequence[Figures],
    pairs: Sequence[Figures],
    tool: Sequence[Figures],
    at_once: Sequence[Figures],
    speeds: Sequence[Figures],
) -> str:
    """Show everything as tables."""
    tables = (
        lines(rows, SINGLE),
        lines(pairs, SECOND),
        lines(tool, PARTS),
        lines(at_once, SAME_MOMENT),
        lines(speeds, SPEED),
    )
    return "\n\n".join("\n".join(table) for table in tables)


def plot(rows: Sequence[Figures], pairs: Sequence[Figures], path: Path) -> None:
    """Draw errors, honesty and second contacts.

    Args:
        rows: Single contacts.
        pairs: Second contacts.
        path: The PNG to write.
    """
    figure, axes = new_figure(2, 2, (11.0, 7.0))
    usual = [r for r in rows if r["setting"]["bias"] == 0.0 and r["setting"]["friction"] == 0.3]
    links = list(dict.fromkeys(r["setting"]["link"] for r in usual))
    numbers = np.arange(len(links))
    for i, noise in enumerate(sorted({r["setting"]["noise"] for r in usual})):
        chosen = [r for r in usual if r["setting"]["noise"] == noise]
        at = numbers + 0.25 * (i - 1)
        location = np.minimum([100 * r["location_p50"] for r in chosen], MAX_SHOWN)
        force = np.minimum([r["force_p50"] for r in chosen], MAX_SHOWN)
        axes[0, 0].bar(at, location, 0.23, label=f"{noise} Nm")
        axes[0, 1].bar(at, force, 0.23, label=f"{noise} Nm")
        axes[1, 0].bar(at, [100 * r["identifiable"] for r in chosen], 0.23, label=f"{noise} Nm")
    titles = (
        (axes[0, 0], "median location error [cm], cut off", MAX_SHOWN),
        (axes[0, 1], "median force error [N], cut off", MAX_SHOWN),
        (axes[1, 0], "called identifiable [%]", 100.0),
    )
    for axis, title, top in titles:
        axis.set_title(title, fontsize=10)
        axis.set_xticks(numbers, [link.removeprefix("lbr_") for link in links], fontsize=8)
        axis.set_ylim(0.0, top)
        axis.legend(title="torque noise", fontsize=8, title_fontsize=8)
    names = [f"{p['first'][-1]} then {p['second'][-1]}" for p in pairs]
    axes[1, 1].bar(names, [100 * p["found"] for p in pairs], 0.5, color=BLUE)
    axes[1, 1].set_ylim(0.0, 100.0)
    axes[1, 1].set_title("second contact found within 5 cm [%], links, 0.3 Nm", fontsize=10)
    save(figure, path)
