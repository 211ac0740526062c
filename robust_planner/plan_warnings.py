"""Warnings about parameters with which a plan is less robust than it looks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from robust_planner.chance_constraint import MIN_RISK_BOUND, chance_bounds
from robust_planner.config import PlannerConfig
from robust_planner.evaluation.violation import highest_force
from robust_planner.problem import RobustProblem
from robust_planner.risk.worlds import Samples, Uncertain, certain_value
from robust_planner.trajectory import ContactTrajectory

# Relaxations that start larger than this led into infeasible basins.
MAX_RELAXATION = 0.1
# A plan that dissipates less than this share of the expected power has no friction to speak of.
MIN_FRICTION_SHARE = 0.5
# A plan whose forces act further away than so many deviations hangs in the air.
MAX_DEVIATIONS = 4.0
# With less expected power nothing slides [W, summed over knots].
MIN_POWER = 1e-3
# Quantiles between which a quantity nearly always is.
USUAL = 0.001, 0.999


class PlanWarningKind(Enum):
    """What is wrong; the value says why and what to do."""

    BOUND_INACTIVE = (
        "kappa_theta sigma >= mu: the risk bound allows sliding without friction; "
        "lower theta or sigma"
    )
    NEGATIVE_FRICTION = (
        "mu < 2 sigma: the Gaussian gives negative friction a noticeable probability; "
        "lower sigma or expect pessimistic plans"
    )
    VACUOUS_BOUND = "a risk bound of 0.5 is no safety statement: read the violation rate instead"
    RELAXATION_START = (
        f"relaxation starts above {MAX_RELAXATION:g}, which can end in an infeasible basin; "
        "start lower"
    )
    SLIP_SCALE = (
        "the plan slides without friction: slip_scale times the slip is small against the "
        "deviation of the cone, so that no friction costs least; raise slip_scale, lower sigma "
        "or set risk bounds"
    )
    FORCE_AT_DISTANCE = (
        "force acts far from any terrain that is likely: the weight of the expected residual or "
        "its distance_scale is too small to forbid it; raise one of them or set risk bounds"
    )
    NOT_READ = (
        "the model's file has what no plan knows, and what executes the plan does: take it out of "
        "the machine and the file, or plan with a margin for it"
    )
    NO_UNCERTAINTY = "sigma is 0: planned as if nothing was uncertain; give the standard deviation"
    CONTRADICTION = (
        "what the problem has is hardly ever drawn: give friction the same in both; mass is a "
        "factor (1 = as modelled), all else how far it is off (0 = as given)"
    )
    ROUNDED = (
        "many measured values are equal: on a grid, they are taken as anywhere within half a step "
        "of it; else, if they were rounded, the promise does not hold for what lies between them; "
        "give them as they were measured"
    )


@dataclass(frozen=True)
class PlanWarning:
    """One warning.

    Attributes:
        kind: What is wrong and the remedy.
        values: The values that caused it.
    """

    kind: PlanWarningKind
    values: str

    def __str__(self) -> str:
        """Render kind and values in one line."""
        return f"{self.kind.name}: {self.kind.value} ({self.values})"


def warn_of_parameters(problem: RobustProblem, config: PlannerConfig) -> list[PlanWarning]:
    """Find doubtful parameters before planning.

    Args:
        problem: The problem.
        config: The parameters.

    Returns:
        The warnings, none if all is well.
    """
    warnings = []
    if problem.model.source is not None and problem.model.source.unread:
        values = ", ".join(problem.model.source.unread)
        warnings.append(PlanWarning(PlanWarningKind.NOT_READ, values))
    continuation = config.continuation
    if continuation.method == "relaxation" and continuation.relaxations[0] > MAX_RELAXATION:
        warnings.append(
            PlanWarning(PlanWarningKind.RELAXATION_START, f"s = {continuation.relaxations[0]:g}")
        )
    if config.uncertainty.kind != "none" and config.uncertainty.sigma == 0.0:
        warnings.append(PlanWarning(PlanWarningKind.NO_UNCERTAINTY, "sigma = 0"))
    if not config.robust:
        return warnings
    sigma, mu = config.uncertainty.sigma, problem.friction
    friction = config.uncertainty.kind == "friction"
    if friction and mu < 2.0 * sigma:
        warnings.append(
            PlanWarning(PlanWarningKind.NEGATIVE_FRICTION, f"mu = {mu:g}, sigma = {sigma:g}")
        )
    if config.risk.enabled:
        beta, theta = config.risk.beta, config.risk.theta
        kappa_theta = chance_bounds(beta, theta).kappa_theta
        if friction and kappa_theta * sigma >= mu:
            values = f"kappa_theta sigma = {kappa_theta * sigma:.3g}, mu = {mu:g}"
            warnings.append(PlanWarning(PlanWarningKind.BOUND_INACTIVE, values))
        if MIN_RISK_BOUND in (beta, theta):
            warnings.append(
                PlanWarning(PlanWarningKind.VACUOUS_BOUND, f"beta = {beta:g}, theta = {theta:g}")
            )
    return warnings


def warn_of_uncertain(problem: RobustProblem, uncertain: Uncertain) -> list[PlanWarning]:
    """Find distributions that contradict the problem's own values, or were rounded.

    Args:
        problem: The problem.
        uncertain: What is uncertain about it.

    Returns:
        The warnings, none if all is well.
    """
    warnings = []
    for name, distribution in uncertain.items():
        own, (low, high) = certain_value(problem, name), distribution.quantile(np.array(USUAL))
        room = 0.01 * (high - low)  # what varies to one side ends at the problem's own value
        if not low - room <= own <= high + room:
            values = f"{name} is {own:g}, and drawn from {low:.4g} to {high:.4g}"
            warnings.append(PlanWarning(PlanWarningKind.CONTRADICTION, values))
        if isinstance(distribution, Samples) and distribution.most_equal[0]:
            most, value = distribution.most_equal
            values = f"{most} of {len(distribution.values)} values of {name} are {value:g}"
            grid = f", all on a grid of {distribution.step:g}" if distribution.step else ""
            warnings.append(PlanWarning(PlanWarningKind.ROUNDED, values + grid))
    return warnings


def warn_of_plan(
    trajectory: ContactTrajectory, problem: RobustProblem, config: PlannerConfig
) -> list[PlanWarning]:
    """Find out whether the mixed units of the expected residual switched contact off.

    Args:
        trajectory: The plan.
        problem: The problem, for the mean friction.
        config: The parameters.

    Returns:
        The warnings, none if all is well.
    """
    if not (config.robust and config.expected_residual.enabled):
        return []
    if config.uncertainty.kind == "distance":
        return _warn_of_distance(trajectory, problem, config.uncertainty.sigma)
    # Shares of power, so that knots at rest do not count.
    dissipated = float(np.sum(trajectory.tangent_force.sum(axis=2) * trajectory.slip))
    expected = float(np.sum(problem.friction * trajectory.normal_force * trajectory.slip))
    share = dissipated / max(expected, MIN_POWER)
    if expected < MIN_POWER or share >= MIN_FRICTION_SHARE:
        return []
    return [PlanWarning(PlanWarningKind.SLIP_SCALE, f"{100 * share:.0f} % of the expected power")]


def _warn_of_distance(
    trajectory: ContactTrajectory, problem: RobustProblem, sigma: float
) -> list[PlanWarning]:
    highest = highest_force(trajectory, problem)
    if highest <= MAX_DEVIATIONS * sigma:
        return []
    return [
        PlanWarning(
            PlanWarningKind.FORCE_AT_DISTANCE, f"up to {highest:.3g} m, sigma = {sigma:g} m"
        )
    ]
