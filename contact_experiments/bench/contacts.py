"""``contact-stack bench contacts``: accuracy, honesty and speed of the contact estimator."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.estimator import ContactEstimator
from contact_core.config import from_mapping, unflatten
from contact_core.description import RobotDescription
from contact_core.robot import Robot
from contact_experiments.bench.contact_figures import PairRow, Row, SpeedRow
from contact_experiments.bench.contact_report import plot, render
from contact_experiments.bench.contact_trials import Setting, TrialRobot, run_pair, run_single

ROBOT = "iiwa14_wsg50"
LINKS = tuple(f"lbr_link_{i}" for i in range(1, 8))
LOCATABLE = LINKS[4:]
NOISES = (0.1, 0.3, 0.5)
FRICTIONS = (0.0, 0.5, 0.8)
PAIRS = ((4, 6), (4, 7), (5, 6), (5, 7), (6, 7))
"""Links touched one after the other, the second beyond the first."""

COUNTS = (100, 500, 1000, 5000)
"""Numbers of particles whose speed is measured."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument("--quick", action="store_true", help="a tenth of the trials")
    parser.add_argument("--trials", type=int, default=200, help="trials per row (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
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
    with tqdm(total=(len(settings) + len(PAIRS)) * trials, unit="trial") as progress:
        rows = [measure(setting, trials, progress) for setting in settings]
        pairs = [measure_pair(a, b, 0.3, trials, progress) for a, b in PAIRS]
    speeds = [measure_speed(count, 100 if args.quick else 1000) for count in COUNTS]
    print(render(rows, pairs, speeds))
    plot(rows, pairs, args.plot)
    print(f"\nplot: {args.plot}")
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        figures = {
            "load": os.getloadavg()[0],
            "single": [_finite(dataclasses.asdict(row)) for row in rows],
            "pairs": [_finite(dataclasses.asdict(row)) for row in pairs],
            "speed": [dataclasses.asdict(row) for row in speeds],
        }
        args.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


def singles() -> list[Setting]:
    """List what is measured with one contact: noise, friction, bias."""
    by_noise = [Setting(link, noise) for noise in NOISES for link in LINKS]
    by_friction = [
        Setting(link, 0.3, friction=friction) for friction in FRICTIONS for link in LOCATABLE
    ]
    by_bias = [Setting(link, 0.3, bias=0.5) for link in LOCATABLE]
    return by_noise + by_friction + by_bias


def measure(setting: Setting, trials: int, progress: tqdm | None = None) -> Row:
    """Run many trials of one setting.

    Args:
        setting: The setting.
        trials: Their number; their seeds are 0, 1, ...
        progress: Advanced by one per trial.

    Returns:
        Their figures.
    """
    trial = make_trial()
    outcomes = []
    for seed in range(trials):
        outcomes.append(run_single(trial, setting, seed))
        if progress is not None:
            progress.update()
    return Row.of(setting, outcomes)


def measure_pair(
    first: int, second: int, noise: float, trials: int, progress: tqdm | None = None
) -> PairRow:
    """Run many trials of two contacts.

    Args:
        first: Number of the link touched first, from 1.
        second: Number of the link touched second.
        noise: Standard deviation of the torque [Nm].
        trials: Their number.
        progress: Advanced by one per trial.

    Returns:
        Their figures.
    """
    trial = make_trial()
    one, other = (Setting(LINKS[link - 1], noise) for link in (first, second))
    outcomes = []
    for seed in range(trials):
        outcomes.append(run_pair(trial, one, other, seed))
        if progress is not None:
            progress.update()
    return PairRow.of(one.link, other.link, outcomes)


def measure_speed(particles: int, updates: int) -> SpeedRow:
    """Time updates in contact.

    Args:
        particles: Number of particles.
        updates: Number of updates.

    Returns:
        Their durations.
    """
    trial = make_trial(particles)
    trial.begin(0, 0.3, 0.0)
    _, _, torque = trial.touch("lbr_link_6", 0.3, smallest=10.0)
    trial.hold(torque, 50)
    trial.update_ns.clear()
    trial.hold(torque, updates)
    p50, p99 = 1e-6 * np.percentile(trial.update_ns, (50, 99))
    return SpeedRow(particles, float(p50), float(p99), float(1e3 * particles / p50))


def make_trial(particles: int = EstimatorConfig().particles.count) -> TrialRobot:
    """Build robot and estimator.

    Args:
        particles: Number of particles.

    Returns:
        The robot of the trials.
    """
    robot = Robot.from_description(RobotDescription.load(ROBOT))
    config = from_mapping(EstimatorConfig, unflatten({"particles.count": particles}))
    return TrialRobot(robot, ContactEstimator(robot, config))


def _finite(figures: dict[str, Any]) -> dict[str, Any]:
    """Replace infinite figures, where there is no estimate, by null: JSON has no infinity."""
    return {
        name: None if isinstance(value, float) and not np.isfinite(value) else value
        for name, value in figures.items()
    }
