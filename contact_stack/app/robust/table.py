"""The table a person reads after planning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ROWS = (
    ("status", "status", ""),
    ("wall time", "seconds", "s"),
    ("cost", "cost", ""),
    ("merit: infeasibility under the mean", "merit", ""),
    ("largest speed", "max_speed", "m/s"),
    ("friction at half time", "friction_mid_N", "N"),
    ("final error, mean", "mean", "m"),
    ("final error, range", "range", "m"),
    ("mean foot height", "foot_height_mean_m", "m"),
    ("largest distance with force", "force_distance_max_m", "m"),
    ("worlds in which the plan is impossible", "violation_rate", "%"),
    ("declared risk per knot", "risk_bound", "%"),
)

WIDTH = 22
"""Of a column."""


def table(summaries: Mapping[str, Mapping[str, Any]]) -> str:
    """Render summaries side by side.

    Args:
        summaries: Name of a plan -> its summary.

    Returns:
        Lines of text; quantities that apply to none of the plans are left out.
    """
    lines = ["".join([f"{'':40}", *(f"{name:>{WIDTH}}" for name in summaries)])]
    for label, key, unit in ROWS:
        values = [_value(summary, key) for summary in summaries.values()]
        if any(value is not None for value in values):
            cells = (f"{_cell(value, unit):>{WIDTH}}" for value in values)
            lines.append("".join([f"{label:40}", *cells]))
    return "\n".join(lines)


def _value(summary: Mapping[str, Any], key: str) -> Any:
    if key in summary:
        return summary[key]
    errors = summary["final_error"]
    return None if errors is None else errors[key]


def _cell(value: Any, unit: str) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return f"{100 * value if unit == '%' else value:.4g} {unit}".strip()
