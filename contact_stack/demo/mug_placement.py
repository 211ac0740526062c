"""The mug placement of contact_aware_control, Sec. VI-A."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pinocchio as pin

from contact_core.robot import Robot
from contact_stack.demo.experiment import Experiment, HeldObject, Release
from contact_stack.demo.motion import PoseMotion

DESCENT = 0.25
"""How far the tool goes down [m]."""
DOWN, DWELL, UP = 4.0, 2.0, 4.0
"""Durations of the way down, the time at the bottom and the way back up [s]."""
RELEASE_DELAY = 0.75
"""When the gripper opens, from the start of the dwell [s]."""


class MugPlacement(Experiment):
    """The tool goes down, drops the mug on the cart, and goes back up.

    Its orientation stays constant. On the way link 6 meets the edge of the table, by the
    interference that the scene states.
    """

    scene = "mug_placement"
    held = HeldObject("mug", 0.1)
    release: ClassVar[Release] = Release(DOWN + RELEASE_DELAY, "cart")

    @property
    def duration(self) -> float:
        """Duration of the motion [s]."""
        return DOWN + DWELL + UP

    @property
    def phases(self) -> dict[str, tuple[float, float]]:
        """Name -> (start, end) [s] of what the motion consists of."""
        return {
            "down": (0.0, DOWN),
            "drop the mug": (DOWN, DOWN + DWELL),
            "up": (DOWN + DWELL, self.duration),
        }

    @property
    def passes(self) -> dict[str, tuple[float, float]]:
        """Name -> (start, end) [s] of the two times link 6 passes the edge.

        The mug's release divides the dwell at the bottom between them.
        """
        return {
            "down": (0.0, self.release.time),
            "up": (self.release.time, self.duration + self.settling),
        }

    def motion(self, robot: Robot, q: np.ndarray) -> PoseMotion:
        """Return the motion of the tool, see :meth:`Experiment.motion`."""
        robot.update(q)
        start = robot.tool_pose()
        bottom = pin.SE3(start.rotation, start.translation - np.array([0.0, 0.0, DESCENT]))
        times = (0.0, DOWN, DOWN + DWELL, self.duration)
        return PoseMotion(times, (start, bottom, bottom, start))
