"""Trials: a plan is carried out in an independent simulation before it is called good.

What a plan's own model says of it proves little: friction there lifts what slides, impacts have no
aftermath, and errors add up. A judge carries the plan out elsewhere, by its commands alone. Where
that misses the goal it goes on by looks, as :class:`irs_planner.ClosedLoop` does; the commands that
have been sent when it arrives are the plan. Judges come from elsewhere, by an entry point of the
group ``contact_stack.judges``: the planners know no simulator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from contact_core.base.errors import ContactStackError
from contact_core.base.planning import StopCondition
from contact_core.base.registry import Registry
from irs_planner.closed_loop import ClosedLoop, Phase
from irs_planner.problem import IrsProblem
from irs_planner.quasi_dynamic import SpatialQuasiDynamics
from irs_planner.result import CONTACT, TRANSIT, missed_state
from irs_planner.scene_problems import usual_tolerance
from irs_planner.search.search_model import SearchModel
from irs_planner.search.settings import SearchSettings
from irs_planner.search.transit import Motion

NOBODY = "none"
"""Name of a judge that is none."""
AIM, NEARLY = 0.7, 1.5
"""Share of the tolerances that is aimed at by looks, at the goal and on the way."""
RESTING_LOOKS, SETTLING_LOOKS = 5, 30
LOOKS, SEARCHES, FEW, ATTEMPTS = 1500, 16, 2, 80
"""Of a trial by looks at most, searches also on the way, and attempts of each search."""
STILL = 0.1
"""What moves less than this share of a usual tolerance in these looks lies still."""
TIPPED = 2.0
"""What leaves its bounds by so many times tips over."""
FORCE_MARGIN = 1.5
"""A force may be as much larger than the largest one that is planned."""
TRIES, CAUTION = 4, 0.5
"""Trials by looks, and the share of steps, bounds and heights that is left after a tip."""


class JudgeWorld(Protocol):
    """Where a plan is tried.

    Attributes:
        state: (n) x now, as of the problem's dynamics.
        force: Hardest force of a robot on anything in the last step [N].
    """

    state: np.ndarray
    force: float

    def step(self, command: np.ndarray) -> np.ndarray:
        """Lead the robot to a command within a step of the problem's time.

        Args:
            command: (n_a) u.

        Returns:
            (n) x then.

        Raises:
            ContactStackError: If that cannot be simulated.
        """


Judge = Callable[[IrsProblem], JudgeWorld]

JUDGES: Registry[Judge] = Registry("judge", {}, group="contact_stack.judges")


@dataclass(frozen=True)
class TriedPlan:
    """How carrying out a plan went.

    Attributes:
        motions: What was done: kinds of segments, states as they truly were, and commands.
        reason: What went wrong, empty if it arrived.
    """

    motions: list[tuple[str, Motion]]
    reason: str


def find_judge(problem: IrsProblem, settings: SearchSettings) -> Judge | str:
    """Return who judges a plan, or why nobody does.

    Args:
        problem: The problem.
        settings: Who was asked for.
    """
    if settings.judge == NOBODY:
        return "nobody was asked to judge it"
    if not isinstance(problem.dynamics, SpatialQuasiDynamics):
        return "a scene in the plane has no judge"
    names = [settings.judge] if settings.judge else list(JUDGES)
    if not names:
        return "no judge is installed"
    try:
        return JUDGES[names[0]]
    except (ContactStackError, ImportError) as error:
        return f"the judge is not to be had: {error}"


def try_out(
    problem: IrsProblem,
    motions: list[tuple[str, Motion]],
    settings: SearchSettings,
    judge: Judge,
    stop: StopCondition,
    watch: Callable[[float], None] = lambda distance: None,
) -> TriedPlan:
    """Carry out a plan: by its commands, and if that misses the goal by looks.

    Args:
        problem: The problem.
        motions: The plan: kinds of segments, and motions; empty where it begins at its goal.
        settings: How to search, and the largest force.
        judge: Who judges.
        stop: Ends it early.
        watch: Called once a simulated second with the distance from the goal [tolerances].

    Returns:
        How it went.
    """
    blind = _Attempt(problem, settings, judge, stop, watch).follow(motions)
    if not motions:  # what lies still at its goal needs no waiting
        blind = replace(blind, motions=[])
    if not blind.reason or stop.reason is not None:
        return blind
    gentle, own, plan, stubborn = problem, settings, motions, False
    for _ in range(TRIES):
        attempt = _Attempt(problem, own, judge, stop, watch)
        seen = attempt.pass_by(gentle, motions) if stubborn else attempt.look(gentle, plan)
        if not seen.reason:
            return seen
        if stop.reason is not None:
            break
        if attempt.beyond:
            # What tipped is pushed lower and more slowly, and the model lets it tilt less.
            gentle, own, plan = _gentler(gentle), replace(own, height=CAUTION * own.height), []
        elif stubborn or not motions:
            break
        else:
            stubborn = True
    return replace(seen, reason=f"{blind.reason}; by looks: {seen.reason}")


class _Attempt:
    """One trial.

    Attributes:
        beyond: Names of states that were to be kept, and were not.
    """

    def __init__(
        self,
        problem: IrsProblem,
        settings: SearchSettings,
        judge: Judge,
        stop: StopCondition,
        watch: Callable[[float], None],
    ) -> None:
        self._problem, self._settings, self._stop = problem, settings, stop
        self._watch = watch
        self._model = SearchModel(problem, settings)
        self._world = judge(problem)
        self._states = [self._world.state]
        self._inputs: list[np.ndarray] = []
        self._kinds: list[str] = []
        self._end = ""
        self.beyond: tuple[str, ...] = ()

    def follow(self, motions: list[tuple[str, Motion]]) -> TriedPlan:
        """Send all commands of a plan, and wait a little."""
        last = self._model.problem.initial_state[self._model.joints]
        for kind, motion in motions:
            for command in motion.inputs:
                last = command
                if not self._send(kind, command):
                    return self._trial()
        for look in range(1, SETTLING_LOOKS + 1):
            if not self._send(CONTACT, last):
                break
            there = self._model.reached(self._world.state)
            if look >= RESTING_LOOKS and not (there and self._moves()):
                break
        return self._trial()

    def look(self, problem: IrsProblem, motions: list[tuple[str, Motion]]) -> TriedPlan:
        """Decide at every step by what is seen, beginning with a plan.

        Args:
            problem: What the decisions are made for, maybe gentler than what is judged.
            motions: The plan, empty for none.
        """
        return self._trial(self._lead(problem, AIM, RESTING_LOOKS, motions))

    def pass_by(self, problem: IrsProblem, motions: list[tuple[str, Motion]]) -> TriedPlan:
        """Decide likewise, and bring things to where every push of a plan ends on the way."""
        ends = [motion.states[-1] for kind, motion in motions if kind == CONTACT][:-1]
        for end in ends:
            reference = problem.reference.copy()
            reference[:, self._model.placed] = end[self._model.placed]
            near = replace(problem, reference=reference)
            # What the plan does only to come about need not be met.
            self._lead(near, NEARLY, 0, [], FEW)
            if self._end:
                return self._trial()
        return self.look(problem, [])

    def _lead(
        self,
        problem: IrsProblem,
        share: float,
        resting: int,
        plan: list[tuple[str, Motion]],
        searches: int = SEARCHES,
    ) -> str:
        """Lead things to a goal by looks; return why they do not arrive, if that is known.

        Args:
            problem: With the goal.
            share: Of its tolerances.
            resting: Looks for which they have to stay there.
            plan: What to begin with.
            searches: At most.
        """
        state, tolerance = self._world.state, share * problem.tolerance
        aim = replace(problem, tolerance=tolerance, initial_state=state)
        loop = ClosedLoop(
            aim,
            replace(self._settings, attempts=ATTEMPTS, shortening=0.25, refinements=0, hold=False),
            plan=plan,
        )
        command, rested = state[self._model.joints], 0
        for _ in range(LOOKS):
            command = loop.decide(self._world.state, command)
            while loop.phase is Phase.SEARCH and self._stop.reason is None:
                if loop.impossible is not None or loop.searches > searches:
                    break
                loop.search()
                if loop.phase is not Phase.SEARCH:
                    command = loop.decide(self._world.state, command)
            if loop.impossible is not None:
                now = f"after {len(self._inputs) * self._model.dynamics.time_step:.1f} s"
                return loop.impossible.reason.replace("at the start", now)
            if loop.searches > searches:
                missed = missed_state(aim, self._world.state - aim.goal)
                return f"it does not arrive after {searches} searches: {missed}"
            rested = rested + 1 if loop.phase is Phase.REST else 0
            if rested > resting and not (resting and self._moves()):
                break
            if self._beyond(1.0):  # what tips falls back if nothing pushes it any more
                command = self._world.state[self._model.joints]
            kind = TRANSIT if loop.phase is Phase.TRANSIT else CONTACT
            if not self._send(kind, command):
                break
        return ""

    def _send(self, kind: str, command: np.ndarray) -> bool:
        """Take a step; return False where the trial ends, and note why."""
        if self._stop.reason is not None:
            self._end = "the time was up"
            return False
        try:
            state = self._world.step(command)
        except ContactStackError as error:
            self._end = f"it cannot be simulated: {error}"
            return False
        self._states.append(state)
        self._inputs.append(command)
        self._kinds.append(kind)
        now = len(self._inputs) * self._model.dynamics.time_step
        if len(self._inputs) % max(1, round(1.0 / self._model.dynamics.time_step)) == 0:
            self._watch(float(self._model.distance(state, self._problem.goal)))
        allowed = self._settings.force
        if allowed and self._world.force > FORCE_MARGIN * allowed:
            self._end = f"it presses with {self._world.force:.0f} N (limit {allowed:g} N)"
        elif self._fallen():
            self._end = f"'{self._fallen()}' falls"
        else:
            self.beyond = self._beyond(TIPPED)
            if self.beyond:
                self._end = f"{', '.join(self.beyond)} leaves its bounds: it tips over"
        if self._end:
            self._end += f", after {now:.1f} s"
        return not self._end

    def _beyond(self, times: float) -> tuple[str, ...]:
        """Return the states beyond so many times their bounds."""
        bounds, state = self._problem.bounds, self._world.state
        names = self._model.dynamics.state_names
        return tuple(
            names[i]
            for i, low, high in zip(
                bounds.bounded_states, bounds.state_low, bounds.state_high, strict=True
            )
            if abs(state[i] - 0.5 * (low + high)) > 0.5 * times * (high - low)
        )

    def _fallen(self) -> str:
        """Return the object that is lower than it began by more than its size."""
        dynamics = self._model.dynamics
        down = dynamics.centers(self._states[0]) - dynamics.centers(self._world.state)
        for name, way, radius in zip(
            dynamics.object_names, down[:, -1], dynamics.object_radii, strict=True
        ):
            if way > 2.0 * radius:
                return str(name)
        return ""

    def _moves(self) -> bool:
        """Whether what has a goal does not lie still, in the last looks."""
        late = np.array(self._states[-RESTING_LOOKS:])
        usual = np.array([usual_tolerance(name) for name in self._model.dynamics.state_names])
        return bool((np.ptp(late, axis=0) > STILL * usual)[self._model.placed].any())

    def _trial(self, missed: str = "") -> TriedPlan:
        reason = self._end or missed
        if not reason and not self._model.reached(self._world.state):
            reason = missed_state(self._problem, self._world.state - self._problem.goal)
        if not reason and self._moves():
            reason = "what has a goal gets there, but does not lie still"
        states, inputs = np.array(self._states), np.array(self._inputs)
        motions, begin = [], 0
        for k in range(1, len(self._kinds) + 1):
            if k == len(self._kinds) or self._kinds[k] != self._kinds[begin]:
                motion = Motion(states[begin : k + 1], inputs[begin:k])
                motions.append((self._kinds[begin], motion))
                begin = k
        return TriedPlan(motions, reason)


def _gentler(problem: IrsProblem) -> IrsProblem:
    """Return a problem with smaller steps that lets things tilt and hop less."""
    bounds = problem.bounds
    middle = 0.5 * (bounds.state_low + bounds.state_high)
    half = CAUTION * 0.5 * (bounds.state_high - bounds.state_low)
    return replace(
        problem,
        bounds=replace(
            bounds,
            increment=CAUTION * bounds.increment,
            around_actual=CAUTION * bounds.around_actual,
            state_low=middle - half,
            state_high=middle + half,
        ),
    )
