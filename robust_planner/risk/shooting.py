"""Controls that keep several worlds from failing: sequential quadratic programming by simulation.

min_u  J(u) + w sum_s max(0, max_j r_sj(u) - 1)

with the running cost J of the world that is planned for and the used share r_sj of each bound j
in each world s, both simulated. Programs with all motions as variables and complementarity as
constraints (`chance_constraints` (1), once a world) stay in the contact sequence they start
with; a simulation has no such constraints, and differences of it have a slope across a change of
contact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contact_core.base.planning import StopCondition
from contact_core.quadratic_program import QuadraticProgram, make_solver
from robust_planner.evaluation.time_stepping import BatchMotion, WorldsSimulator, simulate_worlds
from robust_planner.problem import RobustProblem
from robust_planner.risk.failure import FailureConfig, severity, use_of_bounds
from robust_planner.risk.settings import ShootingConfig
from robust_planner.risk.worlds import Worlds

NEAR = 0.3
"""Bounds of which less is used are left out of a quadratic program."""
HARD = 10.0
"""What exceeding a limit of the model counts, compared with a bound of what may fail."""
TRUST_RADIUS, MIN_RADIUS = 0.1, 1e-4
"""First trust region, relative to the largest control, and that at which it has converged."""
DIFFERENCE = 0.5
"""Step of the central differences, in trust regions."""
TOLERANCE = 1e-4
"""Relative decrease of the merit below which it has converged."""
REGULARISATION = 1e-5
"""Of the Hessian, in units of the weight of an excess."""


@dataclass(frozen=True)
class Shot:
    """What some controls lead to.

    Attributes:
        controls: u (N, nu) [N, Nm].
        cost: J, running cost of the first world.
        severity: Largest share of a bound that each world uses (n).
        use: Share of each bound in each world (n, m).
        residuals: What the cost is the sum of squares of.
    """

    controls: np.ndarray
    cost: float
    severity: np.ndarray
    use: np.ndarray
    residuals: np.ndarray


class Shooting:
    """A problem with the worlds in which it must not fail.

    Attributes:
        problem: The problem.
    """

    def __init__(
        self,
        problem: RobustProblem,
        failure: FailureConfig,
        worlds: Worlds,
        margin: float,
        config: ShootingConfig,
        simulate: WorldsSimulator = simulate_worlds,
        differentiate: WorldsSimulator = simulate_worlds,
    ) -> None:
        """Choose the worlds.

        Args:
            problem: The problem.
            failure: What must not happen.
            worlds: The worlds; the first one is planned for, and respects the model's limits.
            margin: Share of every bound that is left free, 0..1.
            config: How to improve controls.
            simulate: What executes them.
            differentiate: What executes them for derivatives, which need not be as exact.
        """
        self.problem, self._failure, self._worlds = problem, failure, worlds
        self._margin, self._config = margin, config
        self._simulate, self._differentiate = simulate, differentiate
        self._solver = make_solver("dual_active_set")
        self._shapes = hats(problem, config.nodes)

    def improve(
        self, controls: np.ndarray, scale: float, weight: float, stop: StopCondition
    ) -> Shot:
        """Walk downhill.

        Args:
            controls: u (N, nu) to start from [N, Nm].
            scale: A large control [N, Nm].
            weight: w.
            stop: Asked at every step.

        Returns:
            The best controls, which may be the given ones.
        """
        config = self._config
        best = self.evaluate(controls)
        radius = TRUST_RADIUS
        for _ in range(config.iterations):
            if stop.reason is not None or radius < MIN_RADIUS:
                break
            slopes = self._slopes(best, DIFFERENCE * radius * scale)
            step, predicted = self._step(best, slopes, radius * scale, weight)
            merit = self._merit(best, weight)
            if predicted <= TOLERANCE * abs(merit):
                break
            candidate = self.evaluate(best.controls + step)
            gained = merit - self._merit(candidate, weight)
            if gained > 0.1 * predicted:
                best = candidate
                radius *= 2.0 if gained > 0.7 * predicted else 1.0
            else:
                radius *= 0.4
        return best

    def evaluate(self, controls: np.ndarray) -> Shot:
        """Simulate controls in every world.

        Args:
            controls: u (N, nu) [N, Nm].
        """
        planned = np.zeros(len(self._worlds), dtype=int)
        return self._shots(self._simulate, controls, self._worlds, planned)

    def merits(self, candidates: np.ndarray, weight: float) -> np.ndarray:
        """Simulate several controls in every world.

        Args:
            candidates: u (m, N, nu) [N, Nm].
            weight: w.

        Returns:
            What is minimised (m), infinite where a simulation failed.
        """
        count, size = len(self._worlds), len(candidates)
        worlds = self._worlds.select(np.tile(np.arange(count), size))
        planned = np.repeat(count * np.arange(size), count)
        shots = self._shots(self._simulate, np.repeat(candidates, count, axis=0), worlds, planned)
        cost = np.einsum("mi,mi->m", shots.residuals, shots.residuals)
        excess = np.maximum(shots.severity - 1.0, 0.0).reshape(size, count)
        return np.nan_to_num(cost + weight * excess.sum(axis=1), nan=np.inf)

    def _shots(
        self,
        simulate: WorldsSimulator,
        controls: np.ndarray,
        worlds: Worlds,
        planned: np.ndarray,
    ) -> Shot:
        """Simulate controls, one for all worlds or one for each, by the index of those planned for.

        The limits of these count in every world: otherwise they would be exceeded to save others.
        """
        problem, failure = self.problem, self._failure
        motion = simulate(problem, controls, worlds)
        use = use_of_bounds(problem, failure, motion, worlds)
        speed = np.abs(motion.velocity / problem.model.limits.speed)[planned]
        speed = 1.0 + HARD * (speed - 1.0)
        planned = np.unique(planned)
        use = np.hstack([use, speed.reshape(len(worlds), -1)]) / (1.0 - self._margin)
        first = BatchMotion(*(values[planned] for values in vars(motion).values()))
        own = controls if controls.ndim == 2 else controls[planned]
        residuals = _residuals(problem, first, own)
        cost = float(residuals[0] @ residuals[0])
        return Shot(controls, cost, severity(use), use, residuals)

    def _merit(self, shot: Shot, weight: float) -> float:
        return shot.cost + weight * float(np.maximum(shot.severity - 1.0, 0.0).sum())

    def _slopes(self, shot: Shot, difference: float) -> tuple[np.ndarray, np.ndarray]:
        """Differentiate residuals (m, n) and used shares (worlds, bounds, n) by the nodes.

        A secant as wide as the trust region sees what a tangent does not: that a little further a
        body sticks or slides.
        """
        count, size = len(self._worlds), len(self._shapes)
        varied = difference * np.concatenate([self._shapes, -self._shapes])
        # What is varied goes first as the controls themselves do, which is simulated once.
        varied = shot.controls + np.concatenate([np.zeros_like(varied[:1]), varied])
        runs = len(varied)
        worlds = self._worlds.select(np.repeat(np.arange(count), runs))
        planned = np.tile(np.arange(runs), count)
        shots = self._shots(self._differentiate, np.tile(varied, (count, 1, 1)), worlds, planned)
        up, down = np.split(shots.residuals[1:], 2)
        use = shots.use.reshape(count, runs, -1)
        use = (use[:, 1 : 1 + size] - use[:, 1 + size :]).swapaxes(1, 2)
        width = 2.0 * difference
        return np.nan_to_num((up - down).T / width), np.nan_to_num(use / width)

    def _step(
        self, shot: Shot, slopes: tuple[np.ndarray, np.ndarray], radius: float, weight: float
    ) -> tuple[np.ndarray, float]:
        """Solve the quadratic program within the trust region.

        Returns:
            The change of the controls (N, nu), and the predicted decrease of the merit.
        """
        slope, use_slope = slopes
        size, count = slope.shape[1], len(self._worlds)
        # Unknowns: change of the controls relative to the radius, then the excess of each world.
        slope, use_slope = radius * slope, radius * use_slope
        # In units of the weight; without curvature the solver would start from far away.
        hessian, gradient = np.eye(size + count), np.ones(size + count)
        gradient[:size] = 2.0 / weight * slope.T @ shot.residuals[0]
        hessian[:size, :size] = 2.0 / weight * slope.T @ slope
        hessian[:size, :size] += REGULARISATION * np.eye(size)
        world, bound = np.nonzero(shot.use > NEAR)
        rows = np.zeros((len(world), size + count))
        rows[:, :size] = use_slope[world, bound]
        rows[np.arange(len(world)), size + world] = -1.0
        low, high = self._room(shot.controls, radius)
        program = QuadraticProgram(
            hessian,
            gradient,
            rows,
            1.0 - shot.use[world, bound],
            np.concatenate([low, np.zeros(count)]),
            np.concatenate([high, np.full(count, np.inf)]),
        )
        solution = self._solver.solve(program)
        if not solution.optimal:
            return np.zeros_like(shot.controls), 0.0
        change, excess = np.split(solution.x, [size])
        step = radius * np.tensordot(change, self._shapes, axes=1)
        after = shot.residuals[0] + slope @ change
        excess = np.maximum(shot.severity - 1.0, 0.0).sum() - excess.sum()
        return step, shot.cost - float(after @ after) + weight * float(excess)

    def _room(self, controls: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """Return how far each node may move, in radii: within trust region and control limits."""
        limit = np.array(self.problem.model.limits.control)
        inside = self._shapes > 0.0
        above = np.where(inside, (limit - controls) / radius, np.inf).min(axis=(1, 2))
        below = np.where(inside, (limit + controls) / radius, np.inf).min(axis=(1, 2))
        return -np.clip(below, 0.0, 1.0), np.clip(above, 0.0, 1.0)


def hats(problem: RobustProblem, nodes: int) -> np.ndarray:
    """Return one change of the controls per node and control, linear in between.

    Args:
        problem: The problem.
        nodes: Points between which a change is linear.

    Returns:
        (n, N, nu); each is one at its node.
    """
    count, controls = problem.knots - 1, problem.model.controls
    nodes = min(nodes, count)
    distance = np.linspace(0.0, nodes - 1.0, count) - np.arange(nodes)[:, None]
    hats = np.zeros((nodes, controls, problem.knots, controls))
    for control in range(controls):
        hats[:, control, :-1, control] = np.maximum(1.0 - np.abs(distance), 0.0)
    return hats.reshape(-1, problem.knots, controls)


def _residuals(problem: RobustProblem, motion: BatchMotion, controls: np.ndarray) -> np.ndarray:
    """Return what the running cost, eq. (1a), is the sum of squares of (n, m)."""
    state = np.concatenate([motion.position, motion.velocity], axis=2)[:, :-1]
    error = (state - np.array(problem.goal)) * np.sqrt(problem.state_weight)
    effort = np.broadcast_to(controls, (len(state), *controls.shape[-2:]))[:, :-1]
    effort = effort * np.sqrt(problem.control_weight)
    count = len(state)
    both = np.hstack([error.reshape(count, -1), effort.reshape(count, -1)])
    return np.sqrt(problem.time_step) * both
