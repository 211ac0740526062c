"""The notebooks run cell by cell, and show what a notebook shows: the last value of a cell."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.figure
import pytest

NOTEBOOKS = Path(__file__).resolve().parents[2] / "examples/notebooks"


def run(cell: str, names: dict[str, Any]) -> Any:
    """Run a cell as Jupyter does, and return what it would show."""
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


@pytest.mark.parametrize("file", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda file: file.stem)
def test_every_cell_of_a_notebook_runs(file: Path) -> None:
    mpl.use("agg")
    notebook = json.loads(file.read_text())
    assert notebook["nbformat"] == 4
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    names: dict[str, Any] = {}
    shown = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            # What it showed where it was written is not kept.
            assert cell["outputs"] == [] and cell["execution_count"] is None
            shown.append(run(cell["source"], names))
    assert all(value is not None for value in shown)
    views = [value for value in shown if hasattr(value, "_repr_html_")]
    assert any("<iframe srcdoc=" in view._repr_html_() for view in views)
    assert any(isinstance(value, matplotlib.figure.Figure) for value in shown)
