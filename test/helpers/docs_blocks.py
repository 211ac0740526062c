"""The code of the documentation: fenced blocks by language; indented ones are for a shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"^\n((?:    .*\n|\n)*    .*\n)", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A piece of code of a page.

    Attributes:
        page: Its path below the repository.
        language: E.g. ``"bash"``; empty if the page does not say.
        text: The code.
    """

    page: str
    language: str
    text: str


def pages() -> list[Path]:
    """Return README, CONTRIBUTING and every page that is written by hand."""
    written = [page for page in REPOSITORY.glob("docs/**/*.md") if "papers" not in page.parts]
    return [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted(written)]


def blocks(page: Path) -> Iterator[Block]:
    """Return the code of a page, in its order within fenced and indented blocks.

    Args:
        page: The page's file.
    """
    name, text = str(page.relative_to(REPOSITORY)), page.read_text()
    for language, code in FENCED.findall(text):
        yield Block(name, language, code)
    for code in INDENTED.findall(FENCED.sub("", text)):
        lines = code.splitlines()
        if any(line.strip() for line in lines):
            yield Block(name, "bash", "\n".join(line[4:] for line in lines) + "\n")


def commands(block: Block) -> Iterator[list[str]]:
    """Return the words of every command of a shell's block.

    Args:
        block: The block.
    """
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words:
            end = next((i for i, word in enumerate(words) if word in ("&&", "||", "&", ";")), None)
            yield words[:end]
            words = [] if end is None else words[end + 1 :]
