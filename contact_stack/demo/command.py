"""The command ``contact-stack demo``, and the demos by name."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from contact_core.base.errors import ConfigError, choices
from contact_core.base.registry import Registry
from contact_core.base.results import add_json_option, at_least
from contact_ros import network
from contact_stack.demo.bottle_shake.demo import BottleShake
from contact_stack.demo.contact_tracking.demo import ContactTracking
from contact_stack.demo.push_anything.demo import PushAnything
from contact_stack.demo.push_box.demo import PushBox
from contact_stack.demo.runner import REALTIME, Demo, run_demo
from contact_stack.demo.sled.demo import SlideSled

DEMOS: Registry[type[Demo[Any]]] = Registry(
    "demo",
    {
        "mug_placement": ContactTracking,
        "mug_moving": ContactTracking,
        "two_contacts": ContactTracking,
        "push_box": PushBox,
        "push_anything": PushAnything,
        "slide_sled": SlideSled,
        "bottle_shake": BottleShake,
    },
)

OPTIONS = tuple(dict.fromkeys(option for demo in DEMOS.values() for option in demo.options))
"""Those that not every demo takes."""

EPILOG = """examples:
  contact-stack demo mug_placement
  contact-stack demo mug_placement --controller qp --seed 3 --no-view
  contact-stack demo mug_placement --realtime --driver ros2_control
  contact-stack demo mug_moving --controller all
  contact-stack demo push_box --seed 1
  contact-stack demo push_anything --shape channel
  contact-stack demo slide_sled
  contact-stack demo bottle_shake --joint-controller inverse_dynamics

The live page is opened in the browser. Where runs are compared, the baseline goes first, and its
arm is then shown beside the other's, at the same time since both began to move; at the end that run
is played again until Ctrl-C, and the demo ends with its own exit code. Without a terminal nothing
is opened and nothing waits. Every controller gets a graph of its own. slide_sled executes
a robust plan and its reference, without a controller, with several frictions; bottle_shake streams
its own commands, with force feedback and without. Exit code: 0, or 1 if the contact-aware QP did
not show enough contact to be judged, a plan failed, or the bottle was not placed in spite of force
feedback; of a baseline this is only reported."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line: the options of all demos, then those that only some take.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument("name", choices=tuple(DEMOS), help="the demo")
    parser.add_argument("--seed", type=at_least(0), default=0, help="random seed (default 0)")
    parser.add_argument(
        "--out", type=Path, default=None, help="folder of the results (default out/NAME)"
    )
    add_json_option(parser)
    parser.add_argument("--no-view", dest="view", action="store_false", help="no live page")
    parser.add_argument(
        "--no-browser", dest="browser", action="store_false",
        help="print the address of the live page, do not open it",
    )  # fmt: skip
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--lockstep", action="store_true",
        help="reproducible bit by bit, at whatever speed the machine has (default)",
    )  # fmt: skip
    for option in OPTIONS:
        takers = [name for name, demo in DEMOS.items() if option in demo.options]
        of = "" if len(takers) == len(DEMOS) else f"{', '.join(takers)}: "
        (mode if option is REALTIME else parser).add_argument(
            option.flag, default=argparse.SUPPRESS, help=of + option.help, **option.settings
        )


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        0, or 1 if the demo counts as failed.

    Raises:
        ContactStackError: If an option does not apply, the graph does not start or a node fails.
    """
    demo = make_demo(args)
    network.enter(network.LOCALHOST)
    return run_demo(demo, args.out or Path("out") / args.name, args.json)


def make_demo(args: argparse.Namespace) -> Demo[Any]:
    """Make the demo that is asked for.

    Args:
        args: The parsed command line.

    Raises:
        ConfigError: If an option was given that the demo does not take, or its value does not
            apply.
    """
    kind = DEMOS[args.name]
    for option in OPTIONS:
        if option.name in args and option not in kind.options:
            own = choices(option.flag for option in kind.options)
            raise ConfigError(f"{args.name} takes no {option.flag} ({own})")
    defaults = {option.name: option.default for option in OPTIONS}
    return kind(argparse.Namespace(**{**defaults, **vars(args)}))
