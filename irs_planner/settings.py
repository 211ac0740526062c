"""How to plan: everything that does not change the problem."""

from __future__ import annotations

from dataclasses import dataclass

from contact_core.config import parameter
from irs_planner.smoothing.jacobian_bundle import GradientMode


@dataclass(frozen=True)
class PlannerSettings:
    """Settings of iRS-LQR."""

    mode: str = parameter(
        "first", "derivatives to use", options=tuple(str(mode) for mode in GradientMode)
    )
    iterations: int = parameter(20, "largest number of iterations", low=0)
    samples: int = parameter(100, "samples per knot point", low=1)
    seed: int = parameter(0, "seed of all samples", low=0)
    workers: int = parameter(1, "threads; they do not change the result", low=1)
    mpc_solver: str = parameter(
        "riccati", "solver of the MPC problems", options=("riccati", "osqp")
    )
    tolerance: float = parameter(
        1e-6,
        "the plan has converged once the cost changes by less than this fraction in each of "
        "'patience' iterations",
        low=0.0,
    )
    patience: int = parameter(3, "iterations without change that mean convergence", low=1)
    time_budget: float = parameter(
        0.0, "time after which the best plan so far is returned; 0 for no limit", unit="s", low=0.0
    )
    refinements: int = parameter(
        0, "accept/reject iterations with a trust region after Algorithm 1", low=0
    )
    trust_radius: float = parameter(
        0.1, "first radius of the trust region, in units of the inputs", above=0.0
    )
