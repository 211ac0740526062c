"""What makes planning pointless, told by name and distance before any search.

Overlaps at the start, a thing that nothing carries, goals inside of what never moves or only turns
about a fixed axis, and goals out of reach. All of it is cautious: what may be possible is left to
the search.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from contact_core.base.planning import PlanStatus
from irs_planner.dynamics import ContactDynamics
from irs_planner.problem import IrsProblem
from irs_planner.quasi_dynamic import QuasiDynamics, SpatialQuasiDynamics
from irs_planner.scenes.spatial_arrays import WORLD, heights, reach_about

GOAL = "its goal"
HELD = 0.005
"""What a robot is so near to may be held by it [m]."""
DROP = 0.02
"""What starts so near to something, or nearer, may land on it and be pushed from there [m]."""
FALL = 20
"""Steps in which what nothing carries falls by more than its own size."""
KEPT = ("z", "roll", "pitch")
"""What an object in 3-D keeps all the way, unless its goal is another: no push changes it."""
PLACES = 160
"""Places along a free axis at which something may be carried."""
TURNS, FREE = 16, 2
"""Angles that are tried of an orientation that does not matter, and of so many at most between two
things that both move."""


@dataclass(frozen=True)
class Impossibility:
    """Why nothing can be planned.

    Attributes:
        status: INITIAL_PENETRATION or GOAL_UNREACHABLE.
        reason: For a person, with names and distances.
        remedy: What the caller can do about it.
    """

    status: PlanStatus
    reason: str
    remedy: str


def find_impossibility(problem: IrsProblem) -> Impossibility | None:
    """Return what makes planning pointless, or None.

    Args:
        problem: The problem.
    """
    dynamics = problem.dynamics
    if not isinstance(dynamics, ContactDynamics):
        return None
    start, allowed = problem.initial_state, problem.allowed_penetration
    depth = dynamics.penetration(start)
    if depth > allowed:
        who = _deepest(dynamics, start) if isinstance(dynamics, QuasiDynamics) else "bodies"
        return Impossibility(
            PlanStatus.INITIAL_PENETRATION,
            f"{who} overlap by {depth:.4f} m at the start (allowed {allowed:g} m)",
            PlanStatus.INITIAL_PENETRATION.remedy,
        )
    if isinstance(dynamics, QuasiDynamics) and np.isfinite(problem.tolerance).any():
        for find, remedy in CHECKS:
            reason = find(problem, dynamics)
            if reason:
                return Impossibility(PlanStatus.GOAL_UNREACHABLE, reason, remedy)
    return None


def lifted_states(problem: IrsProblem, dynamics: SpatialQuasiDynamics) -> list[int]:
    """Return the heights of things that are to be lifted, which no push does.

    What is tipped comes to lie lower or higher: that is no lift.

    Args:
        problem: The problem.
        dynamics: Its dynamics.
    """
    change = np.abs(problem.goal - problem.initial_state) > problem.tolerance
    found = []
    for i, name in enumerate(dynamics.object_names):
        tipped = name not in dynamics.balls and change[6 * i + 3 : 6 * i + 5].any()
        found += [6 * i + 2] if change[6 * i + 2] and not tipped else []
    return found


def hardest_slide(problem: IrsProblem) -> tuple[str, float]:
    """Return which of the things that have to move is hardest to slide, and by what force [N].

    It may turn, tip or roll by less, so that this is no proof of anything.

    Args:
        problem: The problem.

    Returns:
        Its name with the figures, for a person, and the force; empty and 0 if nothing is heavy.
    """
    dynamics, start = problem.dynamics, problem.initial_state
    if not isinstance(dynamics, QuasiDynamics):
        return "", 0.0
    near = dynamics.find_contacts(start[np.newaxis]).gap[0] < DROP
    away = (np.abs(start - problem.goal) > problem.tolerance)[list(dynamics.object_states)]
    size = dynamics.object_size
    loads = dynamics.load.reshape(-1, size)[:, : dynamics.dimension]
    found = [("", 0.0)]
    for name, load, moves in zip(
        dynamics.object_names, loads, away.reshape(-1, size).any(axis=1), strict=True
    ):
        friction = [
            float(dynamics.friction[i])
            for i, pair in enumerate(dynamics.pair_names)
            if near[i] and name in pair and not set(pair) & set(dynamics.link_names)
        ]
        weight = float(np.linalg.norm(load)) if moves else 0.0
        force = weight * min(friction, default=0.0)
        found.append((f"'{name}' weighs {weight:.0f} N and slides from {force:.0f} N on", force))
    return max(found, key=lambda item: item[1])


def too_heavy(problem: IrsProblem) -> str:
    """Say what the arm cannot slide as it stands, by the effort limits of its joints, or nothing.

    Plans know of no such limits: the springs of their model press as hard as they are told.

    Args:
        problem: The problem.
    """
    dynamics = problem.dynamics
    text, force = hardest_slide(problem)
    if not isinstance(dynamics, SpatialQuasiDynamics) or not force:
        return ""
    turns = 2.0 * math.pi * np.arange(TURNS) / TURNS
    directions = np.column_stack((np.cos(turns), np.sin(turns)))
    slope = dynamics.outputs(problem.initial_state[np.newaxis, : dynamics.coordinates])[1][0]
    torque = np.abs(directions @ slope[:2, list(dynamics.commanded_states)])
    limits = np.where(torque > 0.0, dynamics.effort_limits, np.inf)
    most = float((limits / np.where(torque > 0.0, torque, 1.0)).min(axis=1).max())
    return f"{text}; as it stands the arm pushes with {most:.0f} N at most" if force > most else ""


def _deepest(dynamics: QuasiDynamics, state: np.ndarray) -> str:
    """Name the two bodies that overlap most."""
    pair = int(np.argmin(dynamics.find_contacts(state[np.newaxis]).gap[0]))
    return " and ".join(f"'{name}'" for name in dynamics.part_names[pair])


def _falling(problem: IrsProblem, dynamics: QuasiDynamics) -> str:
    """Say what nothing carries at the start; empty if all is carried, or lands within DROP."""
    return _uncarried(problem.initial_state, dynamics, dynamics.object_names, "the start")


def _falling_there(problem: IrsProblem, dynamics: QuasiDynamics) -> str:
    """Say likewise what nothing carries at its goal, wherever that is along one free axis."""
    wanted = np.isfinite(problem.tolerance)
    size = dynamics.object_size
    state = np.where(wanted, problem.goal, problem.initial_state)
    # What begins in somebody's hand may end there.
    held = _held(problem.initial_state, dynamics)
    for number, name in enumerate(dynamics.object_names):
        place = number * size + np.arange(dynamics.dimension)
        free = place[~wanted[place]]
        if name in held or len(free) > 1:
            continue
        reasons = (
            _uncarried(there, dynamics, [name], GOAL) for there in _along(state, dynamics, free)
        )
        told = list(itertools.takewhile(bool, reasons))
        if len(told) == 1 + len(free) * PLACES:
            return told[0]
    return ""


def _at_no_height(problem: IrsProblem, dynamics: QuasiDynamics) -> str:
    """Say what is to be at a height at which nothing stands, wherever it is besides.

    What pushes it up is as high as a part of it: what is flat and upright is pushed where it
    begins, and pushes where it ends. Other things may carry it on top of all that is fixed.
    """
    if not isinstance(dynamics, SpatialQuasiDynamics) or dynamics.branches:
        return ""
    held, upright = _held(problem.initial_state, dynamics), pin.SE3.Identity()
    widths = 2.0 * dynamics.object_radii
    fixed = [heights(part, upright) for part in dynamics.parts if part.body == WORLD]
    below = [(high if flat else low, high) for low, high, flat in fixed]
    poses = dynamics.object_poses(problem.goal)
    for number, name in enumerate(dynamics.object_names):
        columns = slice(6 * number, 6 * number + 6)
        down, tolerance = dynamics.load[columns][:3], problem.tolerance[columns]
        if not np.isfinite(tolerance[2]) or name in held or down[:2].any() or not down[2] < 0.0:
            continue
        own = [part for part in dynamics.parts if part.instance == name]
        height, reach = float(problem.goal[columns][2]), reach_about(np.zeros(3), own)
        room = max(DROP, float(tolerance[2])) + problem.allowed_penetration
        if np.isfinite(tolerance[3:5]).all():
            turn = dynamics.scene.own_turn(name).T
            pose = poses[name] * pin.SE3(turn, np.zeros(3))
            ends = [heights(part, pose) for part in own]
            room += reach * float(np.linalg.norm(tolerance[3:5]))
            above = [(low, low if flat else high) for low, high, flat in ends]
        else:
            above = [(height - reach, height + reach)]
        others = float(widths.sum() - widths[number])
        tops = [(-math.inf, top + others) for _, top in below] if others else below
        pairs = itertools.product(above, tops)
        apart = [max((s[0] - t[1], "above"), (t[0] - s[1], "below")) for s, t in pairs]
        nearest, where = min(apart, default=(0.0, ""))
        if nearest > room:
            return (
                f"nothing carries '{name}' at a height of {height:g} m, wherever that is: it would "
                f"stand {nearest:.2f} m {where} the nearest thing to stand on"
            )
    return ""


def _along(state: np.ndarray, dynamics: QuasiDynamics, free: np.ndarray) -> Iterator[np.ndarray]:
    """Yield a state (n), then others, as far along a free axis as an arm reaches."""
    yield state
    arms = dynamics.reaches if isinstance(dynamics, SpatialQuasiDynamics) else []
    for column in free.tolist() if arms else ():
        axis = column % 6
        low = min(float(center[axis]) - reach for center, reach in arms)
        high = max(float(center[axis]) + reach for center, reach in arms)
        for value in np.linspace(low, high, PLACES):
            there = state.copy()
            there[column] = value
            yield there


def _held(state: np.ndarray, dynamics: QuasiDynamics) -> set[str]:
    """Return the things that the robot touches."""
    gap = dynamics.find_contacts(state[np.newaxis]).gap[0]
    held: set[str] = set()
    for between, names in zip(gap, dynamics.pair_names, strict=True):
        if between < HELD and set(names) & set(dynamics.link_names):
            held |= set(names)
    return held


def _uncarried(state: np.ndarray, dynamics: QuasiDynamics, names: Sequence[str], where: str) -> str:
    """Say which of some things falls from a state (n); empty if none does."""
    commands, begin = state[list(dynamics.commanded_states)], dynamics.centers(state)
    # At a goal the robot is elsewhere, unless it has fingers, or two arms, to hold what is there.
    one_end = isinstance(dynamics, SpatialQuasiDynamics) and not dynamics.branches
    alone = where == GOAL and one_end
    held, robots = set() if alone else _held(state, dynamics), set(dynamics.link_names)
    gap = dynamics.find_contacts(state[np.newaxis]).gap[0]
    space = dict.fromkeys(dynamics.object_names, math.inf)
    for between, pair in zip(gap, dynamics.pair_names, strict=True):
        for name in space.keys() & set(pair):
            if not (alone and robots & set(pair)):
                space[name] = min(space[name], float(between))
    for _ in range(FALL if dynamics.load.any() else 0):
        state = dynamics.step(state, commands)
        if not np.isfinite(state).all():
            return ""
    down = dynamics.load.reshape(len(begin), -1)[:, : begin.shape[1]]
    way = np.sum((dynamics.centers(state) - begin) * down, axis=1)
    for name, fallen, load, radius in zip(
        dynamics.object_names, way, down, dynamics.object_radii, strict=True
    ):
        weight = float(np.linalg.norm(load))
        # What overlaps something is pushed out of it here, not by its weight.
        if not weight or name in held or name not in names or space[name] < -DROP:
            continue
        nearest = space[name]
        falls = fallen / weight > (DROP if nearest > DROP else max(1.0, 2.0 * radius))
        if falls or (alone and nearest > DROP):
            away = f" ({nearest:.2f} m from anything)" if DROP < nearest < math.inf else ""
            return f"nothing carries '{name}' at {where}: it falls{away}"
    return ""


def _blocked(problem: IrsProblem, dynamics: QuasiDynamics) -> str:
    """Say which object is inside of something at its goal, however it is turned there."""
    size = dynamics.object_size
    first, second = np.array(dynamics.pair_names).reshape(-1, 2).T
    positions = np.arange(size) < dynamics.dimension
    angles = 2.0 * math.pi * np.arange(TURNS) / TURNS
    # What is known to be in the way then: how it may be turned, and how far it may be elsewhere.
    placed: dict[str, tuple[list[int], float]] = {"": ([], 0.0)}
    if isinstance(dynamics, SpatialQuasiDynamics):
        placed |= {link: ([joint], 0.0) for link, joint in dynamics.shoulders.items()}
    for number, name in enumerate(dynamics.object_names):
        columns = np.arange(number * size, (number + 1) * size)
        wanted = np.isfinite(problem.tolerance[columns])
        if not wanted[positions].all():
            continue
        # What is nearer to its goal than the tolerance counts as there.
        room = float(problem.tolerance[columns][wanted & positions].max())
        own = columns[~wanted].tolist()
        for other, (turned, besides) in placed.items():
            pairs = ((first == name) & (second == other)) | ((second == name) & (first == other))
            free = [*own, *turned]
            if not pairs.any() or (other and len(free) > FREE):
                continue
            turns = np.array(list(itertools.product(angles, repeat=len(free))))
            states = np.repeat(problem.goal[np.newaxis], len(turns), axis=0)
            states[:, free] = turns.reshape(len(turns), len(free))
            gap = dynamics.find_some(states, np.flatnonzero(pairs)).gap
            deepest = gap.min(axis=1)
            best = int(np.argmax(deepest))
            if -deepest[best] > room + besides:
                pair = int(np.flatnonzero(pairs)[np.argmin(gap[best])])
                what = next(part for part in dynamics.part_names[pair] if part != name)
                return f"at its goal '{name}' overlaps '{what}' by {-deepest[best]:.3f} m"
        placed[name] = own, room
    return ""


def _out_of_reach(problem: IrsProblem, dynamics: QuasiDynamics) -> str:
    """Say which object no arm reaches, at its start or its goal."""
    if not isinstance(dynamics, SpatialQuasiDynamics):
        return ""
    size = dynamics.object_size
    arms = dynamics.reaches
    widths = 2.0 * dynamics.object_radii
    for number, name in enumerate(dynamics.object_names):
        columns = slice(number * size, number * size + 3)
        if not np.isfinite(problem.tolerance[number * size : (number + 1) * size]).any():
            continue
        known = np.isfinite(problem.tolerance[columns])
        # An object may be pushed by another one.
        span = float(dynamics.object_radii[number] + widths.sum() - widths[number])
        for when, state in (("start", problem.initial_state), ("goal", problem.goal)):
            counts = known if when == "goal" else np.ones(3, dtype=bool)
            place = dynamics.centers(state)[number]
            beyond = min(
                float(np.linalg.norm((place - center)[counts])) - reach - span
                for center, reach in arms
            )
            if beyond > 0.0:
                return (
                    f"'{name}' is out of the arm's reach at its {when}, by {beyond:.2f} m at least"
                )
    return ""


CHECKS = (
    (_falling, "place it on something"),
    (_blocked, "choose a goal where it has room"),
    (_out_of_reach, "choose a place within reach, in metres"),
    (_falling_there, "choose a goal on something"),
    (_at_no_height, "give the height at which it stands on something, or none"),
)
"""What is looked at beyond overlaps, and what can be done about it."""
