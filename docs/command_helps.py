"""Fills the page of the commands from the help of each, which the package keeps."""

from __future__ import annotations

from typing import Any

from contact_stack.help_texts import kept_helps

PLACE = "<!-- commands -->"


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put the texts where the page asks for them; called by mkdocs.

    Args:
        markdown: Text of a page.
        page: Unused.
        config: Unused.
        files: Unused.

    Returns:
        The text with all commands.
    """
    if PLACE not in markdown:
        return markdown
    sections = (f"## {words}\n\n```text\n{text}```\n" for words, text in kept_helps().items())
    return markdown.replace(PLACE, "\n".join(sections))
