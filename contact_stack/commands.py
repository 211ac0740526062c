"""The commands of ``contact-stack`` by their words, and the parser of the command line.

Other packages add commands by entry points of :data:`ELSEWHERE`, as contact_experiments does.
"""

from __future__ import annotations

import argparse
import importlib
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points, version
from types import ModuleType
from typing import Any, NoReturn

from contact_core.base.errors import ContactStackError, nearest
from contact_core.base.lazy import needs

ELSEWHERE = "contact_stack.commands"
"""Entry-point group of the commands of other packages; each is a :class:`Command` or a Group."""


@dataclass(frozen=True)
class Command:
    """A sub-command, imported only when it is used.

    Attributes:
        module: Module with ``add_arguments(parser)`` and ``main(args) -> exit code``.
        help: What it does, in one line.
        extra: The extra of setup.py with the libraries that only it needs.
        error: Why it cannot be used; empty if it can.
    """

    module: str
    help: str
    extra: str = ""
    error: str = ""


@dataclass(frozen=True)
class Group:
    """Commands that share their first word.

    Attributes:
        help: What they do, in one line.
        commands: By their second words.
        metavar: What such a word is called in the help.
        epilog: Examples.
    """

    help: str
    commands: Mapping[str, Command]
    metavar: str
    epilog: str


COMMANDS: dict[str, Command | Group] = {
    "demo": Command("contact_stack.demo.command", "run a demonstration and plot its results"),
    "launch": Command("contact_stack.launch.command", "start the nodes of a launch file"),
    "call": Command("contact_stack.call", "send a goal to an action, or call a service"),
    "echo": Command("contact_stack.echo", "print the messages of a topic"),
    "view": Command("contact_stack.viewer.command", "play a recording in the browser"),
    "plan": Command("contact_stack.plan.command", "plan a motion through contact"),
    "move": Command("contact_stack.plan.move", "bring objects to a goal in closed loop"),
    "robust": Command(
        "contact_stack.robust.command", "plan a motion through uncertain contact, and judge it"
    ),
    "import": Command(
        "contact_stack.arm_import.command", "make a robot of the graph from a maker's model"
    ),
    "calibrate": Command(
        "contact_stack.calibrate.command",
        "identify an arm's friction, bias, tilt and masses by moving it",
    ),
    "driver-config": Command(
        "contact_stack.driver_config", "configure a driver for one robot and our rate"
    ),
    "moveit-config": Command(
        "contact_stack.moveit_config", "tell MoveIt what it has to know of a robot"
    ),
    "replay": Command(
        "contact_stack.replay.command", "compute an incident record again and compare it"
    ),
    "recover": Command(
        "contact_stack.recording", "copy a recording that ended early, as far as it is whole"
    ),
    "doctor": Command("contact_stack.doctor", "check this machine and name what is missing"),
    "completion": Command(
        "contact_stack.completion", "print what completes our commands in bash, zsh or tcsh"
    ),
}

EPILOG = """examples:
  contact-stack demo mug_placement
  contact-stack launch sim lockstep:=false
  contact-stack doctor

contact-stack COMMAND --help says more about a command."""


class _Parser(argparse.ArgumentParser):
    """A parser that knows what somebody may have meant."""

    def print_help(self, file: Any = None) -> None:
        """Print the help; argparse itself says nothing where the output is full."""
        print(self.format_help(), end="", file=file, flush=True)

    def error(self, message: str) -> NoReturn:
        """End with a message on standard error, and the nearest valid word if there is one."""
        wrong = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        unknown = re.match(r"unrecognized arguments: ([^ =]+)", message)
        word, valid = "", []
        if wrong:
            word, valid = wrong[1], re.findall(r"[\w.-]+", wrong[2])
        elif unknown:
            word, valid = unknown[1], re.findall(r"--[\w-]+", self.format_help())
        near = nearest(word, valid)
        super().error(f"{message}; did you mean {near}?" if near else message)


class _Version(argparse.Action):
    """Prints the version, which takes a moment to find out."""

    def __call__(self, parser: argparse.ArgumentParser, *args: Any) -> None:
        """Print it, and end."""
        print(f"contact-stack {version('contact_stack')}", flush=True)
        parser.exit()


def all_commands() -> dict[str, Command | Group]:
    """Return our commands, then those of other packages; where names are the same, ours."""
    points = sorted(entry_points(group=ELSEWHERE), key=lambda point: point.name)
    others = {p.name: _elsewhere(p) for p in points if p.name not in COMMANDS}
    return COMMANDS | others


def _elsewhere(point: EntryPoint) -> Command | Group:
    """Load a command of another package; one that is broken breaks no others."""
    try:
        found = point.load()
    except Exception as error:
        return Command("", "cannot be loaded", error=f"{point.value} cannot be loaded: {error}")
    if isinstance(found, Command | Group):
        return found
    reason = f"{point.value} is a {type(found).__name__}, which has to be a Command or a Group"
    return Command("", "cannot be loaded", error=reason)


def build_parser(words: Sequence[str], full: bool = False) -> argparse.ArgumentParser:
    """Build the parser.

    Args:
        words: The command line; only the command that it names is imported.
        full: Import all commands instead, but those whose libraries are not installed.
    """
    parser = _Parser(
        prog="contact-stack",
        description="Contact simulation, estimation and control of a robot arm on ROS 2.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    _add_commands(parser, all_commands(), "COMMAND", words, full)
    return parser


def _add_commands(
    parser: argparse.ArgumentParser,
    commands: Mapping[str, Command | Group],
    metavar: str,
    words: Sequence[str],
    full: bool,
) -> None:
    """Declare commands; only the one that is asked for is imported and declares its arguments."""
    sub_parsers = parser.add_subparsers(metavar=metavar, required=True)
    for name, command in commands.items():
        sub_parser = sub_parsers.add_parser(
            name,
            help=command.help,
            description=command.help,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub_parser.set_defaults(parser=sub_parser)
        if words[:1] != [name] and not full:
            continue
        if isinstance(command, Group):
            sub_parser.epilog = command.epilog
            _add_commands(sub_parser, command.commands, command.metavar, words[1:], full)
            continue
        try:
            module = _module(command)
        except ContactStackError:
            if full:
                continue
            raise
        module.add_arguments(sub_parser)
        sub_parser.set_defaults(main=module.main)


def _module(command: Command) -> ModuleType:
    """Import a command's module.

    Raises:
        ContactStackError: If it cannot be used, or a library of its extra is not installed.
    """
    if command.error:
        raise ContactStackError(command.error)
    with needs(command.extra) if command.extra else nullcontext():
        return importlib.import_module(command.module)
