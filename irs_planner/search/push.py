"""Pushes: what happens if the best input of the smoothed model is taken again and again."""

from __future__ import annotations

import math

import numpy as np

from irs_planner.search.hold import find_hold
from irs_planner.search.parts import Parts, pauses
from irs_planner.search.search_model import STATES_A_PART, SearchModel
from irs_planner.search.transit import Motion

PATIENCE = 6
"""A push ends when it has not come nearer for so many steps."""
CLOSING_STEPS = 2
"""Steps in which an object is squeezed before it moves: fingers and arms take their time."""


def push(
    model: SearchModel,
    states: np.ndarray,
    commands: np.ndarray,
    target: np.ndarray,
    steps: int | None = None,
    enough: float = math.inf,
    holding: np.ndarray | None = None,
) -> Parts[list[Motion]]:
    """Push from several grasps towards a target, by the exact step; some steps are a part.

    No push leads beyond the bounds of the states, or farther beyond than it began, and in none
    does a link touch that keeps away.

    Args:
        model: The problem.
        states: (K, n) where to begin.
        commands: (K, n_a) u of the step before.
        target: (n) p.
        steps: How many at most; None for as many as the settings say.
        enough: A push ends when it has come so much nearer [tolerances].
        holding: (K) which of them squeeze their object and move it as one body, as long as they
            can; None for none.

    Returns:
        The motion of every grasp up to where its objects were nearest to the target; empty where
        they never came nearer.
    """
    length, count = steps or model.settings.push_steps, len(states)
    history = np.empty((length + 1, *states.shape))
    inputs = np.empty((length, *commands.shape))
    history[0], nearest = states, model.distance(states, target)
    near = nearest - enough
    taken, going, here = np.zeros(count, dtype=int), np.arange(count), states
    holding = np.zeros(count, dtype=bool) if holding is None else holding.copy()
    closed = np.zeros(count, dtype=int)
    for t in range(length):
        yield from pauses(going.size, STATES_A_PART)
        # First, for the model remembers the contacts of the states it was last asked about.
        holds = [(i, find_hold(model, here[i])) for i in np.flatnonzero(holding[going])]
        control = model.best_inputs(here, model.hold(here, commands), target)
        dropped = np.zeros(going.size, dtype=bool)
        for i, hold in holds:
            dropped[i] = hold is None
            if hold is not None:
                closed[going[i]] += hold.closed
                ready = closed[going[i]] > CLOSING_STEPS
                control[i] = hold.inputs(model, here[i], target) if ready else hold.commands
        ahead = model.dynamics.step_batch(here, control)
        stuck = dropped | ~np.isfinite(ahead).all(axis=1)
        ahead[stuck] = here[stuck]
        lost = stuck | model.forbidden(ahead, states[going])
        distance = np.where(lost, np.inf, model.distance(ahead, target))
        history[t + 1, going], inputs[t, going] = ahead, control
        nearer = going[distance < nearest[going]]
        taken[nearer] = t + 1
        nearest[going] = np.minimum(nearest[going], distance)
        on = ~lost & (t + 1 - taken[going] <= PATIENCE) & (nearest[going] > near[going])
        going, here, commands = going[on], ahead[on], control[on]
        if not going.size:
            break
    return [Motion(history[: taken[k] + 1, k], inputs[: taken[k], k]) for k in range(count)]
