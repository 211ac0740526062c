"""Pushing in closed loop: at every look the next input, and from where to push next.

Two layers, both over the smoothed contact model. The upper one decides where to touch: a short
global search from what is seen now, :func:`irs_planner.plan_globally`, whose first transit is
carried out. The lower one is receding-horizon control: at every look it rolls out the push that
comes nearest to the target, and its first input is sent. When no push from where the robot is gains
anything any more, the upper layer looks for another place. What is pushed may slide otherwise
than predicted, or be kicked away: the next look tells.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from contact_core.config import parameter
from contact_core.planning import StopCondition
from contact_core.seeds import generator
from irs_planner.problem import IrsProblem
from irs_planner.result import CONTACT, IrsPlan
from irs_planner.search import SearchSettings, plan_globally
from irs_planner.search.push import push
from irs_planner.search.search_model import SearchModel

SHORT_SEARCH = SearchSettings(attempts=40, shortcuts=5, refinements=0)

NEAR = 0.3
"""A waypoint counts as passed from here, in largest steps."""


class Phase(StrEnum):
    """What the robot is doing."""

    REST = "at rest"
    TRANSIT = "going round"
    PUSH = "pushing"


@dataclass(frozen=True)
class ClosedLoopSettings:
    """How a push is decided on; lengths are in tolerances of the goal."""

    search: SearchSettings = field(default=SHORT_SEARCH)
    gain: float = parameter(0.3, "how much nearer a push has to come, in tolerances", above=0.0)
    patience: int = parameter(3, "looks in a row at which no push gains before it ends", low=1)
    stall: int = parameter(
        40, "looks in which a push truly has to come nearer by that, or a waypoint be passed", low=1
    )
    leave: float = parameter(
        1.25, "how far what has arrived has to be seen from its goal before it goes on", low=1.0
    )
    moved: float = parameter(
        1.0, "motion of an object after which a transit is planned anew, in tolerances", above=0.0
    )


class ClosedLoop:
    """Brings objects to a goal, look by look; deterministic for what is seen.

    Attributes:
        problem: Start and goal, tolerances and bounds; the start is where it was first seen.
        phase: What the robot is doing.
        searches: How often the upper layer has decided.
    """

    def __init__(self, problem: IrsProblem, settings: ClosedLoopSettings | None = None) -> None:
        """Begin at rest.

        Args:
            problem: A scene with contact, a goal, tolerances and bounds, as for
                :func:`irs_planner.plan_globally`.
            settings: How to decide; None for the defaults.

        Raises:
            ConfigError: If the problem cannot be planned globally; the message says what it lacks.
        """
        self.problem = problem
        self.phase = Phase.REST
        self.searches = 0
        self._settings = settings or ClosedLoopSettings()
        self._model = SearchModel(problem, self._settings.search)
        self._path = np.empty((0, len(self._model.joints)))
        self._seen = problem.initial_state
        self._target = problem.goal
        self._idle = self._stalled = 0
        self._nearest, self._arrived = np.inf, False
        self._seeds = generator(self._settings.search.seed, "closed loop")

    def step(
        self, state: np.ndarray, command: np.ndarray, stop: StopCondition | None = None
    ) -> np.ndarray:
        """Decide what the robot does until the next look.

        Args:
            state: (n) x as seen: poses of the objects, positions of the robot.
            command: (n_a) u of the look before.
            stop: Ends a search early.

        Returns:
            (n_a) u, within the bounds about the robot's position.
        """
        model, rest = self._model, self._model.hold(state[np.newaxis], command[np.newaxis])[0]
        farthest = np.abs(model.errors(state, model.problem.goal)).max()
        self._arrived = farthest <= (self._settings.leave if self._arrived else 1.0)
        if self._arrived:
            self.phase = Phase.REST
            return rest
        if self.phase is Phase.REST:
            self._touch()
        if self.phase is Phase.TRANSIT and not self._has_moved(state):
            if len(self._path) and (waypoint := self._waypoint(state)) is not None:
                return waypoint
            if not len(self._path):
                self._touch()
        if self.phase is Phase.PUSH:
            control = self._push(state, rest)
            if control is not None:
                return control
        self._search(state, stop)
        return rest

    def _touch(self) -> None:
        """Begin to push from where the robot is."""
        self.phase, self._idle, self._stalled, self._nearest = Phase.PUSH, 0, 0, np.inf

    def _waypoint(self, state: np.ndarray) -> np.ndarray | None:
        """Return the input on the way; None at its end, or if something holds the robot."""
        model, here = self._model, state[self._model.joints]
        self._stalled += 1
        while len(self._path) and np.abs((self._path[0] - here) / model.step).max() < NEAR:
            self._path, self._stalled = self._path[1:], 0
        if not len(self._path) or self._stalled > self._settings.stall:
            return None
        return model.hold(state[np.newaxis], self._path[:1])[0]

    def _push(self, state: np.ndarray, command: np.ndarray) -> np.ndarray | None:
        """Return the first input of the best push; None if there has been none for long."""
        model = self._model
        distance = float(model.distance(state, self._target))
        self._stalled += 1
        if distance < self._nearest - self._settings.gain:
            self._nearest, self._stalled = distance, 0
        if self._stalled > self._settings.stall:
            return None
        for target in (self._target, model.problem.goal):
            control = self._first_input(state, command, target)
            if control is not None:
                self._idle = 0
                return control
        self._idle += 1
        return command if self._idle < self._settings.patience else None

    def _first_input(
        self, state: np.ndarray, command: np.ndarray, target: np.ndarray
    ) -> np.ndarray | None:
        """Return the first input of the best push from here; None if it gains nothing."""
        (motion,) = push(self._model, state[np.newaxis], command[np.newaxis], target)
        before, after = self._model.distance(motion.states[[0, -1]], target)
        return motion.inputs[0] if before - after >= self._settings.gain else None

    def _search(self, state: np.ndarray, stop: StopCondition | None) -> None:
        """Decide where to touch next, and how to get there."""
        model, settings = self._model, self._settings
        problem = replace(self.problem, initial_state=state)
        seed = int(self._seeds.integers(2**31))
        plan = plan_globally(problem, replace(settings.search, seed=seed), stop=stop)
        self.searches += 1
        way, end = self._first_push(plan)
        self.phase, self._seen, self._stalled = Phase.TRANSIT, state, 0
        self._path = plan.states[1 : way + 1, model.joints]
        self._target = plan.states[end]

    def _first_push(self, plan: IrsPlan) -> tuple[int, int]:
        """Return the knots where the first push begins and ends.

        A plan may begin with contact that is none: things that are let go of settle.
        """
        start = stop = 0
        for segment in plan.segments:
            start, stop = segment.start, segment.stop
            begin = plan.states[start]
            command = self._model.hold(begin[np.newaxis], begin[np.newaxis, self._model.joints])[0]
            target = plan.states[stop]
            if segment.kind == CONTACT and self._first_input(begin, command, target) is not None:
                break
        return start, stop

    def _has_moved(self, state: np.ndarray) -> bool:
        """Return whether an object is not where it was when the transit was planned."""
        shift = np.abs(self._model.errors(state, self._seen)[self._model.placed])
        return bool((shift > self._settings.moved).any())
