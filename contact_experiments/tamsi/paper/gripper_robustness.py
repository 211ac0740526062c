"""The scene of tamsi Fig. 6 with all steps and stiffnesses: who keeps hold of the mug."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from contact_experiments.tamsi.cases import MUG, ParallelGripper
from contact_experiments.tamsi.integrators.registry import make_integrator
from tamsi_sim.arrays.status import StepStatus

DURATION = 5.0  # [s]
STEPS = (1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 3e-3, 5e-3, 7e-3, 1e-2, 1.5e-2, 2e-2)
STIFFNESSES = (1e3, 3e3, 1e4, 3e4, 1e5)
INTEGRATORS = ("tamsi", "semi_implicit")
HELD = 0.03  # The mug is 0.1 m tall: it may slip so far in the grip [m].


@dataclass(frozen=True)
class Trial:
    """One simulation of the shaken gripper.

    Attributes:
        integrator: Its name.
        time_step: h [s].
        stiffness: k [N/m].
        failed: Whether a step failed.
        retries: Steps that needed sub-steps.
        slip: Furthest that the mug moved relative to the gripper, in any direction [m].
        normal_ratio: Largest h sqrt(k/m) of explicit normal forces.
    """

    integrator: str
    time_step: float
    stiffness: float
    failed: bool
    retries: int
    slip: float
    normal_ratio: float

    @property
    def held(self) -> bool:
        """Whether the mug stayed in the gripper, and every step succeeded."""
        return not self.failed and self.slip < HELD


def trial(integrator: str, time_step: float, stiffness: float, duration: float = DURATION) -> Trial:
    """Shake the gripper once.

    Args:
        integrator: Its name.
        time_step: h [s].
        stiffness: k [N/m].
        duration: Simulated time [s].

    Returns:
        What became of the mug.
    """
    case = ParallelGripper(time_step=time_step, stiffness=stiffness)
    engine = case.engine()
    moved = make_integrator(integrator, engine, case.excitation())
    status, positions, _ = moved.roll(round(duration / time_step))
    first = engine.built.free_bodies[MUG][0]
    relative = positions[:, first : first + 3].copy()
    relative[:, 2] -= positions[:, engine.built.joints["lift"]]
    slip = np.linalg.norm(relative - relative[0], axis=1)
    return Trial(
        integrator=integrator,
        time_step=time_step,
        stiffness=stiffness,
        failed=status != StepStatus.OK,
        retries=moved.effort.retries,
        slip=float(np.nanmax(slip)),
        normal_ratio=moved.normal_ratio,
    )


def trials() -> Iterator[Trial]:
    """Try every integrator with every stiffness and step."""
    for integrator in INTEGRATORS:
        for stiffness in STIFFNESSES:
            for time_step in STEPS:
                yield trial(integrator, time_step, stiffness)
