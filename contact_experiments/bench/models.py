"""``contact-stack bench models``: every public model, read by us and by its format's reference."""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from contact_core.base.results import add_json_option, write_json
from contact_core.base.sweep import Sweep, add_sweep_options, chosen_workers
from contact_experiments.models.check import Fate, Outcome, check
from contact_experiments.models.packages import (
    MJCF_PACKAGES,
    PACKAGES,
    folder,
    label,
    models_in,
)
from contact_stack.precompile import compile_once

Outcomes = Mapping[Path, Outcome]
_ELEMENTS = re.compile(r"(\S+/\S+(, \S+/\S+)*): (.*)")
SHOWN = 3
"""Files of one kind that are named."""

HEAD = """# Public models

What `contact-stack bench models` finds: every URDF, SDF and MJCF of public packages, read by us and
by the reference of its format (Pinocchio, Drake's parser, MuJoCo), which has to load it. At seeded
random states mass matrices, poses and forces of actuators are compared; then limits, damping,
friction, springs and rotors of the joints, how many shapes can touch, and the friction of MuJoCo's
contacts. A hundred steps have to be possible. A difference is silent unless a warning says why it
is there. What is refused is tried with `repair=True`. A URDF that has a mass and no joint that
moves is an object: it floats. Warnings count once per file and kind.

    pip install --no-deps --target models/robosuite robosuite     # and so on, one folder each
    contact-stack bench models --packages models/* --write docs/models.md

"""
COLUMNS = (
    "package", "files", "the reference loads", "we load", "more with `repair=True`", "together",
    "warned", "refused", "silent differences",
)  # fmt: skip
PARTS = ("what", "files", "for instance")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument(
        "--packages", nargs="+", type=Path, metavar="DIR", default=[],
        help="folders with models, each a package, as `pip install --no-deps --target DIR NAME` "
        "makes them; of two, one in the other, the inner one has its files (default: the installed "
        "ones of the extra 'models')",
    )  # fmt: skip
    add_json_option(parser)
    parser.add_argument(
        "--write", type=Path, metavar="FILE",
        help="where the tables are written as Markdown (default: they are printed)",
    )  # fmt: skip
    add_sweep_options(parser, "out/bench/models")


def main(args: argparse.Namespace) -> int:
    """Run the benchmark.

    Args:
        args: The parsed command line.

    Returns:
        0 if no difference is silent, else 1.
    """
    roots = [path.resolve() for path in args.packages]
    roots = roots or [folder(name) for name in (*PACKAGES, *MJCF_PACKAGES)]
    owners = {path: root for root in sorted(roots) for path in models_in(root)}
    sweep = Sweep(chosen_workers(args, compile_once), args.out)
    found = sweep.run(check, [(path,) for path in owners], "public models")
    packages: dict[Path, dict[Path, Outcome]] = {root: {} for root in roots}
    for (path, root), outcome in zip(owners.items(), found, strict=True):
        packages[root][path.relative_to(root)] = outcome
    named = {label(root): outcomes for root, outcomes in packages.items() if outcomes}
    text = HEAD + "\n".join(tables(named)) + "\n"
    if args.write:
        args.write.write_text(text)
    else:
        print(text, end="")
    rows = {name: {str(p): asdict(o) for p, o in found.items()} for name, found in named.items()}
    write_json(rows, args.json)
    return int(any(outcome.silent for outcome in found))


def tables(packages: Mapping[str, Outcomes]) -> Iterator[str]:
    """Yield the lines of the tables: one of all packages, and one for each.

    Args:
        packages: Name -> file -> what became of it.
    """
    yield from _lines(COLUMNS)
    everything = {
        Path(name) / path: outcome
        for name, outcomes in packages.items()
        for path, outcome in outcomes.items()
    }
    for name, outcomes in (*packages.items(), ("all", everything)):
        yield _row(name, list(outcomes.values()))
    for name, outcomes in packages.items():
        rows = list(_kinds(outcomes))
        if rows:
            yield f"\n## {name}\n"
            yield from (*_lines(PARTS), *rows)


def _lines(titles: Sequence[str]) -> tuple[str, str]:
    return f"| {' | '.join(titles)} |", "|" + "---|" * len(titles)


def _row(name: str, outcomes: Sequence[Outcome]) -> str:
    fates = Counter(outcome.fate for outcome in outcomes)
    known = [outcome for outcome in outcomes if outcome.fate is not Fate.NO_MODEL]
    loaded, more = fates[Fate.LOADED], fates[Fate.REPAIRED]
    share = f"{100.0 * (loaded + more) / len(known):.1f} %" if known else ""
    cells = (
        name, len(outcomes), len(known), loaded, more, share,
        sum(bool(outcome.warnings) for outcome in known), fates[Fate.REFUSED],
        sum(bool(outcome.silent) for outcome in known),
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def _kinds(outcomes: Outcomes) -> Iterator[str]:
    """Yield a row for each kind of refusal, warning and silent difference, most frequent first."""
    groups: dict[tuple[str, str], dict[Path, None]] = defaultdict(dict)
    for path, outcome in outcomes.items():
        if outcome.fate in (Fate.REPAIRED, Fate.REFUSED):
            groups[outcome.fate, kind(outcome.reason)][path] = None
        for said in _clauses(outcome.warnings):
            groups["warned", kind(said)][path] = None
        for quantity in outcome.silent:
            groups["silent difference", quantity][path] = None
    order = ("silent difference", Fate.REFUSED, Fate.REPAIRED, "warned")
    for (what, why), paths in sorted(
        groups.items(), key=lambda item: (order.index(item[0][0]), -len(item[1]))
    ):
        some = ", ".join(f"`{path}`" for path in list(paths)[:SHOWN])
        yield f"| {what}: {why} | {len(paths)} | {some} |"


def _clauses(said: Iterable[str]) -> Iterator[str]:
    """Yield what warnings say, element by element."""
    for clause in (clause for text in said for clause in text.split("; ")):
        found = _ELEMENTS.fullmatch(kind(clause))
        yield from (f"{n}: {found[3]}" for n in found[1].split(", ")) if found else (clause,)


def kind(text: str) -> str:
    """Return a message without what differs from file to file: names, lines, numbers.

    Args:
        text: The message.
    """
    text = re.sub(r"^(model|/\S+): ", "", text)
    text = re.sub(r" ?\(line [^)]*\)| ?\(line \d.*? more\)", "", text)
    text = re.sub(r"'[^']*'", "'…'", text)
    text = re.sub(r"\(valid: [^)]*\)?", "", text)
    text = re.sub(r"\[[^]]*\]|(?<!\^)(?<!> )-?\b\d[\d.]*(e[-+]?\d+)?\b", "n", text)
    text = re.sub(r"(('…'|n)( \([^)]*\))?(, | and )?){2,}", "'…', ", text)
    text = re.sub(r"([^,:]+)(,\1)+", r"\1", text)
    return " ".join(text.replace("|", "/").split()).rstrip(",: ")
