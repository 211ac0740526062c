"""``contact-stack move``: bring objects to a goal in closed loop, on the graph."""

from __future__ import annotations

import argparse
import importlib
import math
from pathlib import Path
from typing import Any

from tqdm import tqdm

from contact_core.base.config import YAML
from contact_core.base.results import add_json_option, write_json
from contact_stack.plan.request import (
    by_name,
    read_budget,
    read_entry,
    read_goal_entry,
    read_seed,
    states_of,
)

EXIT_NOT_THERE = 1

EPILOG = """examples:
  contact-stack launch sim scene:=push_box     (in another terminal)
  contact-stack launch planners                (in a third one)
  contact-stack move push_box --goal box/x=0.6 box/y=0.1 box/yaw=0.5
  contact-stack move my_scene.yaml --goal can/x=0.6 --tolerance can/x=0.01

The arm looks at camera/objects, pushes, goes round and looks again, through the contact-aware
controller. States that have no goal do not matter, but objects stay upright.

Ctrl-C stops the arm where it is. Exit code: 0 if the objects are at their goal, else 1."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument("scene", metavar="SCENE", help="name of a scene in 3-D, or FILE.yaml")
    parser.add_argument(
        "--goal", type=read_goal_entry, nargs="+", required=True, metavar="NAME=X",
        help="goal of states [m, rad]; NAME=any if one does not matter",
    )  # fmt: skip
    parser.add_argument(
        "--tolerance", type=read_entry, nargs="+", default=(), metavar="NAME=X",
        help="what counts as there (default: 0.02 m, 0.1 rad)",
    )  # fmt: skip
    parser.add_argument("--robot-name", default="lbr", help="namespace of the robot (default lbr)")
    parser.add_argument("--seed", type=read_seed, default=0, help="of the searches (default 0)")
    parser.add_argument(
        "--budget", type=read_budget, default=180.0, metavar="SECONDS",
        help="when it gives up; 0 for never (default %(default)g)",
    )  # fmt: skip
    add_json_option(parser)


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        0, or 1 if the objects are not at their goal.

    Raises:
        ContactStackError: If the goal is refused or the node does not answer.
    """
    goal = by_name(states_of("--goal", args.goal))
    tolerance = by_name(states_of("--tolerance", args.tolerance))
    network = importlib.import_module("contact_ros.network")
    network.enter(network.LOCALHOST)
    client = importlib.import_module("contact_stack.plan.client")
    scene = str(Path(args.scene).resolve()) if args.scene.endswith(YAML) else args.scene
    with tqdm(bar_format="{desc}{elapsed} {postfix}", desc="") as bar:

        def show(step: Any) -> None:
            bar.set_postfix_str(f"{step.phase}, {_errors(step)}", refresh=False)
            bar.update()

        result = client.move_remotely(
            scene, goal, tolerance, args.seed, args.budget, args.robot_name, show
        )
    print(f"{result.status_name}: {_errors(result)}, {result.searches} places, "
          f"{result.elapsed:.1f} s" + (f"; {result.remedy}" if result.remedy else ""))  # fmt: skip
    write_json(
        {
            "status": result.status_name,
            "remedy": result.remedy,
            "goal_reached": result.goal_reached,
            "error": dict(zip(result.names, result.error, strict=True)),
            "searches": result.searches,
            "seconds": result.elapsed,
        },
        args.json,
    )
    return 0 if result.goal_reached else EXIT_NOT_THERE


def _errors(message: Any) -> str:
    """Return how far states are from their goals, as far as they have been seen."""
    errors = zip(message.names, message.error, strict=True)
    seen = [f"{name} {error:+.3f}" for name, error in errors if math.isfinite(error)]
    return ", ".join(seen) or "nothing seen yet"
