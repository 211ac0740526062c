"""Forces that an integrator applies itself, at whatever times its steps end."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from contact_core.base.kernel import leaf_kernel


class Excitation(NamedTuple):
    """Generalised forces u_i(t) = mean_i + amplitude_i cos(omega_i t + phase_i).

    Attributes:
        mean: (nv) [Nm or N].
        amplitude: (nv) [Nm or N].
        frequency: (nv) omega [rad/s].
        phase: (nv) [rad].
    """

    mean: np.ndarray
    amplitude: np.ndarray
    frequency: np.ndarray
    phase: np.ndarray

    @staticmethod
    def constant(force: np.ndarray) -> Excitation:
        """Return a force that does not change.

        Args:
            force: (nv) [Nm or N].
        """
        mean = np.array(force, dtype=float)
        return Excitation(mean, *(np.zeros(len(mean)) for _ in range(3)))

    def at(self, time: np.ndarray) -> np.ndarray:
        """Return the forces at some times.

        Args:
            time: (n) [s].

        Returns:
            (n, nv) [Nm or N].
        """
        angle = np.multiply.outer(time, self.frequency) + self.phase
        return np.asarray(self.mean + self.amplitude * np.cos(angle))


@leaf_kernel
def excite(excitation: Excitation, time: float, applied: np.ndarray) -> None:
    """Write the forces at one time.

    Args:
        excitation: The forces.
        time: [s].
        applied: (nv) written [Nm or N].
    """
    for i in range(applied.shape[0]):
        angle = excitation.frequency[i] * time + excitation.phase[i]
        applied[i] = excitation.mean[i] + excitation.amplitude[i] * math.cos(angle)
