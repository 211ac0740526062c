"""The page of a paper: its figures, its numbers, and ours beside them; Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from shlex import quote
from typing import Any

import markdown

from contact_core.base.files import replacement
from contact_core.base.results import look_up
from contact_experiments.papers.figure import Claim, Paper, PaperFigure

STYLE = """
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 sans-serif; }
img { max-width: 100%; }
summary { cursor: pointer; margin: 0.5rem 0; }
table { border-collapse: collapse; }
th, td { padding: 0.3rem 0.8rem; border-bottom: 1px solid #ddd; text-align: left; }
"""


def write_page(
    key: str, paper: Paper, numbers: Mapping[str, Mapping[str, Any]], folder: Path
) -> Path:
    """Write ``index.md`` and ``index.html``.

    Args:
        key: Of the paper.
        paper: The paper.
        numbers: Figure -> its numbers; those that are missing are said to be.
        folder: Where the pictures are.

    Returns:
        The HTML file.
    """
    text = "\n".join(_lines(key, paper, numbers))
    body = markdown.markdown(text, extensions=["tables"])
    html = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{paper.title}</title>'
        f"<style>{STYLE}</style>{body}</html>\n"
    )
    for name, content in (("index.md", text), ("index.html", html)):
        with replacement(folder / name) as file:
            file.write_text(content)
    return folder / "index.html"


def picture_name(figure: str) -> str:
    """Return the name of a figure's picture, without its ending."""
    return f"figure_{figure.lower().replace('-', '_').replace(' ', '_')}"


def _lines(key: str, paper: Paper, numbers: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield from (f"# {paper.title}", "")
    yield from (f"Made by `contact-stack paper {key}`.", "")
    for name, figure in paper.figures.items():
        yield from (f"## {_heading(name)}: {figure.title}", "")
        if name not in numbers:
            yield from (f"Not made yet: `contact-stack paper {key} {quote(name)}`.", "")
            continue
        yield from (f"![{figure.title}]({picture_name(name)}.png)", "")
        if figure.film is not None:
            yield from _film(figure.title, f"{picture_name(name)}.gif")
        if figure.claims:
            yield from _claims(figure, numbers[name])
        if figure.note:
            yield from (figure.note, "")
    if paper.absent:
        yield from ("## What is not made again", "")
        yield from (f"- {what}: {why}" for what, why in paper.absent.items())
        yield ""


def _heading(name: str) -> str:
    return f"Fig. {name}" if name[0].isdigit() else name


def _film(title: str, file: str) -> Iterator[str]:
    """Return a film that begins when it is opened, and ends when it is closed."""
    yield '<details class="film">'
    yield "<summary>Play the film</summary>"
    yield f'<img src="{file}" alt="Film: {escape(title)}" loading="lazy">'
    yield from ("</details>", "")


def _claims(figure: PaperFigure, numbers: Mapping[str, Any]) -> Iterator[str]:
    yield "| | paper | ours | why they differ |"
    yield "|---|---|---|---|"
    for claim in figure.claims:
        published = claim.published or "-"
        yield f"| {claim.quantity} | {published} | {shown(claim, numbers)} | {claim.reason} |"
    yield ""


def shown(claim: Claim, numbers: Mapping[str, Any]) -> str:
    """Render our number beside a claim.

    Args:
        claim: The claim.
        numbers: Those of its figure.

    Returns:
        The number; with the lowest and the highest of several seeds, if there are.
    """
    match look_up(numbers, claim.key):
        case None:
            return "-"
        case str() as text:
            return text
        case bool() as holds:
            return "yes" if holds else "no"
        case {"median": median, "lowest": lowest, "highest": highest}:
            low, high = format(lowest, claim.form), format(highest, claim.form)
            return f"{median:{claim.form}} ({low} to {high})"
        case number:
            return format(number, claim.form)
