"""Ways of things on what they stand on: where one goes first if the straight way is not free.

A search comes nearer to its goal push by push, so that a wall in between, or another thing, holds
it up for good. Here an object alone, without a robot, is led over a grid of places and turns, and
the search is given the end of the first straight part of that way as its goal. A way costs more
where it leaves a robot no room beside the object. Of several objects the one goes first that does
not block the others there; where no way is free, what may move and is in the way is put aside.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from contact_core.multibody.collision.shapes import ShapeKind
from irs_planner.problem import IrsProblem
from irs_planner.quasi_dynamic import SpatialQuasiDynamics
from irs_planner.search.kernels import sweep_costs
from irs_planner.search.parts import Parts
from irs_planner.search.search_model import SearchModel

SPACING, TURNS = 0.025, 16
"""Of the grid's places [m], and its turns in a full one."""
AROUND = 0.3
"""How far beyond start and goal a way may go [m]."""
REACH = (0.27, 0.8)
"""How far from an arm a way may go, as shares of its reach."""
NARROW, TIGHT = 3.0, 10.0
"""By how much a way costs more where there is no room for the robot, nor for errors."""
ROOM = 0.004
"""What an object keeps from all but its support, unless start or goal are nearer [m]."""
STANDS = 0.002
"""An object stands on what is so near below [m]."""
LOWEST = 2.0 * STANDS
"""Corners that are no higher over the lowest one may carry an object [m]."""
FINE = 0.01
"""Steps at which a straight way is looked at [m]."""
DETOUR = 1.2
"""A straight way may cost so many times as much as the one over the grid."""
ROUGH = 2.0
"""Things have to pass places on the way within so many tolerances."""
NEARBY = 3
"""So many places away an object may join the grid."""
NEAR = 0.05
"""What a straight way may cost more in any case [m]."""
PLACES = 4000
"""Poses that are tried for what is put aside."""
PAIRS_A_PART, POINTS_A_PART = 2000, 10
"""How many pairs of shapes that are looked at, or points of a way, are a part of the work."""
BELOW = 0.7
"""Smallest z of a normal that carries something."""
FULL, ROUNDING = 2.0 * math.pi, 1e-6
Point = tuple[int, ...]


@dataclass(frozen=True)
class _Body:
    """An object that has to get somewhere.

    Attributes:
        number: Of the object.
        radius: How far it reaches from its centre of mass [m].
        pairs: Of itself and what it may not touch: other objects, and what is fixed.
        first: (pairs) whether it is the first part.
        others: (pairs) number of the other object, -1 for what is fixed.
        turned: Whether its yaw has a goal.
    """

    number: int
    radius: float
    pairs: np.ndarray
    first: np.ndarray
    others: np.ndarray
    turned: bool

    @property
    def columns(self) -> np.ndarray:
        """(3) of x, y and yaw."""
        return 6 * self.number + np.array([0, 1, 5])

    def among(self, some: np.ndarray) -> _Body:
        """Return the object if it may touch all but some (pairs)."""
        return replace(
            self, pairs=self.pairs[some], first=self.first[some], others=self.others[some]
        )

    def length(self, change: np.ndarray) -> np.ndarray:
        """Return what changes (..., 3) of the pose cost where there is room [m]."""
        straight = np.hypot(change[..., 0], change[..., 1])
        return np.asarray(straight + self.radius * np.abs(change[..., 2]))


@dataclass(frozen=True)
class _Field:
    """What it costs an object to get to a pose from all over a grid.

    Attributes:
        goal: (3) x, y [m] and yaw [rad], where the grid has a point.
        axes: x, y [m] and turns [rad] of the grid.
        weight: (X, Y, T) cost of a way there per length, infinite where the object may not be.
        cost: (X, Y, T) of the way to the goal [m], likewise.
    """

    goal: np.ndarray
    axes: tuple[np.ndarray, ...]
    weight: np.ndarray
    cost: np.ndarray

    def pose(self, point: Point, beside: float) -> np.ndarray:
        """Return the pose (3) of a point, its yaw as near to another one as full turns allow."""
        x, y, yaw = (axis[i] for axis, i in zip(self.axes, point, strict=True))
        return np.array([x, y, beside + math.remainder(yaw - beside, FULL)])

    def point(self, pose: np.ndarray) -> Point:
        """Return the point that is nearest to a pose (3)."""
        x, y = (
            int(np.clip(round((value - axis[0]) / SPACING), 0, len(axis) - 1))
            for value, axis in zip(pose, self.axes[:2], strict=False)
        )
        return x, y, round((pose[2] - self.axes[2][0]) * TURNS / FULL) % TURNS

    def covers(self, pose: np.ndarray) -> bool:
        """Return whether a pose (3) is on the grid."""
        places = zip(pose, self.axes[:2], strict=False)
        return all(axis[0] <= value <= axis[-1] for value, axis in places)

    def around(self, point: Point, by: int) -> list[Point]:
        """Return the points that are up to some places and one turn away."""
        x, y, turn = point
        return [
            (i, j, k % TURNS)
            for i in range(max(x - by, 0), min(x + by + 1, len(self.axes[0])))
            for j in range(max(y - by, 0), min(y + by + 1, len(self.axes[1])))
            for k in (turn - 1, turn, turn + 1)
        ]


@dataclass(frozen=True)
class _Leg:
    """Where an object is to go first.

    Attributes:
        body: The object.
        pose: (3) x, y [m] and yaw [rad].
        tolerance: (3) likewise; infinite if its yaw does not matter.
    """

    body: _Body
    pose: np.ndarray
    tolerance: np.ndarray


class Ways:
    """Finds ways for the objects of a problem."""

    def __init__(self, model: SearchModel) -> None:
        """Look at a problem.

        Args:
            model: The problem. Only things that stand upright in 3-D have ways.
        """
        self._model = model
        bodies = [_body(model, k) for k in range(len(model.dynamics.object_names))]
        self._upright = {body.number: body for body in bodies if body is not None}
        placed = np.isfinite(model.problem.tolerance)
        self._bodies = [b for b in self._upright.values() if placed[b.columns[:2]].all()]
        widths = [model.problem.tolerance[body.columns[:2]].max() for body in self._bodies]
        # What counts as there where nothing else is said.
        self._usual = np.array([*[min(widths, default=0.0)] * 2, 0.5 * FULL / TURNS])
        self._known: dict[int, tuple[np.ndarray, _Field]] = {}
        self._order: dict[tuple[int, int], tuple[np.ndarray, bool]] = {}
        self._room = 0.0  # of the robot beside an object
        if isinstance(model.dynamics, SpatialQuasiDynamics):
            self._room = model.dynamics.thickness + 2.0 * model.settings.clearance
        self._near = max(ROOM, self._room, float(self._usual[0]))  # farther away nothing matters
        self._looked = 0  # at so many pairs since the last part

    def is_straight(self, state: np.ndarray) -> bool:
        """Return whether all objects may go straight to their goals, with the others as they are.

        Args:
            state: (n) x.
        """
        return all(
            self._is_free(body, state, state[body.columns], self._goal(body, state))
            for body in self._away(state)
        )

    def next_leg(self, state: np.ndarray) -> Parts[IrsProblem]:
        """Return the problem of the first part of the way, or the whole one if that is straight.

        Args:
            state: (n) x.
        """
        whole, away = replace(self._model.problem, initial_state=state), self._away(state)
        yield
        if self.is_straight(state) and all(self._fits(body, state) for body in away):
            return self._one(whole, away) if len(away) > 1 else whole
        possible = []
        for body in away:
            field = yield from self._remembered(body, state)
            leg = yield from self._first_leg(body, field, state)
            if leg is None:
                continue
            possible.append(leg)
            blocks = False
            there = self._placed(state, body, field.goal)
            for other in away:
                if other is not body and not blocks:
                    blocks = yield from self._blocks(body, other, there)
            if not blocks:
                return self._problem(whole, leg)
        for body in away:
            leg = yield from self._put_aside(body, state)
            if leg is not None:
                return self._problem(whole, leg)
        return self._problem(whole, possible[0]) if possible else whole

    def _one(self, problem: IrsProblem, away: list[_Body]) -> IrsProblem:
        """Return the problem of what is farthest from its goal."""
        error = np.abs(self._model.errors(problem.initial_state, problem.goal))
        body = max(away, key=lambda body: float(np.linalg.norm(error[body.columns])))
        goal = self._goal(body, problem.initial_state)
        return self._problem(problem, _Leg(body, goal, problem.tolerance[body.columns]))

    def _problem(self, problem: IrsProblem, leg: _Leg) -> IrsProblem:
        """Return the problem of a leg; what has not arrived may be elsewhere meanwhile."""
        goal, tolerance = problem.goal.copy(), problem.tolerance.copy()
        for other in self._away(problem.initial_state):
            tolerance[other.columns] = np.inf
        goal[leg.body.columns], tolerance[leg.body.columns] = leg.pose, leg.tolerance
        reference = np.tile(goal, (len(problem.reference), 1))
        return replace(problem, reference=reference, tolerance=tolerance)

    def _away(self, state: np.ndarray) -> list[_Body]:
        """Return the objects that are not at their goal."""
        error = np.abs(self._model.errors(state, self._model.problem.goal))
        return [body for body in self._bodies if error[body.columns].max() > 1.0]

    def _goal(self, body: _Body, state: np.ndarray) -> np.ndarray:
        """Return the goal (3) of an object, with its present yaw if that has none."""
        x, y, yaw = self._model.problem.goal[body.columns]
        return np.array([x, y, yaw if body.turned else state[body.columns[2]]])

    def _placed(self, state: np.ndarray, body: _Body, poses: np.ndarray) -> np.ndarray:
        """Return states (..., n) with an object at poses (..., 3)."""
        states = np.broadcast_to(state, (*poses.shape[:-1], state.shape[-1])).copy()
        states[..., body.columns] = poses
        return states

    def _gaps(
        self, body: _Body, state: np.ndarray, poses: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Look at an object at several poses.

        Args:
            body: The object.
            state: (n) x or (K, n), where the others are.
            poses: (K, 3) x, y, yaw.

        Returns:
            (K, pairs) gaps [m], (K, pairs) whether they are beside the object and not below, and
            (K) on how many points it stands.
        """
        dynamics = self._model.dynamics
        assert isinstance(dynamics, SpatialQuasiDynamics)
        states = self._placed(state, body, poses)
        near = self._may_be_near(body, states)
        self._looked += len(poses) * int(near.sum())
        frames = dynamics.find_some(states, body.pairs[near])
        upward = np.where(body.first[near], 1.0, -1.0) * frames.frame[:, :, 0, 2]
        gap = np.full((len(poses), len(near)), np.inf)
        below = np.zeros(gap.shape, dtype=bool)
        gap[:, near], below[:, near] = frames.gap, upward > BELOW
        return gap, ~below, np.sum(below & (gap < STANDS), axis=1)

    def _may_be_near(self, body: _Body, states: np.ndarray) -> np.ndarray:
        """Return (pairs) whether the other part may be near in one of the states (K, n)."""
        radii = self._model.dynamics.object_radii
        near = np.ones(len(radii) + 1, dtype=bool)  # the last is what is fixed
        for number, radius in enumerate(radii):
            apart = states[:, body.columns[:2]] - states[:, 6 * number : 6 * number + 2]
            near[number] = np.hypot(*apart.T).min() <= body.radius + radius + self._near
        return near[body.others]

    def _pause(self) -> Parts[None]:
        """End a part of the work if enough has been looked at."""
        if self._looked >= PAIRS_A_PART:
            self._looked = 0
            yield

    def _is_free(self, body: _Body, state: np.ndarray, begin: np.ndarray, end: np.ndarray) -> bool:
        """Return whether an object may go straight from one pose (3) to another one."""
        gap, _, stands = self._gaps(body, state, _between(body, begin, end))
        limit = np.minimum(np.minimum(ROOM, gap[0]), np.maximum(gap[-1], -STANDS)) - ROUNDING
        return bool((gap >= limit).all() and (stands >= stands[[0, -1]].min()).all())

    def _fits(self, body: _Body, state: np.ndarray) -> bool:
        """Return whether an object fits where it has to go, at the yaw it has to have there."""
        return body.turned or self._turns_freely(body, state, self._goal(body, state))

    def _turns_freely(self, body: _Body, state: np.ndarray, pose: np.ndarray) -> bool:
        """Return whether an object has room at a place (3) however it is turned."""
        poses = np.repeat(pose[np.newaxis], TURNS, axis=0)
        poses[:, 2] += _turns()
        gap, beside, _ = self._gaps(body, state, poses)
        return bool((gap[beside] >= ROOM).all())

    def _blocks(self, body: _Body, other: _Body, there: np.ndarray) -> Parts[bool]:
        """Return whether another object has no way once one is there, as found before if it is so.

        Args:
            body: The object.
            other: The other one.
            there: (n) x with the object at its goal.
        """
        objects = there[: len(self._model.dynamics.load)]
        known = self._order.get((body.number, other.number))
        if known is None or np.abs(objects - known[0]).max() > ROOM:
            known = objects, not (yield from self._has_way(other, there))
            self._order[body.number, other.number] = known
        return known[1]

    def _has_way(self, body: _Body, state: np.ndarray) -> Parts[bool]:
        """Return whether an object gets to its goal."""
        goal = self._goal(body, state)
        if self._is_free(body, state, state[body.columns], goal):
            return True
        field = yield from self._field(body, state, goal)
        return (yield from self._path(body, field, state)) is not None

    def _remembered(self, body: _Body, state: np.ndarray) -> Parts[_Field]:
        """Return the field of an object, as computed before if the others are where they were."""
        others = self._placed(state, body, np.zeros(3))[: len(self._model.dynamics.load)]
        known, here = self._known.get(body.number), state[body.columns]
        if known is None or np.abs(others - known[0]).max() > ROOM or not known[1].covers(here):
            field = yield from self._field(body, state, self._goal(body, state))
            known = self._known[body.number] = others, field
        return known[1]

    def _field(self, body: _Body, state: np.ndarray, goal: np.ndarray) -> Parts[_Field]:
        """Compute what it costs an object to get to a pose (3), at any yaw if that has no goal."""
        here = state[body.columns]
        low, high = np.minimum(here, goal) - AROUND, np.maximum(here, goal) + AROUND
        counts = np.stack((np.floor((low - goal) / SPACING), np.ceil((high - goal) / SPACING)))
        x, y = (goal[k] + SPACING * np.arange(counts[0, k], counts[1, k] + 1) for k in range(2))
        axes = (x, y, (goal[2] if body.turned else 0.0) + _turns())
        poses = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        ix, iy = -int(counts[0, 0]), -int(counts[0, 1])
        ends = poses[ix, iy, : 1 if body.turned else TURNS]
        gap, _, stands = self._gaps(body, state, ends)
        best = int(np.argmax(gap.min(axis=1)))
        limit = np.clip(gap[best], -STANDS, ROOM) - ROUNDING
        least = min(stands[best], self._gaps(body, state, here[np.newaxis])[2][0])
        weight = np.full(poses.shape[:3], np.inf)
        within = self._within(poses, here, goal)
        for i, j in itertools.product(range(len(x)), range(len(y))):
            if within[i, j]:
                weight[i, j] = self._weights(body, state, poses[i, j], limit, least)
                yield from self._pause()
        cost = np.full(weight.shape, np.inf)
        cost[ix, iy, : len(ends)] = np.where(np.isfinite(weight[ix, iy, : len(ends)]), 0.0, np.inf)
        turn = body.radius * FULL / TURNS
        while sweep_costs(weight, SPACING, turn, cost):
            yield
        return _Field(goal, axes, weight, cost)

    def _weights(
        self, body: _Body, state: np.ndarray, poses: np.ndarray, limit: np.ndarray, least: int
    ) -> np.ndarray:
        """Return (K) what a way costs at poses (K, 3), infinite where the object may not be."""
        gap, beside, stands = self._gaps(body, state, poses)
        nearest = np.where(beside, gap, np.inf).min(axis=1, initial=np.inf)
        free = (gap >= limit).all(axis=1) & (stands >= least)
        narrow, tight = (np.clip(1.0 - nearest / w, 0.0, 1.0) for w in (self._room, self._usual[0]))
        return np.where(free, 1.0 + NARROW * narrow + TIGHT * tight, np.inf)

    def _within(self, poses: np.ndarray, *ends: np.ndarray) -> np.ndarray:
        """Return (X, Y) which places of a grid an arm reaches well, or better than both ends."""
        dynamics = self._model.dynamics
        assert isinstance(dynamics, SpatialQuasiDynamics)
        places, inside = poses[:, :, 0, :2], np.zeros(poses.shape[:2], dtype=bool)
        for center, reach in dynamics.reaches:
            far = [float(np.hypot(*(end - center)[:2])) for end in ends]
            distance = np.hypot(*np.moveaxis(places - center[:2], -1, 0))
            low, high = min(REACH[0] * reach, *far), max(REACH[1] * reach, *far)
            inside |= (distance >= low - SPACING) & (distance <= high + SPACING)
        return inside

    def _path(self, body: _Body, field: _Field, state: np.ndarray) -> Parts[list[Point] | None]:
        """Return the points of the best way from where an object is, None if there is none."""
        begin = state[body.columns]
        here = field.point(begin)
        starts = [p for p in field.around(here, NEARBY) if np.isfinite(field.cost[p])]
        costs = [
            field.cost[p] + float(body.length(field.pose(p, begin[2]) - begin)) for p in starts
        ]
        for k in np.argsort(costs):
            yield from self._pause()
            if self._is_free(body, state, begin, field.pose(starts[k], begin[2])):
                path = [starts[k]]
                while field.cost[path[-1]] > 0.0:
                    path.append(_downhill(body, field, path[-1]))
                    if len(path) % POINTS_A_PART == 0:
                        yield
                return path
        return None

    def _first_leg(self, body: _Body, field: _Field, state: np.ndarray) -> Parts[_Leg | None]:
        """Return the first straight part of a way, None if there is no way.

        Args:
            body: The object.
            field: What it costs to get to its goal.
            state: (n) x.
        """
        begin = state[body.columns]
        path = yield from self._path(body, field, state)
        if path is None:
            return None
        last, far = len(path) - 1, 0
        onto = float(body.length(field.pose(path[0], begin[2]) - begin))
        for k in range(last, 0, -1):
            yield
            pose = field.pose(path[k], begin[2])
            between = _between(body, begin, pose)
            weight = np.array([field.weight[field.point(place)] for place in between[1:]])
            price = float(
                body.length(np.diff(between, axis=0)) @ np.minimum(weight, 1.0 + NARROW + TIGHT)
            )
            over = onto + float(field.cost[path[0]] - field.cost[path[k]])
            if price <= DETOUR * over + NEAR and self._is_free(body, state, begin, pose):
                far = k
                break
        while True:
            leg = self._as_leg(body, field, path, far, begin)
            beyond = np.abs(leg.pose - begin) > leg.tolerance
            if far == last or beyond.any():
                return leg
            far += 1

    def _as_leg(
        self, body: _Body, field: _Field, path: list[Point], end: int, begin: np.ndarray
    ) -> _Leg:
        """Return a way up to one of its points.

        The yaw does not matter where an object has room however it is turned, there and soon after.
        """
        pose, last = field.pose(path[end], begin[2]), end == len(path) - 1
        soon = [
            p for p in path[end:] if np.hypot(*(field.pose(p, 0.0) - pose)[:2]) < 2.0 * body.radius
        ]
        free = all(np.isfinite(field.weight[x, y]).all() for x, y, _ in soon)
        tolerance = self._at_the_end(body) if last else self._usual * (ROUGH, ROUGH, 1.0)
        if free and not (last and body.turned):
            tolerance[2] = np.inf
        return _Leg(body, pose, tolerance)

    def _at_the_end(self, body: _Body) -> np.ndarray:
        """Return the tolerance (3) of an object where its way ends."""
        wanted = self._model.problem.tolerance[body.columns]
        return np.where(np.isfinite(wanted), wanted, self._usual)

    def _put_aside(self, body: _Body, state: np.ndarray) -> Parts[_Leg | None]:
        """Return where what is in the way of an object goes first, None if that is no help.

        Args:
            body: The object.
            state: (n) x.
        """
        alone = body.among(body.others < 0)
        field = yield from self._field(alone, state, self._goal(body, state))
        path = yield from self._path(alone, field, state)
        if path is None:
            return None
        poses = np.array([field.pose(point, state[body.columns[2]]) for point in path])
        gap, _, _ = self._gaps(body, state, poses)
        numbers = [int(k) for row in gap < ROOM for k in body.others[row] if k in self._upright]
        for number in dict.fromkeys(numbers):
            other = replace(self._upright[number], turned=False)
            between = body.among(body.others == number)
            around = yield from self._field(other, state, state[other.columns])
            enough = self._at_the_end(other)
            for k in np.argsort(around.cost, axis=None)[:PLACES]:
                point = tuple(int(i) for i in np.unravel_index(int(k), around.cost.shape))
                if not np.isfinite(around.cost[point]):
                    break
                yield from self._pause()
                pose = around.pose(point, state[other.columns[2]])
                if (np.abs(pose - state[other.columns])[:2] <= enough[:2]).all():
                    continue  # It counts as there, and is still in the way.
                gap, _, _ = self._gaps(between, self._placed(state, other, pose), poses)
                if (gap >= self._usual[0]).all():
                    ahead = yield from self._field(other, state, pose)
                    return (yield from self._first_leg(other, ahead, state))
        return None


def _body(model: SearchModel, number: int) -> _Body | None:
    """Return an object of a problem, None if it does not stay upright at its height."""
    dynamics, kept = model.dynamics, set(model.problem.bounds.bounded_states)
    if not isinstance(dynamics, SpatialQuasiDynamics):
        return None
    name, names = dynamics.object_names[number], list(dynamics.object_names)
    needed = (2,) if name in dynamics.balls else (2, 3, 4)
    if not {6 * number + k for k in needed} <= kept:
        return None
    pairs = model.solid_pairs[_matters(dynamics, number, model.problem.goal)[model.solid_pairs]]
    first, second = np.array(dynamics.pair_names).reshape(-1, 2)[pairs].T
    some = (first == name) | (second == name)
    other = np.where(first == name, second, first)[some]
    return _Body(
        number,
        float(dynamics.object_radii[number]),
        pairs[some],
        (first == name)[some],
        np.array([names.index(o) if o else -1 for o in other], dtype=int),
        bool(np.isfinite(model.problem.tolerance[6 * number + 5])),
    )


def _matters(dynamics: SpatialQuasiDynamics, number: int, state: np.ndarray) -> np.ndarray:
    """Return (P) which pairs tell how near something upright is to others, and what carries it.

    A solid shape is where it is nearest to another one; of its corners only the lowest carry it.
    """
    arrays = dynamics.arrays
    probe, other = arrays.probe_pair.T
    turn = dynamics.object_poses(state)[dynamics.object_names[number]].rotation
    height, own = arrays.probe_position @ turn[2], arrays.probe_body == 1 + number
    corner = arrays.probe_radius == 0.0
    low = own & (height - height[own & corner].min(initial=np.inf) <= LOWEST)
    flat = arrays.shape_kind[other] == ShapeKind.HALF_SPACE
    carries = flat | ~corner[probe] | low[probe]
    return np.concatenate((carries, np.ones(len(arrays.shape_pair), dtype=bool)))


def _turns() -> np.ndarray:
    return FULL * np.arange(TURNS) / TURNS


def _between(body: _Body, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return poses (K, 3) on the straight way from one pose (3) to another one."""
    count = 2 + int(float(body.length(end - begin)) / FINE)
    return np.asarray(begin + np.linspace(0.0, 1.0, count)[:, np.newaxis] * (end - begin))


def _downhill(body: _Body, field: _Field, point: Point) -> Point:
    """Return the next point of the best way."""
    here = field.pose(point, 0.0)
    others = [other for other in field.around(point, 1) if other != point]
    lengths = [float(body.length(field.pose(other, here[2]) - here)) for other in others]
    costs = [
        field.cost[other] + length * 0.5 * (field.weight[other] + field.weight[point])
        for other, length in zip(others, lengths, strict=True)
    ]
    return others[int(np.argmin(costs))]
