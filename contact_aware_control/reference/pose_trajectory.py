"""Tool trajectories through poses, at rest in every pose."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pinocchio as pin

from contact_aware_control.config import StartTolerance
from contact_aware_control.reference.base import LetTickRun, PoseReference, run_to_end
from contact_core.base.errors import TrajectoryError
from contact_core.robot.inverse_kinematics import InverseKinematics, InverseKinematicsStatus
from contact_core.robot.robot import Robot

RUN_OUT = 0.3
"""Time in which the speed at the start fades, or until the first pose if that is sooner [s]."""

POSE_DIRECTIONS = 6
"""As many joints choose position and rotation of a tool independently."""

NEAR = 1 / 3
"""Share of the start tolerance that an arm of fewer joints may stay away from a pose."""

# Reach and joint speed are checked at this many points of every segment.
CHECKS_PER_SEGMENT = 20

REMEMBERED = 2
"""Poses that are kept beside the last one: at the beginning of a tick, its end, and a period on."""


class PoseTrajectory(PoseReference):
    """Straight lines of the tool and rotations about one axis, with a quintic time law.

    Attributes:
        times: (p) when each pose is reached [s].
        poses: (p) tool poses, world frame.
        twist: (6) of the tool at the start, tool frame [m/s, rad/s]; None: it is at rest.
    """

    def __init__(
        self,
        times: Sequence[float],
        poses: Sequence[pin.SE3],
        twist: np.ndarray | None = None,
    ) -> None:
        """Interpolate poses.

        Args:
            times: (p) when each pose is reached, from the start of the motion [s].
            poses: (p) tool poses, world frame.
            twist: See the attribute; it needs a second pose.

        Raises:
            TrajectoryError: If there are no poses, a number is not finite or the times do
                not increase.
        """
        self.times = [float(time) for time in times]
        self.poses = [pose.copy() for pose in poses]
        self.twist = twist
        self._check_points()
        # Where the speed at the start has faded, and the way to the second pose begins.
        rest = self.poses[0]
        if twist is not None:
            self._run_out = min(self.times[1] - self.times[0], RUN_OUT)
            rest = _moved(rest, 0.5 * self._run_out * twist)
        starts = [rest, *self.poses[1:]]
        self._from = [
            (np.array(start.rotation, order="F"), np.array(start.translation)) for start in starts
        ]
        self._turns, self._ways = [], []
        for start, end in pairwise(starts):
            self._turns.append(pin.log3(start.rotation.T @ end.rotation))
            self._ways.append(end.translation - start.translation)
        self._sampled: tuple[tuple[float, pin.SE3], ...] = ()

    @classmethod
    def from_start(
        cls, start: pin.SE3, times: Sequence[float], poses: Sequence[pin.SE3]
    ) -> PoseTrajectory:
        """Interpolate poses, beginning where the tool is if the first is in the future.

        Args:
            start: Commanded tool pose now, world frame.
            times: See the constructor.
            poses: See the constructor.

        Returns:
            The trajectory.

        Raises:
            TrajectoryError: See the constructor.
        """
        return cls(times, poses).begun(start)

    def begun(self, start: pin.SE3, twist: np.ndarray | None = None) -> PoseTrajectory:
        """Return the same motion, beginning where the tool is if the first pose is in the future.

        Args:
            start: Commanded tool pose now, world frame.
            twist: (6) how fast it moves, tool frame [m/s, rad/s]; None: it is at rest.
        """
        if not self.times[0] > 0.0:
            return self
        return PoseTrajectory([0.0, *self.times], [start, *self.poses], twist)

    @property
    def duration(self) -> float:
        """Time from start to end [s]."""
        return self.times[-1]

    def sample(self, time: float) -> pin.SE3:
        """Return X_ref, not to be changed, see :meth:`PoseReference.sample`."""
        if time >= self.times[-1]:
            return self.poses[-1]
        if time <= self.times[0]:
            return self.poses[0]
        # A time is asked for several times: the end of one tick is the beginning of the next.
        for known, pose in self._sampled:
            if known == time:
                return pose
        pose = self._interpolate(time)
        self._sampled = (time, pose), *self._sampled[:REMEMBERED]
        return pose

    def _interpolate(self, time: float) -> pin.SE3:
        segment = bisect_right(self.times, time) - 1
        rotation, origin = self._from[segment]
        if segment == 0 and self.twist is not None:
            gone = self._run_out * _faded((time - self.times[0]) / self._run_out)
            start = _moved(self.poses[0], gone * self.twist)
            rotation, origin = start.rotation, start.translation
        passed = (time - self.times[segment]) / (self.times[segment + 1] - self.times[segment])
        # A quintic from 0 to 1, with zero velocity and acceleration at both ends.
        share = passed**3 * (10.0 - 15.0 * passed + 6.0 * passed**2)
        return pin.SE3(
            rotation @ pin.exp3(share * self._turns[segment]),
            origin + share * self._ways[segment],
        )

    def check(
        self,
        robot: Robot,
        q_start: np.ndarray,
        tolerance: StartTolerance,
        let_tick_run: LetTickRun = run_to_end,
    ) -> None:
        """Check start, reach, joint limits and joint speeds, see :meth:`Reference.check`."""
        robot.update(q_start)
        self.check_start(robot.tool_pose(), tolerance)
        search = InverseKinematics(robot)
        q = q_start
        for segment in range(len(self._turns)):
            length = self.times[segment + 1] - self.times[segment]
            step = length / CHECKS_PER_SEGMENT
            for k in range(1, CHECKS_PER_SEGMENT + 1):
                let_tick_run()
                time = self.times[segment] + k * step
                where = f" at {time:.3g} s, on the way there" if k < CHECKS_PER_SEGMENT else ""
                what = f"pose {segment + 1}{where}"
                found = reached(search, self.sample(time), q, tolerance, what)
                speed = np.abs(found - q) / step
                joint = int(np.argmax(speed - robot.velocity_limits))
                # The first step also makes up the distance to the start pose.
                if (segment, k) != (0, 1) and speed[joint] > robot.velocity_limits[joint]:
                    raise TrajectoryError(
                        f"pose {segment + 1}: joint {robot.joint_names[joint]} would move at "
                        f"{speed[joint]:.3f} rad/s before it "
                        f"(valid: <= {robot.velocity_limits[joint]:.3f} rad/s)"
                    )
                q = found

    def check_start(self, tool: pin.SE3, tolerance: StartTolerance) -> None:
        """Check the first pose.

        Args:
            tool: Commanded tool pose now, world frame.
            tolerance: How far from there it may be.

        Raises:
            TrajectoryError: If it is farther away.
        """
        difference = tool.actInv(self.poses[0])
        distance = float(np.linalg.norm(difference.translation))
        angle = float(np.linalg.norm(pin.log3(difference.rotation)))
        if distance > tolerance.position or angle > tolerance.rotation:
            raise TrajectoryError(
                f"the trajectory starts {distance:.3f} m and {angle:.3f} rad away from the tool "
                f"(valid: <= {tolerance.position:g} m and {tolerance.rotation:g} rad)"
            )

    def _check_points(self) -> None:
        if not self.times:
            raise TrajectoryError("the trajectory has no poses")
        if len(self.times) != len(self.poses):
            raise TrajectoryError(f"{len(self.times)} times for {len(self.poses)} poses")
        previous = -1e-9
        for i, (time, pose) in enumerate(zip(self.times, self.poses, strict=True)):
            if not np.isfinite(time):
                raise TrajectoryError(f"pose {i}: time {time} is not finite")
            if time <= previous or time < 0.0:
                raise TrajectoryError(
                    f"pose {i}: time {time:g} s must be later than that of the pose before it"
                )
            if not np.isfinite(pose.homogeneous).all():
                raise TrajectoryError(f"pose {i} is not finite")
            if not np.allclose(pose.rotation @ pose.rotation.T, np.eye(3), atol=1e-6):
                raise TrajectoryError(f"pose {i}: its rotation is none (unit quaternion?)")
            previous = time


def reached(
    search: InverseKinematics, pose: pin.SE3, q: np.ndarray, tolerance: StartTolerance, what: str
) -> np.ndarray:
    """Return joint positions (n) that bring the tool to a pose [rad].

    An arm of fewer than six joints misses nearly every pose by a little, so that it is let off
    with a share NEAR of the tolerance.

    Args:
        search: Of the arm.
        pose: Of the tool, world frame.
        q: (n) where it is before [rad].
        tolerance: How far from the arm a motion may start.
        what: What the pose is, for the error.

    Raises:
        TrajectoryError: If there are none on the way from there.
    """
    found = search.solve(pose, q)
    if found.status is InverseKinematicsStatus.CONVERGED:
        return found.q
    away, turned = found.position_error, found.rotation_error
    text = f"it stays {away:.3g} m and {turned:.3g} rad away"
    if q.size < POSE_DIRECTIONS:
        position, rotation = NEAR * tolerance.position, NEAR * tolerance.rotation
        if away <= position and turned <= rotation:
            return found.q
        text += (
            f", valid: <= {position:.3g} m and {rotation:.3g} rad; with {q.size} joints it cannot "
            "choose position and rotation independently"
        )
    raise TrajectoryError(f"{what}: {found.status.value} ({text})")


def _faded(passed: float) -> float:
    """Integral of a speed that fades from 1 to 0 while its argument goes from 0 to 1; 1/2 after."""
    share = min(passed, 1.0)
    return share - share**3 + 0.5 * share**4


def _moved(pose: pin.SE3, way: np.ndarray) -> pin.SE3:
    """Move a pose by (6) a shift and a turn, both in its own frame [m, rad]."""
    return pin.SE3(pose.rotation @ pin.exp3(way[3:]), pose.translation + pose.rotation @ way[:3])
