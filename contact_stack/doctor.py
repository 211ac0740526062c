"""The command ``contact-stack doctor``: what is missing on this machine, and the remedy."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from contact_core.base.results import add_json_option, write_json
from contact_stack.checks import Check, CheckStatus
from contact_stack.checks.driver_source import driver_source
from contact_stack.checks.machine import machine
from contact_stack.checks.network import network
from contact_stack.checks.software import install_command, interface_packages, software

EXIT_FAIL = 1

EPILOG = """examples:
  contact-stack doctor
  contact-stack doctor --json
  contact-stack doctor --types
  contact-stack doctor --driver-source src/lbr_fri_ros2_stack
  contact-stack doctor --install-hints

The exit code is 1 if anything FAILs: the stack cannot run then. A WARN names what you
will miss."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument(
        "--types", action="store_true", help="list the interface types with their hashes instead"
    )
    parser.add_argument(
        "--driver-source",
        type=Path,
        metavar="FOLDER",
        help="compare a driver's checkout, or a folder of some, with what we know of it instead",
    )
    parser.add_argument(
        "--install-hints",
        action="store_true",
        help="print the pip command for what rosdep does not install, and nothing else",
    )
    add_json_option(parser)


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        0, or 1 if a check failed.

    Raises:
        ConfigError: If there is no driver in the folder that is to be compared.
    """
    if args.install_hints:
        print(install_command())
        return 0
    if args.types:
        _show_types(args.json)
        return 0
    checks = []
    here = chain(software(), network(), machine())
    for check in driver_source(args.driver_source) if args.driver_source else here:
        checks.append(check)
        print(check, flush=True)
    write_json(summary(checks), args.json)
    return EXIT_FAIL if any(check.status is CheckStatus.FAIL for check in checks) else 0


def _show_types(target: str | None) -> None:
    packages = list(interface_packages())
    write_json([dataclasses.asdict(package) for package in packages], target)
    for package in packages:
        print(f"{package.name} {package.version}, {package.origin}")
        for item in package.types:
            print(f"  {item.name}  {item.hash}")


def summary(checks: Iterable[Check]) -> dict[str, object]:
    """Collect the checks for a program.

    Args:
        checks: The checks.

    Returns:
        ``ok`` and the list of ``checks``, each with name, status, detail and remedy.
    """
    checks = list(checks)
    return {
        "ok": all(check.status is not CheckStatus.FAIL for check in checks),
        "checks": [{**dataclasses.asdict(check), "status": check.status.value} for check in checks],
    }
