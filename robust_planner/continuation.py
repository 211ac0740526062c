"""The sequence of programs that leads from a straight line to a robust plan."""

from __future__ import annotations

from dataclasses import dataclass

from robust_planner.chance_constraint import SMALLEST_RISK
from robust_planner.config import ContinuationConfig, PlannerConfig, RiskConfig
from robust_planner.program import ProgramParameters


@dataclass(frozen=True)
class ProgramStage:
    """One program of the sequence.

    Attributes:
        name: For instance ``"penalty 2/3"``.
        method: How certain pairs are imposed.
        robust: Whether the uncertain pair is treated as uncertain.
        parameters: s, rho and alpha.
        risk: Chance constraints of the uncertain pair.
    """

    name: str
    method: str
    robust: bool
    parameters: ProgramParameters
    risk: RiskConfig


def reference_stages(config: PlannerConfig) -> list[ProgramStage]:
    """Tighten complementarity under the mean contact parameters.

    Args:
        config: Its method chooses the exact penalty rho, ascending, or the relaxation
            s, descending.

    Returns:
        The stages.
    """
    continuation = config.continuation
    if continuation.method == "penalty":
        parameters = [ProgramParameters(penalty=rho) for rho in continuation.penalties]
    else:
        parameters = [ProgramParameters(relaxation=s) for s in continuation.relaxations]
    return _numbered(continuation.method, parameters)


def robust_stages(config: PlannerConfig) -> list[ProgramStage]:
    """Raise the weight of the expected residual, from the reference plan on.

    Args:
        config: Without an expected residual there is one stage, for the chance constraints;
            with both, the constraints may come first. An expected residual alone may be
            approached under chance constraints, which keep the plan near the terrain.

    Returns:
        The stages; none if nothing is uncertain.
    """
    if not config.robust:
        return []
    continuation, risk = config.continuation, config.risk
    if not config.expected_residual.enabled:
        return _robust(continuation, [(0.0, risk)])
    alpha = config.expected_residual.weight
    fractions = continuation.weight_fractions
    if not risk.enabled and continuation.scaffold_theta > 0.0:
        risk = RiskConfig(enabled=True, beta=SMALLEST_RISK, theta=continuation.scaffold_theta)
    if risk.enabled:
        fractions = (*continuation.chance_fractions, *fractions)
    weights = [(alpha * fraction, risk) for fraction in fractions]
    if risk is not config.risk:
        weights.append((alpha, config.risk))
    return _robust(continuation, weights)


def _robust(
    continuation: ContinuationConfig, weights: list[tuple[float, RiskConfig]]
) -> list[ProgramStage]:
    """Number the stages of given alpha and chance constraints."""
    s, rho = continuation.robust_relaxation, continuation.robust_penalty
    return [
        ProgramStage(
            name=f"robust {index}/{len(weights)}",
            method=continuation.robust_method,
            robust=True,
            parameters=ProgramParameters(s, rho, alpha),
            risk=risk,
        )
        for index, (alpha, risk) in enumerate(weights, start=1)
    ]


def _numbered(method: str, parameters: list[ProgramParameters]) -> list[ProgramStage]:
    return [
        ProgramStage(f"{method} {index}/{len(parameters)}", method, False, item, RiskConfig())
        for index, item in enumerate(parameters, start=1)
    ]
