"""Parameters of the planner's node."""

from __future__ import annotations

from dataclasses import dataclass

from contact_core.config import nested, parameter


@dataclass(frozen=True)
class GoalLimitsConfig:
    """The largest goals that are accepted, so that one goal cannot exhaust the machine."""

    horizon: int = parameter(1000, "knots", low=1, high=100_000)
    iterations: int = parameter(
        1000, "iterations; also what a goal without a limit gets", low=1, high=1_000_000
    )
    samples: int = parameter(200_000, "samples of all knots together", low=1, high=100_000_000)
    starts: int = parameter(100, "independent plans of one goal", low=1, high=10_000)


@dataclass(frozen=True)
class PlannerNodeConfig:
    """The planner in the graph."""

    workers: int = parameter(1, "threads of a plan; they do not change it", low=1, high=64)
    force_margin: float = parameter(
        1.5, "force limit of a link relative to the largest force planned on it", low=1.0, high=10.0
    )
    limits: GoalLimitsConfig = nested(GoalLimitsConfig)
