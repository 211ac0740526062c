"""Pushing in closed loop: at every look the next input, and from where to push next.

Two layers, both over the smoothed contact model. The upper one decides where to touch: a short
global search from what is seen now, as of :func:`irs_planner.plan_globally`, whose first transit is
carried out. The lower one is receding-horizon control: at every look it rolls out the push that
comes nearest to the target, and its first input is sent. When no push from where the robot is gains
anything any more, the robot goes on to the plan's next push, or the upper layer looks for another
place if things are not where the plan has them. It does so in parts, some after every look, so that
no look waits for them and a search takes time that counts; the robot stays meanwhile. What is
pushed may slide otherwise than predicted, or be kicked away: the next look tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

import numpy as np

from contact_core.base.planning import PlanStatus
from contact_core.base.seeds import generator
from irs_planner.feasibility import Impossibility, find_impossibility
from irs_planner.problem import IrsProblem
from irs_planner.quasi_dynamic import SpatialQuasiDynamics
from irs_planner.result import CONTACT
from irs_planner.search import SearchSettings, search_leg
from irs_planner.search.parts import Parts, at_once
from irs_planner.search.push import push
from irs_planner.search.search_model import SearchModel
from irs_planner.search.transit import Motion
from irs_planner.search.ways import Ways

SHORT_SEARCH = SearchSettings(attempts=40, shortening=0.25, refinements=0)

PARTS = 120
"""Parts of a search that are done after a look, of 0.2 ms in the plane."""
AHEAD = 12
"""Steps in which a push has to gain something."""
MIN_GAIN = 0.3
"""What a push has to gain [tolerances]."""
PATIENCE = 3
"""Looks in a row without a push that gains, after which a push ends."""
MAX_STALLED = 40
"""Looks in which a push has to be seen to gain, or a waypoint to be passed."""
LEAVE = 1.25
"""Error from which what has arrived is pushed again [tolerances]."""
NEAR = 0.3
"""Distance from a waypoint at which it counts as passed [largest steps]."""
LAG = 1.05
"""Likewise of the robot behind its command, where it cuts no corner or comes no nearer."""
CORNER, CUT = 5, 0.7
"""Places on the straight way to the next waypoint, and the share of its room that a robot keeps at
each of them where it cuts no corner."""
SETTLED = 15
"""Looks without progress after which a robot comes no nearer to a waypoint."""
BESIDE = 2.0
"""Distance from the beginning of the next way within which a plan goes on [largest steps]."""
FREE = 4.0
"""Motion of an object without a tolerance that counts as one [clearances]."""
NUDGED = 2.0
"""Motion of any object that a robot may cause on its way, for its push is decided where it begins
[clearances]."""
DECIDED = object()
"""Ends a search that has been carried through."""


class Phase(StrEnum):
    """What the robot is doing."""

    REST = "at rest"
    SEARCH = "looking for a place"
    TRANSIT = "going round"
    PUSH = "pushing"


class ClosedLoop:
    """Brings objects to a goal, look by look; deterministic for what is seen.

    Attributes:
        problem: Start and goal, tolerances and bounds; the start is where it was first seen.
        phase: What the robot is doing.
        searches: How often the upper layer has decided.
        disturbed: Searches since the last decision that came to nothing because things moved.
        impossible: What made the last search pointless, None if it was not.
        remaining: What was left of the last push at the last look [tolerances].
    """

    def __init__(
        self,
        problem: IrsProblem,
        search: SearchSettings = SHORT_SEARCH,
        parts: int = PARTS,
        plan: Sequence[tuple[str, Motion]] = (),
        trust: float = 0.0,
    ) -> None:
        """Begin at rest, or with a plan.

        Args:
            problem: A scene with contact, a goal, tolerances and bounds, as for
                :func:`irs_planner.plan_globally`.
            search: How to look for where to touch.
            parts: Parts of a search that are done after a look.
            plan: What to begin with: kinds of segments, and motions.
            trust: How far things may be from where a plan has them while it pushes them as it
                says; beyond that, another one is searched for [tolerances]. 0: inputs are decided
                at every look, for a model that is not exact.

        Raises:
            ConfigError: If the problem cannot be planned globally; the message says what it lacks.
        """
        self.problem = problem
        self.phase = Phase.REST
        self.searches = self.disturbed = 0
        self.impossible: Impossibility | None = None
        self.remaining = np.inf
        self._searching, self._parts, self._trust = search, parts, trust
        self._planned: Motion | None = None
        self._done = 0
        self._model = self._leg = SearchModel(problem, search)
        self._ways = Ways(self._model)
        self._shift, self._clear = _shifts(self._model)
        self._path = np.empty((0, len(self._model.joints)))
        self._seen = problem.initial_state
        self._target = problem.goal
        self._plan: list[tuple[str, Motion]] = []
        self._idle = self._stalled = 0
        self._nearest, self._arrived, self._passed = np.inf, False, False
        self._seeds = generator(search.seed, "closed loop")
        self._search = self._decide(problem.initial_state)
        if plan:
            self._carry_out(list(plan), at_once(self._first_push(list(plan))))

    def step(self, state: np.ndarray, command: np.ndarray) -> np.ndarray:
        """Decide, and search at once; arguments and result are those of :meth:`decide`."""
        control = self.decide(state, command)
        self.search()
        return control

    def decide(self, state: np.ndarray, command: np.ndarray) -> np.ndarray:
        """Decide what the robot does until the next look.

        Args:
            state: (n) x as seen: poses of the objects, positions of the robot.
            command: (n_a) u of the look before.

        Returns:
            (n_a) u, within the bounds about the robot's position.
        """
        model, rest = self._model, self._model.hold(state[np.newaxis], command[np.newaxis])[0]
        farthest = np.abs(model.errors(state, model.problem.goal)).max()
        self._arrived = farthest <= (LEAVE if self._arrived else 1.0)
        if self._arrived:
            self.phase = Phase.REST
            return rest
        if self.phase is Phase.REST:
            if not self._trust and self._ways.is_straight(state):
                self._leg, self._target = self._model, self.problem.goal
                self._touch()
            else:
                self._begin_search(state)
        if self.phase is Phase.TRANSIT:
            waypoint = self._waypoint(state, command)
            if waypoint is not None:
                return waypoint
        if self.phase is Phase.PUSH:
            control = self._push(state, rest)
            if control is not None:
                return control
            if not self._goes_on(state):
                self._begin_search(state)
        elif self.phase is Phase.SEARCH and self._has_moved(state):
            self.disturbed += 1
            self._begin_search(state)
        return rest

    def search(self) -> None:
        """Do the next parts of a search, if there is one: what a look leaves time for."""
        if self.phase is Phase.SEARCH:
            for _ in range(self._parts):
                if next(self._search, DECIDED) is DECIDED:
                    break

    def gaps(self, states: np.ndarray) -> np.ndarray:
        """Return how far the robot's links are from objects and from what is fixed [m].

        Args:
            states: (B, n) x, or q alone.

        Returns:
            (B, pairs) negative where they overlap.
        """
        gaps: np.ndarray = self._model.dynamics.find_contacts(states).gap
        return gaps[:, self._model.robot_pairs]

    def _touch(self) -> None:
        """Begin to push from where the robot is."""
        self.phase, self._idle, self._stalled, self._nearest = Phase.PUSH, 0, 0, np.inf

    def _waypoint(self, state: np.ndarray, command: np.ndarray) -> np.ndarray | None:
        """Return the input on the way; None at its end, or if it leads nowhere any more."""
        model = self._model
        self._stalled += 1
        while len(self._path) and self._passes(state, command):
            self._path, self._stalled = self._path[1:], 0
        if self._has_moved(state, NUDGED) or self._stalled > MAX_STALLED:
            self._begin_search(state)
        elif not len(self._path):
            self._touch()
        else:
            return model.hold(state[np.newaxis], self._path[:1])[0]
        return None

    def _passes(self, state: np.ndarray, command: np.ndarray) -> bool:
        """Return whether the next waypoint is behind.

        It is where robot and command are near. The robot may lag where the straight way to the
        waypoint after it keeps its room, and where it has come no nearer for long: what an arm
        touches, or its controller, may hold it up.
        """
        both = np.array([state[self._model.joints], command])
        robot, sent = np.abs((self._path[0] - both) / self._model.step).max(axis=1)
        if not (sent < NEAR and robot < LAG):
            return False
        on = len(self._path) > 1
        return bool(robot < NEAR or self._stalled > SETTLED or (on and self._cuts_no_corner(state)))

    def _cuts_no_corner(self, state: np.ndarray) -> bool:
        """Return whether the straight way to the waypoint after the next one keeps its room.

        A pusher in the plane follows at once.
        """
        if not isinstance(self._model.dynamics, SpatialQuasiDynamics):
            return True
        here, then = state[self._model.joints], self._path[1]
        joints = here + np.linspace(0.0, 1.0, CORNER)[:, np.newaxis] * (then - here)
        gap = self.gaps(self._model.complete(state, joints))
        least = np.minimum(np.minimum(gap[0], gap[-1]), self._model.settings.clearance)
        return bool((gap >= CUT * least).all())

    def _push(self, state: np.ndarray, command: np.ndarray) -> np.ndarray | None:
        """Return the first input of the best push; None if there has been none for long."""
        model = self._leg
        self.remaining = distance = float(model.distance(state, self._target))
        self._stalled += 1
        if model is not self._model and model.reached(state):
            self._plan, self._passed = [], True
            return None
        if distance < self._nearest - MIN_GAIN:
            self._nearest, self._stalled = distance, 0
        if self._stalled > MAX_STALLED:
            return None
        if self._planned is not None:
            return self._as_planned(self._planned, state)
        control = self._first_input(state, command, self._target)
        if control is None and not np.array_equal(self._target, model.problem.goal):
            control = self._first_input(state, command, model.problem.goal)
            if control is not None:  # nothing is gained at the target any more
                self._target, self._nearest = model.problem.goal, np.inf
        if control is not None:
            self._idle = 0
            return control
        self._idle += 1
        return command if self._idle < PATIENCE else None

    def _as_planned(self, planned: Motion, state: np.ndarray) -> np.ndarray | None:
        """Return the next input of a planned push; None at its end, or if things are elsewhere."""
        model = self._leg
        while self._done < len(planned.inputs):
            behind = (planned.states[self._done + 1] - state)[model.joints] / model.step
            if np.abs(behind).max() > NEAR:
                break
            self._done += 1
        beside = float(model.distance(state, planned.states[self._done]))
        if self._done == len(planned.inputs) or beside > self._trust:
            return None
        return planned.inputs[self._done]

    def _first_input(
        self, state: np.ndarray, command: np.ndarray, target: np.ndarray
    ) -> np.ndarray | None:
        """Return the first input of the best push from here; None if it gains nothing."""
        motion = at_once(self._best_push(state, command, target))
        return motion.inputs[0] if self._gains(motion, target) else None

    def _best_push(
        self, state: np.ndarray, command: np.ndarray, target: np.ndarray
    ) -> Parts[Motion]:
        """Return the best push from here, as far as it takes to know that it gains."""
        here, before = state[np.newaxis], command[np.newaxis]
        (motion,) = yield from push(self._leg, here, before, target, AHEAD, MIN_GAIN)
        return motion

    def _gains(self, motion: Motion, target: np.ndarray) -> bool:
        before, after = self._leg.distance(motion.states[[0, -1]], target)
        return bool(before - after >= MIN_GAIN)

    def _goes_on(self, state: np.ndarray) -> bool:
        """Go on with the plan and return True, if it has a next push and things are as planned."""
        model, plan = self._model, self._plan
        pushes = [i for i, (kind, _) in enumerate(plan) if kind == CONTACT]
        if not pushes:
            return False
        self._seen = plan[0][1].states[0]
        beside = np.abs((state - self._seen)[model.joints] / model.step).max()
        if beside > BESIDE or self._has_moved(state):
            return False
        self._carry_out(plan, pushes[0])
        return True

    def _begin_search(self, state: np.ndarray) -> None:
        """Begin to look for where to touch next."""
        self.phase, self._seen, self._search = Phase.SEARCH, state, self._decide(state)

    def _decide(self, state: np.ndarray) -> Parts[None]:
        """Decide where to touch next, and how to get there."""
        seed = int(self._seeds.integers(2**31))
        if self.impossible is not None or not self.searches:
            # The first leg of a way may be possible where its goal is not.
            found = find_impossibility(replace(self.problem, initial_state=state))
            if found is not None and found.status is PlanStatus.GOAL_UNREACHABLE:
                self.impossible = found
                self.searches += 1
                self._carry_out([], 0)
                return
        problem = yield from self._ways.next_leg(state)
        self._leg = SearchModel(problem, self._searching)
        if self._passed:  # the next leg may lead on from where the robot is
            self._passed = False
            command = self._leg.hold(state[np.newaxis], state[np.newaxis, self._leg.joints])[0]
            best = yield from self._best_push(state, command, problem.goal)
            if self._gains(best, problem.goal):
                self._target = problem.goal
                self._touch()
                return
        settings = replace(self._searching, seed=seed)
        status, motions = yield from search_leg(problem, settings, hurry=not self._trust)
        pointless = status in (PlanStatus.INITIAL_PENETRATION, PlanStatus.GOAL_UNREACHABLE)
        self.impossible = find_impossibility(problem) if pointless else None
        first = yield from self._first_push(motions)
        self.searches, self.disturbed = self.searches + 1, 0
        self._target = state
        self._carry_out(motions, first)

    def _carry_out(self, motions: list[tuple[str, Motion]], first: int) -> None:
        """Go to where the first push of a plan begins."""
        joints = self._model.joints
        ways = [motion.states[1:, joints] for _, motion in motions[:first]]
        self.phase, self._stalled = Phase.TRANSIT, 0
        self._path = np.concatenate([np.empty((0, len(joints))), *ways])
        self._planned, self._done = None, 0
        for kind, motion in motions[first : first + 1]:
            self._target = motion.states[-1]
            if self._trust and kind == CONTACT:
                self._planned = motion
        self._plan = motions[first + 1 :]

    def _first_push(self, motions: list[tuple[str, Motion]]) -> Parts[int]:
        """Return the number of the first push, or else of the last motion.

        A plan may begin with contact that is none: things that are let go of settle.
        """
        for number, (kind, motion) in enumerate(motions):
            if kind == CONTACT:
                begin, target = motion.states[[0, -1]]
                command = self._model.hold(begin[np.newaxis], begin[np.newaxis, self._model.joints])
                best = yield from self._best_push(begin, command[0], target)
                if self._gains(best, target):
                    return number
        return max(len(motions) - 1, 0)

    def _has_moved(self, state: np.ndarray, clearances: float = 0.0) -> bool:
        """Return whether an object is not where it was when the last search began.

        Args:
            state: (n) x.
            clearances: What it may move however small its tolerance is.
        """
        shift = np.abs(state - self._seen)[list(self._model.dynamics.object_states)]
        return bool((shift > np.maximum(self._shift, clearances * self._clear)).any())


def _shifts(model: SearchModel) -> tuple[np.ndarray, np.ndarray]:
    """Return what counts as a motion of objects (n_u), and what moves them by a clearance.

    A robot that goes round an object has to know where it is, whether that matters or not.
    """
    dynamics, clearance = model.dynamics, model.settings.clearance
    positions = np.arange(model.size) < dynamics.dimension
    turn = clearance / dynamics.object_radii[:, np.newaxis]
    clear = np.where(positions, clearance, turn).reshape(-1)
    tolerance = model.problem.tolerance[list(dynamics.object_states)]
    return np.where(np.isfinite(tolerance), tolerance, FREE * clear), clear
