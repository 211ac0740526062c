"""The named problems."""

from __future__ import annotations

from collections.abc import Callable

from contact_core.errors import choices
from robust_planner.errors import PlanningProblemError
from robust_planner.problems.block import block
from robust_planner.problems.example import Example
from robust_planner.problems.hopper import hopper
from robust_planner.problems.sled import sled
from robust_planner.problems.table_approach import table_approach

EXAMPLES: dict[str, Callable[[], Example]] = {
    "block": block,
    "hopper": hopper,
    "sled": sled,
    "table_approach": table_approach,
}


def make_example(name: str) -> Example:
    """Build a named problem.

    Args:
        name: One of ``EXAMPLES``.

    Returns:
        The problem with its settings.

    Raises:
        PlanningProblemError: If there is no problem of that name.
    """
    if name not in EXAMPLES:
        raise PlanningProblemError(f"unknown problem '{name}' ({choices(EXAMPLES)})")
    return EXAMPLES[name]()
