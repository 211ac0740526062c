"""The task of the demo bottle_shake, ``tamsi`` Sec. VI-C: keyframes, and joint paths through them.

The paths come from the keyframes by Jacobian inverse kinematics.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pinocchio as pin
import scipy

from contact_aware_control.reference import PoseTrajectory
from contact_aware_control.reference.motion import joints_along
from contact_core.base.config import parameter
from contact_core.base.errors import TrajectoryError
from contact_core.robot.robot import Robot

APPROACHING = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
"""Rotation of the tool, to the world frame: it points along x, the fingers close along y."""
GRASP_HEIGHT = 0.395
"""z of the grasp when the bottle stands [m]."""
LIFT = 0.16
"""How far the bottle is lifted [m]."""
RETREAT = 0.12
"""Distance from which the gripper comes, and to which it goes [m]."""
SHAKE_AMPLITUDE, SHAKE_PERIOD = 0.05, 0.5
"""Of the tool, up and down [m], [s]."""
OVERTRAVEL = 0.01
"""How far below its height a table is searched by force [m]."""
SPACING = 0.02
"""Time between two poses for which joint positions are searched [s]."""


class BottleStage(StrEnum):
    """What is being done."""

    APPROACH = "approach"
    GRASP = "grasp"
    LIFT = "lift"
    SHAKE = "shake"
    CARRY = "carry"
    LOWER = "lower"
    RELEASE = "release"
    RETREAT = "retreat"
    END = "end"


@dataclass(frozen=True)
class Keyframe:
    """A pose of the tool on the way.

    Attributes:
        pose: World frame.
        duration: Time from the keyframe before [s].
    """

    pose: pin.SE3
    duration: float


@dataclass(frozen=True)
class BottleTask:
    """The task, in the world frame; what the arm believes about the bottle and the table."""

    start: tuple[float, ...] = parameter(
        (0.80, -0.18), "x and y of the bottle at the start", unit="m", size=2
    )
    goal: tuple[float, ...] = parameter(
        (0.80, 0.18), "x and y of where the bottle is to be placed", unit="m", size=2
    )
    shakes: int = parameter(6, "how often the bottle is shaken", low=1)
    speed: float = parameter(
        1.0, "speed of all motions but the shaking, relative to the usual one", above=0.0, high=2.0
    )

    def keyframes(self, feedback: bool) -> dict[BottleStage, tuple[Keyframe, ...]]:
        """Return the keyframes of the stages up to the placement.

        Args:
            feedback: Whether the table is found by force, and may be lower than believed.
        """
        lifted, half = GRASP_HEIGHT + LIFT, 0.5 * SHAKE_PERIOD
        up = tool_at(self.start, lifted + SHAKE_AMPLITUDE)
        down = tool_at(self.start, lifted - SHAKE_AMPLITUDE)
        shakes = [Keyframe(pose, half) for _ in range(self.shakes) for pose in (up, down)]
        table = -OVERTRAVEL * feedback
        return {
            BottleStage.APPROACH: (
                self._at(self.start, 2.0, back=RETREAT), self._at(self.start, 1.5),
            ),
            BottleStage.LIFT: (self._at(self.start, 1.5, LIFT),),
            BottleStage.SHAKE: (*shakes, Keyframe(tool_at(self.start, lifted), half)),
            BottleStage.CARRY: (self._at(self.goal, 2.5, LIFT),),
            BottleStage.LOWER: (self._at(self.goal, 1.5, 0.02), self._at(self.goal, 1.5, table)),
        }  # fmt: skip

    def leaving(self, tool: pin.SE3) -> tuple[Keyframe, ...]:
        """Return the keyframes away from the placed bottle, from the tool's pose, world frame."""
        back = np.array([RETREAT, 0.0, 0.0])
        away = pin.SE3(tool.rotation, tool.translation - back)
        return (Keyframe(away, 1.5 / self.speed),)

    def _at(
        self, place: Sequence[float], duration: float, above: float = 0.0, back: float = 0.0
    ) -> Keyframe:
        """Return a keyframe at or above a grasp, reached in a time at the usual speed [s]."""
        pose = tool_at(place, GRASP_HEIGHT + above, back)
        return Keyframe(pose, duration / self.speed)


def tool_at(place: Sequence[float], height: float, back: float = 0.0) -> pin.SE3:
    """Return the tool's pose for a grasp at x and y and a height, or some way before it [m]."""
    x, y = place
    return pin.SE3(APPROACHING, np.array([x - back, y, height]))


@dataclass(frozen=True, eq=False)
class JointSetpoint:
    """Where the joints should be, and how they should move.

    Attributes:
        position: (n) [rad].
        velocity: (n) [rad/s].
        acceleration: (n) [rad/s^2].
    """

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray

    @staticmethod
    def at_rest(q: np.ndarray) -> JointSetpoint:
        """Return one that does not move, at joint positions q (n) [rad]."""
        return JointSetpoint(q.copy(), np.zeros_like(q), np.zeros_like(q))


class JointPath:
    """A motion of the joints whose tool moves straight from keyframe to keyframe.

    Attributes:
        duration: Time from start to end [s].
        end: (n) where it ends [rad].
    """

    def __init__(self, robot: Robot, q_start: np.ndarray, keyframes: Sequence[Keyframe]) -> None:
        """Search joint positions along the way, each near the one before.

        Args:
            robot: The arm; it is left at the start.
            q_start: (n) where the motion begins, at rest [rad].
            keyframes: Where it leads to; it rests at each.

        Raises:
            TrajectoryError: If a pose is out of reach, or a joint would move too fast.
        """
        robot.update(q_start)
        knots = list(itertools.accumulate((k.duration for k in keyframes), initial=0.0))
        tool = PoseTrajectory(knots, [robot.tool_pose(), *(k.pose for k in keyframes)])
        self.duration = knots[-1]
        times = np.linspace(0.0, self.duration, max(2, round(self.duration / SPACING)) + 1)
        positions = joints_along(robot, q_start, times, tool.sample)
        self.end = positions[-1]
        self._spline = scipy.interpolate.CubicSpline(times, positions, bc_type="clamped")
        speed = np.abs(self._spline(times, 1)).max(axis=0)
        joint = int(np.argmax(speed - robot.velocity_limits))
        if speed[joint] > robot.velocity_limits[joint]:
            raise TrajectoryError(
                f"joint {robot.joint_names[joint]} would move at {speed[joint]:.3f} rad/s "
                f"(valid: <= {robot.velocity_limits[joint]:.3f} rad/s)"
            )

    def sample(self, time: float) -> JointSetpoint:
        """Return the setpoint at a time since the start [s]; beyond the end it rests there."""
        if time >= self.duration:
            return JointSetpoint.at_rest(self.end)
        return JointSetpoint(*(self._spline(time, order) for order in range(3)))
