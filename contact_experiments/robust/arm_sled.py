"""The sled, slid over a table of uncertain friction by the contact-aware controller.

The motion of a plan is the reference of the arm, and its forces are left to the controller. That
is quasistatic: it would lag behind half a metre a second, so that the motion is slowed down.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from contact_aware_control.reference.motion import tool_pose
from contact_experiments.robust.arm_course import ACROSS, CourseExperiment, Following
from contact_experiments.robust.arm_runs import SLIDE, ArmCase
from contact_stack.demo.contact_tracking.statistics import ExperimentData
from contact_stack.demo.sled.node import SCENE

SLOWER = 4.0
"""How many times longer the motion takes than planned."""


class TrackedSlide(Following):
    """The jaws lead the sled along the plan's motion."""

    scene = SCENE
    directions = ACROSS[None]

    def arrange(self, values: dict[str, Any], world: float) -> None:
        """Set the friction, and control joints, see :meth:`Execution.arrange`."""
        SLIDE.execution.arrange(values, world)
        for key in ("control_mode", "cartesian"):
            del values["robot"][key]

    def course(self, case: ArmCase, scene: Path) -> CourseExperiment:
        """Return the slower motion of a case, see :meth:`Following.course`."""
        time = tuple(SLOWER * moment for moment in case.time)
        return super().course(dataclasses.replace(case, time=time), scene)

    def measure(self, case: ArmCase, data: ExperimentData) -> np.ndarray:
        """Return the way of the jaws (n) [m], see :meth:`Following.measure`."""
        robot = self.robot()
        joints = data.joint_position[:, : robot.n]
        places = np.array([tool_pose(robot, q).translation @ ACROSS for q in joints])
        return places - places[0]


TRACKED_SLIDE = dataclasses.replace(
    SLIDE,
    draws="slides of the controlled arm",
    course=lambda motion: motion.position[:, 0],
    execution=TrackedSlide(),
)
"""The sled over a table of uncertain friction, by the contact-aware controller."""
