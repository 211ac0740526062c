"""The command ``contact-stack paper``: all figures of the papers, our numbers beside theirs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from contact_core.base.errors import ConfigError, choices
from contact_core.base.figures import save
from contact_core.base.fingerprint import fingerprint
from contact_core.base.registry import Registry
from contact_core.base.results import STANDARD_OUTPUT, add_json_option, write_json
from contact_core.base.sweep import Plugin, Sweep, add_worker_options, chosen_workers
from contact_experiments.control.paper import PAPER as CONTACT_AWARE_CONTROL
from contact_experiments.irs.paper import PAPER as BUNDLED_GRADIENTS
from contact_experiments.papers.figure import Paper
from contact_experiments.papers.page import picture_name, shown, write_page
from contact_experiments.papers.pictures import save_film
from contact_experiments.robust.paper import PAPER as CHANCE_CONSTRAINTS
from contact_experiments.tamsi.paper import PAPER as TAMSI
from contact_stack.precompile import precompile_stack

PAPERS: Registry[Paper] = Registry(
    "paper",
    {
        "bundled_gradients": BUNDLED_GRADIENTS,
        "chance_constraints": CHANCE_CONSTRAINTS,
        "contact_aware_control": CONTACT_AWARE_CONTROL,
        "tamsi": TAMSI,
    },
)
"""Key of a paper -> the paper."""

ALL = "all"
EPILOG = """examples:
  contact-stack paper --list
  contact-stack paper tamsi
  contact-stack paper tamsi 4 7
  contact-stack paper all --cluster tcp://192.168.1.5:8786
  contact-stack paper bundled_gradients 9 --with examples/papers/02_own_smoothing_mode.py

Writes a page with pictures (PNG and SVG), films (GIF) and numbers (JSON). What has been computed is
kept in the folder: an interrupted run goes on where it was. Close everything else for speeds that
mean something."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument(
        "paper", metavar="PAPER", nargs="?", default=ALL,
        help=f"the paper ({choices([*PAPERS, ALL])})",
    )  # fmt: skip
    parser.add_argument(
        "figures", metavar="FIGURE", nargs="*", help="only these, by their names in the paper"
    )
    parser.add_argument(
        "--list", action="store_true", help="list the figures and how long they take"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("out/paper"), metavar="FOLDER",
        help="results go into FOLDER/PAPER (default: %(default)s)",
    )  # fmt: skip
    add_json_option(parser)
    parser.add_argument(
        "--with", dest="plugins", type=Path, action="append", default=[], metavar="FILE",
        help="a Python file that registers a method of your own, shown beside ours",
    )  # fmt: skip
    add_worker_options(parser)


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        0.

    Raises:
        ConfigError: If there is no such paper or figure.
    """
    papers = dict(PAPERS) if args.paper == ALL else {args.paper: PAPERS[args.paper]}
    _check_figures(papers, args.figures)
    if args.list:
        print("\n".join(_listed(papers)))
        return 0
    plugins = [Plugin.read(path) for path in args.plugins]
    for plugin in plugins:
        plugin.load()
    workers = chosen_workers(args, precompile_stack)
    quiet = args.json == STANDARD_OUTPUT
    numbers = {}
    for key, paper in papers.items():
        folder = args.out / key
        sweep = Sweep(workers, folder / "results", plugins, show=not quiet)
        numbers[key] = _make(key, paper, args.figures or list(paper.figures), sweep, folder, quiet)
        page = write_page(key, paper, _made(paper, folder), folder)
        if not quiet:
            print(f"page: {page}")
    write_json(numbers if args.paper == ALL else numbers[args.paper], args.json)
    return 0


def _check_figures(papers: Mapping[str, Paper], names: list[str]) -> None:
    known = [figure for paper in papers.values() for figure in paper.figures]
    for name in names:
        if len(papers) > 1:
            raise ConfigError("figures are chosen of one paper, not of all")
        if name not in known:
            raise ConfigError(
                f"{next(iter(papers))} has no figure '{name}' ({choices(known, name)})"
            )


def _listed(papers: Mapping[str, Paper]) -> Iterator[str]:
    for key, paper in papers.items():
        total = sum(figure.minutes for figure in paper.figures.values())
        yield f"{key}: {paper.title} ({total:.0f} min)"
        for name, figure in paper.figures.items():
            yield f"  {name:12} {figure.minutes:5.1f} min  {figure.title}"


def _make(
    key: str, paper: Paper, names: list[str], sweep: Sweep, folder: Path, quiet: bool
) -> dict[str, Any]:
    """Make figures one after the other; each is on disk before the next one begins."""
    made = {}
    left = sum(paper.figures[name].minutes for name in names)
    for name in names:
        wanted = paper.figures[name]
        if not quiet:
            print(f"{key} {name}: {wanted.title} (about {left:.0f} min to go)", flush=True)
        figure, numbers = wanted.make(sweep)
        for ending in (".png", ".svg"):
            save(figure, folder / f"{picture_name(name)}{ending}")
        if wanted.film is not None:
            label = "" if quiet else f"film of {name}"
            save_film(wanted.film(sweep), folder / f"{picture_name(name)}.gif", label)
        entry = {"sources": _sources(paper, name), **numbers}
        write_json(entry, folder / f"{picture_name(name)}.json")
        made[name] = numbers
        left -= wanted.minutes
        if not quiet:
            for claim in wanted.claims:
                beside = f" (paper: {claim.published})" if claim.published else ""
                print(f"  {claim.quantity}: {shown(claim, numbers)}{beside}")
    return made


def _made(paper: Paper, folder: Path) -> dict[str, dict[str, Any]]:
    """Find the numbers of figures that were made from these very sources."""
    found = {}
    for name in paper.figures:
        path = folder / f"{picture_name(name)}.json"
        entry = json.loads(path.read_text()) if path.exists() else {}
        if entry.get("sources") == _sources(paper, name):
            found[name] = entry
    return found


def _sources(paper: Paper, name: str) -> str:
    return fingerprint(paper.figures[name].make.__module__)
