"""Colours the code of the documentation when it is built, so that no page loads anything for it."""

from __future__ import annotations

from typing import Any

from mkdocs.structure.files import File
from pygments.formatters import HtmlFormatter


def on_files(files: Any, config: Any) -> Any:
    """Add the colours to the site; called by mkdocs.

    Args:
        files: Those of the site.
        config: Of the site.

    Returns:
        The files.
    """
    colors = HtmlFormatter(style="friendly").get_style_defs(".highlight")
    files.append(File.generated(config, "highlight.css", content=colors))
    return files
