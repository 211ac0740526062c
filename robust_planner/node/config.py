"""Parameters of the action server."""

from __future__ import annotations

from dataclasses import dataclass

from contact_core.config import parameter


@dataclass(frozen=True)
class PlanServerConfig:
    """What a client may ask for; the plan itself is described by its goal."""

    max_knots: int = parameter(401, "Most knots of a plan: memory and time grow with them.", low=2)
    max_samples: int = parameter(
        1_000_000, "Most sampled worlds for the empirical violation rate.", low=1
    )
