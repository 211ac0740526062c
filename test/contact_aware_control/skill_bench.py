"""An arm that follows exactly, over a soft surface of any height: what a skill does, in no time."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from contact_aware_control.config import ControllerConfig
from contact_aware_control.led_tool import LedTool, axes_towards
from contact_aware_control.targets import StreamConfig, StreamedTargets

DOWN = np.array([0.0, 0.0, -1.0])
BENT = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
PERIOD = 0.01
"""Twice the controller's, for the sake of time [s]."""
SOFTNESS = 3000.0
"""Stiffness of what is pressed on [N/m]."""


class SkillBench:
    """Leads a tool, and presses on what is below one point of it.

    A height is a function of the horizontal way (2) from where the tool began [m], and says how
    far from there it is down to the surface [m]. What is at x = ``end`` stops the arm [m]; the
    wall stands on the surface, is as soft, and begins at that x of the point [m].
    """

    def __init__(self, robot, height, point=None, end=np.inf, wall=np.inf, tip=None):
        self.robot, self.height, self.end, self.wall = robot, height, end, wall
        self.point = np.zeros(3) if point is None else point
        config = ControllerConfig()
        bounds = StreamedTargets(robot, config, StreamConfig()).tool_bounds
        self.period = PERIOD
        self.tool = LedTool(robot, BENT, axes_towards(DOWN), bounds, self.period, tip)
        self.begin = self.tool.start.translation
        self.q = BENT.copy()
        self.force, self.tips, self.places, self.phases = 0.0, [], [], []

    def torque(self):
        """Return the external torque (n) [Nm]."""
        place = self.robot.tool_pose().act(self.point)
        way = place - self.begin
        self.force = max(0.0, SOFTNESS * (-way[2] - self.height(way[:2])))
        aside = SOFTNESS * max(0.0, way[0] - self.wall) if self.force > 0.0 else 0.0
        force = -self.force * DOWN - (aside, 0.0, 0.0)
        return self.robot.torque_of_force(self.robot.tool_link, place, force)

    def run(self, skill, longest=40.0):
        """Do it; the arm's springs give way as little as its control."""
        reference = skill.ahead
        for _ in range(round(longest / self.period)):
            self.robot.update(self.q)
            error = pin.log6(self.robot.tool_pose().actInv(reference.sample(self.period))).vector
            if (self.robot.tool_pose().translation - self.begin)[0] < self.end:
                self.q = self.q + np.linalg.pinv(self.robot.tool_jacobian()) @ error
            self.robot.update(self.q)
            torque = self.torque()
            reference = skill.step(self.period, self.q, self.q, torque)
            self.tips.append(self.tool.tip - self.begin)
            self.places.append(self.robot.tool_pose().translation.copy())
            self.phases.append((skill.phase, self.force))
            if skill.ended:
                break
        self.tips, self.places = np.array(self.tips), np.array(self.places)
        return skill

    def forces(self, phase):
        """Return the true forces in a phase [N]."""
        return np.array([force for name, force in self.phases if name == phase])
