"""Contact-implicit trajectory optimisation, eq. (1), with its robust variants (2), (3).

Backward Euler between knots k and k + 1 of step h:

    q+ = q + h v+
    M(q+) (v+ - v) = h (B u - c(q+, v+) + Jn' lamN+ + Jt' lamT+ + limit forces+)
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi
import numpy as np

from robust_planner.chance_constraint import chance_bounds
from robust_planner.complementarity import (
    KnotConstraints,
    Pair,
    bound_chance,
    penalise,
    relax,
)
from robust_planner.config import PlannerConfig
from robust_planner.expected_residual import CASADI, expected_squared_residual
from robust_planner.problem import RobustProblem
from robust_planner.program import KnotLayout, StagedProgram, knot_layout

# Bounds that no sensible plan meets; they keep the interior-point method from drifting away.
MAX_FORCE = 1e4  # [N, Nm]
MAX_SLIP = 1e3  # [m/s]
# kappa_v of the paper, and the smallest: below, slip hardly costs anything.
PUBLISHED_SLIP_SCALE = 1.0  # [N s/m]
# Deviation of the cone that is left without normal force.
FRICTION_BIAS = 0.01  # [N]


@dataclass(frozen=True)
class Variables:
    """The symbols of one knot, by name."""

    position: casadi.SX
    velocity: casadi.SX
    control: casadi.SX
    normal: casadi.SX
    tangent: casadi.SX
    slip: casadi.SX
    limit: casadi.SX
    step: casadi.SX


def transcribe(
    problem: RobustProblem, config: PlannerConfig, method: str, robust: bool
) -> StagedProgram:
    """Write a planning problem as a nonlinear program.

    Args:
        problem: The problem.
        config: The parameters.
        method: How certain pairs are imposed, ``"penalty"`` or ``"relaxation"``.
        robust: Whether the uncertain pair is treated as uncertain.

    Returns:
        The program; its parameters are s, rho and alpha.
    """
    layout = knot_layout(problem.model, config.time_step.free)
    w, successor = casadi.SX.sym("w", layout.size), casadi.SX.sym("w_next", layout.size)
    p = casadi.SX.sym("p", 3)
    now, then = (_variables(symbol, layout, problem) for symbol in (w, successor))
    constraints = KnotConstraints()
    relaxation, penalty, residual_weight = p[0], p[1], p[2]
    for name, pair in _pairs(problem, now).items():
        if robust and name == config.uncertainty.kind:
            _impose_uncertain(constraints, pair, now, config, relaxation, residual_weight)
        elif method == "penalty":
            penalise(constraints, pair, penalty)
        else:
            relax(constraints, pair, relaxation)
    lower, upper = _variable_bounds(problem, config, layout)
    return StagedProgram(
        defect=casadi.Function("defect", [w, successor, p], [_defect(problem, now, then)]),
        knot=casadi.Function("knot", [w, p], [casadi.vertcat(*constraints.expressions)]),
        running_cost=casadi.Function("running_cost", [w, p], [_running_cost(problem, now)]),
        contact_cost=casadi.Function("contact_cost", [w, p], [constraints.cost]),
        knot_lower=np.array(constraints.lower),
        knot_upper=np.array(constraints.upper),
        lower=lower,
        upper=upper,
    )


def initial_guess(problem: RobustProblem, config: PlannerConfig) -> np.ndarray:
    """Interpolate the state linearly, without forces.

    Args:
        problem: The problem.
        config: The parameters.

    Returns:
        Decision variables (N, n).
    """
    layout = knot_layout(problem.model, config.time_step.free)
    guess = np.zeros((problem.knots, layout.size))
    guess[:, layout.state] = np.linspace(problem.start, problem.goal, problem.knots)
    guess[:, layout.step] = problem.time_step
    return guess


def _variables(w: casadi.SX, layout: KnotLayout, problem: RobustProblem) -> Variables:
    free = layout.step.stop > layout.step.start
    return Variables(
        position=w[layout.position],
        velocity=w[layout.velocity],
        control=w[layout.control],
        normal=w[layout.normal],
        tangent=w[layout.tangent],
        slip=w[layout.slip],
        limit=w[layout.limit],
        step=w[layout.step] if free else casadi.SX(problem.time_step),
    )


def _defect(problem: RobustProblem, now: Variables, then: Variables) -> casadi.SX:
    """Equations (1c) and q+ = q + h v+."""
    model = problem.model
    q, v = then.position, then.velocity
    force = (
        casadi.DM(model.actuation) @ now.control
        - model.bias_force(q, v)
        + model.normal_jacobian(q).T @ then.normal
        + model.tangent_jacobian(q).T @ then.tangent
        + casadi.DM(model.limit_directions) @ then.limit
    )
    momentum = model.mass_matrix(q) @ (v - now.velocity) - now.step * force
    return casadi.vertcat(q - now.position - now.step * v, momentum)


def _pairs(problem: RobustProblem, now: Variables) -> dict[str, Pair]:
    """Equations (1d), (1e), (1f) and the joint limits; what is uncertain is named as these are."""
    model = problem.model
    ones = casadi.SX.ones(model.directions)
    tangent = casadi.reshape(now.tangent, model.directions, model.contacts)
    pairs = {
        "distance": Pair(now.normal, model.distance(now.position)),
        "sliding": Pair(
            now.tangent,
            casadi.kron(now.slip, ones) + model.tangent_jacobian(now.position) @ now.velocity,
        ),
        "friction": Pair(now.slip, problem.friction * now.normal - casadi.sum1(tangent).T),
    }
    if model.limit_offsets.size:
        room = casadi.DM(model.limit_directions).T @ now.position + model.limit_offsets
        pairs["limit"] = Pair(now.limit, room)
    return pairs


def _impose_uncertain(
    constraints: KnotConstraints,
    pair: Pair,
    now: Variables,
    config: PlannerConfig,
    relaxation: casadi.SX,
    residual_weight: casadi.SX,
) -> None:
    """Add the expected residual (3) and the chance constraints of the uncertain pair."""
    sigma = config.uncertainty.sigma
    friction = config.uncertainty.kind == "friction"
    # The published code bounds the cone with a constant deviation in newtons.
    scales_with_force = friction and config.mode == "physical"
    deviation = sigma * now.normal if scales_with_force else casadi.SX(sigma)
    mean = pair.function
    if config.risk.enabled:
        bounds = chance_bounds(config.risk.beta, config.risk.theta)
        bound_chance(constraints, pair, deviation, bounds, relaxation)
        if config.mode == "paper":
            # The published code shifts the mean inside the expected residual as well.
            mean = mean + bounds.kappa_beta * deviation
    if config.expected_residual.enabled:
        weights = config.expected_residual
        if friction:
            # Slip [m/s] is compared with a force [N]: published without a scale, so that no
            # friction at all is cheapest where the slip is small against the deviation.
            scale = PUBLISHED_SLIP_SCALE
            if config.mode == "physical":
                scale = max(scale, weights.slip_scale * sigma)
            z, spread = scale * pair.z, sigma * now.normal + FRICTION_BIAS
        else:
            z, spread = pair.z, casadi.SX(weights.distance_scale * sigma)
            mean = weights.distance_scale * mean
        residual = expected_squared_residual(z, mean, spread, CASADI)
        constraints.cost += residual_weight * casadi.sum1(residual)


def _running_cost(problem: RobustProblem, now: Variables) -> casadi.SX:
    """Return h (dx' Q dx + u' R u), Sec. 3.1."""
    error = casadi.vertcat(now.position, now.velocity) - casadi.DM(problem.goal)
    return now.step * (
        casadi.dot(casadi.DM(problem.state_weight), error**2)
        + casadi.dot(casadi.DM(problem.control_weight), now.control**2)
    )


def _variable_bounds(
    problem: RobustProblem, config: PlannerConfig, layout: KnotLayout
) -> tuple[np.ndarray, np.ndarray]:
    limits = problem.model.limits
    upper = np.full((problem.knots, layout.size), np.inf)
    upper[:, layout.velocity] = limits.speed
    upper[:, layout.control] = limits.control
    lower = -upper
    lower[:, layout.contact] = 0.0
    upper[:, layout.contact] = MAX_FORCE
    upper[:, layout.slip] = MAX_SLIP
    lower[:, layout.step] = config.time_step.shortest * problem.time_step
    upper[:, layout.step] = config.time_step.longest * problem.time_step
    # The first knot has no past in which forces acted, the last no future to control.
    upper[0, layout.contact] = 0.0
    lower[-1, layout.control] = upper[-1, layout.control] = 0.0
    lower[-1, layout.step] = upper[-1, layout.step] = problem.time_step
    for knot, state in ((0, problem.start), (-1, problem.goal)):
        lower[knot, layout.state] = upper[knot, layout.state] = state
    return lower, upper
