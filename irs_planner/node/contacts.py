"""Planned contacts of a motion, link by link."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irs_planner.quasi_dynamic import QuasiDynamics

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
        force: (T, D) force of the other body on the link, world [N]; y, z of a planar scene.
        normal_force: (T) part of it along the contact normals [N].
        distance: (T) signed distance at the end of the step [m], negative inside.
    """

    link: str
    other: str
    force: np.ndarray
    normal_force: np.ndarray
    distance: np.ndarray


def planned_contacts(
    dynamics: QuasiDynamics, states: np.ndarray, inputs: np.ndarray
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
    gaps = dynamics.find_contacts(states[1:]).gap
    # The forces of a step belong to the normals at its beginning.
    normals = dynamics.find_contacts(states[:-1]).frame[:, :, 0]
    normal_forces = np.sum(found.force * normals, axis=2)
    groups: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for i, (first, second) in enumerate(found.pairs):
        for link, other, sign in ((first, second, 1.0), (second, first, -1.0)):
            if link in dynamics.link_names:
                groups.setdefault((link, other or FIXED), []).append((i, sign))
    contacts = []
    for (link, other), members in groups.items():
        pairs = [i for i, _ in members]
        none = np.zeros_like(found.force[:, 0])
        force = sum((sign * found.force[:, i] for i, sign in members), none)
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
