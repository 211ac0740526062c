"""Global planning through contact: a tree of pushes and regrasps over smoothed local models.

T. Pang, H. J. T. Suh, L. Yang and R. Tedrake, "Global Planning for Contact-Rich Manipulation via
Local Smoothing of Quasi-Dynamic Contact Models", IEEE T-RO 39(6), 2023. As there, the next node
is chosen by the local metric (B B^T + gamma I)^-1 of the smoothed step and extended by the
bounded input of least squares, and other contacts are sampled. Otherwise an edge here is a whole
push, out of several grasps the one that comes nearest to its target, after a transit whose
path is checked at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from contact_core.base.planning import PlanStatus, StopCondition
from contact_core.base.seeds import generator
from irs_planner.feasibility import find_impossibility
from irs_planner.irs_lqr import plan
from irs_planner.linear_algebra import factor_cholesky
from irs_planner.problem import IrsProblem, PlannerSettings
from irs_planner.search.grasps import choose_joints, draw_grasps
from irs_planner.search.hold import find_holds
from irs_planner.search.parts import Parts
from irs_planner.search.push import push
from irs_planner.search.search_model import SMOOTHING, STATES_A_PART, Reach, SearchModel
from irs_planner.search.settings import SEARCH, SHORTEN, SearchReport, SearchSettings
from irs_planner.search.transit import Motion, find_transit, follow, let_go, stays
from irs_planner.search.tree import Edge, Tree, motion_of
from irs_planner.search.ways import Ways

PROGRESS = 0.2
"""A push has to come nearer by this [tolerances]."""
GOAL_BIAS = 0.5
"""Share of the attempts that aim at the goal itself."""
SPREAD = 0.5
"""Standard deviation of other targets about the straight way to the goal, as a share of its
length."""
REGRASP_SHARE = 0.5
"""Share of the attempts that touch the object elsewhere first."""
GRASPS, PUSHES = 64, 16
"""Grasps that are drawn for such an attempt, and those of them that are pushed with."""
TRANSITS = 4
"""The best pushes for which a transit is sought before the attempt fails."""
SINGLE_PUSHES, LEFT = 8, 0.1
"""In a hurry so many attempts are a push towards the goal from where things are, and after every
one of them that much more of the distance may be left."""
EXTRA_SHORTCUTS = 20
"""A plan found at once is shortened, too."""
RESTING_STEPS = 5


def search_globally(
    problem: IrsProblem,
    settings: SearchSettings,
    stop: StopCondition | None = None,
    callback: Callable[[SearchReport], None] | None = None,
) -> Parts[tuple[PlanStatus, list[tuple[str, Motion]]]]:
    """Plan as :func:`irs_planner.plan_globally` does, part by part, and judge nothing.

    Where the straight way is not free, the parts of the way are planned one after the other.

    Args:
        problem: As there.
        settings: As there, but for the time budget.
        stop: Ends the search early; None: nothing does.
        callback: As there.

    Returns:
        Why it ended, and the plan: its segments' kinds and motions.
    """
    model, state = SearchModel(problem, settings), problem.initial_state
    ways, motions = Ways(model), list[tuple[str, Motion]]()
    impossible = find_impossibility(problem)
    if impossible is not None:
        return impossible.status, motions
    while True:
        leg = yield from ways.next_leg(state)
        last = np.array_equal(leg.goal, problem.goal)
        before = [motion.inputs for _, motion in motions]
        told = None if callback is None else partial(_tell, callback, before, last)
        status, more = yield from search_leg(leg, settings, stop, told)
        motions += more
        if status is not PlanStatus.SUCCEEDED or last or not more:
            return status, motions
        state = motions[-1][1].states[-1]


def _tell(
    callback: Callable[[SearchReport], None],
    before: list[np.ndarray],
    last: bool,
    step: SearchReport,
) -> None:
    """Report a step of a leg as one of the whole plan, of which earlier legs are known."""
    if not last:
        callback(replace(step, steps=0, inputs=None))
    elif step.inputs is None:
        callback(replace(step, steps=step.steps and step.steps + sum(map(len, before))))
    else:
        inputs = np.concatenate([*before, step.inputs])
        callback(replace(step, steps=len(inputs), inputs=inputs))


def search_leg(
    problem: IrsProblem,
    settings: SearchSettings,
    stop: StopCondition | None = None,
    callback: Callable[[SearchReport], None] | None = None,
    hurry: bool = False,
) -> Parts[tuple[PlanStatus, list[tuple[str, Motion]]]]:
    """Plan as :func:`search_globally` does, straight to the goal.

    A part is a step of some pushes or grasps, some steps of the robot alone, or an edge of a
    path's search; refining a push is one as a whole.

    Args:
        problem: As there.
        settings: As there.
        stop: As there.
        callback: As there.
        hurry: Search for what to do first, for there will be another search: an end that is near
            will do, one of a single push for a start, and the less near the longer it takes.

    Returns:
        As there.
    """
    stop = stop or StopCondition()
    search = _Search(problem, settings, stop, callback, hurry)
    impossible = find_impossibility(problem)
    status = impossible.status if impossible is not None else (yield from search.grow())
    yield from search.shorten()
    edges = search.tree.path(search.best)
    if search.reached and settings.refinements:
        edges = yield from _refine(search.model, settings, edges, stop)
    return status, motion_of(search.model, edges)


def check_searchable(problem: IrsProblem, settings: SearchSettings) -> None:
    """Check that a problem can be planned globally.

    Args:
        problem: The problem.
        settings: How to search.

    Raises:
        ConfigError: If it cannot; the message says what it lacks.
    """
    SearchModel(problem, settings)


class _Search:
    """A tree while it grows.

    Attributes:
        model: The problem.
        tree: All nodes.
        best: The node where the shortest plan ends, or else the one nearest to the goal.
        reached: Whether there is a plan.
    """

    def __init__(
        self,
        problem: IrsProblem,
        settings: SearchSettings,
        stop: StopCondition,
        callback: Callable[[SearchReport], None] | None,
        hurry: bool,
    ) -> None:
        self.model = SearchModel(problem, settings)
        self.tree = Tree(self.model)
        self.best, self.reached = 0, self.model.reached(problem.initial_state)
        self._settings, self._stop, self._callback = settings, stop, callback
        self._generator = generator(settings.seed, "global search")
        self._attempts, self._phase, self._told = 0, SEARCH, 0
        self._distance = float(self.model.distance(problem.initial_state, problem.goal))
        self._hurry, self._length = hurry, self._distance
        self._spread = np.eye(0)
        self._stood = settings.hold and self.model.is_supported(problem.initial_state)

    def grow(self) -> Parts[PlanStatus]:
        """Extend the tree until the goal is reached, and say why growing ended."""
        goal, settings, draw = self.model.problem.goal, self._settings, self._generator
        self._spread = yield from self._draw_spread()
        while not self.reached:
            if self._stop.reason is not None:
                return self._stop.reason
            if self._attempts == settings.attempts or self._is_near():
                return PlanStatus.NO_CONTACT if len(self.tree) == 1 else PlanStatus.CONVERGED_SHORT
            if self._hurry and self._attempts < SINGLE_PUSHES:
                yield from self._attempt(0, goal, regrasp=True)
                continue
            target = goal if draw.random() < GOAL_BIAS else self._draw_target()
            regrasp = draw.random() < REGRASP_SHARE or self.tree.exhausted(target)
            node = self.tree.choose(target, regrasp=regrasp)
            yield from self._attempt(node, target, regrasp=regrasp)
        return PlanStatus.SUCCEEDED

    def _is_near(self) -> bool:
        """Return whether the best end is near enough, in a hurry."""
        left = LEFT * min(self._attempts, SINGLE_PUSHES)
        return self._hurry and self._distance <= left * self._length

    def shorten(self) -> Parts[None]:
        """Try to reach the goal directly from nodes of the plan, most often from early ones."""
        attempts = round(self._settings.shortening * (self._attempts + EXTRA_SHORTCUTS))
        for _ in range(attempts if self.reached else 0):
            path = self.tree.path(self.best)
            if self._stop.reason is not None or not path:
                return
            nodes = [edge.parent for edge in path]
            rest = self.tree.steps[self.best] - np.array([self.tree.steps[n] for n in nodes])
            node = int(self._generator.choice(nodes, p=rest / rest.sum()))
            yield from self._attempt(node, self.model.problem.goal, regrasp=True)

    def _attempt(self, node: int, target: np.ndarray, *, regrasp: bool) -> Parts[None]:
        self._attempts += 1
        edge = yield from self._extend(node, target, regrasp=regrasp)
        if edge is not None and (yield from self._rests(edge)):
            self._add(edge)
        if self._callback is not None:
            self._callback(self._report())
        yield

    def _report(self) -> SearchReport:
        """Return how far the search is, with its plan where that is new."""
        steps = self.tree.steps[self.best] if self.reached else 0
        report = SearchReport(
            self._attempts, len(self.tree), self._distance, steps, self._stop.elapsed, self._phase
        )
        if not steps or self.best == self._told:
            return report
        self._told, self._phase = self.best, SHORTEN
        parts = motion_of(self.model, self.tree.path(self.best))
        return replace(report, inputs=np.concatenate([motion.inputs for _, motion in parts]))

    def _rests(self, edge: Edge) -> Parts[bool]:
        """Return whether objects get where an edge ends, and stay there while the robot rests.

        What was tossed is nearer to a target for a moment, and what is clamped without a hold is
        in the air by all of the friction that the model has: what stood has to be held there.
        """
        model, state = self.model, edge.end
        if model.passes_through(edge.push.states):
            return False
        if self._stood and not edge.held and not model.is_supported(state):
            return False
        motion = yield from follow(
            model, state, np.repeat(edge.push.inputs[-1:], RESTING_STEPS, axis=0)
        )
        return stays(model, motion.states)

    def _add(self, edge: Edge) -> None:
        """Add an edge, and keep it in mind if it leads to the best node."""
        model, node = self.model, self.tree.add(edge)
        distance = float(model.distance(edge.end, model.problem.goal))
        if model.reached(edge.end):
            if not self.reached or self.tree.steps[node] < self.tree.steps[self.best]:
                self.best, self.reached = node, True
        elif not self.reached and distance < self._distance:
            self.best = node
        self._distance = min(self._distance, distance)

    def _extend(self, node: int, target: np.ndarray, *, regrasp: bool) -> Parts[Edge | None]:
        """Push from a node towards a target, with the present grasp or with another one."""
        model, state, command = self.model, self.tree.states[node], self.tree.commands[node]
        nearer = float(model.distance(state, target)) - PROGRESS
        if not regrasp:
            stay = Motion(state[np.newaxis], np.empty((0, len(model.joints))))
            (hold,) = yield from find_holds(model, state[np.newaxis])
            ways = 1 if hold is None else 2  # as it is, or holding the object
            pushes = yield from push(
                model, np.tile(state, (ways, 1)), np.tile(command, (ways, 1)), target,
                holding=np.arange(ways) == 1,
            )  # fmt: skip
            ends = model.distance(np.array([motion.states[-1] for motion in pushes]), target)
            best = int(np.argmin(ends))
            if ends[best] > nearer:
                return None
            nothing = np.zeros(len(model.joints), dtype=bool)
            return Edge(node, nothing, stay, stay, pushes[best], held=best == 1)
        draw, moved = self._generator, choose_joints(model, self._generator)
        release = yield from let_go(model, state, command, moved)
        if release is None:
            return None
        state = release.states[-1]
        grasps = yield from draw_grasps(model, state, moved, draw, GRASPS)
        if not len(grasps):
            return None
        commands = model.hold(grasps, np.where(moved, grasps[:, model.joints], command))
        reach = yield from self._reach(grasps, commands)
        # Behind all grasps to push with come those that hold the object.
        holds = yield from find_holds(model, grasps)
        held = np.array([k for k, hold in enumerate(holds) if hold is not None], dtype=int)
        if held.size:
            slope = np.array([hold.slope for hold in holds if hold is not None])
            center = model.errors(grasps[held], np.zeros(len(state)))[:, model.placed]
            reach = Reach.of([reach, model.reach_of(slope, np.ascontiguousarray(center))])
        chosen = np.argsort(model.reach_distances(reach, target))[:PUSHES]
        holding = chosen >= len(grasps)
        chosen = np.concatenate((np.arange(len(grasps)), held))[chosen]
        pushes = yield from push(model, grasps[chosen], commands[chosen], target, holding=holding)
        ends = model.distance(np.array([motion.states[-1] for motion in pushes]), target)
        for i in np.argsort(ends)[:TRANSITS]:
            if ends[i] > nearer:
                return None
            joints = grasps[chosen[i], model.joints]
            transit = yield from find_transit(model, state, command, joints, moved, draw)
            if transit is not None:
                # The object may have moved a little: what counts is the push from there.
                (motion,) = yield from push(
                    model, transit.states[-1:], commands[chosen[i]][np.newaxis], target,
                    holding=holding[i : i + 1],
                )  # fmt: skip
                if len(motion.inputs) and model.distance(motion.states[-1], target) <= nearer:
                    return Edge(node, moved, release, transit, motion, held=bool(holding[i]))
        return None

    def _reach(self, grasps: np.ndarray, commands: np.ndarray) -> Parts[Reach]:
        """Return what one step can do from every grasp (K, n), some of them a part."""
        reaches = []
        for first in range(0, len(grasps), STATES_A_PART):
            some = slice(first, first + STATES_A_PART)
            reaches.append(self.model.reach(grasps[some], commands[some]))
            yield
        return Reach.of(reaches)

    def _draw_spread(self) -> Parts[np.ndarray]:
        """Return L, L L^T the mean reach of grasps at the start, of unit size.

        Targets are spread where contact can bring the objects: not into the table.
        """
        model, rows = self.model, len(self.model.placed)
        everything = np.ones(len(model.joints), dtype=bool)
        grasps = yield from draw_grasps(
            model, self.tree.states[0], everything, self._generator, GRASPS
        )
        if not len(grasps):
            return np.eye(rows) / math.sqrt(rows)
        factor = (yield from self._reach(grasps, grasps[:, model.joints])).factor
        mean = np.mean(factor @ factor.transpose(0, 2, 1), axis=0)
        mean /= np.trace(mean)
        factor_cholesky(mean, rows)
        return np.tril(mean)

    def _draw_target(self) -> np.ndarray:
        """Draw poses of the objects around the straight way to the goal."""
        model, draw = self.model, self._generator
        start, goal, placed = model.problem.initial_state, model.problem.goal, model.placed
        length = float(model.distance(start, goal))
        offset = self._spread @ draw.standard_normal(len(placed))
        target = goal.copy()
        target[placed] = start[placed] + draw.random() * (goal - start)[placed]
        target[placed] += SPREAD * length * offset * model.problem.tolerance[placed]
        return target


def _refine(
    model: SearchModel, settings: SearchSettings, edges: list[Edge], stop: StopCondition
) -> Parts[list[Edge]]:
    """Improve every push by iRS-LQR, from where the one before really ends.

    Args:
        model: The problem.
        settings: Iterations.
        edges: The plan.
        stop: Asked at every step.

    Returns:
        The better plan, or the same one if a transit moves an object now, the goal is no longer
        reached, or time is up.
    """
    state, refined = model.problem.initial_state, []
    for edge in edges:
        release, transit = edge.release, edge.transit
        if not np.array_equal(state, release.states[0]):
            release = yield from follow(model, state, release.inputs)
            transit = yield from follow(model, release.states[-1], transit.inputs)
            same = np.array_equal(transit.inputs, edge.transit.inputs)
            if not same or not stays(model, transit.states):
                return edges
        end = model.problem.goal if edge is edges[-1] else edge.end
        begin = transit.states[-1]
        if edge.held:  # iRS-LQR would let go of the object
            better = yield from follow(model, begin, edge.push.inputs)
        else:
            better = yield from _refine_push(model, settings, begin, edge.push.inputs, end, stop)
            if stop.reason is not None:
                return edges
            states = better.states
            if model.forbidden(states, begin).any() or model.passes_through(states):
                better = yield from follow(model, begin, edge.push.inputs)
        state = better.states[-1]
        refined.append(replace(edge, release=release, transit=transit, push=better))
    return refined if model.reached(state) else edges


def _refine_push(
    model: SearchModel,
    settings: SearchSettings,
    state: np.ndarray,
    inputs: np.ndarray,
    end: np.ndarray,
    stop: StopCondition,
) -> Parts[Motion]:
    """Improve a push towards a pose of the objects with the problem's own cost."""
    problem = model.problem
    reference = problem.goal.copy()
    reference[model.placed] = end[model.placed]
    local = replace(
        problem,
        initial_state=state,
        initial_inputs=inputs,
        reference=np.tile(reference, (len(inputs) + 1, 1)),
        schedule=replace(problem.schedule, state_std=(), input_std=tuple(SMOOTHING * model.step)),
    )
    result = plan(
        local,
        PlannerSettings(mode="log_barrier", iterations=settings.refinements),
        stop=stop,
    )
    # MPC does not keep bounds to the last digit.
    return (yield from follow(model, state, result.inputs))
