"""The command ``contact-stack paper``: the figures of the papers, and their numbers."""

from __future__ import annotations

import argparse
from pathlib import Path

from contact_core.errors import ConfigError, choices
from contact_core.figures import save
from contact_core.registry import Registry
from contact_core.results import STANDARD_OUTPUT, write_json
from contact_experiments.tamsi.paper import FIGURES as TAMSI

PAPERS = Registry("paper", {"tamsi": TAMSI})
"""Key of a paper -> its figures: name -> function that makes it."""

EPILOG = """examples:
  contact-stack paper tamsi
  contact-stack paper tamsi --figure 4 7
  contact-stack paper tamsi --figure 8 --out out/gripper --json out/gripper.json

Writes one PNG per figure, and figures.json. Close everything else for speeds that mean
something."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument("paper", metavar="PAPER", help=f"the paper ({choices(PAPERS)})")
    parser.add_argument(
        "--figure", nargs="+", metavar="N",
        help="only these figures (default: all; tamsi: 4 5 6 7 8 9 IV-B)",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, default=None, help="folder of the results (default out/paper/PAPER)"
    )
    parser.add_argument(
        "--json", metavar="FILE", nargs="?", const=STANDARD_OUTPUT,
        help="also write the numbers here; without a FILE they are printed",
    )  # fmt: skip


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        0.

    Raises:
        ConfigError: If there is no such paper or figure.
    """
    figures = PAPERS[args.paper]
    for name in args.figure or ():
        if name not in figures:
            raise ConfigError(f"{args.paper} has no figure '{name}' ({choices(figures)})")
    out = args.out or Path("out") / "paper" / args.paper
    numbers = {}
    for name in args.figure or figures:
        figure, numbers[name] = figures[name]()
        path = save(figure, out / f"figure_{name.lower().replace('-', '_')}.png")
        if args.json != STANDARD_OUTPUT:
            print(f"figure {name}: {path}")
            for key, value in numbers[name]["summary"].items():
                print(f"  {key}: {value}")
    write_json(numbers, out / "figures.json", args.json)
    return 0
