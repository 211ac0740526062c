"""Checks of what arrives from other processes, before it reaches the controller."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from contact_aware_control.contact import ContactEstimate
from contact_core.arm_state import ArmState


def is_sound_state(state: ArmState, joints: int) -> bool:
    """Tell whether a joint state can be used.

    Args:
        state: The state. Of what the controller uses, commands may be missing (NaN),
            positions may not.
        joints: The number of joints of the arm.

    Returns:
        False if a vector has the wrong length, a position is not finite, or a command is
        infinite.
    """
    return (
        np.shape(state.commanded_position) == (joints,)
        and is_finite(state.position, joints)
        and not math.isinf(state.commanded_position @ state.commanded_position)
    )


def is_finite(vector: np.ndarray, size: int) -> bool:
    """Tell whether a vector has the right length and only finite numbers.

    Args:
        vector: Anything array-like.
        size: The right length.

    Returns:
        True if so.
    """
    # The scalar product is NaN or infinite if any number is; it costs one short call.
    return np.shape(vector) == (size,) and math.isfinite(np.dot(vector, vector))


def are_sound_contacts(contacts: Sequence[ContactEstimate], links: Sequence[str]) -> bool:
    """Tell whether estimated contacts can be used.

    Args:
        contacts: The contacts.
        links: Names of the arm's links.

    Returns:
        False if a contact is on an unknown link, or a vector is not of three finite numbers.
    """
    return all(
        contact.link in links
        and all(
            is_finite(vector, 3)
            for vector in (contact.point_world, contact.normal_world, contact.force_world)
        )
        for contact in contacts
    )
