"""Monte Carlo of plans in tamsi_sim: worlds with other friction, ground, mass and start."""

from __future__ import annotations

import numpy as np

from contact_stack.robust import tamsi_machine, tamsi_world
from robust_planner.evaluation.time_stepping import (
    MIN_FORCE,
    MIN_WAY,
    BatchMotion,
    WorldsSimulator,
)
from robust_planner.problem import RobustProblem
from robust_planner.risk.failure import FailureConfig
from robust_planner.risk.worlds import Worlds, in_world
from robust_planner.trajectory import ContactTrajectory


def judge_of(problem: RobustProblem, failure: FailureConfig) -> WorldsSimulator | None:
    """Return what executes plans of a problem in tamsi_sim, None if nothing does.

    Args:
        problem: The problem.
        failure: What counts as a failure.
    """
    if tamsi_world.can_simulate(problem):
        return simulate_worlds
    return tamsi_machine.simulate_worlds if tamsi_machine.can_judge(problem, failure) else None


def simulate_worlds(problem: RobustProblem, controls: np.ndarray, worlds: Worlds) -> BatchMotion:
    """Execute controls in every world, as :func:`robust_planner.simulate_worlds` does.

    Args:
        problem: A problem of a single body, see :func:`tamsi_world.can_simulate`.
        controls: u (N, nu) [N, Nm].
        worlds: The worlds (n).

    Returns:
        The motions, one sample per millisecond; without forces of friction and of limits.

    Raises:
        WorldError: If the model is no single body, or a simulation fails.
    """
    none = np.zeros((problem.knots, 1))
    plan = ContactTrajectory(
        time=problem.time_step * np.arange(problem.knots),
        position=none, velocity=none, control=controls, normal_force=none, tangent_force=none,
        slip=none, limit_force=none,
    )  # fmt: skip
    runs = [
        tamsi_world.simulate_plan(
            plan, in_world(problem, worlds, index), float(worlds.friction[index]),
            float(worlds.height[index]),
        )
        for index in tamsi_world.each(worlds)
    ]  # fmt: skip
    position = np.stack([run.position for run in runs])
    velocity = np.stack([run.velocity for run in runs])
    normal = np.stack([run.normal_force for run in runs])
    touches = normal > MIN_FORCE
    height = np.asarray(problem.model.distance(position.reshape(-1, position.shape[2]).T))
    gap = height.reshape(touches.shape) - worlds.height[:, None, None]
    begins = touches[:, 2:] & ~touches[:, 1:-1]
    impact = np.zeros_like(normal)
    impact[:, 2:] = np.where(begins, _touching_speed(gap[:, 1:-1], velocity[:, :-1, -1:]), 0.0)
    sliding = np.linalg.norm(velocity[:, :, : problem.model.dimension - 1], axis=2)
    return BatchMotion(
        position=position,
        velocity=velocity,
        normal_force=normal,
        tangent_force=np.zeros((*normal.shape[:2], 0)),
        slip=sliding[:, :, None],
        limit_force=np.zeros((*normal.shape[:2], 0)),
        impact_speed=impact,
    )


def _touching_speed(gap: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Return how fast a body that is already a little inside was when it touched [m/s].

    A contact of tamsi_sim begins with the first step that starts inside.

    Args:
        gap: Distance at the start of that step, not positive (n, m, 1) [m].
        velocity: Upwards at the start of the step before it, and of all others (n, m + 1, 1) [m/s].
    """
    before, speed = -velocity[:, :-1], -velocity[:, 1:]
    inside = np.clip(-gap / np.maximum(tamsi_world.TIME_STEP * speed, MIN_WAY), 0.0, 1.0)
    return np.maximum(speed + inside * (before - speed), 0.0)
