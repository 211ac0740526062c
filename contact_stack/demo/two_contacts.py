"""Two contacts, one after the other, on different links: an experiment of our own."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from contact_core.robot import Robot
from contact_stack.demo.experiment import Experiment
from contact_stack.demo.motion import PoseMotion

DESCENT = 0.23
"""How far the tool goes down onto the table's edge [m]."""
SWING = 0.16
"""How far it then goes sideways, where the forearm meets the post [m]."""
LEG = 4.0
"""Duration of each way, there or back [s]."""
DWELL = 1.0
"""Time at the lowest and at the outermost point [s]."""


class TwoContacts(Experiment):
    """The tool goes down and back up, then sideways and back; its orientation is constant.

    On the way down the wrist (link 6) meets the edge of a table, on the way sideways the
    forearm (link 5) a post, by the interferences that the scene states.
    """

    scene = "two_contacts"

    @property
    def duration(self) -> float:
        """Duration of the motion [s]."""
        return 4 * LEG + 2 * DWELL

    @property
    def phases(self) -> dict[str, tuple[float, float]]:
        """Name -> (start, end) [s] of what the motion consists of."""
        half = self.duration / 2
        return {
            "down": (0.0, LEG),
            "up": (LEG + DWELL, half),
            "sideways": (half, half + LEG),
            "back": (half + LEG + DWELL, self.duration),
        }

    @property
    def passes(self) -> dict[str, tuple[float, float]]:
        """Name -> (start, end) [s] of the contact at the wrist and at the forearm."""
        half = self.duration / 2
        return {"wrist": (0.0, half), "forearm": (half, self.duration + self.settling)}

    def motion(self, robot: Robot, q: np.ndarray) -> PoseMotion:
        """Return the motion of the tool, see :meth:`Experiment.motion`."""
        robot.update(q)
        start = robot.tool_pose()
        low = pin.SE3(start.rotation, start.translation - np.array([0.0, 0.0, DESCENT]))
        aside = pin.SE3(start.rotation, start.translation + np.array([0.0, SWING, 0.0]))
        half = self.duration / 2
        times = (0.0, LEG, LEG + DWELL, half, half + LEG, half + LEG + DWELL, self.duration)
        return PoseMotion(times, (start, low, low, start, aside, aside, start))
