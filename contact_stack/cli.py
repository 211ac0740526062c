"""The command line ``contact-stack``."""

from __future__ import annotations

import argparse
import errno
import importlib
import importlib.util
import math
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, redirect_stderr, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NoReturn, TextIO

from contact_core.base.errors import ContactStackError, nearest
from contact_core.base.results import only_json
from contact_core.base.signals import stop_signals
from contact_stack.help_texts import kept_help

EXIT_ERROR = 2

ONE_WISH = 0.5
"""A signal that follows another sooner adds nothing to it [s]: a wrapper passes on what the
terminal has sent to everybody. Raised as well, it would break off the tidying of the first."""


@dataclass(frozen=True)
class Command:
    """A sub-command, imported only when it is used.

    Attributes:
        module: Module with ``add_arguments(parser)`` and ``main(args) -> exit code``.
        help: What it does, in one line.
        extra: The extra of setup.py with the libraries that only it needs.
    """

    module: str
    help: str
    extra: str = ""


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


EXPERIMENTS = "experiments"

BENCHMARKS = Group(
    "measure speed and accuracy",
    {
        "contacts": Command(
            "contact_experiments.bench.contacts",
            "accuracy, honesty and speed of the contact estimator",
            EXPERIMENTS,
        ),
        "control": Command(
            "contact_experiments.bench.control",
            "QP solvers, the controller's tick, and the loop's timing",
            EXPERIMENTS,
        ),
        "faults": Command(
            "contact_experiments.bench.faults",
            "every fault of a robot and its driver, and what it does to the arm",
        ),
        "graph": Command(
            "contact_experiments.bench.graph",
            "the whole graph in real time: missed ticks, age of the state, processor time",
        ),
        "irs": Command(
            "contact_experiments.bench.irs",
            "every example of the planner through contact, in every mode",
            EXPERIMENTS,
        ),
        "looks": Command(
            "contact_experiments.bench.looks",
            "moving objects on the graph: how old what is acted on is, at every look",
        ),
        "push": Command(
            "contact_experiments.bench.push",
            "push anything in closed loop: how often it gets there, how fast, how hard",
            EXPERIMENTS,
        ),
        "risk": Command(
            "contact_stack.robust.arm_benchmark",
            "plans with and without a promise executed by the arm, and how often they fail",
            EXPERIMENTS,
        ),
        "robust": Command(
            "contact_experiments.bench.robust",
            "plans over a grid of uncertainties and risk bounds, and how far they miss",
            EXPERIMENTS,
        ),
        "stops": Command(
            "contact_experiments.bench.stops",
            "how soon the controller obeys stop, hold and cancel while it is asked for much else",
        ),
        "tamsi": Command(
            "contact_experiments.bench.tamsi",
            "the simulator against Drake and MuJoCo on the same scenes",
            EXPERIMENTS,
        ),
    },
    "BENCHMARK",
    """examples:
  contact-stack bench control
  contact-stack bench contacts --trials 50
  contact-stack bench control --quick --json out/control.json

Close everything else for figures that mean something.""",
)

COMMANDS: dict[str, Command | Group] = {
    "demo": Command("contact_stack.demo.command", "run a demonstration and plot its results"),
    "launch": Command("contact_stack.launch.command", "start the nodes of a launch file"),
    "view": Command("contact_stack.viewer.command", "play a recording in the browser"),
    "plan": Command("contact_stack.plan.command", "plan a motion through contact"),
    "move": Command("contact_stack.plan.move", "bring objects to a goal in closed loop"),
    "robust": Command(
        "contact_stack.robust.command", "plan a motion through uncertain contact, and judge it"
    ),
    "calibrate": Command(
        "contact_stack.calibrate.command", "find what an arm's torques do not know, by moving it"
    ),
    "fake": Command(
        "contact_experiments.fake.command", "stand in for a driver, and misbehave on request"
    ),
    "driver-config": Command(
        "contact_stack.driver_config", "configure a driver for one robot and our rate"
    ),
    "moveit-config": Command(
        "contact_stack.moveit_config", "tell MoveIt what it has to know of a robot"
    ),
    "bench": BENCHMARKS,
    "paper": Command(
        "contact_experiments.papers.command", "make the figures of the papers again", EXPERIMENTS
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


class _Terminated(KeyboardInterrupt):
    """A signal that ends a command: Ctrl-C, SIGTERM or SIGHUP; holds its number."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: The arguments, by default those of the process.

    Returns:
        The exit code: that of the command, 2 after an error (one line on standard error),
        130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP, and 141 if nobody reads the output
        to its end.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if any(":=" in word for word in words):
        # Before Python 3.12 argparse takes no name:=value behind an option.
        words.sort(key=lambda word: word.startswith("-"))
    terminate = _terminator()
    for number in stop_signals():
        signal.signal(number, terminate)
    if not sys.stderr.isatty():
        # A log needs no more of a progress bar than a line in ten seconds.
        os.environ.setdefault("TQDM_MININTERVAL", "10")
    try:
        if words[-1:] in (["-h"], ["--help"]) and (text := kept_help(words[:-1])):
            print(text, end="")
            return 0
        with _waiting_for_the_libraries():
            parser = build_parser(words)
        args, unknown = parser.parse_known_args(words)
        if unknown:
            # Its own parser knows which options the command has.
            args.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
        _check_room(getattr(args, "out", None))
        with only_json(getattr(args, "json", None)), redirect_stderr(_Forgiving(sys.stderr)):
            code = args.main(args)
        sys.stdout.flush()
    except ContactStackError as error:
        print(f"contact-stack: {error}", file=sys.stderr)
        return EXIT_ERROR
    except _Terminated as end:
        return 128 + int(end.args[0])
    except BrokenPipeError:
        # Whoever reads the output, such as head, has seen enough; Python would say so at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:
        if error.filename is None:
            raise
        # A file that a person has named, or a disk that is full.
        print(f"contact-stack: {error.filename}: {error.strerror}", file=sys.stderr)
        return EXIT_ERROR
    return int(code)


def _waiting_for_the_libraries() -> AbstractContextManager[None]:
    # Progress bars ask the environment when they are imported, which is set by now.
    from contact_core.base.waiting import waiting_for

    return waiting_for("load what this command needs")


def _check_room(out: Path | None) -> None:
    """Check that the folder of the results is there or can be made, before anything takes its time.

    Args:
        out: A folder, or a file in it, which has a suffix then; None if it is not given.

    Raises:
        OSError: If it cannot be made.
    """
    if out is not None:
        folder = (out.parent if out.suffix else out).absolute()
        there = next(path for path in (folder, *folder.parents) if path.exists())
        if not there.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(there))
        if not os.access(there, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(there))


class _Forgiving:
    """A stream that nobody may read any more.

    A progress bar that fails while it is drawn keeps the lock of all bars, and the others wait.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(BrokenPipeError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(BrokenPipeError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Parser(argparse.ArgumentParser):
    """A parser that knows what somebody may have meant."""

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
        print(f"contact-stack {version('contact_stack')}")
        parser.exit()


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
    _add_commands(parser, COMMANDS, "COMMAND", words, full)
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
        ContactStackError: If a library of its extra is not installed.
    """
    try:
        return importlib.import_module(command.module)
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if not command.extra or importlib.util.find_spec(library) is not None:
            raise
        raise ContactStackError(
            f"'{library}' is not installed: pip install 'contact_stack[{command.extra}]'"
        ) from error


def _terminator() -> Callable[[int, FrameType | None], None]:
    """Return what answers the signals that end a command."""
    asked = -math.inf

    def terminate(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        before, asked = asked, time.monotonic()
        if asked - before < ONE_WISH:
            return
        # What a library was just making is half made, and complains when it is freed.
        sys.unraisablehook = lambda unraisable: None
        raise _Terminated(number)

    return terminate


if __name__ == "__main__":
    sys.exit(main())
