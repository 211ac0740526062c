"""The particle set: motion on the robot's surface, weights, resampling."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from contact_aware_control.estimation.surface import (
    Placement,
    RobotSurface,
    outward_normal,
    project,
    sample,
    to_world,
)
from contact_core.base.kernel import kernel, leaf_kernel


class Particles(NamedTuple):
    """N places where the contact may be.

    Attributes:
        shape: (N) the shape each particle is on.
        point: (N, 3) frames of the shapes [m].
        normal: (N, 3) outward unit normals, frames of the shapes.
        point_world: (N, 3) world frame [m].
        force: (N, 3) force that explains the torque best, world frame [N].
        cost: (N) L, the squared whitened torque residual.
        weight: (N) probabilities, sum 1.
    """

    shape: np.ndarray
    point: np.ndarray
    normal: np.ndarray
    point_world: np.ndarray
    force: np.ndarray
    cost: np.ndarray
    weight: np.ndarray


def new_particles(count: int) -> Particles:
    """Return room for a number of particles."""
    return Particles(
        shape=np.zeros(count, dtype=np.int64),
        point=np.zeros((count, 3)),
        normal=np.zeros((count, 3)),
        point_world=np.zeros((count, 3)),
        force=np.zeros((count, 3)),
        cost=np.zeros(count),
        weight=np.full(count, 1.0 / count),
    )


@kernel
def scatter(
    surface: RobotSurface,
    placement: Placement,
    particles: Particles,
    first: int,
    rng: np.random.Generator,
) -> None:
    """Draw particles uniformly on the surface.

    Args:
        surface: The shapes.
        placement: Where they are.
        particles: Changed.
        first: Particles from this index on are drawn, the others kept.
        rng: Random numbers.
    """
    for i in range(first, particles.shape.size):
        s, px, py, pz, nx, ny, nz = sample(surface, placement, rng)
        set_particle(particles, i, s, px, py, pz, nx, ny, nz)


@kernel
def move(
    surface: RobotSurface,
    placement: Placement,
    particles: Particles,
    first: int,
    spread: float,
    exploration: float,
    rng: np.random.Generator,
) -> None:
    """Apply the motion model: a Gaussian step in space, projected to the surface.

    Args:
        surface: The shapes.
        placement: Where they are.
        particles: Changed.
        first: Particles from this index on are moved, the others kept.
        spread: Standard deviation of the step, per axis [m].
        exploration: Fraction of particles that are drawn uniformly on the surface instead.
        rng: Random numbers.
    """
    for i in range(first, particles.shape.size):
        if rng.random() < exploration:
            s, px, py, pz, nx, ny, nz = sample(surface, placement, rng)
        else:
            s = particles.shape[i]
            point = particles.point[i]
            x, y, z = to_world(placement, s, point[0], point[1], point[2])
            x += spread * rng.standard_normal()
            y += spread * rng.standard_normal()
            z += spread * rng.standard_normal()
            s, px, py, pz, nx, ny, nz = project(surface, placement, s, x, y, z)
        set_particle(particles, i, s, px, py, pz, nx, ny, nz)


@kernel
def keep(
    surface: RobotSurface,
    particles: Particles,
    shape: int,
    point: np.ndarray,
    other_shape: int,
    other_point: np.ndarray,
) -> int:
    """Put two places in front of the particles, in place of others.

    Args:
        surface: The shapes.
        particles: Changed.
        shape: The shape that a place is on, -1 for none.
        point: (3) the place, frame of the shape [m].
        other_shape: The shape of the other place.
        other_point: (3) the other place.

    Returns:
        How many there are.
    """
    kept = 0
    for s, at in ((shape, point), (other_shape, other_point)):
        if s >= 0:
            nx, ny, nz = outward_normal(surface, s, at)
            set_particle(particles, kept, s, at[0], at[1], at[2], nx, ny, nz)
            kept += 1
    return kept


@leaf_kernel
def set_particle(
    particles: Particles,
    i: int,
    shape: int,
    px: float,
    py: float,
    pz: float,
    nx: float,
    ny: float,
    nz: float,
) -> None:
    """Put one particle at a point of a shape."""
    particles.shape[i] = shape
    particles.point[i], particles.normal[i] = (px, py, pz), (nx, ny, nz)


@kernel
def weigh(particles: Particles, smallest_share: float) -> float:
    """Compute the weights, proportional to exp(-gamma L / 2).

    gamma is 1 unless that leaves fewer effective particles than a share of them all; it is
    then reduced until it does not. Sharp likelihoods (large forces) do not collapse the
    set onto one particle this way.

    Args:
        particles: Their ``weight`` is written.
        smallest_share: Of effective particles, in (0, 1).

    Returns:
        The effective sample size, 1 / sum of squared weights.
    """
    wanted = smallest_share * particles.cost.size
    effective = _weigh(particles, 1.0)
    if effective >= wanted:
        return effective
    low, high = 0.0, 1.0
    for _ in range(12):
        gamma = 0.5 * (low + high) if low > 0.0 else 0.25 * high
        effective = _weigh(particles, gamma)
        if effective >= wanted:
            low = gamma
            if effective < 1.25 * wanted:
                break
        else:
            high = gamma
    return effective


@kernel
def _weigh(particles: Particles, gamma: float) -> float:
    best = particles.cost.min()
    total = 0.0
    for i in range(particles.cost.size):
        weight = math.exp(-0.5 * gamma * (particles.cost[i] - best))
        particles.weight[i] = weight
        total += weight
    squares = 0.0
    for i in range(particles.cost.size):
        particles.weight[i] /= total
        squares += particles.weight[i] ** 2
    return 1.0 / squares


def resample(particles: Particles, resampled: Particles, rng: np.random.Generator) -> None:
    """Systematic resampling: replicate particles in proportion to their weights.

    Args:
        particles: The weighted set.
        resampled: Written, with equal weights.
        rng: Random numbers.
    """
    # Handing a generator to a kernel takes longer than the rest.
    replicate(particles, resampled, rng.random())


@kernel
def replicate(particles: Particles, resampled: Particles, offset: float) -> None:
    """Do as :func:`resample`, with a random number in [0, 1)."""
    count = particles.weight.size
    position = offset / count
    j = 0
    cumulative = particles.weight[0]
    for i in range(count):
        while cumulative < position and j < count - 1:
            j += 1
            cumulative += particles.weight[j]
        resampled.shape[i] = particles.shape[j]
        resampled.cost[i] = particles.cost[j]
        resampled.weight[i] = 1.0 / count
        for k in range(3):
            resampled.point[i, k] = particles.point[j, k]
            resampled.normal[i, k] = particles.normal[j, k]
            resampled.point_world[i, k] = particles.point_world[j, k]
            resampled.force[i, k] = particles.force[j, k]
        position += 1.0 / count
