"""The command ``contact-stack doctor``: what is missing on this machine, and the remedy."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from itertools import chain

from contact_stack.app.checks.check import Check, Status
from contact_stack.app.checks.machine import machine
from contact_stack.app.checks.network import network
from contact_stack.app.checks.software import software

EXIT_FAIL = 1

EPILOG = """examples:
  contact-stack doctor
  contact-stack doctor --json

The exit code is 1 if anything FAILs: the stack cannot run then. A WARN names what you
will miss."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        0, or 1 if a check failed.
    """
    checks = []
    for check in chain(software(), network(), machine()):
        checks.append(check)
        if not args.json:
            print(render(check), flush=True)
    if args.json:
        print(json.dumps(summary(checks), indent=2))
    return EXIT_FAIL if any(check.status is Status.FAIL for check in checks) else 0


def render(check: Check) -> str:
    """Show a check to a person.

    Args:
        check: The check.

    Returns:
        One line, and a second one if there is a remedy.
    """
    line = f"{check.status.value:4}  {check.name}: {check.detail}"
    return f"{line}\n      -> {check.remedy}" if check.remedy else line


def summary(checks: Iterable[Check]) -> dict[str, object]:
    """Collect the checks for a program.

    Args:
        checks: The checks.

    Returns:
        ``ok`` and the list of ``checks``, each with name, status, detail and remedy.
    """
    checks = list(checks)
    return {
        "ok": all(check.status is not Status.FAIL for check in checks),
        "checks": [
            {
                "name": check.name,
                "status": check.status.value,
                "detail": check.detail,
                "remedy": check.remedy,
            }
            for check in checks
        ],
    }
