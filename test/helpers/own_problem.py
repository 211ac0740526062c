"""Problems of the robust planner, changed, e.g. so that they are planned in a few seconds."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from robust_planner.examples import Example

CART = Path(__file__).resolve().parents[2] / "examples/robust_planner/cart/cart.yaml"

QUICK: Mapping[str, Any] = {
    "knots": 11,
    "search": {
        "worlds": 4,
        "samples": 200,
        "checks": 500,
        "shooting": {"nodes": 6, "iterations": 8},
    },
}


def changed_cart(folder: Path, changes: Mapping[str, Any]) -> Path:
    """Return a copy of the cart's problem file with other values; None removes one."""
    for file in CART.parent.iterdir():
        (folder / file.name).write_text(file.read_text())
    values = {**yaml.safe_load(CART.read_text()), **changes}
    path = folder / "cart.yaml"
    path.write_text(yaml.safe_dump({k: v for k, v in values.items() if v is not None}))
    return path


def quick_cart(folder: Path) -> Path:
    """Return a copy that is planned in a few seconds."""
    return changed_cart(folder, QUICK)


def with_knots(example: Example, knots: int) -> Example:
    """Return an example with another number of knots: its plans are found sooner with fewer."""
    problem, robust = (
        dataclasses.replace(given, knots=knots)
        for given in (example.problem, example.robust_problem)
    )
    return dataclasses.replace(example, problem=problem, robust_problem=robust)
