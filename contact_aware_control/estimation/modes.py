"""Modes: clusters of particles, each a place where the contact may be.

The estimate follows one of them, the main mode.
"""

from __future__ import annotations

import numpy as np

from contact_aware_control.estimation.particles import Particles, new_particles
from contact_aware_control.estimation.surface import (
    Placement,
    RobotSurface,
    closest_on_shape,
    to_world,
)
from contact_core.base.kernel import kernel

MAX_MODES = 4
"""Modes reported at most; lighter ones are dropped."""

LEADERS = 48
"""Particles that are tried as centre of a mode."""

MODE_RADIUS = 0.06
"""Size of a mode [m]."""

MIN_MODE_WEIGHT = 0.05
"""Lighter modes are not reported."""

SWITCH_RATIO = 1.5
"""How much heavier another mode or link must be to take over."""


class ModeFinder:
    """Clusters the particles; one of the clusters is the main one.

    Attributes:
        main: Index of the main mode.
    """

    def __init__(self, surface: RobotSurface, body: np.ndarray, count: int) -> None:
        """Allocate for a number of particles.

        Args:
            surface: The robot's surface, S shapes.
            body: (S) number of the link each shape belongs to.
            count: Number of particles.
        """
        self._surface = surface
        self._body = body
        self._particles = new_particles(count)
        self._members = np.zeros(count, dtype=np.int64)
        self._centers = np.zeros((MAX_MODES, 3))
        self._weights = np.zeros(MAX_MODES)
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
        self._count = find_modes(
            particles,
            MODE_RADIUS,
            MIN_MODE_WEIGHT,
            self._centers,
            self._weights,
            self._members,
        )
        self.main = 0
        if last is not None and self._count > 1:
            centers, weights = self._centers[: self._count], self._weights[: self._count]
            near = np.linalg.norm(centers - last, axis=1) < MODE_RADIUS
            favour = np.where(near, SWITCH_RATIO, 1.0)
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
        spread = mode_covariances(
            self._particles, self._members, self.main, point, force, of_point, of_force
        )
        return of_point, of_force, spread

    def _place(self, mode: int, placement: Placement) -> tuple[int, np.ndarray, float]:
        shape = self._shape(mode, -1)
        point = closest_on_shape(self._surface, placement, shape, self._centers[mode])
        return shape, np.array(to_world(placement, shape, *point)), float(self._weights[mode])

    def _shape(self, mode: int, favoured: int) -> int:
        return main_shape(
            self._particles,
            self._members,
            mode,
            self._body,
            favoured,
            SWITCH_RATIO,
            self._share,
        )


@kernel
def find_modes(
    particles: Particles,
    radius: float,
    smallest_weight: float,
    center: np.ndarray,
    weight: np.ndarray,
    members: np.ndarray,
) -> int:
    """Find the balls that hold the most weight, one after the other.

    Args:
        particles: The weighted set.
        radius: Of a mode [m].
        smallest_weight: Lighter modes are not reported, unless there is no other.
        center: (MAX_MODES, 3) written: weighted mean of the members, world frame [m].
        weight: (MAX_MODES) written: share of the total weight.
        members: (N) written: mode of each particle, -1 for none.

    Returns:
        The number of modes, heaviest first.
    """
    count = particles.weight.size
    stride = max(1, count // LEADERS)
    members[:] = -1
    square = radius * radius
    for mode in range(MAX_MODES):
        best, leader = 0.0, -1
        for i in range(0, count, stride):
            if members[i] >= 0:
                continue
            held = 0.0
            for j in range(count):
                if members[j] < 0 and _square_distance(particles, i, j) < square:
                    held += particles.weight[j]
            if held > best:
                best, leader = held, i
        if leader < 0 or (mode > 0 and best < smallest_weight):
            return mode
        weight[mode] = best
        center[mode] = 0.0
        for j in range(count):
            if members[j] < 0 and _square_distance(particles, leader, j) < square:
                members[j] = mode
                for k in range(3):
                    center[mode, k] += particles.weight[j] / best * particles.point_world[j, k]
    return MAX_MODES


@kernel
def _square_distance(particles: Particles, i: int, j: int) -> float:
    dx = particles.point_world[i, 0] - particles.point_world[j, 0]
    dy = particles.point_world[i, 1] - particles.point_world[j, 1]
    dz = particles.point_world[i, 2] - particles.point_world[j, 2]
    return dx * dx + dy * dy + dz * dz


@kernel
def main_shape(
    particles: Particles,
    members: np.ndarray,
    mode: int,
    body: np.ndarray,
    favoured: int,
    switch_ratio: float,
    share: np.ndarray,
) -> int:
    """Return the heaviest shape of a mode's heaviest link.

    Args:
        particles: The weighted set.
        members: (N) mode of each particle.
        mode: The mode.
        body: (S) number of the link each shape belongs to.
        favoured: The link the last estimate was on, or -1.
        switch_ratio: The favoured link's weight counts this much more.
        share: (S) written: weight on each shape.

    Returns:
        A shape.
    """
    share[:] = 0.0
    for i in range(members.size):
        if members[i] == mode:
            share[particles.shape[i]] += particles.weight[i]
    heaviest, link = -1.0, -1
    for s in range(share.size):
        on_link = 0.0
        for other in range(share.size):
            if body[other] == body[s]:
                on_link += share[other]
        if body[s] == favoured:
            on_link *= switch_ratio
        if on_link > heaviest:
            heaviest, link = on_link, body[s]
    heaviest, shape = -1.0, 0
    for s in range(share.size):
        if body[s] == link and share[s] > heaviest:
            heaviest, shape = share[s], s
    return shape


@kernel
def mode_covariances(
    particles: Particles,
    members: np.ndarray,
    mode: int,
    point: np.ndarray,
    force: np.ndarray,
    point_covariance: np.ndarray,
    force_covariance: np.ndarray,
) -> float:
    """Compute second moments of a mode about an estimate.

    Args:
        particles: The weighted set.
        members: (N) mode of each particle.
        mode: The mode.
        point: (3) estimated point, world frame [m].
        force: (3) estimated force, world frame [N].
        point_covariance: (3, 3) written [m^2].
        force_covariance: (3, 3) written [N^2].

    Returns:
        Root mean square distance of ALL particles to the point [m].
    """
    point_covariance[:] = 0.0
    force_covariance[:] = 0.0
    total, squares = 0.0, 0.0
    for i in range(members.size):
        w = particles.weight[i]
        for a in range(3):
            da = particles.point_world[i, a] - point[a]
            squares += w * da * da
        if members[i] != mode:
            continue
        total += w
        for a in range(3):
            da = particles.point_world[i, a] - point[a]
            fa = particles.force[i, a] - force[a]
            for b in range(3):
                point_covariance[a, b] += w * da * (particles.point_world[i, b] - point[b])
                force_covariance[a, b] += w * fa * (particles.force[i, b] - force[b])
    if total > 0.0:
        point_covariance /= total
        force_covariance /= total
    return np.sqrt(squares)
