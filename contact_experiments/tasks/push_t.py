"""Push-T of gym-pusht: an agent pushes a T to a pose, and what the planner knows of both.

The environment is stepped by its own commands alone. The planner sees what its observation says,
the places of agent and T, and has a model of its own, in which a pixel is a millimetre. That model
is quasi-dynamic as the environment is, where the T forgets its speed in every step and nothing
rubs; the agent goes where its controller leads it, whatever is in the way.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import replace
from typing import Any

import numpy as np

from contact_core.base.lazy import needs
from contact_stack.demo.push_anything.shapes import PushedObject
from irs_planner.closed_loop import ClosedLoop, Phase
from irs_planner.problem import Bounds, IrsProblem, QuadraticCost, VarianceSchedule
from irs_planner.quasi_dynamic import PlanarQuasiDynamics
from irs_planner.scenes.planar_scene import Box, Circle, PlanarLink, PlanarRobot, PlanarScene
from irs_planner.search import SearchSettings

EXTRA = "tasks"
"""Extra with the environment."""
ENVIRONMENT = "gym_pusht/PushT-v0"

PIXEL = 1e-3
"""In the model [m]."""
SIDE = 512.0
"""Of the picture; actions lie in it [px]."""
AGENT_RADIUS = 15.0
"""[px]."""
CENTER = (0.0, 45.0)
"""Centre of mass of the T in its own frame [px]."""
TEE = PushedObject(
    "tee", 1.0, (Box((0.12, 0.03), (0.0, -0.03)), Box((0.03, 0.09), (0.0, 0.03))), 3e-3, 0.075
)
"""The T about its centre of mass; its inertia is what the environment gives it."""
GOAL = (256.0, 256.0, math.pi / 4.0)
"""Of the T's own frame [px, rad]."""
STIFFNESS, DAMPING, CONTROL_PERIOD, CONTROLS = 100.0, 20.0, 0.01, 10
"""Of the agent's controller [1/s^2], [1/s], its period [s], and how many of it a step has."""

MOVE = 2
"""Steps of the environment after which the agent can rest at another place."""
STEP = 8.0
"""Of the agent in the model, at most [px]."""
STRIDES = {Phase.TRANSIT: 100.0, Phase.PUSH: 32.0}
"""Length of a straight move at most [px]: several steps of the model in one."""
STRAIGHT = 2.5
"""How far a step may lie beside the move that it is a part of [px]."""
TIME_STEP = 0.1
"""Of the model [s]; it has no meaning where everything is at rest after every step."""
RIGID = 50.0
"""How much less the agent gives way than the T, as K h^2 over the T's mass."""
TOLERANCE = (1.0, 1.0, 0.02)
"""What covers more than 95 % of the goal at any rate: x, y [px] and angle [rad] off by that."""
WITHIN = (80.0, 432.0)
"""Where the T is to be kept, for the walls: its centre [px]."""
OVERLAP = 30.0
"""A start may overlap so much: the agent in the middle of the T [px]."""
SEARCH = SearchSettings(
    attempts=300, shortening=0.5, refinements=0, hold=False, clearance=4.0 * PIXEL
)
TRUST = 10.0
"""How far the T may be from where a push was to have it [tolerances]."""
AT_ONCE = 10**9
"""Parts of a search: the environment waits for its next action."""


def make_environment() -> Any:
    """Return the environment.

    Raises:
        ContactStackError: If it is not installed.
    """
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    with needs(EXTRA):
        import gym_pusht  # noqa: F401, by being imported it registers the environment
        import gymnasium
    return gymnasium.make(ENVIRONMENT)


def centered(pose: np.ndarray) -> np.ndarray:
    """Return where the T's centre of mass is and how it is turned.

    Args:
        pose: (3) x, y [px] and angle [rad] of its own frame.

    Returns:
        (3) x, y [m] and angle [rad].
    """
    cosine, sine = math.cos(pose[2]), math.sin(pose[2])
    offset = np.array([[cosine, -sine], [sine, cosine]]) @ CENTER
    return np.array([*(PIXEL * (pose[:2] + offset)), pose[2]])


def push_t_model() -> PlanarQuasiDynamics:
    """Return the planner's model of agent and T, without the walls."""
    stiffness = RIGID * TEE.mass / TIME_STEP**2
    disc = Circle(PIXEL * AGENT_RADIUS)
    links = (
        PlanarLink("agent_x", "prismatic_y", stiffness),
        PlanarLink("agent_y", "prismatic_z", stiffness, "agent_x", shapes=(disc,)),
    )
    # Friction of two materials is none if one has none.
    agent = PlanarRobot("agent", 0.0, links=links)
    return PlanarQuasiDynamics(PlanarScene((0.0, 0.0), (TEE.planar(),), (agent,)), TIME_STEP)


def push_t_problem(observation: np.ndarray, model: PlanarQuasiDynamics) -> IrsProblem:
    """Return the planning problem of a start.

    Args:
        observation: (5) x and y of the agent and of the T's frame [px], and its angle [rad].
        model: Of :func:`push_t_model`.
    """
    agent, start = PIXEL * observation[:2], centered(observation[2:])
    goal = centered(np.array(GOAL))
    start[2] = goal[2] + math.remainder(start[2] - goal[2], 2.0 * math.pi)
    weight = np.array([100.0, 100.0, 4.0, 0.0, 0.0])
    cost = QuadraticCost(weight, 100.0 * weight, np.full(2, 100.0))
    step = np.full(2, PIXEL * STEP)
    return IrsProblem(
        model,
        np.concatenate((start, agent)),
        np.tile(np.concatenate((goal, agent)), (2, 1)),
        agent[np.newaxis],
        cost,
        Bounds(
            np.full(2, PIXEL * STEP),
            np.full(2, PIXEL * (SIDE - STEP)),
            step,
            bounded_states=(0, 1),
            state_low=np.full(2, PIXEL * WITHIN[0]),
            state_high=np.full(2, PIXEL * WITHIN[1]),
        ),
        VarianceSchedule(input_std=tuple(step)),
        cost,
        np.array([PIXEL * TOLERANCE[0], PIXEL * TOLERANCE[1], TOLERANCE[2], np.inf, np.inf]),
        allowed_penetration=PIXEL * OVERLAP,
    )


def _stopping_gains() -> np.ndarray:
    """Return (MOVE) the actions of a move by 1 that begins and ends at rest, from its begin."""
    pull = np.array([CONTROL_PERIOD, 1.0]) * STIFFNESS * CONTROL_PERIOD
    keep = np.array([[1.0, CONTROL_PERIOD], [0.0, 1.0]]) - np.outer(
        [CONTROL_PERIOD, 1.0], [STIFFNESS * CONTROL_PERIOD, DAMPING * CONTROL_PERIOD]
    )
    powers = [np.linalg.matrix_power(keep, k) for k in range(CONTROLS)]
    held, kept = sum(power @ pull for power in powers), keep @ powers[-1]
    return np.linalg.solve(np.column_stack((kept @ held, held)), [1.0, 0.0])


GAINS = _stopping_gains()


class PushTPlayer:
    """Decides from what is seen of the environment what the agent does next.

    Attributes:
        loop: The planner.
        overlap: Of agent and T at the start [px].
        updates: Processor time of every call of :meth:`actions`, without its search [s].
        searches: Processor time of every search [s].
    """

    def __init__(self, observation: np.ndarray, seed: int = 0) -> None:
        """Begin.

        Args:
            observation: (5) what the environment shows at the start.
            seed: Of the searches.
        """
        self._model = push_t_model()
        problem = push_t_problem(observation, self._model)
        self.overlap = self._model.penetration(problem.initial_state) / PIXEL
        self._angle = float(problem.initial_state[2])
        self._command = problem.initial_state[3:]
        self.loop = ClosedLoop(problem, replace(SEARCH, seed=seed), AT_ONCE, trust=TRUST)
        self.updates: list[float] = []
        self.searches: list[float] = []

    def actions(self, observation: np.ndarray) -> np.ndarray:
        """Return the next actions, after which the agent is at rest.

        Several decisions of the planner are one move as long as the agent's way is straight and
        what it does stays the same; where things will be meanwhile is the model's word.

        Args:
            observation: (5) what the environment shows, with the agent at rest.

        Returns:
            (MOVE, 2) [px].
        """
        begin, searched = time.process_time(), len(self.searches)
        state = self._state(observation)
        control = self._decide(state)
        phase, way = self.loop.phase, [observation[:2]]
        while True:
            ahead = self._predict(state, control)
            place = ahead[3:] / PIXEL
            if len(way) > 1 and not _straight([*way, place], STRIDES[phase]):
                break
            way.append(place)
            state, self._command = ahead, control
            if phase not in STRIDES:
                break
            control = self.loop.decide(state, control)
            if self.loop.phase is not phase:
                break
        spent = time.process_time() - begin
        self.updates.append(spent - sum(self.searches[searched:]))
        change = way[-1] - way[0]
        return way[0] + np.outer(GAINS, min(1.0, _share_within(way[0], change)) * change)

    def _state(self, observation: np.ndarray) -> np.ndarray:
        """Return (5) x; the angle goes on from the last one."""
        self._angle += math.remainder(observation[4] - self._angle, 2.0 * math.pi)
        pose = np.array([*observation[2:4], self._angle])
        return np.concatenate((centered(pose), PIXEL * observation[:2]))

    def _decide(self, state: np.ndarray) -> np.ndarray:
        """Return the next command, after a search if there has to be one."""
        control = self.loop.decide(state, self._command)
        while self.loop.phase is Phase.SEARCH:
            begin = time.process_time()
            self.loop.search()
            self.searches.append(time.process_time() - begin)
            control = self.loop.decide(state, self._command)
        return control

    def _predict(self, state: np.ndarray, control: np.ndarray) -> np.ndarray:
        """Return the state after a step; the T stays where no step undoes an overlap."""
        ahead = self._model.step(state, control)
        return ahead if np.isfinite(ahead).all() else np.concatenate((state[:3], control))


def _straight(way: list[np.ndarray], longest: float) -> bool:
    """Return whether a way (N) of places [px] may be one move of the agent."""
    points = np.array(way) - way[0]
    length = float(np.hypot(*points[-1]))
    if not 0.0 < length <= longest or _share_within(way[0], points[-1]) < 1.0:
        return False
    along = points @ points[-1] / length
    beside = points @ np.array([-points[-1, 1], points[-1, 0]]) / length
    return bool((np.diff(along) >= 0.0).all() and np.abs(beside).max() <= STRAIGHT)


def _share_within(place: np.ndarray, change: np.ndarray) -> float:
    """Return what share of a move (2) from a place (2) its actions leave within the picture."""
    farthest = np.where(change > 0.0, SIDE - place, place)
    reach = np.abs(GAINS[0] * change)
    return float(np.min(farthest / np.maximum(reach, 1e-9)))


def play(seed: int) -> dict[str, Any]:
    """Play from one start until the environment says that it has ended.

    Args:
        seed: Of the environment's start, and of the planner.

    Returns:
        The ``seed``; what the environment said: ``reached``, ``steps`` and the largest
        ``coverage``; ``overlap_px`` of agent and T at the start; how many ``updates``
        of the planner and ``searches``; processor time in all (``cpu_s``), of every update but for
        its search (``update_s``) and of every search (``search_s``); and the ``path``,
        (updates + 1, 5): x, y [m] and angle of the T's centre, x and y of the agent.
    """
    environment = make_environment()
    observation, _ = environment.reset(seed=seed)
    player = PushTPlayer(observation, seed)
    steps, ended, coverage = 0, False, 0.0
    path = []
    while not ended:
        path.append([*centered(observation[2:]), *(PIXEL * observation[:2])])
        for action in player.actions(observation):
            observation, _, reached, late, info = environment.step(action)
            steps, coverage = steps + 1, max(coverage, float(info["coverage"]))
            if ended := bool(reached or late):
                break
    path.append([*centered(observation[2:]), *(PIXEL * observation[:2])])
    environment.close()
    return {
        "seed": seed,
        "reached": bool(info["is_success"]),
        "steps": steps,
        "coverage": coverage,
        "overlap_px": player.overlap,
        "updates": len(player.updates),
        "searches": len(player.searches),
        "cpu_s": sum(player.updates) + sum(player.searches),
        "update_s": player.updates,
        "search_s": player.searches,
        "path": path,
    }
