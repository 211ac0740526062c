"""Transits: the robot moves without touching anything, from one grasp to the next.

J. J. Kuffner and S. M. LaValle, "RRT-Connect: An efficient approach to single-query path
planning", ICRA 2000. Distances between shapes are the planner's own; a step of the contact model
along the path shows in the end that the objects stay where they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irs_planner.search.grasps import retreat
from irs_planner.search.parts import Parts
from irs_planner.search.search_model import ROOM, SearchModel

ATTEMPTS = 300
SHORTCUTS = 60
MAX_EDGE = 15.0
"""In largest steps of the joints, as everything here."""
MARGIN = 8.0
"""How far beyond the box around both ends a path may go."""
RESOLUTION = 0.5
PACE = 0.9
"""Share of the distance to a touch that a step may take."""
SLOWEST = 0.05
"""A step is no shorter than this, or a path that ends at a touch would never end."""
SETTLING = 40
"""Steps in which an object has to come to rest."""
AT_REST = 0.002
"""Motion in a step that counts as none, in tolerances."""
STEPS_A_PART = 6
"""How much of a motion is a part of the work; of the search for a path it is an edge."""


@dataclass(frozen=True)
class Motion:
    """A part of a rollout.

    Attributes:
        states: (T + 1, n) x.
        inputs: (T, n_a) u.
    """

    states: np.ndarray
    inputs: np.ndarray


def follow(model: SearchModel, state: np.ndarray, inputs: np.ndarray) -> Parts[Motion]:
    """Roll out commands by the exact step, none beyond the bounds about the actual position.

    Args:
        model: The problem.
        state: (n) x.
        inputs: (T, n_a) u.

    Returns:
        The motion with the commands as bounded.
    """
    states, commands = [state], []
    for k, control in enumerate(inputs):
        if k % STEPS_A_PART == STEPS_A_PART - 1:
            yield
        commands.append(model.hold(states[-1][np.newaxis], control[np.newaxis])[0])
        states.append(model.dynamics.step(states[-1], commands[-1]))
    return Motion(np.array(states), np.array(commands).reshape(-1, len(model.joints)))


def let_go(
    model: SearchModel, state: np.ndarray, command: np.ndarray, moved: np.ndarray
) -> Parts[Motion | None]:
    """Move away from the objects, and wait until they rest on what is left.

    Args:
        model: The problem.
        state: (n) x.
        command: (n_a) u that led there; joints that do not move keep it.
        moved: (n_a) joints that move.

    Returns:
        The motion, maybe empty, or None if there is no room or an object does not come to rest.
    """
    away = retreat(model, state, moved)
    yield
    if away is None:
        return None
    way = yield from walk(model, state, [state[model.joints], away])
    inputs = np.where(moved, way, command)
    last = np.where(moved, away, command)[np.newaxis]
    inputs_and_rest = np.concatenate((inputs, np.repeat(last, SETTLING, axis=0)))
    motion = yield from follow(model, state, inputs_and_rest)
    change = model.errors(motion.states[1:], motion.states[:-1])[len(inputs) :, model.placed]
    rest = np.flatnonzero(np.abs(change).max(axis=1) <= AT_REST)
    if not rest.size:
        return None
    steps = len(inputs) + int(rest[0])
    return Motion(motion.states[: steps + 1], motion.inputs[:steps])


def find_transit(
    model: SearchModel,
    state: np.ndarray,
    command: np.ndarray,
    goal: np.ndarray,
    moved: np.ndarray,
    generator: np.random.Generator,
) -> Parts[Motion | None]:
    """Move to a grasp without moving an object.

    Args:
        model: The problem.
        state: (n) x, with room around the joints that move.
        command: (n_a) u that led there; joints that do not move keep it.
        goal: (n_a) q_a of the grasp.
        moved: (n_a) joints that move.
        generator: Source of the samples.

    Returns:
        The motion, or None if there is no path or an object does not stay.
    """
    start = state[model.joints]
    path = yield from _FreeSpace(model, state, start).connect(start, goal, generator)
    if path is None:
        return None
    way = yield from walk(model, state, path)
    motion = yield from follow(model, state, np.where(moved, way, command))
    return motion if stays(model, motion.states) else None


def stays(model: SearchModel, states: np.ndarray) -> bool:
    """Return whether the objects stay where they were all through a motion (T + 1, n)."""
    shift = np.abs(model.errors(states, states[0])[:, model.placed])
    return bool((shift <= model.settings.slack).all())  # False for NaN as well


def walk(model: SearchModel, state: np.ndarray, waypoints: list[np.ndarray]) -> Parts[np.ndarray]:
    """Return (T, n_a) points along a path, each as far from the last one as touches nothing.

    Relaxed friction feels a body at a distance if something slides past it: a step keeps all
    inequalities J v + phi / h >= 0 of the contact model, and is shorter near objects.
    """
    points = [waypoints[0]]
    for waypoint in waypoints[1:]:
        while (rest := np.abs((waypoint - points[-1]) / model.step).max()) > 0.0:
            change = (waypoint - points[-1]) * min(1.0, 1.0 / rest)
            rows = model.dynamics.contact_rows(model.complete(state, points[-1][np.newaxis])[0])
            rate = rows.ray[:, model.joints] @ change
            near = rate < 0.0
            share = np.min(-PACE * rows.gap[near] / rate[near], initial=1.0)
            share = max(share, min(1.0, SLOWEST * max(1.0, 1.0 / rest)))
            points.append(points[-1] + share * change)
            if len(points) % STEPS_A_PART == 0:
                yield
            if share >= 1.0 and rest <= 1.0:
                break
    # Contact may have pushed a joint beyond its limit by a little; commands keep to it.
    return np.clip(np.array(points[1:]).reshape(-1, len(model.joints)), *model.limits)


class _FreeSpace:
    """Where the robot may be while the objects stay."""

    def __init__(self, model: SearchModel, state: np.ndarray, start: np.ndarray) -> None:
        """Pairs that are nearer at the start than they should be may stay so.

        Args:
            model: The problem.
            state: (n) x.
            start: (n_a) q_a where every path begins.
        """
        self._model, self._state = model, state
        gap = model.robot_contacts(model.complete(state, start[np.newaxis])).gap[0]
        self._room = np.minimum(ROOM * model.settings.clearance, gap - 1e-9)

    def connect(
        self, start: np.ndarray, goal: np.ndarray, generator: np.random.Generator
    ) -> Parts[list[np.ndarray] | None]:
        """Find a path by two trees that grow towards each other, and shorten it.

        Args:
            start: (n_a) q_a.
            goal: (n_a) q_a.
            generator: Source of the samples.

        Returns:
            Waypoints, or None.
        """
        if self._free(start, goal):
            return [start, goal]
        step = self._model.step
        low, high = np.minimum(start, goal), np.maximum(start, goal)
        span = np.where(start == goal, 0.0, np.maximum(high - low, MARGIN * step))
        low, high = np.clip([low - span, high + span], *self._model.limits)
        trees: list[list[tuple[np.ndarray, int]]] = [[(start, -1)], [(goal, -1)]]
        for i in range(ATTEMPTS):
            yield
            tree, other = trees[i % 2], trees[1 - i % 2]
            sample = generator.uniform(low, high)
            parent = self._nearest(tree, sample)
            origin = tree[parent][0]
            distance = np.abs((sample - origin) / step).max()
            new = origin + (sample - origin) * min(1.0, MAX_EDGE / distance)
            if not self._free(origin, new):
                continue
            tree.append((new, parent))
            meeting = self._nearest(other, new)
            if self._free(new, other[meeting][0]):
                path = _trace(tree, len(tree) - 1)[::-1] + _trace(other, meeting)
                path = path if i % 2 == 0 else path[::-1]
                return (yield from self._shorten(path, generator))
        return None

    def _nearest(self, tree: list[tuple[np.ndarray, int]], sample: np.ndarray) -> int:
        points = np.array([point for point, _ in tree])
        return int(np.argmin(np.abs((points - sample) / self._model.step).max(axis=1)))

    def _free(self, a: np.ndarray, b: np.ndarray) -> bool:
        """Return whether the straight way from a to b keeps its room."""
        count = 2 + int(np.abs((b - a) / self._model.step).max() / RESOLUTION)
        joints = a + np.linspace(0.0, 1.0, count)[:, np.newaxis] * (b - a)
        gap = self._model.robot_contacts(self._model.complete(self._state, joints)).gap
        return bool((gap >= self._room).all())

    def _shorten(
        self, path: list[np.ndarray], generator: np.random.Generator
    ) -> Parts[list[np.ndarray]]:
        """Replace what lies between two random points of a path by a straight way."""
        for _ in range(SHORTCUTS):
            if len(path) < 3:
                break
            yield
            i, j = np.sort(generator.choice(len(path) - 1, 2, replace=False))
            a, b = (
                path[k] + share * (path[k + 1] - path[k])
                for k, share in zip((i, j), generator.random(2), strict=True)
            )
            if self._free(a, b):
                path = [*path[: i + 1], a, b, *path[j + 1 :]]
        return path


def _trace(tree: list[tuple[np.ndarray, int]], index: int) -> list[np.ndarray]:
    """Return the points from a node to the root."""
    points = []
    while index >= 0:
        point, index = tree[index]
        points.append(point)
    return points
