"""The command line of ``contact-stack replay``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from contact_aware_control.incident_log import load, replay
from contact_stack.replay.report import ReplayComparison, compare, render

EXIT_DIFFERENT = 1

TOLERANCE = 1e-9
"""Largest difference of two commands that count as the same [rad]."""

EPILOG = """examples:
  contact-stack replay ~/.ros/log/flight/20260301_120000_FORCE_EXCEEDED.npz
  contact-stack replay FILE --json

A record holds everything the controller was given: states, contacts, goals, requests and
parameters. Nothing moves and no ROS graph is needed. The exit code is 1 if a status or a
command differs from the recorded one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument("file", type=Path, metavar="FILE", help="incident record (.npz)")
    parser.add_argument(
        "--tolerance",
        type=float,
        default=TOLERANCE,
        metavar="RAD",
        help="largest difference of two commands that count as the same (default: %(default)g)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        0 if the replay agrees with the record, else 1.
    """
    record = load(args.file)
    result: ReplayComparison = compare(record, replay(record), args.tolerance)
    print(json.dumps(result.as_dict(), indent=2) if args.json else render(result))
    return 0 if result.agrees else EXIT_DIFFERENT
