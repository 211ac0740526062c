"""What is compared: controllers with settings that make them what they are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from contact_core.base.figures import METHODS

NULL_SPACE_STEP = 0.002
"""Bound on the step of the null-space baseline that has one, as the QP's by default [rad]."""


@dataclass(frozen=True)
class Variant:
    """A controller with settings.

    Attributes:
        label: How it is called in plots.
        color: Its colour in plots.
        values: Dotted name of a parameter -> its value; ``controller`` is always among them.
        line: Its line style in plots.
        baseline: Whether it is there for comparison only: too little contact is then
            reported, and does not fail the demo.
    """

    label: str
    color: str
    values: Mapping[str, Any] = field(default_factory=dict)
    line: str = "-"
    baseline: bool = True

    @property
    def style(self) -> dict[str, Any]:
        """Options of matplotlib's plot."""
        return {"color": self.color, "lw": 1.2, "ls": self.line, "label": self.label}


VARIANTS: dict[str, Variant] = {
    "qp": Variant("QP (24)", METHODS["qp"], {"controller": "qp"}, baseline=False),
    "qp_incremental": Variant(
        "QP (24), incremental",
        METHODS["qp"],
        {"controller": "qp", "tracking.reading": "incremental"},
        "--",
        baseline=False,
    ),
    "qp_frictionless": Variant(
        "QP (22), frictionless", METHODS["qp_frictionless"], {"controller": "qp_frictionless"}
    ),
    "null_space": Variant(
        "null-space projection", METHODS["null_space"], {"controller": "null_space"}
    ),
    "null_space_bounded": Variant(
        "null-space projection, bounded step",
        METHODS["null_space"],
        {"controller": "null_space", "null_space.step": NULL_SPACE_STEP},
        "--",
    ),
    "greedy": Variant("greedy baseline", METHODS["greedy"], {"controller": "greedy"}),
    "impedance": Variant("Cartesian impedance", METHODS["impedance"], {"controller": "impedance"}),
}
"""Those that come with the package."""
