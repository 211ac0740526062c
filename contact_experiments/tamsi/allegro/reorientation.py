"""How the hand turns the mug: orientation, fingers in contact, and what it costs."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from contact_core.errors import ContactStackError
from contact_experiments.tamsi.allegro.hand import MUG, AllegroHand, fingers_in_contact

SAMPLE = 30  # Steps between two looks at the mug.


@dataclass(frozen=True)
class Reorientation:
    """A run of the hand.

    Attributes:
        period: Of the motion [s].
        time: (m) [s].
        joints: (m, 16) joint positions [rad].
        poses: (m, 7) position [m] and quaternion (x, y, z, w) of the mug.
        fingers: (m) how many fingers touch the mug.
        cpu_time: That the steps took [s].
    """

    period: float
    time: np.ndarray
    joints: np.ndarray
    poses: np.ndarray
    fingers: np.ndarray
    cpu_time: float

    @property
    def real_time_rate(self) -> float:
        """Simulated time per CPU time."""
        return float(self.time[-1] / self.cpu_time)

    def angle(self) -> np.ndarray:
        """Return (m) the mug's angle about the axis it turns about most [rad].

        It is measured from the mean orientation of all but the first period.
        """
        rotations = [pin.Quaternion(quaternion).matrix() for quaternion in self.poses[:, 3:]]
        held = self.time > self.period
        mean = np.mean([r for r, counts in zip(rotations, held, strict=True) if counts], axis=0)
        u, _, vt = np.linalg.svd(mean)
        mean = u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt
        vectors = np.array([pin.log3(rotation @ mean.T) for rotation in rotations])
        axis = np.linalg.svd(vectors[held], full_matrices=False)[2][0]
        return vectors @ axis

    def swings(self) -> np.ndarray:
        """Return the largest angle between two orientations in each whole period [rad]."""
        count = int(self.time[-1] / self.period + 1e-9)
        swings = np.empty(count)
        for k in range(count):
            during = (self.time > k * self.period) & (self.time <= (k + 1) * self.period)
            quaternions = self.poses[during, 3:]
            cosines = np.abs(quaternions @ quaternions.T)
            swings[k] = 2.0 * np.arccos(np.clip(cosines.min(), 0.0, 1.0))
        return swings


def turn_mug(case: AllegroHand, duration: float = 15.0) -> Reorientation:
    """Simulate the hand.

    Args:
        case: The case.
        duration: Simulated time [s].

    Returns:
        The run.

    Raises:
        ContactStackError: If a step fails.
    """
    engine = case.engine()
    forces = case.forces(round(duration / case.time_step))
    first = engine.built.free_bodies[MUG][0]
    times: list[float] = []
    states, fingers = [], []
    cpu_time = 0
    for k in range(0, len(forces), SAMPLE):
        start = time.process_time_ns()
        status, _, _ = engine.roll(forces[k : k + SAMPLE])
        cpu_time += time.process_time_ns() - start
        if status:
            raise ContactStackError(f"after {times[-1] if times else 0.0:.3f} s: {status.remedy}")
        times.append(min(k + SAMPLE, len(forces)) * case.time_step)
        states.append(engine.q.copy())
        fingers.append(len(fingers_in_contact(engine)))
    positions = np.array(states)
    return Reorientation(
        case.period,
        np.array(times),
        positions[:, :first],
        positions[:, first : first + 7],
        np.array(fingers),
        1e-9 * cpu_time,
    )
