"""An independent check of a plan: how far it is from satisfying eq. (1).

Evaluated in NumPy from the trajectory, not from the solver's program: a solver's claim
of success holds for the problem it was given, this one for the problem that was meant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robust_planner.chance_constraint import ChanceBounds, chance_bounds
from robust_planner.config import PlannerConfig
from robust_planner.problem import RobustProblem
from robust_planner.trajectory import ContactTrajectory, stack

MAX_DYNAMICS = 1e-6
"""Accepted error of a dynamics equation [m or N s]."""

MAX_COMPLEMENTARITY = 1e-5
"""Accepted product of a complementarity pair."""

MAX_VIOLATION = 1e-6
"""Accepted violation of an inequality or boundary state."""


@dataclass(frozen=True)
class Residuals:
    """Largest violation of each kind of condition over all knots.

    Attributes:
        dynamics: Of q+ = q + h v+ [m, rad] and of the momentum balance [N s, Nm s].
        boundary: Of the boundary states [m, rad, m/s, rad/s].
        bounds: Of the limits of position, speed and control, and of lambda, gamma >= 0.
        penetration: Depth below the terrain beyond what the risk bounds allow [m].
        cone: Friction outside the cone beyond what the risk bounds allow [N].
        complementarity: Largest product of a pair that must be complementary.
    """

    dynamics: float
    boundary: float
    bounds: float
    penetration: float
    cone: float
    complementarity: float

    @property
    def accepted(self) -> bool:
        """Whether every residual is small, so that the plan may be called a success; NaN is not."""
        violation = np.max([self.boundary, self.bounds, self.penetration, self.cone])
        return bool(
            self.dynamics <= MAX_DYNAMICS
            and self.complementarity <= MAX_COMPLEMENTARITY
            and violation <= MAX_VIOLATION
        )

    @property
    def worst(self) -> float:
        """The largest of all, NaN if any is."""
        return float(np.max(list(vars(self).values())))


def check(
    trajectory: ContactTrajectory, problem: RobustProblem, config: PlannerConfig, robust: bool
) -> Residuals:
    """Check a plan against its problem.

    Args:
        trajectory: The plan.
        problem: The problem.
        config: The parameters; a pair with an expected residual and without risk bounds
            need not be complementary.
        robust: Whether the uncertain pair was treated as uncertain.

    Returns:
        The residuals.
    """
    model = problem.model
    phi = trajectory.distance(model)[1:]
    cone = trajectory.friction_cone(problem.friction)[1:]
    normal, slip = trajectory.normal_force[1:], trajectory.slip[1:]
    tangent = trajectory.tangent_force[1:]
    sliding = slip[:, :, None] + trajectory.tangent_velocity(model)[1:]
    room = trajectory.position[1:] @ model.limit_directions + model.limit_offsets
    violations = {"distance": _below(phi), "friction": _below(cone)}
    products = {
        "distance": _largest(normal * phi),
        "friction": _largest(slip * cone),
        "sliding": _largest(tangent * sliding),
        "limit": _largest(trajectory.limit_force[1:] * room),
    }
    if robust:
        kind = config.uncertainty.kind
        mean, z = (cone, slip) if kind == "friction" else (phi, normal)
        if config.risk.enabled:
            deviation = cone_deviation(normal, config) if kind == "friction" else _sigma(config)
            bounds = chance_bounds(config.risk.beta, config.risk.theta)
            violations[kind], products[kind] = _chance(mean, z, deviation, bounds)
        else:
            violations[kind] = products[kind] = 0.0
    return Residuals(
        dynamics=_largest(np.abs(_dynamics(trajectory, problem))),
        boundary=_boundary(trajectory, problem),
        bounds=max(_below(sliding), _below(room), _bounds(trajectory, problem)),
        penetration=violations["distance"],
        cone=violations["friction"],
        complementarity=float(np.max(list(products.values()))),
    )


def cone_deviation(normal_force: np.ndarray, config: PlannerConfig) -> np.ndarray:
    """Standard deviation of F = mu lamN - e' lamT in the chance constraints.

    Args:
        normal_force: lamN, any shape [N].
        config: Its mode decides whether the deviation grows with lamN or is constant.

    Returns:
        Deviation, same shape [N].
    """
    if config.mode == "physical":
        return config.uncertainty.sigma * normal_force
    return np.full_like(normal_force, config.uncertainty.sigma)


def _sigma(config: PlannerConfig) -> np.ndarray:
    return np.array(config.uncertainty.sigma)


def _chance(
    mean: np.ndarray, z: np.ndarray, deviation: np.ndarray, bounds: ChanceBounds
) -> tuple[float, float]:
    violation = _below(mean + bounds.kappa_beta * deviation)
    return violation, _largest(z * (mean - bounds.kappa_theta * deviation))


def _dynamics(trajectory: ContactTrajectory, problem: RobustProblem) -> np.ndarray:
    """Backward Euler and the momentum balance, interval by interval."""
    model = problem.model
    steps = np.diff(trajectory.time)[:, None]
    q, v = trajectory.position, trajectory.velocity
    mass = stack(model.mass_matrix(q[1:].T), model.coordinates)
    bias = np.asarray(model.bias_force(q[1:].T, v[1:].T)).T
    normal = stack(model.normal_jacobian(q[1:].T), model.coordinates)
    tangent = stack(model.tangent_jacobian(q[1:].T), model.coordinates)
    flat = trajectory.tangent_force[1:].reshape(len(steps), -1)
    force = (
        trajectory.control[:-1] @ model.actuation.T
        - bias
        + np.einsum("kci,kc->ki", normal, trajectory.normal_force[1:])
        + np.einsum("kci,kc->ki", tangent, flat)
        + trajectory.limit_force[1:] @ model.limit_directions.T
    )
    momentum = np.einsum("kij,kj->ki", mass, np.diff(v, axis=0)) - steps * force
    return np.hstack([np.diff(q, axis=0) - steps * v[1:], momentum])


def _boundary(trajectory: ContactTrajectory, problem: RobustProblem) -> float:
    states = np.hstack([trajectory.position, trajectory.velocity])
    return _largest(np.abs(states[[0, -1]] - np.array([problem.start, problem.goal])))


def _bounds(trajectory: ContactTrajectory, problem: RobustProblem) -> float:
    limits = problem.model.limits
    forces = (trajectory.normal_force, trajectory.tangent_force, trajectory.limit_force)
    return max(
        _largest(np.abs(trajectory.velocity) - limits.speed),
        _largest(np.abs(trajectory.control) - limits.control),
        *(_below(force) for force in (*forces, trajectory.slip)),
    )


def _below(values: np.ndarray) -> float:
    """How far the smallest value is below zero."""
    return _largest(-values)


def _largest(values: np.ndarray) -> float:
    """The largest value, at least zero; NaN if any is."""
    return float(np.max(values, initial=0.0))
