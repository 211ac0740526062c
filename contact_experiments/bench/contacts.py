"""``contact-stack bench contacts``: accuracy, honesty and speed of the contact estimator."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from tqdm import tqdm

from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.estimator import ContactEstimator
from contact_core.config import from_mapping, unflatten
from contact_core.description import RobotDescription
from contact_core.robot import Robot
from contact_experiments.bench.contact_trials import (
    PairRow,
    Row,
    Setting,
    SpeedRow,
    TrialRobot,
    run_pair,
    run_single,
)

ROBOT = "iiwa14_wsg50"
LINKS = tuple(f"lbr_link_{i}" for i in range(1, 8))
LOCATABLE = LINKS[4:]
NOISES = (0.1, 0.3, 0.5)
FRICTIONS = (0.0, 0.5, 0.8)
PAIRS = ((4, 6), (4, 7), (5, 6), (5, 7), (6, 7))
"""Links touched one after the other, the second beyond the first."""

COUNTS = (100, 500, 1000, 5000)
"""Numbers of particles whose speed is measured."""

LARGEST_SHOWN = 10.0
"""Errors [cm, N] are drawn up to here; also those of contacts that are not found."""


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


def render(rows: Sequence[Row], pairs: Sequence[PairRow], speeds: Sequence[SpeedRow]) -> str:
    """Show everything as tables."""
    lines = [
        f"{'link':12} {'noise':>6} {'bias':>5} {'mu <':>5} {'loc p50':>8} {'p90':>6} "
        f"{'force p50':>9} {'settling p90':>12} {'link':>6} {'ident.':>6} {'mislead.':>8} "
        f"{'places':>6}",
        f"{'':12} {'[Nm]':>6} {'[Nm]':>5} {'':>5} {'[cm]':>8} {'[cm]':>6} {'[N]':>9} "
        f"{'[s]':>12} {'[%]':>6} {'[%]':>6} {'[%]':>8} {'':>6}",
    ]
    for r in rows:
        s = r.setting
        lines.append(
            f"{s.link:12} {s.noise:6.1f} {s.bias:5.1f} {s.friction:5.1f} "
            f"{100 * r.location_p50:8.2f} {100 * r.location_p90:6.1f} {r.force_p50:9.2f} "
            f"{r.settling_p90:12.3f} {100 * r.right_link:6.1f} {100 * r.identifiable:6.1f} "
            f"{100 * r.misleading:8.1f} {r.modes:6.2f}"
        )
    lines.append(
        f"\n{'second contact, 0.3 Nm':26} {'first':>6} {'second':>7} "
        f"{'<= 5 cm':>8} {'two':>6} {'ended':>6}"
    )
    lines.append(f"{'':26} {'[cm]':>6} {'[cm]':>7} {'[%]':>8} {'[%]':>6} {'[%]':>6}")
    for p in pairs:
        lines.append(
            f"{p.first + ', ' + p.second:26} {100 * p.first_p50:6.1f} {100 * p.second_p50:7.1f} "
            f"{100 * p.found:8.1f} {100 * p.two:6.1f} {100 * p.ended:6.1f}"
        )
    lines.append(f"\n{'particles':>10} {'p50 [ms]':>10} {'p99 [ms]':>10} {'particles/s':>12}")
    for v in speeds:
        lines.append(
            f"{v.particles:10d} {v.p50_ms:10.3f} {v.p99_ms:10.3f} {v.particles_per_second:12.3g}"
        )
    return "\n".join(lines)


def plot(rows: Sequence[Row], pairs: Sequence[PairRow], path: Path) -> None:
    """Draw errors, honesty and second contacts.

    Args:
        rows: Single contacts.
        pairs: Second contacts.
        path: The PNG to write.
    """
    figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained")
    usual = [r for r in rows if r.setting.bias == 0.0 and r.setting.friction == 0.3]
    links = list(dict.fromkeys(r.setting.link for r in usual))
    numbers = np.arange(len(links))
    for i, noise in enumerate(sorted({r.setting.noise for r in usual})):
        chosen = [r for r in usual if r.setting.noise == noise]
        at = numbers + 0.25 * (i - 1)
        location = np.minimum([100 * r.location_p50 for r in chosen], LARGEST_SHOWN)
        force = np.minimum([r.force_p50 for r in chosen], LARGEST_SHOWN)
        axes[0, 0].bar(at, location, 0.23, label=f"{noise} Nm")
        axes[0, 1].bar(at, force, 0.23, label=f"{noise} Nm")
        axes[1, 0].bar(at, [100 * r.identifiable for r in chosen], 0.23, label=f"{noise} Nm")
    titles = (
        (axes[0, 0], "median location error [cm], cut off", LARGEST_SHOWN),
        (axes[0, 1], "median force error [N], cut off", LARGEST_SHOWN),
        (axes[1, 0], "called identifiable [%]", 100.0),
    )
    for axis, title, top in titles:
        axis.set_title(title, fontsize=10)
        axis.set_xticks(numbers, [link.removeprefix("lbr_") for link in links], fontsize=8)
        axis.set_ylim(0.0, top)
        axis.grid(axis="y", alpha=0.3)
        axis.legend(title="torque noise", fontsize=8, title_fontsize=8)
    names = [f"{p.first[-1]} then {p.second[-1]}" for p in pairs]
    axes[1, 1].bar(names, [100 * p.found for p in pairs], 0.5, color="#0b6e99")
    axes[1, 1].set_ylim(0.0, 100.0)
    axes[1, 1].set_title("second contact found within 5 cm [%], links, 0.3 Nm", fontsize=10)
    axes[1, 1].grid(axis="y", alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _finite(figures: dict[str, Any]) -> dict[str, Any]:
    """Replace infinite figures, where there is no estimate, by null: JSON has no infinity."""
    return {
        name: None if isinstance(value, float) and not np.isfinite(value) else value
        for name, value in figures.items()
    }
