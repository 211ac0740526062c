"""The help of every command as text that is kept in the package.

To know its options a command imports what it works with, which takes seconds for some. The texts
are written anew, after an option has changed, by ``python -m contact_stack.help_texts``.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from contact_stack.commands import build_parser

FOLDER = Path(__file__).with_name("help")
COLUMNS = 80


def kept_help(words: Sequence[str]) -> str | None:
    """Look up the help of a command.

    Args:
        words: The command, e.g. ``["bench", "push"]``.

    Returns:
        The text; None if there is none of that name.
    """
    file = FOLDER / f"{'_'.join(words)}.txt"
    return file.read_text() if file.is_file() else None


def kept_helps() -> dict[str, str]:
    """Return the help of every command, by its words with spaces between."""
    return {file.stem.replace("_", " "): file.read_text() for file in sorted(FOLDER.glob("*.txt"))}


def all_helps(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Ask every command for its help.

    Args:
        parser: Knows all commands and their options.

    Returns:
        As :func:`kept_helps` does.
    """
    return {" ".join(words): command.format_help() for words, command in _commands(parser)}


def _commands(
    parser: argparse.ArgumentParser, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    groups = [it for it in parser._actions if isinstance(it, argparse._SubParsersAction)]
    for name, sub_parser in (item for group in groups for item in group.choices.items()):
        yield from _commands(sub_parser, (*words, name))
    if not groups:
        yield words, parser


def main() -> None:
    """Write all texts, and remove those of commands that are gone."""
    os.environ["COLUMNS"] = str(COLUMNS)
    texts = all_helps(build_parser((), full=True))  # first: where a library lacks, none is lost
    for file in FOLDER.glob("*.txt"):
        file.unlink()
    for words, text in texts.items():
        (FOLDER / f"{words.replace(' ', '_')}.txt").write_text(text)


if __name__ == "__main__":
    main()
