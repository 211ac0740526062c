"""Controls that differ much from those at hand, by the cross-entropy method.

Shooting goes downhill: where a body stands beside a hole in most worlds, and nothing that is a
little different helps, it stays there. Drawn changes of the controls, in all worlds at once, are
not held back by that; those that fail least say where the next ones are drawn.
"""

from __future__ import annotations

import numpy as np

from contact_core.base.planning import StopCondition
from robust_planner.risk.settings import ExplorationConfig
from robust_planner.risk.shooting import Shooting, hats

NODES = 8
"""Points between which a change of the controls is linear."""

SPREAD = 0.3
"""First standard deviation, relative to a large control."""

ELITE = 0.15
"""Share of the controls that says where the next are drawn."""


def explore(
    shooting: Shooting,
    controls: np.ndarray,
    scale: float,
    weight: float,
    config: ExplorationConfig,
    draw: np.random.Generator,
    stop: StopCondition,
) -> np.ndarray:
    """Look for controls that fail in fewer worlds.

    Args:
        shooting: The problem, in the worlds that are planned for.
        controls: u (N, nu) about which to begin [N, Nm].
        scale: A large control [N, Nm].
        weight: w, cost of exceeding a bound by itself in one world.
        config: How many are drawn.
        draw: Draws them.
        stop: Asked at every generation.

    Returns:
        The best ones (N, nu), which may be the given ones.
    """
    problem = shooting.problem
    limit = np.array(problem.model.limits.control)
    shapes = hats(problem, NODES)
    best, least = controls, float(shooting.merits(controls[None], weight)[0])
    mean, spread = np.zeros(len(shapes)), np.full(len(shapes), SPREAD * scale)
    elite = max(2, round(ELITE * config.population))
    for _ in range(config.generations):
        if stop.reason is not None:
            break
        changes = mean + spread * draw.standard_normal((config.population, len(shapes)))
        changes[0] = mean
        drawn = np.clip(controls + np.tensordot(changes, shapes, axes=1), -limit, limit)
        merits = shooting.merits(drawn, weight)
        chosen = np.argsort(merits, kind="stable")[:elite]
        if merits[chosen[0]] < least:
            best, least = drawn[chosen[0]], float(merits[chosen[0]])
        mean, spread = changes[chosen].mean(axis=0), changes[chosen].std(axis=0)
    return best
