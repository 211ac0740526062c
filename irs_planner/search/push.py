"""Pushes: what happens if the best input of the smoothed model is taken again and again."""

from __future__ import annotations

import numpy as np

from irs_planner.search.parts import Parts
from irs_planner.search.search_model import SearchModel
from irs_planner.search.transit import Motion

PATIENCE = 6
"""Pushes end when none has come nearer for so many steps."""


def push(
    model: SearchModel, states: np.ndarray, commands: np.ndarray, target: np.ndarray
) -> Parts[list[Motion]]:
    """Push from several grasps towards a target, by the exact step; one step is a part.

    No push leads beyond the bounds of the states, or farther beyond than it began, and in none
    does a link touch that keeps away.

    Args:
        model: The problem.
        states: (K, n) where to begin.
        commands: (K, n_a) u of the step before.
        target: (n) p.

    Returns:
        The motion of every grasp up to where its objects were nearest to the target; empty where
        they never came nearer.
    """
    history, inputs = [states], []
    lost = np.zeros(len(states), dtype=bool)
    distances = [model.distance(states, target)]
    for t in range(model.settings.push_steps):
        here = history[-1]
        control = model.best_inputs(here, model.hold(here, commands), target)
        ahead = model.dynamics.step_batch(here, control)
        stuck = ~np.isfinite(ahead).all(axis=1)
        ahead[stuck] = here[stuck]
        commands = control
        inputs.append(control)
        history.append(ahead)
        lost |= stuck | model.forbidden(ahead, states)
        distances.append(np.where(lost, np.inf, model.distance(ahead, target)))
        if t >= PATIENCE and int(np.argmin(distances, axis=0).max()) <= t - PATIENCE:
            break
        yield
    steps = np.argmin(distances, axis=0)
    motion, control = np.array(history), np.array(inputs)
    return [Motion(motion[: steps[k] + 1, k], control[: steps[k], k]) for k in range(len(states))]
