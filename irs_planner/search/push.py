"""Pushes: what happens if the best input of the smoothed model is taken again and again."""

from __future__ import annotations

import math

import numpy as np

from irs_planner.search.hold import find_hold
from irs_planner.search.parts import Parts, pauses
from irs_planner.search.search_model import STATES_A_PART, SearchModel
from irs_planner.search.transit import Motion

MAX_STEPS = 30
"""Of a push."""
PATIENCE = 6
"""A push ends when it has not come nearer for so many steps."""
SMALLER = (0.5, 0.25)
"""Shares of an input that are tried where all of it would tip something over."""
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
        steps: How many at most; None for MAX_STEPS.
        enough: A push ends when it has come so much nearer [tolerances].
        holding: (K) which of them squeeze their object and move it as one body; they end where
            they no longer can. None for none.

    Returns:
        The motion of every grasp up to where its objects were nearest to the target; empty where
        they never came nearer.
    """
    length, count = steps or MAX_STEPS, len(states)
    history = np.empty((length + 1, *states.shape))
    inputs = np.empty((length, *commands.shape))
    history[0], nearest = states, model.distance(states, target)
    near = nearest - enough
    taken, going, here = np.zeros(count, dtype=int), np.arange(count), states
    holding = np.zeros(count, dtype=bool) if holding is None else holding
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
        ahead, lost = _step(model, here, control, states[going])
        lost |= dropped
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


def _step(
    model: SearchModel, states: np.ndarray, inputs: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Take a step (K, n), a smaller one where that is forbidden.

    Args:
        model: The problem.
        states: (K, n) x.
        inputs: (K, n_a) u; those of smaller steps are written.
        start: (K, n) where the pushes began.

    Returns:
        States, and (K) whether no step is allowed.
    """
    ahead = model.dynamics.step_batch(states, inputs)
    stuck = ~np.isfinite(ahead).all(axis=1)
    ahead[stuck] = states[stuck]
    lost = stuck | model.forbidden(ahead, start)
    actual, change = states[:, model.joints], inputs - states[:, model.joints]
    for share in SMALLER:
        again = np.flatnonzero(lost & ~stuck)
        if not again.size:
            break
        inputs[again] = actual[again] + share * change[again]
        ahead[again] = model.dynamics.step_batch(states[again], inputs[again])
        lost[again] = model.forbidden(ahead[again], start[again])
    return ahead, lost
