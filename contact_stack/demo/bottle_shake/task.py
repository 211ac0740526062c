"""Where the bottle is, where it goes, and the tool's keyframes between, ``tamsi`` Sec. VI-C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from contact_core.config import parameter

APPROACHING = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
"""Rotation of the tool, to the world frame: it points along x, the fingers close along y."""


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
        (0.80, 0.18), "x and y of where it has to be placed", unit="m", size=2
    )
    grasp_height: float = parameter(0.395, "z of the grasp when the bottle stands", unit="m")
    lift: float = parameter(0.16, "how far the bottle is lifted", unit="m", above=0.0)
    retreat: float = parameter(
        0.12, "distance from which the gripper comes, and to which it goes", unit="m", above=0.0
    )
    shake_amplitude: float = parameter(0.05, "of the tool, up and down", unit="m", above=0.0)
    shake_period: float = parameter(0.5, "of the shaking", unit="s", above=0.0)
    shakes: int = parameter(6, "how often the bottle is shaken", low=1)
    speed: float = parameter(
        1.0, "of all motions but the shaking, relative to the usual", above=0.0, high=2.0
    )
    overtravel: float = parameter(
        0.01, "how far below its height a table is searched by force", unit="m", low=0.0
    )

    def approach(self) -> tuple[Keyframe, ...]:
        """Return the keyframes to the bottle."""
        before = tool_at(self.start, self.grasp_height, back=self.retreat)
        at_bottle = tool_at(self.start, self.grasp_height)
        return self._reached(before, 2.0), self._reached(at_bottle, 1.5)

    def lifting(self) -> tuple[Keyframe, ...]:
        """Return the keyframes off the table."""
        return (self._reached(tool_at(self.start, self.grasp_height + self.lift), 1.5),)

    def shaking(self) -> tuple[Keyframe, ...]:
        """Return the keyframes of the shaking, from the lifted bottle and back."""
        height, half = self.grasp_height + self.lift, 0.5 * self.shake_period
        up = tool_at(self.start, height + self.shake_amplitude)
        down = tool_at(self.start, height - self.shake_amplitude)
        ends = [Keyframe(pose, half) for _ in range(self.shakes) for pose in (up, down)]
        return (*ends, Keyframe(tool_at(self.start, height), half))

    def carrying(self) -> tuple[Keyframe, ...]:
        """Return the keyframes to the place above the goal."""
        return (self._reached(tool_at(self.goal, self.grasp_height + self.lift), 2.5),)

    def lowering(self, feedback: bool) -> tuple[Keyframe, ...]:
        """Return the keyframes down to the goal.

        Args:
            feedback: Whether the table is found by force, and may be lower than believed.
        """
        low = self.grasp_height - self.overtravel * feedback
        above = tool_at(self.goal, self.grasp_height + 0.02)
        return self._reached(above, 1.5), self._reached(tool_at(self.goal, low), 1.5)

    def leaving(self, tool: pin.SE3) -> tuple[Keyframe, ...]:
        """Return the keyframes away from the placed bottle.

        Args:
            tool: Where the tool is, world frame.
        """
        back = np.array([self.retreat, 0.0, 0.0])
        return (self._reached(pin.SE3(tool.rotation, tool.translation - back), 1.5),)

    def _reached(self, pose: pin.SE3, duration: float) -> Keyframe:
        """Return a keyframe that is reached in a time, at the usual speed [s]."""
        return Keyframe(pose, duration / self.speed)


def tool_at(place: Sequence[float], height: float, back: float = 0.0) -> pin.SE3:
    """Return the tool's pose for a grasp.

    Args:
        place: x and y of the grasp, world frame [m].
        height: z of it [m].
        back: How far the tool is before it [m].
    """
    x, y = place
    return pin.SE3(APPROACHING, np.array([x - back, y, height]))
