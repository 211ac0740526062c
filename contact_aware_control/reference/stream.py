"""References that are streamed: targets that come one by one, joined without a jump.

Every target begins a new motion, from where the reference is and as fast as it is there, to the
target and its velocity, as fast as bounds on speed, acceleration and jerk allow, by Ruckig
(Berscheid and Kröger, "Jerk-limited real-time trajectory generation with arbitrary target
states", 2021). So it makes no difference how often targets come, and whether some are lost. A
target's velocity is that of the targets: a sender at 10 Hz is followed without stopping at each,
and what is off is made up until the next one is due.

A rotation is R_0 exp(r), with R_0 where the motion begins; there r' is the angular velocity.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from ruckig import (
    ControlInterface,
    InputParameter,
    Result,
    Ruckig,
    RuckigError,
    Synchronization,
    Trajectory,
)

from contact_aware_control.config import StartTolerance
from contact_aware_control.reference.base import (
    JointReference,
    LetTickRun,
    PoseReference,
    Reference,
    run_to_end,
)
from contact_aware_control.reference.pose_trajectory import reached
from contact_core.base.errors import TrajectoryError
from contact_core.robot.inverse_kinematics import InverseKinematics
from contact_core.robot.robot import Robot

FOR_EVER = 1e6
"""How long a velocity is kept [s]; streams end by their time-out."""

MAX_MOTION = 600.0
"""Longest motion [s]: trajectories are checked on a fine grid before they begin."""

KEPT = 0.9
"""Share of the largest velocity that a target may have, so that it can be caught up with."""

TINY = 1e-9
"""What is smaller is nothing, in any unit."""

SAME = 1e-6
"""What differs by less is the same [m, rad, m/s, rad/s]."""

CHECKS = 40
"""The reach of a motion is checked at so many points."""

DIFFERENCE = 1e-6
"""Step of a finite difference [s]."""


class MotionBounds(NamedTuple):
    """Of a motion, (n) each.

    Attributes:
        velocity: Of every coordinate.
        acceleration: The same.
        jerk: The same.
    """

    velocity: np.ndarray
    acceleration: np.ndarray
    jerk: np.ndarray


class MotionState(NamedTuple):
    """Where something is, and how it moves, (n) each.

    Attributes:
        position: Joints [rad]; or position [m] and, from where a motion began, rotation [rad].
        velocity: Its rate.
        acceleration: The rate of that.
    """

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray

    @classmethod
    def at_rest(cls, position: np.ndarray) -> MotionState:
        """Return the state of something that does not move."""
        return cls(position, np.zeros_like(position), np.zeros_like(position))


class TargetMotion:
    """A motion from a state to a target.

    Attributes:
        start: The state at its beginning.
        velocity: (n) of the target.
        bounds: Of the motion.
        position: (n) of the target; None: its velocity is all that is wanted.
        least: Time that the motion takes at least [s].
    """

    def __init__(
        self,
        start: MotionState,
        velocity: np.ndarray,
        bounds: MotionBounds,
        position: np.ndarray | None = None,
        least: float = 0.0,
    ) -> None:
        """Compute the motion.

        Args:
            start: See the attributes.
            velocity: The same; what is faster than the bounds is cut off.
            bounds: The same.
            position: The same.
            least: The same.

        Raises:
            TrajectoryError: If there is none, e.g. because a number is not finite.
        """
        self.start = start
        self.velocity = np.clip(velocity, -KEPT * bounds.velocity, KEPT * bounds.velocity)
        self.bounds = bounds
        self.position = position
        self.least = least
        n = len(velocity)
        wanted = InputParameter(n)
        # Seen from the target, which moves on: who is ahead of it waits, and does not go back.
        self._place = start.position if position is None else position
        wanted.current_position = _sizeable(start.position - self._place)
        wanted.current_velocity = _sizeable(start.velocity - self.velocity)
        wanted.current_acceleration = _sizeable(start.acceleration)
        wanted.max_velocity = (bounds.velocity - self.velocity).tolist()
        wanted.min_velocity = (-bounds.velocity - self.velocity).tolist()
        wanted.max_acceleration = bounds.acceleration.tolist()
        wanted.max_jerk = bounds.jerk.tolist()
        if position is None:
            wanted.control_interface = ControlInterface.Velocity
        if least > 0.0:
            wanted.minimum_duration = least
        self._motion = _motion(wanted)

    @property
    def duration(self) -> float:
        """Time until the target is reached [s]; FOR_EVER if that moves on."""
        return FOR_EVER if self.velocity.any() else float(self._motion.duration)

    def at(self, time: float) -> MotionState:
        """Return the state at a time since the start [s]; later than the motion ends it goes on."""
        time = max(time, 0.0)
        position, velocity, acceleration = map(np.array, self._motion.at_time(time))
        place = self._place + time * self.velocity
        return MotionState(place + position, self.velocity + velocity, acceleration)


class JointStream(JointReference):
    """Joints on their way to the last target.

    Attributes:
        approach: Their motion.
    """

    waits = False

    def __init__(self, approach: TargetMotion) -> None:
        """Take the motion."""
        self.approach = approach

    @classmethod
    def at_rest(cls, position: np.ndarray, bounds: MotionBounds) -> JointStream:
        """Return joints that stay.

        Args:
            position: (n) where [rad].
            bounds: Of their later motions: (n) [rad/s] and so on.
        """
        start = MotionState.at_rest(position)
        return cls(TargetMotion(start, start.velocity, bounds))

    @property
    def duration(self) -> float:
        """Time until the target is reached [s]; very long if that moves on."""
        return self.approach.duration

    def sample(self, time: float) -> np.ndarray:
        """Return q_ref, see :meth:`JointReference.sample`."""
        return self.approach.at(time).position

    def towards(
        self, time: float, position: np.ndarray | None, velocity: np.ndarray, least: float = 0.0
    ) -> JointStream:
        """Return the motion to another target, from where this one is at a time.

        Args:
            time: Since the start of this one [s].
            position: (n) of the target [rad]; None: its velocity is all that is wanted.
            velocity: (n) of the target [rad/s].
            least: Time that the motion takes at least [s].
        """
        start, bounds = self.approach.at(time), self.approach.bounds
        return JointStream(TargetMotion(start, velocity, bounds, position, least))

    def check(
        self,
        robot: Robot,
        q_start: np.ndarray,
        tolerance: StartTolerance,
        let_tick_run: LetTickRun = run_to_end,
    ) -> None:
        """Check the number of joints; the gate bounds the rest, see :meth:`Reference.check`."""
        n = len(self.approach.velocity)
        if n != robot.n:
            raise TrajectoryError(f"a target has {n} joints, the arm has {robot.n}")


class PoseStream(PoseReference):
    """A tool on its way to the last target.

    Attributes:
        origin: Its pose at the beginning, world frame.
        approach: Its motion: position in the world frame, rotation from the origin's.
    """

    waits = False

    def __init__(self, origin: pin.SE3, approach: TargetMotion) -> None:
        """Take the motion."""
        self.origin = origin
        self.approach = approach

    @classmethod
    def at_rest(cls, pose: pin.SE3, bounds: MotionBounds) -> PoseStream:
        """Return a tool that stays.

        Args:
            pose: Where, world frame.
            bounds: Of its later motions: (6) [m/s, rad/s] and so on.
        """
        start = MotionState.at_rest(np.concatenate((pose.translation, np.zeros(3))))
        return cls(pose.copy(), TargetMotion(start, np.zeros(6), bounds))

    @classmethod
    def straight(
        cls, pose: pin.SE3, way: np.ndarray, speed: float, bounds: MotionBounds
    ) -> PoseStream:
        """Return a tool that goes straight ahead.

        Args:
            pose: Where it begins, world frame.
            way: (3) to where it ends, world frame [m].
            speed: Along the way [m/s].
            bounds: Of its motion: (6) [m/s, rad/s] and so on; the speed is bounded by its own.

        Raises:
            TrajectoryError: If that takes too long.
        """
        slower = bounds.velocity.copy()
        length = float(np.linalg.norm(way))
        if length > 0.0:
            if length > speed * MAX_MOTION:
                raise TrajectoryError(
                    f"{length:g} m take {length / speed:.3g} s at {speed:g} m/s (valid: at most "
                    f"{MAX_MOTION:g} s)"
                )
            # Each axis moves in proportion, so the slowest bound is the speed's share along it.
            slower[:3] = np.maximum(np.abs(way) / length * speed, 1e-6)
        end = pose.copy()
        end.translation += way
        rests = cls.at_rest(pose, bounds._replace(velocity=slower))
        return rests.towards(0.0, end, np.zeros(6))

    @property
    def duration(self) -> float:
        """Time until the target is reached [s]; very long if that moves on."""
        return self.approach.duration

    def sample(self, time: float) -> pin.SE3:
        """Return X_ref, see :meth:`PoseReference.sample`."""
        position = self.approach.at(time).position
        return pin.SE3(self.origin.rotation @ pin.exp3(position[3:]), position[:3])

    def towards(
        self, time: float, pose: pin.SE3 | None, velocity: np.ndarray, least: float = 0.0
    ) -> PoseStream:
        """Return the motion to another target, from where this one is at a time.

        Args:
            time: Since the start of this one [s].
            pose: Of the target, world frame; None: its velocity is all that is wanted.
            velocity: (6) of the target: of its position in the world frame [m/s], and of its
                rotation in the frame of the tool [rad/s].
            least: Time that the motion takes at least [s].
        """
        position, rate, change = self.approach.at(time)
        turn = position[3:]
        now = pin.SE3(self.origin.rotation @ pin.exp3(turn), position[:3])
        at, later = (pin.Jexp3(turn + step * rate[3:]) for step in (0.0, DIFFERENCE))
        spin = at @ rate[3:]
        growth = at @ change[3:] + (later - at) @ rate[3:] / DIFFERENCE
        start = MotionState(
            np.concatenate((now.translation, np.zeros(3))),
            np.concatenate((rate[:3], spin)),
            np.concatenate((change[:3], growth)),
        )
        wanted = None
        if pose is not None:
            way = pin.log3(now.rotation.T @ pose.rotation)
            wanted = np.concatenate((pose.translation, way))
            # The target turns in its own frame, the motion in the one where it begins.
            velocity = np.concatenate((velocity[:3], pin.Jlog3(pin.exp3(way)) @ velocity[3:]))
        return PoseStream(now, TargetMotion(start, velocity, self.approach.bounds, wanted, least))

    def check(
        self,
        robot: Robot,
        q_start: np.ndarray,
        tolerance: StartTolerance,
        let_tick_run: LetTickRun = run_to_end,
    ) -> None:
        """Check its reach: it is led from where the tool is, see :meth:`Reference.check`."""
        search, q = InverseKinematics(robot), q_start
        for time in np.linspace(0.0, self.duration, CHECKS + 1)[1:]:
            let_tick_run()
            pose = self.sample(time)
            way = float(np.linalg.norm(pose.translation - self.origin.translation))
            q = reached(search, pose, q, tolerance, f"after {way:.3f} m")


@lru_cache(maxsize=1)  # asked twice a tick
def goes_on(following: Reference, before: Reference, time: float) -> bool:
    """Tell whether a stream begins where another one is, and as fast.

    Args:
        following: What is to be followed.
        before: What was followed.
        time: Since the start of that [s].
    """
    if isinstance(following, JointStream) and isinstance(before, JointStream):
        start, now = following.approach.start, before.approach.at(time)
        steps = [start.position - now.position, start.velocity - now.velocity]
    elif isinstance(following, PoseStream) and isinstance(before, PoseStream):
        start, now = following.approach.start, before.approach.at(time)
        turn, rate = now.position[3:], now.velocity
        steps = [
            start.position[:3] - now.position[:3],
            following.origin.rotation - before.origin.rotation @ pin.exp3(turn),
            start.velocity[:3] - rate[:3],
            start.velocity[3:] - pin.Jexp3(turn) @ rate[3:],
        ]
    else:
        return False
    return all(bool(np.abs(step).max() <= SAME) for step in steps)


def _motion(wanted: InputParameter) -> Trajectory:
    """Compute a motion, of coordinates that arrive together.

    Raises:
        TrajectoryError: If there is none.
    """
    motion = Trajectory(wanted.degrees_of_freedom)
    ruckig = Ruckig(wanted.degrees_of_freedom)
    try:
        try:
            result = ruckig.calculate(wanted, motion)
        except RuckigError:
            # Now and then it does not find how one coordinate waits for the others.
            wanted.synchronization = Synchronization.No
            result = ruckig.calculate(wanted, motion)
    except (RuckigError, RuntimeError, ValueError) as error:
        # Its binding knows no result for motions that take too long for it.
        raise TrajectoryError(f"no motion leads to the target: {error}") from error
    if result not in (Result.Working, Result.Finished):
        raise TrajectoryError(f"no motion leads to the target: {result.name}")
    return motion


def _sizeable(values: np.ndarray) -> list[float]:
    """Return numbers without those that are all but zero, in which Ruckig gets lost."""
    found: list[float] = np.where(np.abs(values) < TINY, 0.0, values).tolist()
    return found


def bounds_of(coordinates: int, values: Sequence[float]) -> MotionBounds:
    """Return the same bounds for several coordinates.

    Args:
        coordinates: Their number n.
        values: Largest velocity, acceleration and jerk of the vector they make.
    """
    each = np.array(values) / np.sqrt(coordinates)
    return MotionBounds(*(np.full(coordinates, value) for value in each))
