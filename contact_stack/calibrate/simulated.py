"""Move a simulated arm that nothing touches, and record its torques."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from contact_aware_control.estimation.identification import REST, TorqueSamples
from contact_aware_control.reference import JointTrajectory
from contact_core.robot.scene import Scene
from tamsi_sim.robot.plant import Plant

Motion = Callable[[np.ndarray], JointTrajectory]
"""From where the arm is commanded to be (n) [rad] to how it shall move."""
OnTime = Callable[[float], None]
"""Told the time that has passed since the start [s]."""


def ignore(time: float) -> None:
    """Let time pass unnoticed."""


def record_simulated(
    scene: Scene, seed: int, motion: Motion, on_time: OnTime = ignore
) -> TorqueSamples:
    """Move the arm of a scene that is simulated here.

    Args:
        scene: The scene.
        seed: Seed of the sensors' noise.
        motion: How it shall move.
        on_time: Called from time to time.

    Returns:
        What was measured.
    """
    plant = Plant(scene, seed)
    report = plant.reset(seed)
    start = report.commanded_position
    wanted = motion(start)
    states = []
    for k in range(round((REST + wanted.duration) / scene.config.period)):
        time = k * scene.config.period
        report = plant.tick(wanted.sample(time - REST) if time > REST else start)
        states.append((time, report.position, report.commanded_position, report.external_torque))
        on_time(time)
    return TorqueSamples.of(states)
