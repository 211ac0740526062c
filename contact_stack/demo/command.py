"""The command ``contact-stack demo``."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import yaml
from tqdm import tqdm

from contact_aware_control.node.config import ControllerNodeConfig
from contact_core.config import from_mapping
from contact_core.description import share
from contact_core.scene_config import ENGINES
from contact_ros.driver_profile import PROFILES
from contact_stack.demo.bottle_shake import command as bottle_shake
from contact_stack.demo.bottle_shake.run import SCENE as BOTTLE_SHAKE
from contact_stack.demo.experiment import Experiment
from contact_stack.demo.experiments import EXPERIMENTS
from contact_stack.demo.plots import plot_force, plot_release, plot_tracking
from contact_stack.demo.push_box import command as push_box
from contact_stack.demo.report import table, verdict
from contact_stack.demo.run import Run, RunOptions, run_experiment
from contact_stack.demo.sled import command as slide_sled
from contact_stack.demo.sled.run import SCENE as SLIDE_SLED
from contact_stack.demo.summary import summarize
from contact_stack.demo.variants import GROUPS, VARIANTS, selected
from irs_planner.smoothing import GradientMode

EXIT_FAILED_RUN = 1
OWN = {
    push_box.NAME: push_box.main,
    SLIDE_SLED: slide_sled.main,
    BOTTLE_SHAKE: bottle_shake.main,
}
"""Demos that are no experiment with the contact-aware controller, each in its own way."""

EPILOG = """examples:
  contact-stack demo mug_placement
  contact-stack demo mug_placement --controller qp --seed 3 --no-view
  contact-stack demo mug_placement --realtime --driver ros2_control
  contact-stack demo mug_moving --controller all
  contact-stack demo push_box --seed 1
  contact-stack demo slide_sled
  contact-stack demo bottle_shake --joint-controller inverse_dynamics

The live page's address is printed when the graph starts. Every controller gets a graph of
its own. slide_sled executes a robust plan and its reference, without a controller, with
several frictions; bottle_shake streams its own commands, with force feedback and without.
Exit code: 0, or 1 if the contact-aware QP did not show enough contact to be judged, a plan
failed, or the bottle was not placed in spite of force feedback; of a baseline this is only
reported."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument("name", choices=(*EXPERIMENTS, *OWN), help="the experiment")
    parser.add_argument(
        "--controller", choices=(*VARIANTS, *GROUPS), default="both",
        help="the contact-aware QP, one of its variants or baselines, both the QP and the "
        "greedy baseline (default), or all",
    )  # fmt: skip
    parser.add_argument(
        "--engine", choices=ENGINES, default="tamsi",
        help="what simulates the scene: ours (default), or Drake for a second opinion",
    )  # fmt: skip
    parser.add_argument("--driver", choices=PROFILES, default="lbr_fri", help="driver profile")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--lockstep", action="store_true", default=True,
        help="reproducible bit by bit, at whatever speed the machine has (default)",
    )  # fmt: skip
    mode.add_argument(
        "--realtime", dest="lockstep", action="store_false", help="in real time, as on hardware"
    )
    parser.add_argument("--seed", type=_seed, default=0, help="of all random numbers (default 0)")
    parser.add_argument(
        "--out", type=Path, default=None, help="folder of the results (default out/NAME)"
    )
    parser.add_argument("--json", type=Path, default=None, help="also write all summaries here")
    parser.add_argument(
        "--attempts", type=int, choices=range(1, 11), default=5, metavar="N",
        help="push_box: largest number of plans (default 5)",
    )  # fmt: skip
    parser.add_argument(
        "--mode", choices=[str(mode) for mode in GradientMode], default=GradientMode.FIRST,
        help="push_box: how gradients are made (default first)",
    )  # fmt: skip
    bottle_shake.add_arguments(parser)
    parser.add_argument("--no-view", dest="view", action="store_false", help="no live page")


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        0, or 1 if the run of a contact-aware controller counts as failed.

    Raises:
        ContactStackError: If the graph does not start or a node fails.
    """
    # Nothing leaves this machine unless the user's environment says so.
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    out = args.out or Path("out") / args.name
    if args.name in OWN:
        return OWN[args.name](args, out)
    out.mkdir(parents=True, exist_ok=True)
    experiment = EXPERIMENTS[args.name]()
    limit = force_limit()
    runs, summaries = {}, {}
    for controller in selected(args.controller):
        options = RunOptions(
            controller, args.driver, args.lockstep, args.seed, args.view, args.engine
        )
        runs[controller] = _run(experiment, options, out / f"{controller}.mcap")
        summaries[controller] = _summary(args.name, experiment, options, runs[controller], limit)
    data = {name: run.data for name, run in runs.items()}
    plot_force(data, limit, experiment.phases, out / "force.png")
    plot_tracking(data, experiment.phases, out / "tracking.png")
    plot_release(data, limit, out / "release.png")
    for path in filter(None, (out / "summary.json", args.json)):
        path.write_text(json.dumps(summaries, indent=2) + "\n")
    print(table(summaries))
    print(f"results: {out}/summary.json, force.png, tracking.png, release.png, *.mcap")
    lines, failed = verdict({name: figures["failures"] for name, figures in summaries.items()})
    for line in lines:
        print(line)
    return EXIT_FAILED_RUN if failed else 0


def force_limit() -> float:
    """Return the force limit that the controller node of the demo is configured with [N].

    Raises:
        ConfigError: If the node's parameter file is wrong.
    """
    file = share("config", "contact_aware_controller.yaml")
    (node,) = yaml.safe_load(file.read_text()).values()
    return from_mapping(ControllerNodeConfig, node["ros__parameters"]).force.limit


def _run(experiment: Experiment, options: RunOptions, recording: Path) -> Run:
    total = experiment.duration + experiment.settling
    with tqdm(
        total=total, desc=f"{options.controller:>18}", unit="s",
        bar_format="{desc} {bar} {n:.1f}/{total:.1f} s [{elapsed}]",
    ) as bar:  # fmt: skip

        def show(progress: float) -> None:
            bar.update(min(progress, total) - bar.n)

        return run_experiment(experiment, options, recording, show)


def _summary(
    name: str, experiment: Experiment, options: RunOptions, run: Run, limit: float
) -> dict[str, Any]:
    simulated = float(run.data.time[-1] - run.data.time[0])
    return {
        "experiment": name,
        "controller": options.controller,
        "driver": options.driver,
        "engine": options.engine,
        "seed": options.seed,
        "lockstep": options.lockstep,
        "sim_time_s": simulated,
        "wall_time_s": run.wall_time,
        "real_time_factor": simulated / run.wall_time,
        "force_limit_N": limit,
        **summarize(run.data, limit, experiment.passes),
    }


def _seed(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("a seed is a non-negative integer")
    return value
