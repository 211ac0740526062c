"""What the controller's tick says, as values for /diagnostics."""

from __future__ import annotations

from collections.abc import Iterable

from contact_aware_control.controllers import ControllerOutput


def diagnosis(output: ControllerOutput) -> dict[str, object]:
    """Return forces, constraints and slack of the last tick.

    Args:
        output: Of the controller; empty while the arm is held.

    Returns:
        Name -> value, the unit in the name; empty without contact.
    """
    values: dict[str, object] = {}
    if output.contact_links:
        values["contacts"] = " ".join(output.contact_links)
        values["measured_force_N"] = _numbers(output.measured_force)
        values["predicted_force_N"] = _numbers(output.predicted_force)
        values["force_limit_N"] = _numbers(output.force_limit)
        values["force_slack_N"] = f"{output.slack:.2f}"
    if output.active_constraints:
        values["active_constraints"] = ", ".join(output.active_constraints)
    return values


def _numbers(values: Iterable[float]) -> str:
    return " ".join(f"{value:.1f}" for value in values)
