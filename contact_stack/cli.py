"""The command line ``contact-stack``."""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType

from contact_core.errors import ContactStackError

EXIT_ERROR = 2


@dataclass(frozen=True)
class Command:
    """A sub-command, imported only when it is used.

    Attributes:
        module: Module with ``add_arguments(parser)`` and ``main(args) -> exit code``.
        help: What it does, in one line.
    """

    module: str
    help: str


COMMANDS = {
    "demo": Command("contact_stack.demo.command", "run a demonstration and plot its results"),
    "launch": Command("contact_stack.launch.command", "start the nodes of a launch file"),
    "plan": Command("contact_stack.plan.command", "plan a motion through contact"),
    "robust": Command(
        "contact_stack.robust.command", "plan a motion through uncertain contact, and judge it"
    ),
    "bench": Command("contact_experiments.bench.command", "measure speed and accuracy"),
    "paper": Command("contact_experiments.paper.command", "reproduce the figures of a paper"),
    "replay": Command(
        "contact_stack.replay.command", "compute an incident record again and compare it"
    ),
    "doctor": Command("contact_stack.doctor", "check this machine and name what is missing"),
}

EPILOG = """examples:
  contact-stack demo mug_placement
  contact-stack launch sim lockstep:=false
  contact-stack doctor

contact-stack COMMAND --help says more about a command."""


class _Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a command in the same way as Ctrl-C."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: The arguments, by default those of the process.

    Returns:
        The exit code: that of the command, 2 after an error (one line on standard error),
        130 after Ctrl-C and 143 after SIGTERM.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if any(":=" in word for word in words):
        # Before Python 3.12 argparse takes no name:=value behind an option.
        words.sort(key=lambda word: word.startswith("-"))
    signal.signal(signal.SIGTERM, _terminate)
    try:
        args = _parser(words).parse_args(words)
        code = importlib.import_module(COMMANDS[args.command].module).main(args)
    except ContactStackError as error:
        print(f"contact-stack: {error}", file=sys.stderr)
        return EXIT_ERROR
    except _Terminated:
        return 128 + signal.SIGTERM
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return int(code)


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Build the parser; only the command that is asked for declares its arguments."""
    parser = argparse.ArgumentParser(
        prog="contact-stack",
        description="Contact simulation, estimation and control of a robot arm on ROS 2.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        sub_parser = commands.add_parser(
            name,
            help=command.help,
            description=command.help,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if words[:1] == [name]:
            importlib.import_module(command.module).add_arguments(sub_parser)
    return parser


def _terminate(number: int, frame: FrameType | None) -> None:
    raise _Terminated


if __name__ == "__main__":
    sys.exit(main())
