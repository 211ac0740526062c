"""Objects brought to a goal by an arm, look by look: from what is seen to where the joints go."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from contact_core.base.config import nested, parameter
from contact_core.base.errors import ConfigError
from irs_planner.closed_loop import SHORT_SEARCH, ClosedLoop, Phase
from irs_planner.feasibility import lifted_states
from irs_planner.object_tracker import ObjectTracker, TrackerConfig
from irs_planner.problem import IrsProblem
from irs_planner.quasi_dynamic import SpatialQuasiDynamics
from irs_planner.result import relative_error

AIM = 0.8
"""Share of the tolerances that is aimed at, for what is seen is not what is."""
OVERLAP = 0.05
"""By how much things may seem to overlap [m], for the same reason."""
NEARBY, BRAKING = 0.015, 0.15
"""A touch may come where things seem so near [m]; the arm slows down before, in this time [s]."""
FARTHEST = 0.3
"""What is pushed moves and turns by no more than that between two looks [m, rad]."""
PRESSED = -0.005
"""What a command is so far inside of is touched [m]. A push is as fast as it is from 0 on, lest it
never catches up with what rolls."""
BLOW = 280.0
"""sqrt(k m), the force of an impact over its speed: 4 kg of an arm, a surface of 2e4 N/m [Ns/m]."""
LATE, SLOWEST = 0.3, 0.015
"""In so long, between what is seen and what the arm does, a push goes no farther than what is left
of it and a tolerance [s]; but it is no slower than that [m/s]."""
BACK = 20
"""Commands that are gone back where something tips: it falls back, or is let lie."""
STILL, STILL_TURN, LYING = 0.004, 0.03, 10
"""What moves and turns no more in so many looks lies [m, rad]."""
LEAN = 1.0
"""What lies turned by no more than that is pushed as it lies: what is round rocks [rad]."""
SETTLING, FOUND = 30, 10.0
"""Steps of the model in which it comes to rest, and how much more it may move meanwhile."""
CLEARANCE = 0.01
"""Where pushes begin, and twice as far as the arm passes by [m]: it follows commands as well."""
SHORTENING = 0.05
"""Of plans, relative; in 3-D it takes longer than what it saves."""


@dataclass(frozen=True)
class MoverConfig:
    """How objects are moved in closed loop."""

    period: float = parameter(0.05, "time between two updates", unit="s", low=0.01, high=1.0)
    speed: float = parameter(
        0.1, "speed of the tool while it pushes", unit="m/s", above=0.0, high=1.0
    )
    transit_speed: float = parameter(
        0.25, "speed of the tool on its way round", unit="m/s", above=0.0, high=2.0
    )
    force: float = parameter(
        10.0, "largest force with which objects are pushed, by the model", unit="N", above=0.0
    )
    rest: int = parameter(
        10, "the object has arrived after this many updates in a row at the goal", low=1, high=1000
    )
    parts: int = parameter(
        30, "steps of a search, of about 1 ms each, that are done after an update", low=1
    )
    tracker: TrackerConfig = nested(TrackerConfig)


class ObjectMover:
    """Looks, and says where the joints are to be at the next look; a clock is what calls it.

    Attributes:
        problem: What is to get where; its start does not matter.
        object_names: Those that move.
        joint_names: Of the arm, as its driver calls them.
        robot: In the frame of whose base poses count.
        loop: What decides from where to push, and how.
        trackers: Object -> where it is believed to be, of all that have been seen.
        state: (n) x at the last look; NaN before.
    """

    def __init__(
        self,
        problem: IrsProblem,
        config: MoverConfig,
        seed: int = 0,
        joint_names: tuple[str, ...] = (),
        asked: Collection[str] = (),
    ) -> None:
        """Begin without having seen anything.

        Args:
            problem: A problem in 3-D, e.g. of :func:`irs_planner.scene_problem`.
            config: How fast, and how to follow what is seen.
            seed: Of the searches.
            joint_names: What the driver calls the arm's joints; empty: as the robot's file does.
            asked: States whose goals count, also where something comes to lie otherwise.

        Raises:
            ConfigError: If the problem is not in 3-D, cannot be planned globally, or wants
                something lifted.
        """
        dynamics = problem.dynamics
        if not isinstance(dynamics, SpatialQuasiDynamics):
            raise ConfigError("objects are moved in 3-D, and this scene is planar")
        for i in lifted_states(problem, dynamics):
            raise ConfigError(
                f"goal: {dynamics.state_names[i]} is to change by "
                f"{problem.goal[i] - problem.initial_state[i]:.3g}, and things are pushed or "
                f"tipped, not lifted (valid: where the scene has it, within "
                f"{problem.tolerance[i]:g}, or any): plan_through_contact may find a way"
            )
        self.problem, self._dynamics, self._config = problem, dynamics, config
        self.object_names, self.joint_names = (
            dynamics.object_names, joint_names or dynamics.joint_names,
        )  # fmt: skip
        self.robot = dynamics.scene.scene.robot
        self._search = replace(
            SHORT_SEARCH,
            shortening=SHORTENING,
            force=config.force,
            clearance=CLEARANCE,
            lean=False,
            hold=False,
            seed=seed,
        )
        self.loop = self._begin(problem)
        self.trackers: dict[str, ObjectTracker] = {}
        self.state = np.full(len(problem.goal), np.nan)
        self._kept = [i for i in problem.bounds.bounded_states if i in dynamics.object_states]
        tolerance = AIM * problem.tolerance[list(dynamics.object_states)].reshape(-1, 6)
        tolerance[:, 3:] *= dynamics.object_radii[:, np.newaxis]
        self._tolerance = float(np.delete(tolerance, self._kept).min(initial=np.inf))
        self._free = [i for i in self._kept if dynamics.state_names[i] not in asked]
        self._command: np.ndarray | None = None
        self._way = deque[np.ndarray](maxlen=BACK)
        self._lain: list[np.ndarray] = []
        self._rested = 0
        self._looked: tuple[int, np.ndarray] | None = None  # last, and where the joints were

    def _begin(self, problem: IrsProblem) -> ClosedLoop:
        aimed = replace(problem, tolerance=AIM * problem.tolerance, allowed_penetration=OVERLAP)
        return ClosedLoop(aimed, self._search, self._config.parts)

    @property
    def wanted(self) -> tuple[str, ...]:
        """States that count."""
        finite = np.isfinite(self.problem.tolerance)
        names = self._dynamics.state_names
        return tuple(name for name, counts in zip(names, finite, strict=True) if counts)

    @property
    def error(self) -> np.ndarray:
        """Seen minus goal of the states that count [m, rad]; NaN before the first look."""
        return (self.state - self.problem.goal)[np.isfinite(self.problem.tolerance)]

    @property
    def goal_error(self) -> float:
        """Largest error relative to its tolerance."""
        return relative_error(self.state - self.problem.goal, self.problem.tolerance)

    @property
    def rests(self) -> bool:
        """Whether the objects have been seen at their goal for some time."""
        return self._rested >= self._config.rest

    @property
    def beyond(self) -> tuple[str, ...]:
        """States that are not seen where objects have to keep them, and where: it tips, or lies."""
        bounds = self.problem.bounds
        low = dict(zip(bounds.bounded_states, bounds.state_low, strict=True))
        high = dict(zip(bounds.bounded_states, bounds.state_high, strict=True))
        names = self._dynamics.state_names
        seen = self.state  # NaN is nowhere
        return tuple(
            f"{names[i]} is seen at {seen[i]:.4g} {'m' if i % 6 < 3 else 'rad'}, and is to stay "
            f"within {low[i]:.4g} to {high[i]:.4g}"
            for i in self._kept
            if seen[i] < low[i] or seen[i] > high[i]
        )

    def see(self, name: str, stamp: int, pose: pin.SE3) -> None:
        """Take what a camera says of an object; others than those of the scene do not matter.

        Args:
            name: The object.
            stamp: When it was seen [ns].
            pose: Of its own frame in the world.
        """
        if name in self.trackers:
            self.trackers[name].see(stamp, pose)
        elif name in self.object_names:
            self.trackers[name] = ObjectTracker(self._config.tracker, stamp, pose)

    def update(self, joints: np.ndarray, stamp: int) -> np.ndarray:
        """Return where the joints are to be at the next look (n_a) [rad].

        Args:
            joints: (n_a) where they are [rad].
            stamp: When they are there, on the clock of what is seen [ns].
        """
        if self._command is None:
            self._command = joints
        self._carry_along(joints, stamp)
        self._looked = stamp, joints
        self.state = self._perceived(joints)
        if self.beyond:
            self._command = self._way.pop() if self._way else self._command
            self._let_lie(joints)
            return self._command
        self._way.append(self._command)
        pushed = self.loop.phase is Phase.PUSH
        control = self.loop.decide(self._upright(self.state), self._command)
        self._rested = self._rested + 1 if self.loop.phase is Phase.REST else 0
        if pushed and self.loop.phase is not Phase.PUSH:
            self._command = joints  # commands are ahead: what is pushed would go on
        else:
            self._command = self._command + self._share(control) * (control - self._command)
        return self._command

    def search(self) -> None:
        """Go on looking for where to touch next, after a look, if that is what the loop does."""
        self.loop.search()

    def _carry_along(self, joints: np.ndarray, stamp: int) -> None:
        """Move what the arm has touched since the last look, for a camera tells it late."""
        if self._looked is None or self.beyond:
            return
        last, before = self._looked
        state = self._upright(self._perceived(before))
        touched = np.concatenate((state[: len(self._dynamics.object_states)], joints))
        if not -OVERLAP <= self.loop.gaps(touched[np.newaxis]).min() < 0.0:
            return
        ahead = self._dynamics.step(state, joints)
        ahead[self._kept] = state[self._kept]
        if not (np.abs(ahead - state)[: len(self._dynamics.object_states)] <= FARTHEST).all():
            return
        was, now = (self._dynamics.object_poses(x) for x in (state, ahead))
        for name, tracker in self.trackers.items():
            tracker.carry(last, stamp, was[name], now[name])

    def _share(self, control: np.ndarray) -> float:
        """Return the share of the way to a command that is gone until the next look.

        The arm is fast, but meets nothing faster than F / sqrt(k m), so that a touch presses no
        harder than a push. The commands count: the arm comes after.

        Args:
            control: (n_a) [rad].
        """
        config, command = self._config, self._command
        assert command is not None
        transit = self.loop.phase is Phase.TRANSIT
        gap = self.loop.gaps(self._at(command)[np.newaxis])[0]
        speed = config.transit_speed if transit else config.speed
        if not transit and gap.min() <= 0.0:
            left = (1.0 + self.loop.remaining) * self._tolerance
            speed = min(speed, max(SLOWEST, left / LATE))
        way = float(np.linalg.norm(self._tool(control) - self._tool(command)))
        share = min(1.0, speed * config.period / max(way, 1e-9))
        fastest = config.force / BLOW + np.maximum(gap - NEARBY, 0.0) / BRAKING
        counts = gap > (PRESSED if transit else 0.0)
        for _ in range(2):  # what is round comes nearer in the middle of a way than at its end
            then = self.loop.gaps(self._at(command + share * (control - command))[np.newaxis])[0]
            nearer = np.where(counts, gap - then, 0.0)
            share *= min(1.0, float((fastest * config.period / np.maximum(nearer, 1e-9)).min()))
        return share

    def _let_lie(self, joints: np.ndarray) -> None:
        """Go on with what has come to rest as it lies, if the model has it lie there, too.

        Args:
            joints: (n_a) where they are [rad].
        """
        size = len(self._dynamics.object_states)
        bound = np.where(np.arange(size) % 6 < 3, STILL, STILL_TURN)
        self._lain.append(self.state[:size])
        if (np.ptp(self._lain, axis=0) > bound).any():
            self._lain.clear()
        if self._way or len(self._lain) < LYING:
            return
        seen = np.mean(self._lain, axis=0)
        self._lain.clear()
        state = np.concatenate((seen, joints))
        for _ in range(SETTLING):
            state = self._dynamics.step(state, joints)[: len(state)]
        shift = np.zeros(len(self.problem.goal))
        shift[self._free] = (state - self.problem.goal[: len(state)])[self._free]
        if np.abs(shift).max() <= LEAN and (np.abs(state[:size] - seen) <= FOUND * bound).all():
            self._keep_as(shift)

    def _keep_as(self, shift: np.ndarray) -> None:
        """Begin anew with other states (n) to be kept, by how much they differ."""
        problem = self.problem
        moved = shift[list(problem.bounds.bounded_states)]
        low, high = problem.bounds.state_low + moved, problem.bounds.state_high + moved
        bounds = replace(problem.bounds, state_low=low, state_high=high)
        self.problem = replace(problem, reference=problem.reference + shift, bounds=bounds)
        self.loop = self._begin(self.problem)

    def _perceived(self, joints: np.ndarray) -> np.ndarray:
        """Return the state (n) as seen; angles go on from the last look, or from the goal."""
        poses = {name: tracker.pose for name, tracker in self.trackers.items()}
        state = self._dynamics.state_of(poses, joints)
        last = np.where(np.isnan(self.state), self.problem.goal, self.state)
        return self._dynamics.nearest_turns(state, last)

    def _upright(self, state: np.ndarray) -> np.ndarray:
        """Return the state with what is kept as it should be: noise lifts and tilts nothing."""
        state = state.copy()
        state[self._kept] = self.problem.goal[self._kept]
        return np.asarray(
            self._dynamics.complete(state[np.newaxis, : self._dynamics.coordinates])[0]
        )

    def _at(self, joints: np.ndarray) -> np.ndarray:
        """Return q with the objects where they are seen, and the arm at some joint positions."""
        return np.concatenate((self.state[: len(self._dynamics.object_states)], joints))

    def _tool(self, joints: np.ndarray) -> np.ndarray:
        """Return where the tool is (3) [m]."""
        return self._dynamics.outputs(self._at(joints)[np.newaxis])[0][0, :3]
