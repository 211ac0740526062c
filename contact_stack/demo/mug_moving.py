"""The mug moving of contact_aware_control, Sec. VI-B."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from scipy.interpolate import CubicSpline

from contact_core.errors import TrajectoryError
from contact_core.inverse_kinematics import InverseKinematics, InverseKinematicsStatus
from contact_core.robot import Robot
from contact_stack.demo.experiment import Experiment, HeldObject
from contact_stack.demo.motion import JointKnots, JointMotion

LINE = np.array([0.0, -0.45, -0.12])
"""From the start of the tool to its end, world frame [m]."""
DURATION = 16.0
"""Of the motion [s]."""
KNOTS = 9
"""Number of joint positions that are interpolated, with the first and the last."""


class MugMoving(Experiment):
    """The arm carries a mug along a straight line, with constant orientation.

    The line leads sideways and a little down. On the way link 6 meets the top face of the
    table, by the interference that the scene states, slides along it and leaves it over
    its side. The reference is one of the joints, interpolated between knots from inverse
    kinematics.
    """

    scene = "mug_moving"
    held = HeldObject("mug", 0.1)

    @property
    def duration(self) -> float:
        """Duration of the motion [s]."""
        return DURATION

    @property
    def phases(self) -> dict[str, tuple[float, float]]:
        """Name -> (start, end) [s] of what the motion consists of."""
        return {"move the mug over the table's side": (0.0, self.duration)}

    @property
    def passes(self) -> dict[str, tuple[float, float]]:
        """Name -> (start, end) [s] of the one time link 6 touches the table."""
        return {"table": (0.0, self.duration + self.settling)}

    def motion(self, robot: Robot, q: np.ndarray) -> JointMotion:
        """Return the motion of the joints, see :meth:`Experiment.motion`.

        Raises:
            TrajectoryError: If a knot is out of reach.
        """
        robot.update(q)
        start = robot.tool_pose()
        search = InverseKinematics(robot)
        times = np.linspace(0.0, DURATION, KNOTS)
        positions = [q]
        for time in times[1:]:
            s = time / DURATION
            share = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
            knot = pin.SE3(start.rotation, start.translation + share * LINE)
            found = search.solve(knot, positions[-1])
            if found.status is not InverseKinematicsStatus.CONVERGED:
                raise TrajectoryError(f"knot at {time:g} s: {found.status.value}")
            positions.append(found.q)
        spline = CubicSpline(times, np.array(positions), bc_type="clamped")
        return JointMotion(JointKnots(tuple(times), np.array(positions), spline(times, 1)))
