"""The table a person reads after planning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ROWS = (
    ("status", "status", ""),
    ("wall time", "seconds", "s"),
    ("cost", "cost", ""),
    ("merit: infeasibility under the mean", "merit", ""),
    ("largest control", "max_control", "N or Nm"),
    ("largest speed", "max_speed", "m/s or rad/s"),
    ("friction at half time", "friction_mid_N", "N"),
    ("final error, mean", "final_error.mean", "m"),
    ("final error, range", "final_error.range", "m"),
    ("  in tamsi_sim, mean", "tamsi.final_error.mean", "m"),
    ("  in tamsi_sim, range", "tamsi.final_error.range", "m"),
    ("impact speed, mean", "impact.mean", "m/s"),
    ("impact speed, range", "impact.range", "m/s"),
    ("impact speed, largest", "impact.largest", "m/s"),
    ("  in tamsi_sim, mean", "tamsi.impact.mean", "m/s"),
    ("  in tamsi_sim, range", "tamsi.impact.range", "m/s"),
    ("  in tamsi_sim, largest", "tamsi.impact.largest", "m/s"),
    ("largest speed in tamsi_sim", "tamsi.max_speed", "m/s"),
    ("mean foot height", "foot_height_mean_m", "m"),
    ("largest distance with force", "force_distance_max_m", "m"),
    ("worlds in which the plan is impossible", "violation_rate", "%"),
    ("  Gaussian prediction", "violation_rate_predicted", "%"),
    ("declared risk per knot", "risk_bound", "%"),
)
"""Label, path of keys in the summary, unit."""

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
    for label, path, unit in ROWS:
        values = [look_up(summary, path) for summary in summaries.values()]
        if any(value is not None for value in values):
            cells = (f"{_cell(value, unit):>{WIDTH}}" for value in values)
            lines.append("".join([f"{label:40}", *cells]))
    return "\n".join(lines)


def look_up(summary: Mapping[str, Any], path: str) -> Any:
    """Follow a path of keys, separated by points.

    Args:
        summary: Nested mappings.
        path: For instance ``"tamsi.impact.mean"``.

    Returns:
        The value; None if it, or something on the way, is None.
    """
    value: Any = summary
    for key in path.split("."):
        value = None if value is None else value[key]
    return value


def _cell(value: Any, unit: str) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return f"{100 * value if unit == '%' else value:.4g} {unit}".strip()
