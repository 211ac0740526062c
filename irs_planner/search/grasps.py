"""Grasps: robot configurations at an object, where it could be pushed next."""

from __future__ import annotations

import numpy as np

from irs_planner.quasi_dynamic.contact_step import ContactFrames
from irs_planner.search.kernels import approach
from irs_planner.search.parts import Parts, pauses
from irs_planner.search.search_model import ROOM, SearchModel

LEAD_STEPS = 8
CLOSE_STEPS = 10
GRASPS_A_PART = 32
MAX_STEPS = 10.0
"""Limit of one step of inverse kinematics, in largest steps of the joints."""

SQUEEZING = 0.25
"""Share of the draws that are to hold an object from two sides."""
AROUND, ASIDE, HIGHER = (0.8, 1.5), 0.2, 0.15
"""How far from its centre in its radii, how far beside, as a share of it, and above, at most."""
# A grasp counts if it is this near to its clearance, and the outputs to their tolerances.
NEAR = 0.3


def choose_joints(model: SearchModel, generator: np.random.Generator) -> np.ndarray:
    """Choose the joints that let go of the objects: all, or those that move one link.

    The others hold still, for instance to hold an object.

    Args:
        model: The problem.
        generator: Source of the samples.

    Returns:
        (n_a) whether a joint takes part.
    """
    pair = generator.choice(model.grasp_pairs)
    if generator.random() < 0.5:
        return np.ones(len(model.joints), dtype=bool)
    return np.asarray(model.pair_joints[pair])


def draw_grasps(
    model: SearchModel,
    state: np.ndarray,
    moved: np.ndarray,
    generator: np.random.Generator,
    count: int,
) -> Parts[np.ndarray]:
    """Draw grasps of the objects where they are; one step of some of them is a part.

    One or two links are led to random places around an object, then to its surface.

    Args:
        model: The problem.
        state: (n) x, poses of the objects and where the robot comes from.
        moved: (n_a) joints that take part.
        generator: Source of the samples.
        count: Number of draws.

    Returns:
        (K, n) states with the robot near the objects, of the draws that succeeded.
    """
    chosen, place = _draw_contacts(model, state, moved, generator, count)
    if model.settings.height < 1.0:
        highest = _highest(model, state)
        place[..., -1] = np.minimum(place[..., -1], highest[model.pair_object[chosen]])
    for k in range(int(SQUEEZING * count) if model.settings.hold else 0):
        if (opposite := _draw_opposite(model, state, moved, generator)) is None:
            break
        chosen[k], place[k] = opposite
    number = np.where(chosen < 0, -1, model.robot_number[chosen])
    joints = np.repeat(state[np.newaxis, model.joints], count, axis=0)
    radius = float(model.dynamics.object_radii.max())
    for i in range(LEAD_STEPS + CLOSE_STEPS):
        yield from pauses(count, GRASPS_A_PART)
        _approach(model, state, joints, number, place, moved, radius if i < LEAD_STEPS else 0.0)
    states = model.complete(state, joints)
    error = model.errors(states, model.problem.goal)[:, model.dynamics.coordinates :]
    frames = model.robot_contacts(states)
    good = _touches(model, frames, number) & _clear(model, frames, moved)
    if model.settings.height < 1.0:
        good &= _low(model, states, chosen, highest, good)
    if model.tipping is not None:
        near = (1.0 + NEAR) * model.settings.clearance
        upright = model.tipping.share(states, model.dynamics.find_contacts(states), near) <= 1.0
        good = good & upright if (good & upright).any() else good
    return np.asarray(states[good & (np.abs(error) <= 1.0).all(axis=1)])


def _highest(model: SearchModel, state: np.ndarray) -> np.ndarray:
    """Return the height (O) up to which objects may be touched, by the settings [m]."""
    dynamics = model.dynamics
    center, height = dynamics.centers(state)[:, -1], dynamics.find_contacts(state[np.newaxis]).point
    first, second = np.array(dynamics.pair_names).reshape(-1, 2).T
    lowest = [
        height[0, (first == name) & (second == ""), -1].min(initial=z)
        for name, z in zip(dynamics.object_names, center, strict=True)
    ]
    return np.asarray(lowest + model.settings.height * (center - lowest))


def _low(
    model: SearchModel,
    states: np.ndarray,
    chosen: np.ndarray,
    highest: np.ndarray,
    good: np.ndarray,
) -> np.ndarray:
    """Tell whether grasps are low enough; where the robot reaches no lower, the lowest are.

    Args:
        model: The problem.
        states: (K, n) x.
        chosen: (K, 2) pairs that touch, -1 for none.
        highest: (O) up to which objects may be touched [m].
        good: (K) whether a grasp succeeded.
    """
    heights = model.dynamics.find_contacts(states).point[..., -1]
    heights = heights[np.arange(len(chosen))[:, np.newaxis], chosen]
    item, used = model.pair_object[chosen], chosen >= 0
    lowest = np.full(len(highest), np.inf)
    np.minimum.at(lowest, item[used & good[:, np.newaxis]], heights[used & good[:, np.newaxis]])
    highest = np.where(lowest > highest, lowest + model.settings.clearance, highest)
    within = heights <= highest[item]
    return np.asarray((within | ~used).all(axis=1))


def retreat(model: SearchModel, state: np.ndarray, moved: np.ndarray) -> np.ndarray | None:
    """Lead a robot away from what it touches, along the normals.

    Args:
        model: The problem.
        state: (n) x.
        moved: (n_a) joints that take part.

    Returns:
        (n_a) q_a with room around, or None.
    """
    joints = state[np.newaxis, model.joints].copy()
    nothing, nowhere = np.full((1, 1), -1), np.zeros((1, 1, 3))
    for _ in range(CLOSE_STEPS):
        _approach(model, state, joints, nothing, nowhere, moved, 0.0)
    frames = model.robot_contacts(model.complete(state, joints))
    return joints[0] if _clear(model, frames, moved)[0] else None


def _draw_contacts(
    model: SearchModel,
    state: np.ndarray,
    moved: np.ndarray,
    generator: np.random.Generator,
    count: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw pairs (count, 2) that are to touch, -1 for none, and places for them."""
    dynamics, pairs = model.dynamics, model.grasp_pairs
    pairs = pairs[(model.pair_joints[pairs] <= moved).all(axis=1)]
    chosen = generator.choice(pairs, size=(count, 2))
    links = np.array([a if a in dynamics.link_names else b for a, b in dynamics.pair_names])
    alone = (links[chosen[:, 0]] == links[chosen[:, 1]]) | (generator.random(count) < 0.5)
    item = model.pair_object[chosen]
    center = dynamics.centers(state)[item]
    direction = generator.standard_normal((count, 2, dynamics.dimension))
    direction /= np.linalg.norm(direction, axis=2, keepdims=True)
    distance = dynamics.object_radii[item] * generator.uniform(0.3, 1.5, size=(count, 2))
    chosen[alone, 1] = -1
    return chosen, center + distance[..., np.newaxis] * direction


def _draw_opposite(
    model: SearchModel, state: np.ndarray, moved: np.ndarray, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray] | None:
    """Draw (2) pairs and places for two links that could hold an object between them.

    The places lie opposite each other, half of the time about where the links are, and a little
    above the centre: the object hangs from them.

    Returns:
        Pairs and places, or None if there are no two links, or the object weighs nothing.
    """
    dynamics = model.dynamics
    frames = dynamics.find_contacts(state[np.newaxis])
    links = np.array([a if a in dynamics.link_names else b for a, b in dynamics.pair_names])
    pairs = model.grasp_pairs[(model.pair_joints[model.grasp_pairs] <= moved).all(axis=1)]
    if len(np.unique(links[pairs])) == 1 or not dynamics.load.any():
        return None
    item = model.pair_object[generator.choice(pairs)]
    pairs = pairs[model.pair_object[pairs] == item]
    able = np.unique(links[pairs])
    body = slice(model.size * item, model.size * item + dynamics.dimension)
    weight = float(np.linalg.norm(dynamics.load[body]))
    if len(able) == 1 or not weight:
        return None
    both = generator.choice(able, 2, replace=False)
    chosen = np.array([generator.choice(pairs[links[pairs] == link]) for link in both])
    direction = generator.standard_normal(dynamics.dimension)
    if generator.random() < 0.5:
        to_link = np.where(model.robot_first, 0.0, -frames.gap[0])[chosen, np.newaxis]
        a, b = frames.point[0, chosen] + to_link * frames.frame[0, chosen, 0]
        direction = (a - b) / np.linalg.norm(a - b) + ASIDE * direction / np.linalg.norm(direction)
    direction *= generator.uniform(*AROUND) / float(np.linalg.norm(direction))
    up = -generator.uniform(0.0, HIGHER) * dynamics.load[body] / weight
    offset = np.array([up + direction, up - direction])
    return chosen, dynamics.centers(state)[item] + dynamics.object_radii[item] * offset


def _approach(
    model: SearchModel,
    state: np.ndarray,
    joints: np.ndarray,
    chosen: np.ndarray,
    place: np.ndarray,
    moved: np.ndarray,
    radius: float,
) -> None:
    """Take one step of :func:`approach` and stay within the limits; pairs are robots' own."""
    dynamics = model.dynamics
    states = model.complete(state, joints)
    frames = model.robot_contacts(states)
    _, slope = dynamics.outputs(np.ascontiguousarray(states[:, : dynamics.coordinates]))
    outputs = slice(dynamics.coordinates, None)
    approach(
        frames.gap,
        frames.point,
        frames.frame,
        np.ascontiguousarray(frames.normal[..., model.joints]),
        np.ascontiguousarray(frames.tangent[..., model.joints]),
        model.robot_first[model.robot_pairs],
        chosen,
        place,
        radius,
        model.settings.clearance,
        np.ascontiguousarray(-model.errors(states, model.problem.goal)[:, outputs]),
        slope[..., model.joints] / model.problem.tolerance[outputs, np.newaxis],
        moved.astype(float),
        MAX_STEPS * model.step,
        joints,
    )
    np.clip(joints, *model.limits, out=joints)


def _touches(model: SearchModel, frames: ContactFrames, chosen: np.ndarray) -> np.ndarray:
    """Return (K) whether all chosen pairs are at the clearance."""
    clearance = model.settings.clearance
    gap = frames.gap[np.arange(len(chosen))[:, np.newaxis], chosen]
    near = np.abs(gap - clearance) <= NEAR * clearance
    return np.asarray((near | (chosen < 0)).all(axis=1))


def _clear(model: SearchModel, frames: ContactFrames, moved: np.ndarray) -> np.ndarray:
    """Return (K) whether the joints that move keep their room."""
    affected = (frames.normal[..., model.joints[moved]] != 0.0).any(axis=2)
    tight = frames.gap < ROOM * model.settings.clearance
    return np.asarray(~(tight & affected).any(axis=1))
