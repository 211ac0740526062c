"""Penalty contact with Stribeck friction (bundled_gradients (21), (22), Fig. 8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PenaltyContact:
    """A stiff spring along the normal; viscous sticking and dry sliding along the tangent.

    Attributes:
        stiffness: k [N/m].
        dynamic_friction: mu_d, coefficient while sliding.
        static_friction: Coefficient at the stick-slip threshold, c psi_s; if it exceeds
            mu_d, friction jumps there (Stribeck effect).
        threshold: psi_s, tangential speed at which sliding begins [m/s].
    """

    stiffness: float = 1000.0
    dynamic_friction: float = 0.5
    static_friction: float = 0.8
    threshold: float = 0.1

    def normal_force(self, distance: np.ndarray) -> np.ndarray:
        """Return f_n = -k min(phi, 0) [N].

        Args:
            distance: phi [m].
        """
        return -self.stiffness * np.minimum(distance, 0.0)

    def friction_force(self, distance: np.ndarray, speed: np.ndarray) -> np.ndarray:
        """Return the magnitude of friction with the sign of the sliding speed [N].

        Args:
            distance: phi [m].
            speed: psi, tangential velocity [m/s].
        """
        sticking = self.static_friction * speed / self.threshold
        sliding = self.dynamic_friction * np.sign(speed)
        coefficient = np.where(np.abs(speed) <= self.threshold, sticking, sliding)
        return coefficient * self.normal_force(distance)

    def bundled_friction_force(
        self, distance: np.ndarray, speed: np.ndarray, noise: np.ndarray
    ) -> np.ndarray:
        """Return the mean friction force around every point, Fig. 8b [N].

        Args:
            distance: phi [m].
            speed: psi [m/s], of the same shape.
            noise: (N, 2) samples added to phi and psi.
        """
        force = self.friction_force(
            distance[..., np.newaxis] + noise[:, 0], speed[..., np.newaxis] + noise[:, 1]
        )
        return np.asarray(force.mean(axis=-1))
