"""Modes: clusters of particles, each a place where the contact may be.

The estimate follows one of them, the main mode.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contact_aware_control.estimation.particles import Particles
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


class Modes(NamedTuple):
    """The modes of a set of N particles on S shapes, heaviest first.

    Attributes:
        center: (MAX_MODES, 3) weighted mean of each, world frame [m].
        weight: (MAX_MODES) share of each.
        shape: (MAX_MODES) the shape each is on; not of the main mode.
        point: (MAX_MODES, 3) the place on it, world frame [m]; not of the main mode.
        members: (N) mode of each particle, -1 for none.
        share: (S) scratch: weight on each shape.
    """

    center: np.ndarray
    weight: np.ndarray
    shape: np.ndarray
    point: np.ndarray
    members: np.ndarray
    share: np.ndarray


def new_modes(particles: int, shapes: int) -> Modes:
    """Return room for the modes of a number of particles on a number of shapes."""
    return Modes(
        center=np.zeros((MAX_MODES, 3)),
        weight=np.zeros(MAX_MODES),
        shape=np.zeros(MAX_MODES, dtype=np.int64),
        point=np.zeros((MAX_MODES, 3)),
        members=np.zeros(particles, dtype=np.int64),
        share=np.zeros(shapes),
    )


@kernel
def locate(
    surface: RobotSurface,
    placement: Placement,
    particles: Particles,
    body: np.ndarray,
    modes: Modes,
    last: int,
    at: np.ndarray,
    gain: float,
    fixed: bool,
) -> tuple[int, int, int]:
    """Cluster the particles, choose the main mode, and move the estimate towards it.

    The mode and the link that the last estimate is in are favoured.

    Args:
        surface: The shapes.
        placement: Where they are.
        particles: The weighted set.
        body: (S) number of the link each shape belongs to.
        modes: Written.
        last: The shape the estimate is on, -1 for none.
        at: (3) the estimate, frame of that shape [m]; written.
        gain: Share of the way that an estimate in the main mode goes.
        fixed: Whether the estimate stays where it is.

    Returns:
        (number of modes, main mode, shape the estimate is on).
    """
    count = find_modes(
        particles, MODE_RADIUS, MIN_MODE_WEIGHT, modes.center, modes.weight, modes.members
    )
    x, y, z, link = 0.0, 0.0, 0.0, -1
    if last >= 0:
        x, y, z = to_world(placement, last, at[0], at[1], at[2])
        link = body[last]
    main, heaviest, near = 0, -1.0, False
    for mode in range(count):
        c = modes.center[mode]
        square = (c[0] - x) ** 2 + (c[1] - y) ** 2 + (c[2] - z) ** 2
        favoured = last >= 0 and square < MODE_RADIUS**2
        weight = modes.weight[mode] * (SWITCH_RATIO if favoured else 1.0)
        if weight > heaviest:
            main, heaviest, near = mode, weight, favoured
    for mode in range(count):
        c = modes.center[mode]
        cx, cy, cz = c[0], c[1], c[2]
        if mode != main:
            s = main_shape(particles, modes.members, mode, body, -1, SWITCH_RATIO, modes.share)
            px, py, pz = closest_on_shape(surface, placement, s, cx, cy, cz)
            modes.shape[mode] = s
            modes.point[mode] = to_world(placement, s, px, py, pz)
        elif not fixed:
            if near:
                cx, cy, cz = x + gain * (cx - x), y + gain * (cy - y), z + gain * (cz - z)
            last = main_shape(particles, modes.members, mode, body, link, SWITCH_RATIO, modes.share)
            at[:] = closest_on_shape(surface, placement, last, cx, cy, cz)
    return count, main, last


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
