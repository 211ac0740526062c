"""Modes: clusters of particles, each a place where the contact may be."""

from __future__ import annotations

import numpy as np

from contact_aware_control.estimation.particles import Particles
from contact_core.kernel import kernel

MOST_MODES = 4
"""Modes reported at most; lighter ones are dropped."""

LEADERS = 48
"""Particles that are tried as centre of a mode."""


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
        center: (MOST_MODES, 3) written: weighted mean of the members, world frame [m].
        weight: (MOST_MODES) written: share of the total weight.
        members: (N) written: mode of each particle, -1 for none.

    Returns:
        The number of modes, heaviest first.
    """
    count = particles.weight.size
    stride = max(1, count // LEADERS)
    members[:] = -1
    square = radius * radius
    for mode in range(MOST_MODES):
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
    return MOST_MODES


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
def covariances(
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
