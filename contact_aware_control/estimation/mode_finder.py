"""The particle set as a few places, one of which the estimate follows."""

from __future__ import annotations

import numpy as np

from contact_aware_control.estimation import modes
from contact_aware_control.estimation.config import EstimateConfig
from contact_aware_control.estimation.particles import Particles, new_particles
from contact_aware_control.estimation.surface import Placement, Surface, closest_on_shape, to_world


class ModeFinder:
    """Clusters the particles; one of the clusters is the main one.

    Attributes:
        main: Index of the main mode.
    """

    def __init__(
        self, surface: Surface, body: np.ndarray, count: int, config: EstimateConfig
    ) -> None:
        """Allocate for a number of particles.

        Args:
            surface: The robot's surface, S shapes.
            body: (S) number of the link each shape belongs to.
            count: Number of particles.
            config: Size of a mode, and when another one takes over.
        """
        self._surface = surface
        self._body = body
        self._config = config
        self._particles = new_particles(count)
        self._members = np.zeros(count, dtype=np.int64)
        self._centers = np.zeros((modes.MOST_MODES, 3))
        self._weights = np.zeros(modes.MOST_MODES)
        self._share = np.zeros(surface.kind.size)
        self._count = 0
        self.main = 0

    def find(self, particles: Particles, last: np.ndarray | None) -> None:
        """Cluster the particles; the mode that the last estimate is in is favoured.

        Args:
            particles: The weighted set; it is read until the next call.
            last: (3) last estimate of the contact point, world frame [m], if there is one.
        """
        self._particles = particles
        self._count = modes.find_modes(
            particles,
            self._config.mode_radius,
            self._config.smallest_mode,
            self._centers,
            self._weights,
            self._members,
        )
        self.main = 0
        if last is not None and self._count > 1:
            centers, weights = self._centers[: self._count], self._weights[: self._count]
            near = np.linalg.norm(centers - last, axis=1) < self._config.mode_radius
            favour = np.where(near, self._config.switch_ratio, 1.0)
            self.main = int(np.argmax(favour * weights))

    @property
    def center(self) -> np.ndarray:
        """(3) weighted mean of the main mode, world frame [m]."""
        return self._centers[self.main]

    @property
    def weight(self) -> float:
        """Share of the main mode."""
        return float(self._weights[self.main])

    def shape(self, favoured: int = -1) -> int:
        """Return the shape the main mode is on.

        Args:
            favoured: The shape the last estimate was on: its link counts more. -1 for none.
        """
        return self._shape(self.main, int(self._body[favoured]) if favoured >= 0 else -1)

    def others(self, placement: Placement) -> list[tuple[int, np.ndarray, float]]:
        """Return (shape, point in the world frame [m], weight) of the other modes.

        Args:
            placement: Where the shapes are.
        """
        return [self._place(mode, placement) for mode in range(self._count) if mode != self.main]

    def covariances(
        self, point: np.ndarray, force: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return second moments of the main mode about an estimate.

        Args:
            point: (3) estimated point, world frame [m].
            force: (3) estimated force, world frame [N].

        Returns:
            (3, 3) of the point [m^2], (3, 3) of the force [N^2], and the root mean square
            distance of ALL particles to the point [m].
        """
        of_point, of_force = np.zeros((3, 3)), np.zeros((3, 3))
        spread = modes.covariances(
            self._particles, self._members, self.main, point, force, of_point, of_force
        )
        return of_point, of_force, spread

    def _place(self, mode: int, placement: Placement) -> tuple[int, np.ndarray, float]:
        shape = self._shape(mode, -1)
        point = closest_on_shape(self._surface, placement, shape, self._centers[mode])
        return shape, np.array(to_world(placement, shape, *point)), float(self._weights[mode])

    def _shape(self, mode: int, favoured: int) -> int:
        return modes.main_shape(
            self._particles,
            self._members,
            mode,
            self._body,
            favoured,
            self._config.switch_ratio,
            self._share,
        )
