"""The plans of the demo, for the sled together with what the arm's inertia adds to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from contact_core.scene import Scene
from robust_planner.examples import Example, sled
from robust_planner.planner import RobustRequest, answer
from robust_planner.result import RobustPlan, StageProgress
from tamsi_sim.robot.plant import cartesian_impedance

ALONG = 1
"""The motion is along y of the base frame."""


@dataclass(frozen=True)
class SledPlans:
    """What is executed.

    Attributes:
        example: The problem.
        carried_mass: Inertia of the arm along the motion, at its start [kg].
        plans: ``"reference"`` and ``"robust"``.
    """

    example: Example
    carried_mass: float
    plans: dict[str, RobustPlan]


def plan_sled(scene: Scene, on_progress: Callable[[str, StageProgress], None]) -> SledPlans:
    """Plan with and without uncertainty of friction.

    The arm offers no stiffness along the motion, but its links have to be accelerated: the
    planner is told how much they weigh there. It is not told that this changes on the way,
    nor about the friction in the arm's joints.

    Args:
        scene: The scene with the arm.
        on_progress: Called with phase and progress.

    Returns:
        The plans; the robust one is the reference if that could not be solved.
    """
    start = np.array(scene.config.robot.initial_positions)
    inertia = cartesian_impedance(scene).tool_inertia(start)[ALONG, ALONG]
    example = sled(float(inertia))
    planned = answer(RobustRequest(example, example.config), on_progress)
    return SledPlans(
        example, float(inertia), {"reference": planned.reference, "robust": planned.result}
    )
