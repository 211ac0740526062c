"""What commands leave behind: JSON files, tables, and options with numbers."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TextIO, TypeVar

from contact_core.base.files import replacement

Number = TypeVar("Number", int, float)

STANDARD_OUTPUT = "-"
"""Stands for a file in the option ``--json``."""

_json_output: ContextVar[TextIO | None] = ContextVar("_json_output", default=None)

LABEL_WIDTH, COLUMN_WIDTH = 40, 20
MIN_SHOWN = 1e-5
"""What is nearer to zero is shown as zero, unless a table says otherwise."""

Rows = Sequence[tuple[str, str, float, str]]
"""Lines of a table: label, key of the summary with dots between levels, factor and unit."""

Columns = Sequence[tuple[str, str, float, str]]
"""Columns of a table: title, key of the summary with dots between levels, factor and format."""


def write_json(content: Any, *targets: Path | str | None) -> None:
    """Write results as JSON.

    Args:
        content: The results; what is infinite or no number becomes null, which JSON lacks.
        *targets: Files, whose folders are made; ``"-"`` prints them, None is passed over.

    Raises:
        OSError: If a file cannot be written; what was there stays.
    """
    text = json.dumps(_finite(content), indent=2) + "\n"
    for target in targets:
        if target == STANDARD_OUTPUT:
            print(text, end="", file=_json_output.get())
        elif target is not None:
            path = Path(target)
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacement(path) as file:
                file.write_text(text)


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Declare ``--json [FILE]``, the same for all commands, for :func:`write_json`.

    Args:
        parser: The parser of a command.
    """
    parser.add_argument(
        "--json", metavar="FILE", nargs="?", const=STANDARD_OUTPUT,
        help="also write the results as JSON; without a FILE they are all that is printed",
    )  # fmt: skip


@contextmanager
def only_json(target: Path | str | None) -> Iterator[None]:
    """Leave standard output to the JSON of :func:`write_json`, where it is to be printed.

    Args:
        target: What the option ``--json`` says; whatever else is printed in the block goes to
            standard error if this is :data:`STANDARD_OUTPUT`.
    """
    if target != STANDARD_OUTPUT:
        yield
        return
    token = _json_output.set(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _json_output.reset(token)


def at_least(lowest: Number, highest: Number | None = None) -> Callable[[str], Number]:
    """Return what reads a finite number of an option, for argparse.

    Args:
        lowest: Smallest valid number; its type is that of all.
        highest: Largest valid number; None for no bound.
    """
    finite = "finite, " if isinstance(lowest, float) else ""
    valid = f"{finite}{lowest} or more" if highest is None else f"{lowest} to {highest}"

    def number(text: str) -> Number:
        value = type(lowest)(text)
        if not lowest <= value < math.inf or (highest is not None and value > highest):
            raise argparse.ArgumentTypeError(f"{text} (valid: {valid})")
        return value

    return number


def table(
    columns: Mapping[str, Any],
    rows: Rows,
    head: str = "",
    width: int = COLUMN_WIDTH,
    digits: int = 3,
    smallest: float = MIN_SHOWN,
) -> list[str]:
    """Render the most telling figures of several summaries side by side, as lines of text.

    Args:
        columns: Name -> summary.
        rows: What is shown of each.
        head: Stands before the names.
        width: Of a column.
        digits: Significant digits of a number.
        smallest: What is nearer to zero is shown as zero.
    """
    lines = [(head, list(columns))]
    for label, key, factor, unit in rows:
        values = (look_up(column, key) for column in columns.values())
        cells = [_cell(value, factor, unit, digits, smallest) for value in values]
        lines.append((label, cells))
    return [
        "".join([f"{label:{LABEL_WIDTH}}", *(f"{cell:>{width}}" for cell in cells)])
        for label, cells in lines
    ]


def lines(rows: Sequence[Mapping[str, Any]], columns: Columns) -> list[str]:
    """Render a summary per line, below the titles of its columns.

    Args:
        rows: The summaries.
        columns: What is shown of each.
    """
    cells = [[title for title, _, _, _ in columns]]
    for row in rows:
        shown = ((look_up(row, key), factor, form) for _, key, factor, form in columns)
        cells.append([_formatted(*cell) for cell in shown])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True))
        for line in cells
    ]


def look_up(summary: Mapping[str, Any], path: str) -> Any:
    """Follow a path of keys, separated by points.

    Args:
        summary: Nested mappings.
        path: For instance ``"tamsi.impact.mean"``.

    Returns:
        The value; None if it, or something on the way, is None.
    """
    value: Any = summary
    for key in path.split("."):
        value = None if value is None else value[key]
    return value


def _formatted(value: Any, factor: float, form: str) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else format(factor * value, form)


def _cell(value: Any, factor: float, unit: str, digits: int, smallest: float) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case str():
            return value
    shown = value * factor
    form = ".0f" if abs(shown) < smallest or abs(shown) >= 1e3 else f".{digits}g"
    return f"{shown:{form}} {unit}".strip()


def _finite(content: Any) -> Any:
    match content:
        case float():
            return content if math.isfinite(content) else None
        case Mapping():
            return {key: _finite(value) for key, value in content.items()}
        case list() | tuple():
            return [_finite(value) for value in content]
    return content
