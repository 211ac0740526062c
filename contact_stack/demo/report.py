"""What a person reads at the end of a demo: the table, and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contact_stack.demo.variants import VARIANTS

ROWS = (
    ("contact force, median", "contact", "force_post_impact_p50_N", 1.0, "N"),
    ("contact force, 99 %", "contact", "force_post_impact_p99_N", 1.0, "N"),
    ("contact force, peak", "contact", "force_peak_N", 1.0, "N"),
    ("contact segments", "contact", "segments", 1, ""),
    ("position error in contact, rms", "tracking", "position_rms_contact_m", 1e3, "mm"),
    ("position error in free space, rms", "tracking", "position_rms_free_m", 1e3, "mm"),
    ("joint speed after contact, max", "release", "joint_speed_max_rad_s", 1.0, "rad/s"),
    ("force falls before release within", "release", "force_fall_s", 1e3, "ms"),
    ("contact location error, median", "estimator", "location_error_p50_m", 1e3, "mm"),
    ("contact on the right link", "estimator", "link_correct_fraction", 100.0, "%"),
    ("controller tick, median", "loop", "tick_p50_us", 1.0, "us"),
    ("deadline misses", "loop", "deadline_misses", 1, ""),
    ("mug on the cart", "mug", "on_cart", None, ""),
    ("mug tilt", "mug", "tilt_rad", 1.0, "rad"),
)

WIDTH = 20
"""Of a column."""


def table(summaries: Mapping[str, Mapping[str, Any]]) -> str:
    """Render the most telling figures of each run side by side.

    Args:
        summaries: Controller name -> summary.

    Returns:
        Lines of text.
    """
    limit = next(iter(summaries.values()))["force_limit_N"]
    lines = [
        f"force limit {limit:g} N; forces and errors are the simulator's ground truth",
        "".join([f"{'':36}", *(f"{name:>{WIDTH}}" for name in summaries)]),
    ]
    for label, group, key, scale, unit in ROWS:
        cells = [_cell(summary[group][key], scale, unit) for summary in summaries.values()]
        lines.append("".join([f"{label:36}", *(f"{cell:>{WIDTH}}" for cell in cells)]))
    factors = (f"{summary['real_time_factor']:.2f}" for summary in summaries.values())
    lines.append("".join([f"{'real-time factor':36}", *(f"{cell:>{WIDTH}}" for cell in factors)]))
    return "\n".join(lines)


def _cell(value: Any, scale: float | None, unit: str) -> str:
    if value is None:
        return "-"
    if scale is None:
        return "yes" if value else "no"
    number = f"{value * scale:d}" if isinstance(value, int) else f"{value * scale:.3g}"
    return f"{number} {unit}".strip()


def verdict(failures: Mapping[str, Sequence[str]]) -> tuple[list[str], bool]:
    """Say which runs cannot be judged, and whether that makes the demo fail.

    Args:
        failures: What is missing in the run of each controller.

    Returns:
        One line each; True if a controller that is no baseline is among them.
    """
    lines: list[str] = []
    for controller, reasons in failures.items():
        kind = "note" if VARIANTS[controller].baseline else "failed run"
        lines.extend(f"{kind}: {controller}: {reason}" for reason in reasons)
    failed = any(reasons and not VARIANTS[name].baseline for name, reasons in failures.items())
    return lines, failed
