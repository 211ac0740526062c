"""Planned contacts of a planar motion, link by link."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irs_planner.quasi_dynamic import PlanarQuasiDynamics
from irs_planner.scenes.contacts import find_contacts

FIXED = "fixed"
"""Name of whatever never moves: ground, walls, a robot's base."""

TOUCH = 1e-6
"""Smallest force that counts as contact [N]."""


@dataclass(frozen=True)
class LinkContact:
    """A link of a robot and another body that touch somewhere along a motion.

    Attributes:
        link: The link.
        other: The other body.
        force: (T, 2) force of the other body on the link, y, z [N].
        normal_force: (T) part of it along the contact normals [N].
        distance: (T) signed distance at the end of the step [m], negative inside.
    """

    link: str
    other: str
    force: np.ndarray
    normal_force: np.ndarray
    distance: np.ndarray


def planned_contacts(
    dynamics: PlanarQuasiDynamics, states: np.ndarray, inputs: np.ndarray
) -> list[LinkContact]:
    """Find what the links of the robots touch.

    Shapes of the same two bodies are taken together: forces add up, the smallest distance
    counts.

    Args:
        dynamics: The system.
        states: (T + 1, n) x.
        inputs: (T, m) u.

    Returns:
        Every pair of bodies with a force somewhere; a pair of links appears twice.
    """
    found = dynamics.contact_forces(states[:-1], inputs)
    directions, _ = _geometry(dynamics, states[:-1])
    _, gaps = _geometry(dynamics, states[1:])
    # The forces of a step belong to the normals at its beginning.
    normal_forces = np.sum(found.force * directions, axis=2)
    groups: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for i, (first, second) in enumerate(found.pairs):
        for link, other, sign in ((first, second, 1.0), (second, first, -1.0)):
            if link in dynamics.link_names:
                groups.setdefault((link, other or FIXED), []).append((i, sign))
    contacts = []
    for (link, other), members in groups.items():
        pairs = [i for i, _ in members]
        force = sum((sign * found.force[:, i] for i, sign in members), np.zeros((len(inputs), 2)))
        if np.abs(found.force[:, pairs]).max() > TOUCH:
            contacts.append(
                LinkContact(
                    link,
                    other,
                    force,
                    normal_forces[:, pairs].sum(axis=1),
                    gaps[:, pairs].min(axis=1),
                )
            )
    return contacts


def _geometry(dynamics: PlanarQuasiDynamics, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the (T, P, 2) normals and (T, P) distances of every pair of shapes."""
    pairs, n = len(dynamics.arrays.pair), dynamics.state_size
    gaps, directions = np.empty((len(states), pairs)), np.empty((len(states), pairs, 2))
    normal, tangent = np.empty((2, pairs, n))
    for t, state in enumerate(states):
        find_contacts(dynamics.arrays, state, gaps[t], directions[t], normal, tangent)
    return directions, gaps
