"""Holds: contacts that squeeze an object until they can carry it, and then move it as one body.

A push is chosen by what the next step gains, and a step that only squeezes gains nothing. So the
forces that carry an object come first: from its balance and the friction cones. What moves it then
is all that leaves these forces as they are, the directions in which the contacts stick.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from irs_planner.search.parts import Parts
from irs_planner.search.search_model import EFFORT, SearchModel

FRICTION = 0.7
"""Share of the friction that the forces of a hold make use of."""
UNBALANCED = 0.15
"""Largest part of a load that they may leave, as a share of it."""
SPRING = 0.9
"""Largest share of a step that they may take."""
NEAR = 1.5
"""Contacts that may hold are as near as this, in clearances."""
CLOSED = 0.1
"""An object is moved once its contacts are as near as this, in clearances."""
MISPLACED = 1.0
"""A hold has to carry what is so far beside where it is thought to be, likewise."""
DAMPING = 0.01
"""Of the motion that closes contacts, relative to its mean square."""
RANK = 1e-6
"""Singular values below this share of the largest one are none."""


@dataclass(frozen=True)
class Hold:
    """What carries an object at a state.

    Attributes:
        commands: (n_a) u that close the contacts, and press so that they carry the object.
        slope: (r, n_a) effect of the joints on the placed states while the contacts stick, in
            tolerances per largest step.
        aside: (s, n_a) likewise on the other states of objects, in units of the joint that moves
            them farthest.
        sticking: (n_a, n_a) projector onto the steps of the joints that keep them so.
        closed: Whether the contacts touch already: then the object may be moved.
        pairs: (C) of the contacts that press.
    """

    commands: np.ndarray
    slope: np.ndarray
    aside: np.ndarray
    sticking: np.ndarray
    closed: bool
    pairs: np.ndarray

    def inputs(self, model: SearchModel, state: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return (n_a) u that lead the object to a target while it is held.

        Args:
            model: The problem.
            state: (n) x.
            target: (n) p.
        """
        # As a whole, not joint by joint: else all of them go as far as they may.
        error = model.errors(state, target)[model.placed]
        effort = self.aside.T @ self.aside + EFFORT * np.eye(len(self.commands))
        hessian = self.slope.T @ self.slope + effort
        change = self.sticking @ np.linalg.solve(hessian, -self.slope.T @ error) * model.step
        low, high = (bound[0] - self.commands for bound in model.command_bounds(state[np.newaxis]))
        room, moving = np.where(change > 0.0, high, low), change != 0.0
        share = np.min(room[moving] / change[moving], initial=1.0)
        return np.asarray(self.commands + share * change)


def find_hold(model: SearchModel, state: np.ndarray) -> Hold | None:
    """Return what carries an object with the contacts that the robot has, or nearly has.

    Args:
        model: The problem.
        state: (n) x.

    Returns:
        The hold, or None if no object has a load, or none of them could be carried.
    """
    gap = model.dynamics.find_contacts(state[np.newaxis]).gap[0, model.grasp_pairs]
    for near in (CLOSED, NEAR):  # what touches already, if that is enough
        pairs = model.grasp_pairs[gap <= near * model.settings.clearance]
        items = model.pair_object[pairs]
        for item in np.unique(items):
            touching = pairs[items == item]
            force = _carry(model, state, touching)
            if force is not None:
                pressing = force.sum(axis=1) > RANK
                hold = _squeeze(model, state, touching[pressing], force[pressing])
                if hold is not None:
                    return hold
    return None


def find_holds(model: SearchModel, states: np.ndarray) -> Parts[list[Hold | None]]:
    """Return what :func:`find_hold` finds for several states; one where it looks is a part.

    Args:
        model: The problem.
        states: (K, n) x.

    Returns:
        The holds (K); None where there is none, where it would slip if the object were a little
        elsewhere (at an edge, say), or if the settings want none.
    """
    holds: list[Hold | None] = [None] * len(states)
    if not (model.settings.hold and model.dynamics.load.any()):
        return holds
    gap = model.dynamics.find_contacts(states).gap[:, model.grasp_pairs]
    near = np.sum(gap <= NEAR * model.settings.clearance, axis=1)
    for k in np.flatnonzero(near > 1):
        hold = find_hold(model, states[k])
        if hold is not None and _is_sturdy(model, states[k], hold.pairs):
            holds[k] = hold
        yield
    return holds


def _carry(model: SearchModel, state: np.ndarray, pairs: np.ndarray) -> np.ndarray | None:
    """Return (C, R) forces [N] along the edges of cones by which pairs carry their object."""
    dynamics, item = model.dynamics, model.pair_object[pairs[0]]
    size = model.size
    columns = slice(size * item, size * (item + 1))
    scale = np.where(np.arange(size) < dynamics.dimension, 1.0, dynamics.object_radii[item])
    load = dynamics.loads(state[np.newaxis, : dynamics.coordinates])[0, columns] / scale
    if len(pairs) == 1 or not load.any():  # no one balances on a ball
        return None
    edges = _edges(model, state, pairs)[..., columns] / scale
    force, rest = scipy.optimize.nnls(edges.reshape(-1, size).T, -load)
    hardest = force.reshape(len(pairs), -1).sum(axis=1).max()
    too_hard = model.settings.force and hardest > model.settings.force
    if too_hard or rest > UNBALANCED * np.linalg.norm(load):
        return None
    return np.asarray(force.reshape(len(pairs), -1))


def _is_sturdy(model: SearchModel, state: np.ndarray, pairs: np.ndarray) -> bool:
    """Return whether pairs would carry their object also a little beside where it is."""
    first = model.size * model.pair_object[pairs[0]]
    for axis in range(first, first + model.dynamics.dimension):
        for shift in (-1.0, 1.0):
            beside = state[np.newaxis].copy()
            beside[0, axis] += shift * MISPLACED * model.settings.clearance
            (beside,) = model.complete(beside[0], beside[:, model.joints])
            force = _carry(model, beside, pairs)
            if force is None or _press(model, beside, pairs, force) is None:
                return False
    return True


def _press(
    model: SearchModel, state: np.ndarray, pairs: np.ndarray, force: np.ndarray
) -> np.ndarray | None:
    """Return (n_a) how far springs press for some forces, or None if that is beyond a step.

    Springs balance contact, K (u - q_a) + J_a^T f = 0.
    """
    edges = _edges(model, state, pairs)[..., model.joints]
    press = -np.einsum("cr,crj->j", force, edges) / model.dynamics.stiffness
    return None if (np.abs(press) > SPRING * model.step).any() else np.asarray(press)


def _squeeze(
    model: SearchModel, state: np.ndarray, pairs: np.ndarray, force: np.ndarray
) -> Hold | None:
    """Return the hold with some forces, if springs can press as hard within a step.

    Contacts stick, J_u dq_u + J_a dq_a = 0.
    """
    dynamics, joints, step = model.dynamics, model.joints, model.step
    press = _press(model, state, pairs, force)
    if press is None:
        return None
    frames = dynamics.find_contacts(state[np.newaxis])
    gap, normal = frames.gap[0, pairs], frames.normal[0, pairs]
    rows = np.concatenate((normal[:, np.newaxis], frames.tangent[0, pairs]), axis=1)
    rows = rows.reshape(-1, rows.shape[-1])
    robot, objects = rows[:, joints] * step, rows[:, list(dynamics.object_states)]
    follow = -np.linalg.pinv(objects, RANK)
    slip = robot + objects @ follow @ robot
    sticking = np.eye(len(joints)) - np.linalg.pinv(slip, RANK) @ slip
    motion = follow @ robot @ sticking
    aside = np.delete(motion, model.placed, axis=0)
    farthest = np.maximum(np.abs(aside).max(axis=1, keepdims=True), RANK)
    closing = normal[:, joints] * step
    square = closing @ closing.T
    damping = DAMPING * np.trace(square) / len(square) * np.eye(len(square))
    close = -closing.T @ np.linalg.solve(square + damping, gap) * step
    return Hold(
        model.hold(state[np.newaxis], (state[joints] + close + press)[np.newaxis])[0],
        motion[model.placed] / model.problem.tolerance[model.placed, np.newaxis],
        aside / farthest,
        sticking,
        bool(gap.max() <= CLOSED * model.settings.clearance),
        pairs,
    )


def _edges(model: SearchModel, state: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return (C, R, n) the edges of cones that are narrower than those of the contacts."""
    rows, count = model.dynamics.contact_rows(state), len(model.dynamics.friction)
    ray, normal = (a.reshape(count, -1, a.shape[1])[pairs] for a in (rows.ray, rows.normal))
    return np.asarray(FRICTION * ray + (1.0 - FRICTION) * normal)
