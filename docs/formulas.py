"""Draws the formulas of the documentation, which stand between dollar signs."""

from __future__ import annotations

import base64
import html
import io
import re
from functools import cache
from typing import Any

from matplotlib import rc_context
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import math_to_image

FORMULA = re.compile(r"\$([^$\n]+(?:\n[^$\n]+)?)\$")
CODE = re.compile(r"(^```.*?^```$|^    [^\n]*$|`[^`\n]*`)", re.DOTALL | re.MULTILINE)
LOOK = {"mathtext.fontset": "cm", "svg.fonttype": "path", "savefig.transparent": True}
EX = 5.2
"""Height of an x of the text [pt]."""


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put pictures in the place of formulas; called by mkdocs.

    Args:
        markdown: Text of a page.
        page: Unused.
        config: Unused.
        files: Unused.

    Returns:
        The text with pictures; code stays as it is.
    """
    if "$" not in markdown:
        return markdown
    parts = CODE.split(markdown)
    return "".join(
        part if CODE.fullmatch(part) else FORMULA.sub(lambda found: picture(found[1]), part)
        for part in parts
    )


@cache
def picture(formula: str) -> str:
    """Return a formula as HTML that stands on the line of the text.

    Args:
        formula: In TeX, as far as matplotlib knows it.
    """
    formula = " ".join(formula.split())
    drawn = io.BytesIO()
    with rc_context({**LOOK, "svg.hashsalt": formula}):
        font = FontProperties(size=12.0)
        depth = math_to_image(f"${formula}$", drawn, prop=font, dpi=72, format="svg")
    text = drawn.getvalue().decode()
    height = re.search(r'height="([\d.]+)pt"', text)
    assert height is not None
    style = f"height:{float(height[1]) / EX:.2f}ex;vertical-align:{-depth / EX:.2f}ex"
    source = base64.b64encode(text.encode()).decode()
    alternative = html.escape(formula, quote=True)
    return (
        f'<img class="formula" alt="{alternative}" style="{style}" '
        f'src="data:image/svg+xml;base64,{source}">'
    )
