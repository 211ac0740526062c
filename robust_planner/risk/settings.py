"""How a plan that keeps a promise is searched for."""

from __future__ import annotations

from dataclasses import dataclass

from contact_core.base.config import nested, parameter


@dataclass(frozen=True)
class ShootingConfig:
    """How controls are improved."""

    iterations: int = parameter(80, "Most steps.", low=1)
    nodes: int = parameter(51, "Points between which a change of the controls is linear.", low=2)


@dataclass(frozen=True)
class ExplorationConfig:
    """How controls are drawn that differ much from those of the nominal plan."""

    generations: int = parameter(0, "How often it is drawn anew; 0: not at all.", low=0)
    population: int = parameter(48, "Controls in a generation.", low=4)


@dataclass(frozen=True)
class RiskSettings:
    """How a plan that keeps a promise is searched for."""

    worlds: int = parameter(16, "Worlds that are planned for beside the median.", low=2)
    margin: float = parameter(0.02, "Share of every bound that is left free.", low=0.0, high=0.9)
    samples: int = parameter(2000, "Worlds that choose between plans.", low=100)
    checks: int = parameter(10_000, "Fresh worlds in which a plan is checked.", low=100)
    confidence: float = parameter(
        0.95, "Of the two-sided interval whose upper end is the bound.", above=0.0, high=0.999
    )
    impact_step: float = parameter(
        1e-3,
        "Longest time step of the simulations where an impact speed is bounded or there are "
        "obstacles; elsewhere it is that of the knots.",
        unit="s",
        above=0.0,
    )
    seed: int = parameter(0, "Of every draw.", low=0)
    shooting: ShootingConfig = nested(ShootingConfig)
    exploration: ExplorationConfig = nested(ExplorationConfig)
