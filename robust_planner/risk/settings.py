"""How a plan that keeps a promise is searched for."""

from __future__ import annotations

from dataclasses import dataclass

from contact_core.base.config import nested, parameter

MAX_DRAWN = 200_000
"""All of these worlds are simulated at once, and have to fit into the memory."""


@dataclass(frozen=True)
class ShootingConfig:
    """How controls are improved."""

    iterations: int = parameter(80, "largest number of steps", low=1, high=10_000)
    nodes: int = parameter(
        51, "number of points between which a change of the controls is linear", low=2, high=1000
    )


@dataclass(frozen=True)
class ExplorationConfig:
    """How controls are drawn that differ much from those of the nominal plan."""

    generations: int = parameter(
        0, "number of generations of controls that are drawn; 0: none", low=0, high=1000
    )
    population: int = parameter(48, "number of controls in a generation", low=4, high=10_000)


@dataclass(frozen=True)
class RiskSettings:
    """How a plan that keeps a promise is searched for."""

    worlds: int = parameter(
        16, "number of worlds that are planned for beside the median", low=2, high=1000
    )
    margin: float = parameter(0.02, "share of every bound that is left free", low=0.0, high=0.9)
    samples: int = parameter(
        2000, "number of worlds that choose between plans", low=100, high=MAX_DRAWN
    )
    checks: int = parameter(
        10_000, "number of fresh worlds in which a plan is checked", low=100, high=MAX_DRAWN
    )
    confidence: float = parameter(
        0.95,
        "confidence of the two-sided interval whose upper end is the bound",
        above=0.0,
        high=0.999,
    )
    impact_step: float = parameter(
        1e-3,
        "longest time step of the simulations where an impact speed is bounded or there are "
        "obstacles; elsewhere it is that of the knots; it is halved until it does not matter",
        unit="s",
        above=0.0,
    )
    seed: int = parameter(0, "seed of every draw", low=0)
    shooting: ShootingConfig = nested(ShootingConfig)
    exploration: ExplorationConfig = nested(ExplorationConfig)
