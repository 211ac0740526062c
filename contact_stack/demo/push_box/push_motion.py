"""How a plan's commands become a motion of the tool."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
from scipy.interpolate import PchipInterpolator

from contact_core.robot import Robot
from contact_stack.demo.motion import PoseMotion
from contact_stack.demo.push_box.approach import SPEED

SPACING = 0.1
"""Between the poses of a push [s]. At this speed 0.05 s leave the box within 0.2 mm of the same
place, and the controller checks twice as many poses."""


def push_motion(robot: Robot, commands: np.ndarray, time_step: float) -> PoseMotion:
    """Return the commanded motion of the tool, smooth and slow.

    The plan knows no momentum: its box stops as soon as nothing pushes it, and its pusher
    touches it without impact, however fast. Of a real arm that holds only if it is slow: at
    the 0.2 m/s of a plan in half its pace the impact is 19 N, at 0.05 m/s it is 5 N, hardly
    more than it takes to slide the box.

    Args:
        robot: The arm; it is updated.
        commands: (T + 1, n) commanded joint positions [rad].
        time_step: Planned time between them [s]; where the tool would be faster than
            :data:`SPEED`, it takes longer.
    """
    points = np.array([_tool(robot, joints).translation for joints in commands])
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
    stamps = np.append(0.0, np.cumsum(np.maximum(time_step, lengths / SPEED)))
    times = np.linspace(0.0, stamps[-1], math.ceil(stamps[-1] / SPACING) + 1)
    smooth = PchipInterpolator(stamps, commands)
    return PoseMotion(tuple(times), tuple(_tool(robot, joints) for joints in smooth(times)))


def _tool(robot: Robot, joints: np.ndarray) -> pin.SE3:
    robot.update(joints)
    return robot.tool_pose()
