"""``contact-stack demo bottle_shake``: with force feedback, and without."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tqdm import tqdm

from contact_core.errors import ConfigError
from contact_core.scene import Scene
from contact_ros.driver_profile.overlay import DRIVER
from contact_stack.demo.bottle_shake.bottle_node import BottleNode
from contact_stack.demo.bottle_shake.joint_controller import CONTROLLERS
from contact_stack.demo.bottle_shake.plots import plot_trials
from contact_stack.demo.bottle_shake.run import SCENE, RunOptions, shake_bottle
from contact_stack.demo.bottle_shake.summary import Bottle, summarize, table
from contact_stack.demo.bottle_shake.task import BottleTask
from contact_stack.demo.bottle_shake.trial import Trial

FEEDBACK = {"both": ("on", "off"), "on": ("on",), "off": ("off",)}
EXIT_NOT_PLACED = 1
BAR = "{desc:34} {n:.1f} s [{elapsed}]"
INVERSE_DYNAMICS = "inverse_dynamics"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that are this demo's own.

    Args:
        parser: The parser of ``contact-stack demo``.
    """
    parser.add_argument(
        "--joint-controller", choices=tuple(CONTROLLERS), default=next(iter(CONTROLLERS)),
        help="bottle_shake: the arm's own joint impedance (default), or torques by inverse "
        "dynamics",
    )  # fmt: skip
    parser.add_argument(
        "--feedback", choices=tuple(FEEDBACK), default="both",
        help="bottle_shake: with force feedback, without, or both (default)",
    )  # fmt: skip


def main(args: argparse.Namespace, out: Path) -> int:
    """Run the demo.

    Args:
        args: The parsed command line of ``contact-stack demo``.
        out: Folder of the results.

    Returns:
        0, or 1 if a run with force feedback has not placed the bottle.

    Raises:
        ContactStackError: If an option does not apply, or the graph fails.
    """
    _check(args)
    out.mkdir(parents=True, exist_ok=True)
    task, bottle = BottleTask(), Bottle.of(Scene.load(SCENE))
    trials = {name: _run(task, args, name, out) for name in FEEDBACK[args.feedback]}
    summaries = {
        name: {
            "experiment": SCENE,
            "joint_controller": args.joint_controller,
            "force_feedback": name,
            "driver": args.driver,
            "engine": args.engine,
            "seed": args.seed,
            "lockstep": args.lockstep,
            **summarize(trial, task, bottle),
        }
        for name, trial in trials.items()
    }
    plot_trials(trials, bottle, out / "bottle.png")
    for path in filter(None, (out / "summary.json", args.json)):
        path.write_text(json.dumps(summaries, indent=2) + "\n")
    print(table(summaries))
    print(f"results: {out}/summary.json, bottle.png, *.mcap")
    failed = "on" in summaries and not summaries["on"]["placed"]
    return EXIT_NOT_PLACED if failed else 0


def _check(args: argparse.Namespace) -> None:
    """Refuse options that mean something to other demos only."""
    if args.joint_controller == INVERSE_DYNAMICS and args.driver != DRIVER:
        raise ConfigError(
            f"{INVERSE_DYNAMICS} commands torques: --driver is '{args.driver}' (valid: {DRIVER})"
        )
    if args.controller != "both":
        raise ConfigError(
            f"{SCENE} has joint controllers of its own: leave --controller out (see "
            "--joint-controller)"
        )


def _run(task: BottleTask, args: argparse.Namespace, feedback: str, out: Path) -> Trial:
    options = RunOptions(
        args.joint_controller, feedback == "on", args.driver, args.engine,
        args.lockstep, args.seed, args.view,
    )  # fmt: skip
    with tqdm(bar_format=BAR) as bar:

        def show(node: BottleNode) -> None:
            bar.set_description_str(f"feedback {feedback}: {node.progress}", refresh=False)
            bar.update(node.time - bar.n)

        return shake_bottle(task, options, out / f"feedback_{feedback}.mcap", show)
