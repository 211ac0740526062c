"""Pushing the sled: its scene, and what the planner is told of the arm."""

from __future__ import annotations

import numpy as np

from contact_core.robot.scene import Scene
from tamsi_sim.robot.plant import cartesian_impedance

SCENE = "slide_sled"
SLIDING = "sliding"
"""The surface of sled and table."""
ALONG = 1
"""The motion is along y of the base frame, the second entry of a wrench."""
RESTING = 0.5
"""Time without a wrench in which the jaws close and the sled comes to rest [s]."""
SAME_TIME = 1e-6
"""Sums of periods have no exact representation [s]."""


def carried_mass() -> float:
    """Return the inertia of the arm along the motion, at its start [kg].

    The arm offers no stiffness there, but its links have to be accelerated. The planner is told
    that, but not that it changes on the way, nor about the friction in the arm's joints.
    """
    scene = Scene.load(SCENE)
    start = np.array(scene.config.robot.initial_positions)
    return float(cartesian_impedance(scene).tool_inertia(start)[ALONG, ALONG])
