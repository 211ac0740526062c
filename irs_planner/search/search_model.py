"""A planning problem as the search sees it: units of tolerances and of largest steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contact_core.base.errors import ConfigError
from irs_planner.problem import IrsProblem
from irs_planner.quasi_dynamic import QuasiDynamics, SpatialQuasiDynamics
from irs_planner.quasi_dynamic.contact_step import ContactFrames
from irs_planner.search.kernels import nearest_inputs, reach_distances, reach_factors
from irs_planner.search.settings import SearchSettings
from irs_planner.search.tipping import Tipping

SMOOTHING = 0.5
"""Width of the log barriers, as a share of the largest step."""
REGULARIZATION = 0.1
"""gamma of the metric, square of a motion in tolerances that is free anywhere."""
EFFORT = 1e-2
"""Weight of a largest step, in squares of tolerances."""
IDLE = 0.03
"""Weight of what moves no point that may touch, relative to what does."""
LIFTING = 5.0
"""Up and down costs so many times as much where things stay upright: what slides up lifts them."""
BESIDE = 0.1
APART, PRESSED, PACE = 3e-3, 1e-2, 0.9
"""What slides along each other comes apart by so much at most, and where it is pressed together
[m]; what is farther apart slides by this share of its room."""
STATES_A_PART = 4
"""How many states are linearised and stepped in a part of the work."""
OVERLAP = 0.2
"""Things overlap each other and what is fixed by no more than this share of the clearance."""
ROOM = 0.5
"""Robots keep this share of the clearance wherever they do not touch on purpose."""


@dataclass(frozen=True)
class Reach:
    """What one step can do to the objects at several states.

    Attributes:
        center: (K, r) where the objects go if the commands stay, in tolerances.
        factor: (K, r, r) L L^T = B B^T + gamma I, B in tolerances per largest step.
    """

    center: np.ndarray
    factor: np.ndarray

    @classmethod
    def of(cls, reaches: Sequence[Reach]) -> Reach:
        """Return several as one, in their order."""
        return cls(
            np.concatenate([reach.center for reach in reaches]),
            np.concatenate([reach.factor for reach in reaches]),
        )


class SearchModel:
    """Errors count in tolerances, inputs in largest steps, so that every scene looks alike.

    Attributes:
        problem: The problem.
        dynamics: Its contact model.
        joints: Indices of the robot's states.
        tracked: Indices of the states that have a tolerance.
        placed: Those of them that belong to objects.
        step: (n_a) largest |u - q_a| [m, rad].
        limits: (2, n_a) lowest and highest commands.
        size: Coordinates of an object, its position first.
        robot_pairs: (P) whether a robot is part of the pair.
        robot_number: (P) number of the pair among those with a robot.
        strike_pairs: Indices of the pairs of a link that keeps away, and what it keeps away from.
        solid_pairs: Indices of the pairs without a robot.
        grasp_pairs: Indices of the pairs of a link that may touch and an object.
        robot_first: (P) whether the first part is a robot's.
        pair_object: (P) number of the object of a pair, -1 for none.
        pair_joints: (P, n_a) whether a joint moves one of the parts.
        tipping: Tells whether a push turns a thing over; None if that does not matter.
    """

    def __init__(self, problem: IrsProblem, settings: SearchSettings) -> None:
        """Look at a problem.

        Args:
            problem: The problem.
            settings: Clearance, largest force, and whether robots may lean.

        Raises:
            ConfigError: If the problem has no contact model, no tolerance for an object, no
                largest step, or no link that can touch an object.
        """
        dynamics, bounds = problem.dynamics, problem.bounds
        if not isinstance(dynamics, QuasiDynamics):
            raise ConfigError(
                f"global planning needs a quasi-dynamic scene, got {type(dynamics).__name__}"
            )
        self.problem, self.dynamics, self.settings = problem, dynamics, settings
        self.joints = np.array(dynamics.commanded_states)
        self.tracked = np.flatnonzero(np.isfinite(problem.tolerance))
        self.placed = self.tracked[np.isin(self.tracked, dynamics.object_states)]
        if not self.placed.size:
            raise ConfigError(
                "global planning needs a tolerance for the states of an object, got "
                f"{problem.tolerance}"
            )
        steps = [b for b in (bounds.increment, bounds.around_actual) if b.size]
        if not steps:
            raise ConfigError("global planning needs bounds.increment or bounds.around_actual")
        self.step = np.min(steps, axis=0)
        low, high = dynamics.position_limits
        self.limits = np.array(
            [
                np.maximum(low, bounds.input_low) if bounds.input_low.size else low,
                np.minimum(high, bounds.input_high) if bounds.input_high.size else high,
            ]
        )
        self._width = SMOOTHING * self.step
        self.size = dynamics.object_size
        first, second = np.array(dynamics.pair_names).reshape(-1, 2).T
        links, names = list(dynamics.link_names), list(dynamics.object_names)
        self.robot_first = np.isin(first, links)
        self.robot_pairs = self.robot_first | np.isin(second, links)
        self.robot_number = np.cumsum(self.robot_pairs) - 1
        other = np.where(self.robot_first, second, first)
        self.pair_object = np.array([names.index(o) if o in names else -1 for o in other])
        touching = np.isin(first, dynamics.contact_links) | np.isin(second, dynamics.contact_links)
        away = ~touching if settings.lean else ~touching | (self.pair_object < 0)
        self.strike_pairs = np.flatnonzero(self.robot_pairs & away)
        self.solid_pairs = np.flatnonzero(~self.robot_pairs)
        self._apart = np.concatenate((self.strike_pairs, self.solid_pairs))
        shares = np.repeat([ROOM, -OVERLAP], [len(self.strike_pairs), len(self.solid_pairs)])
        self._room = shares * settings.clearance
        self.grasp_pairs = np.flatnonzero(touching & (self.pair_object >= 0))
        if not self.grasp_pairs.size:
            raise ConfigError("global planning needs a link that can touch an object")
        self.tipping = self._watch_tipping()
        # Beside the start, where no axis points at a link by chance.
        beside = problem.initial_state[self.joints] + BESIDE * self.step
        frames = dynamics.find_contacts(self.complete(problem.initial_state, beside[np.newaxis]))
        rows = np.concatenate((frames.normal[0, :, np.newaxis], frames.tangent[0]), axis=1)
        self.pair_joints = (rows[..., self.joints] != 0.0).any(axis=1)

    def _watch_tipping(self) -> Tipping | None:
        """Return what tells whether things tip that are to stay upright.

        None in the plane, and where things may be held, for what is held from two sides does not.
        """
        if self.settings.hold or not isinstance(self.dynamics, SpatialQuasiDynamics):
            return None
        kept, count = set(self.problem.bounds.bounded_states), len(self.dynamics.object_names)
        upright = [k for k in range(count) if {6 * k + 3, 6 * k + 4} <= kept]
        return Tipping(self.dynamics, upright)

    def complete(self, state: np.ndarray, joints: np.ndarray) -> np.ndarray:
        """Return (K, n) states that differ from one in the robot's positions.

        Args:
            state: (n) x.
            joints: (K, n_a) q_a.
        """
        q = np.repeat(state[np.newaxis, : self.dynamics.coordinates], len(joints), axis=0)
        q[:, self.joints] = joints
        return self.dynamics.complete(q)

    def robot_contacts(self, states: np.ndarray) -> ContactFrames:
        """Return the contact geometry of the pairs with a robot.

        Args:
            states: (K, n) x.
        """
        return self.dynamics.find_some(states, np.flatnonzero(self.robot_pairs))

    def distance(self, states: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the distances of objects from a target, in tolerances.

        Args:
            states: (..., n) x.
            target: (n) p.

        Returns:
            (...) root of the sum of squares.
        """
        error = self.errors(states, target)[..., self.placed]
        return np.asarray(np.sqrt(np.sum(error**2, axis=-1)))

    def errors(self, states: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the errors in tolerances, 0 where there is none; arguments as above."""
        return (states - target) / self.problem.tolerance

    def excess(self, states: np.ndarray) -> np.ndarray:
        """Return by how much states are beyond their bounds at most, 0 within them.

        Args:
            states: (..., n) x.

        Returns:
            (...) in the units of the states.
        """
        bounds = self.problem.bounds
        bounded = states[..., list(bounds.bounded_states)]
        beyond = np.maximum(bounds.state_low - bounded, bounded - bounds.state_high)
        return np.asarray(np.max(beyond, axis=-1, initial=0.0))

    def forbidden(self, states: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return (K) whether states are beyond their bounds, or bodies are where they may not be.

        A link may not touch that keeps away, an object may not be inside of another one or of what
        is fixed, and no push may turn an object over that stays upright.

        Args:
            states: (K, n) x.
            start: (K, n) or (n) where the motion began, which may be beyond the bounds itself, or
                nearer to something than a link should be.
        """
        beyond = self.excess(states) > self.excess(start)
        frames = self.dynamics.find_contacts(states)
        gap = frames.gap[:, self._apart]
        near, tips = gap < self._room, np.zeros(len(states), dtype=bool)
        if self.tipping is not None:
            share = self.tipping.share(states, frames)
            tips = share > 1.0
        if near.any() or tips.any():
            begin = np.broadcast_to(start, states.shape)
            before = self.dynamics.find_contacts(begin)
            near &= gap < before.gap[:, self._apart]
            if self.tipping is not None:
                tips &= share > self.tipping.share(begin, before)
        return np.asarray(beyond | tips | near.any(axis=1))

    def passes_through(self, states: np.ndarray) -> bool:
        """Return whether an object gets into another one, or what is fixed, between two states.

        Args:
            states: (T + 1, n) x of a motion, all of them allowed.
        """
        slack = OVERLAP * self.settings.clearance
        placed = states[:, : len(self.dynamics.load)].reshape(len(states), -1, self.size)
        change = np.abs(np.diff(placed, axis=0))
        split, radii = self.dynamics.dimension, self.dynamics.object_radii
        way = change[..., :split].sum(axis=2) + radii * change[..., split:].sum(axis=2)
        parts = np.ceil(way.max(axis=1, initial=0.0) / (2.0 * slack)).astype(int)
        between = [
            a + (b - a) * share
            for a, b, count in zip(states[:-1], states[1:], parts, strict=True)
            for share in np.arange(1, count) / count
        ]
        if not between or not self.solid_pairs.size:
            return False
        gap = self.dynamics.find_contacts(np.array(between)).gap[:, self.solid_pairs]
        if (gap >= -slack).all():
            return False
        begin = self.dynamics.find_contacts(states[:1]).gap[:, self.solid_pairs]
        return bool((gap < np.minimum(begin, -slack)).any())

    def reached(self, state: np.ndarray) -> bool:
        """Return whether a state is within all tolerances of the goal."""
        return bool((np.abs(self.errors(state, self.problem.goal)) <= 1.0).all())

    def is_supported(self, state: np.ndarray) -> bool:
        """Return whether every object that weighs something is at one thing that is no robot.

        Args:
            state: (n) x.
        """
        gap = self.dynamics.find_contacts(state[np.newaxis]).gap[0]
        near = (gap <= self.settings.clearance) & ~self.robot_pairs
        first, second = np.array(self.dynamics.pair_names).reshape(-1, 2).T
        loads = self.dynamics.load.reshape(-1, self.size)
        return all(
            (near & ((first == name) | (second == name))).any()
            for name, load in zip(self.dynamics.object_names, loads, strict=True)
            if load.any()
        )

    def reach(self, states: np.ndarray, commands: np.ndarray) -> Reach:
        """Return what one step can do to the objects.

        Args:
            states: (K, n) x.
            commands: (K, n_a) u of the step before.
        """
        return self.reach_of(*self._linearize(states, commands, self.placed))

    def reach_of(self, slope: np.ndarray, center: np.ndarray) -> Reach:
        """Return what linear models can do to the objects.

        Args:
            slope: (K, r, m) B, in tolerances per largest step.
            center: (K, r) c, in tolerances.
        """
        factor = np.empty((*center.shape, center.shape[1]))
        reach_factors(slope, REGULARIZATION, factor)
        return Reach(center, factor)

    def reach_distances(self, reach: Reach, target: np.ndarray) -> np.ndarray:
        """Return the distances of a target in the local metrics.

        Args:
            reach: Of K states.
            target: (n) p.

        Returns:
            (K) |p - c| in the metric (B B^T + gamma I)^-1.
        """
        distance = np.empty(len(reach.center))
        goal = target[self.placed] / self.problem.tolerance[self.placed]
        reach_distances(reach.factor, reach.center, goal, distance)
        return distance

    def best_inputs(
        self, states: np.ndarray, commands: np.ndarray, target: np.ndarray
    ) -> np.ndarray:
        """Return the inputs after which the smoothed step is nearest to a target.

        They are within a trust region: the farther the target, the more they go where a point that
        may touch gains most by its way. Each at its own bound would lead it aside as well, and off.
        Where they would press harder than allowed, they lead the robot by less.

        Args:
            states: (K, n) x.
            commands: (K, n_a) u of the step before.
            target: (n) p.

        Returns:
            (K, n_a) u.
        """
        slope, center = self._linearize(states, commands, self.tracked)
        actual = states[:, self.joints]
        back = (actual - commands) / self.step
        error = center - target[self.tracked] / self.problem.tolerance[self.tracked]
        error += np.einsum("kij,kj->ki", slope, back)
        change = np.empty(commands.shape)
        nearest_inputs(slope, error, self._way_of_points(states), EFFORT, change)
        inputs = np.clip(actual + change * self.step, *self.command_bounds(states))
        return self._gentle(states, inputs)

    def _way_of_points(self, states: np.ndarray) -> np.ndarray:
        """Return (K, n_a, n_a) squares of what steps move where the robot may touch an object.

        Points count the more the nearer they are; of all, the mean square of a joint's step is 1.
        """
        frames, pairs = self.dynamics.find_contacts(states), self.grasp_pairs
        beyond = frames.gap[:, pairs] - frames.gap[:, pairs].min(axis=1, keepdims=True)
        weight = (1.0 + beyond / self.settings.clearance) ** -2
        normal, tangent = frames.normal[:, pairs], frames.tangent[:, pairs]
        rows = np.concatenate((normal[:, :, np.newaxis], tangent), axis=2)[..., self.joints]
        if self.tipping is not None:
            rows = frames.frame[:, pairs].swapaxes(2, 3) @ rows
            rows[:, :, 2] *= LIFTING
        rows = (rows * weight[:, :, np.newaxis, np.newaxis] * self.step).reshape(
            len(states), -1, len(self.step)
        )
        square = rows.swapaxes(1, 2) @ rows
        mean = np.trace(square, axis1=1, axis2=2) / len(self.step)
        square /= np.maximum(mean, 1e-12)[:, np.newaxis, np.newaxis]
        return np.asarray(square + IDLE * np.eye(len(self.step)))

    def hold(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """Return the commands within bounds that are nearest to those of the step before."""
        return np.asarray(np.clip(commands, *self.command_bounds(states)))

    def _gentle(self, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Return (K, n_a) u, nearer to the robot where it would press too hard or slide too far."""
        actual = states[:, self.joints]
        share = self._share_of_slides(states, inputs - actual)
        if self.settings.force:  # a robot presses as hard as its command is ahead, by springs
            force = self.dynamics.contact_forces(states, inputs).force[:, self.robot_pairs]
            hardest, most = np.linalg.norm(force, axis=2).max(axis=1), self.settings.force
            share = np.minimum(share, most / np.maximum(hardest, most))
        return np.asarray(actual + share[:, np.newaxis] * (inputs - actual))

    def _share_of_slides(self, states: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return the shares (K) of motions (K, n_a) in which no object is moved from a distance.

        Relaxed friction keeps what slides apart, by mu times the way of a step: plans would pull
        things along that nothing touches.
        """
        if not isinstance(self.dynamics, SpatialQuasiDynamics):
            return np.ones(len(states))
        frames, pairs = self.dynamics.find_contacts(states), self.grasp_pairs
        normal = np.einsum("kpj,kj->kp", frames.normal[:, pairs][..., self.joints], change)
        slide = np.einsum("kpdj,kj->kpd", frames.tangent[:, pairs][..., self.joints], change)
        apart = self.dynamics.friction[pairs] * np.linalg.norm(slide, axis=2)
        left = frames.gap[:, pairs] + np.minimum(normal, 0.0)
        room = np.where(left > 0.0, np.maximum(PACE * left, APART), PRESSED)
        return np.asarray((room / np.maximum(apart, room)).min(axis=1))

    def command_bounds(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (K, n_a) the lowest and highest commands: near the actual positions."""
        actual = states[:, self.joints]
        low, high = np.clip([actual - self.step, actual + self.step], *self.limits[:, np.newaxis])
        return low, high

    def _linearize(
        self, states: np.ndarray, commands: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return B [tolerances per largest step] and c [tolerances] of some rows of x+.

        Where there is no smoothed step B is 0, where there is no step at all c is x.
        """
        tolerance = self.problem.tolerance[rows]
        slope = self.dynamics.barrier_jacobians(states, commands, self._width, shared=True).input[
            :, rows
        ]
        center = self.dynamics.step_batch(states, commands)[:, rows]
        center = np.where(np.isfinite(center), center, states[:, rows])
        return (
            np.nan_to_num(slope) * self.step / tolerance[:, np.newaxis],
            np.ascontiguousarray(center / tolerance),
        )
