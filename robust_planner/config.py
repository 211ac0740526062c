"""Every parameter of a plan; the dataclasses are the YAML schema and the action goal."""

from __future__ import annotations

from dataclasses import dataclass, replace

from contact_core.base.config import nested, parameter
from robust_planner.chance_constraint import MAX_RISK_BOUND, MIN_RISK_BOUND

UNCERTAINTY_KINDS = ("none", "friction", "distance")
MODES = ("physical", "paper")
METHODS = ("penalty", "relaxation")


@dataclass(frozen=True)
class UncertaintyConfig:
    """What about the contact is Gaussian; the mean belongs to the problem."""

    kind: str = parameter(
        "none",
        "uncertain quantity: friction coefficient or terrain height",
        options=UNCERTAINTY_KINDS,
    )
    sigma: float = parameter(
        0.0, "standard deviation of the friction coefficient [-] or of the height [m]", low=0.0
    )


@dataclass(frozen=True)
class ExpectedResidualConfig:
    """The cost alpha E[min(z, F)^2] per knot that replaces the uncertain pair, eq. (3)."""

    enabled: bool = parameter(True, "whether an uncertain pair gets the expected-residual cost")
    weight: float = parameter(5e4, "alpha, weight of the expected residual", above=0.0)
    slip_scale: float = parameter(
        10.0,
        "kappa_v / sigma, kappa_v >= 1: slip is multiplied with kappa_v before it is compared "
        "with a force; about ten times weight / speed of the motion. Paper mode: kappa_v = 1.",
        unit="N s/m",
        above=0.0,
    )
    distance_scale: float = parameter(
        10.0,
        "factor on a distance before it is compared with a force",
        unit="N/m",
        above=0.0,
    )


@dataclass(frozen=True)
class RiskConfig:
    """Chance complementarity constraints on the uncertain pair (Sec. 3.3)."""

    enabled: bool = parameter(False, "whether the mean of the uncertain pair is bounded")
    beta: float = parameter(
        0.5,
        "accepted probability that the function of an uncertain pair is negative",
        low=MIN_RISK_BOUND,
        high=MAX_RISK_BOUND,
    )
    theta: float = parameter(
        0.5,
        "accepted probability that the function is positive while its multiplier is",
        low=MIN_RISK_BOUND,
        high=MAX_RISK_BOUND,
    )


@dataclass(frozen=True)
class ContinuationConfig:
    """The sequence of problems that leads to the plan."""

    method: str = parameter(
        "penalty", "how complementarity is imposed on the reference", options=METHODS
    )
    penalties: tuple[float, ...] = parameter(
        (1e3,), "rho of each stage of the penalty method, ascending.", above=0.0
    )
    relaxations: tuple[float, ...] = parameter(
        (0.1, 1e-2, 1e-4, 1e-6, 1e-8),
        "s of each stage of progressive tightening, descending.",
        low=0.0,
    )
    robust_method: str = parameter(
        "relaxation", "how the certain pairs are imposed in the robust stages", options=METHODS
    )
    robust_penalty: float = parameter(
        10.0, "rho of the robust stages if they use the penalty method.", above=0.0
    )
    robust_relaxation: float = parameter(
        1e-6, "s of the robust stages, of relaxed products and of chance constraints.", low=0.0
    )
    chance_fractions: tuple[float, ...] = parameter(
        (),
        "fractions of alpha that come first where there are chance constraints as well, "
        "ascending; 0 imposes them alone",
        low=0.0,
        high=1.0,
    )
    scaffold_theta: float = parameter(
        0.0,
        "theta of chance constraints under which an expected residual alone is approached; they "
        "are dropped in the last stage. 0 for none.",
        low=0.0,
        high=MAX_RISK_BOUND,
    )
    weight_fractions: tuple[float, ...] = parameter(
        (1e-3, 1e-2, 0.1, 1.0),
        "fractions of alpha, one robust stage each, ascending to 1",
        above=0.0,
        high=1.0,
    )


@dataclass(frozen=True)
class NonlinearSolverConfig:
    """The nonlinear-programming solver and when to believe it."""

    name: str = parameter("ipopt", "nonlinear solver", options=("ipopt", "snopt"))
    tolerance: float = parameter(1e-7, "optimality tolerance of the solver", above=0.0)
    bound_relaxation: float = parameter(
        0.0, "how far IPOPT may relax bounds and inequalities, relative", low=0.0
    )
    warm_start: bool = parameter(
        False,
        "whether IPOPT starts a stage close to the bounds and multipliers of the one before: "
        "much faster where stages differ little",
    )
    barrier: str = parameter(
        "monotone",
        "how IPOPT lowers its barrier for a reference: step by step, or as probing steps tell: "
        "a sixth of the iterations for the block, and no plan for the sled",
        options=("monotone", "probing"),
    )
    max_iterations: int = parameter(3000, "iteration limit of each stage", low=1)
    budget: float = parameter(600.0, "wall-clock time for the whole plan", unit="s", above=0.0)


@dataclass(frozen=True)
class TimeStepConfig:
    """Whether the solver chooses the time steps."""

    free: bool = parameter(False, "whether each time step is a variable")
    shortest: float = parameter(0.5, "shortest step relative to the nominal one", above=0.0)
    longest: float = parameter(2.0, "longest step relative to the nominal one", low=1.0)


@dataclass(frozen=True)
class PlannerConfig:
    """All parameters of the planner."""

    mode: str = parameter(
        "physical",
        "physical: the deviation of the cone grows with the normal force; "
        "paper: as published, constant deviation in newtons.",
        options=MODES,
    )
    uncertainty: UncertaintyConfig = nested(UncertaintyConfig)
    expected_residual: ExpectedResidualConfig = nested(ExpectedResidualConfig)
    risk: RiskConfig = nested(RiskConfig)
    continuation: ContinuationConfig = nested(ContinuationConfig)
    solver: NonlinearSolverConfig = nested(NonlinearSolverConfig)
    time_step: TimeStepConfig = nested(TimeStepConfig)

    @property
    def robust(self) -> bool:
        """Whether the uncertain pair is treated differently from the others."""
        uncertain = self.uncertainty.kind != "none" and self.uncertainty.sigma > 0.0
        return uncertain and (self.expected_residual.enabled or self.risk.enabled)


def with_monotone_barrier(config: PlannerConfig) -> PlannerConfig:
    """Return settings by which IPOPT lowers its barrier step by step."""
    solver = replace(config.solver, barrier="monotone")
    return replace(config, solver=solver)
