"""The sequence of programs that leads from a straight line to a robust plan."""

from __future__ import annotations

from dataclasses import dataclass

from robust_planner.config import PlannerConfig
from robust_planner.program import ProgramParameters


@dataclass(frozen=True)
class Stage:
    """One program of the sequence.

    Attributes:
        name: For instance ``"penalty 2/3"``.
        method: How certain pairs are imposed.
        robust: Whether the uncertain pair is treated as uncertain.
        parameters: s, rho and alpha.
    """

    name: str
    method: str
    robust: bool
    parameters: ProgramParameters


def reference_stages(config: PlannerConfig) -> list[Stage]:
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
    return _numbered(continuation.method, continuation.method, False, parameters)


def robust_stages(config: PlannerConfig) -> list[Stage]:
    """Raise the weight of the expected residual, from the reference plan on.

    Args:
        config: Without an expected residual there is one stage, for the chance constraints;
            with both, the constraints may come first.

    Returns:
        The stages; none if nothing is uncertain.
    """
    if not config.robust:
        return []
    continuation = config.continuation
    weights = [0.0]
    if config.expected_residual.enabled:
        fractions = continuation.weight_fractions
        if config.risk.enabled:
            fractions = (*continuation.chance_fractions, *fractions)
        weights = [config.expected_residual.weight * fraction for fraction in fractions]
    parameters = [
        ProgramParameters(continuation.robust_relaxation, continuation.robust_penalty, weight)
        for weight in weights
    ]
    return _numbered("robust", continuation.robust_method, True, parameters)


def _numbered(
    name: str, method: str, robust: bool, parameters: list[ProgramParameters]
) -> list[Stage]:
    return [
        Stage(f"{name} {index}/{len(parameters)}", method, robust, item)
        for index, item in enumerate(parameters, start=1)
    ]
