"""The controllers that a demo compares, each as the arguments of the launch file."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Variant:
    """A controller with the settings that make it what its name says.

    Attributes:
        label: How it is called in plots.
        color: Its colour in plots.
        line: Its line style in plots.
        arguments: Arguments of demo.launch.xml; "controller" is always among them.
        baseline: Whether it is there for comparison only: too little contact is then
            reported, and does not fail the demo.
    """

    label: str
    color: str
    arguments: dict[str, str] = field(default_factory=dict)
    line: str = "-"
    baseline: bool = True


VARIANTS: dict[str, Variant] = {
    "qp": Variant("QP (24)", "#0b6e99", {"controller": "qp"}, baseline=False),
    "qp_incremental": Variant(
        "QP (24), incremental",
        "#2a9d8f",
        {"controller": "qp", "reading": "incremental"},
        baseline=False,
    ),
    "qp_frictionless": Variant(
        "QP (22), frictionless", "#7b68b5", {"controller": "qp_frictionless"}
    ),
    "null_space": Variant("null-space projection", "#b5179e", {"controller": "null_space"}),
    "null_space_bounded": Variant(
        "null-space projection, bounded step",
        "#c9a227",
        {"controller": "null_space", "null_space_step": "0.002"},
        "--",
    ),
    "greedy": Variant("greedy baseline", "#d9730d", {"controller": "greedy"}),
}

GROUPS: dict[str, tuple[str, ...]] = {"both": ("qp", "greedy"), "all": tuple(VARIANTS)}
"""Names for several of them."""


def selected(name: str) -> tuple[str, ...]:
    """Return the variants that a name stands for.

    Args:
        name: A variant or a group.

    Returns:
        Names of variants.
    """
    return GROUPS.get(name, (name,))
