"""Example 5: a robot sphere above a box that slides along x (Fig. 6 and 7)."""

from __future__ import annotations

import numpy as np

from contact_experiments.irs.contact_examples.coulomb import CoulombContact
from irs_planner.quasi_dynamic.linear_contact import LinearContact
from irs_planner.quasi_dynamic.spring_model import SpringModel, build_spring_model

# The contact normal points along y, from the box into the sphere; q = (x_u, x_a, y_a).
NORMAL = np.array([[0.0, 0.0, 1.0]])
TANGENT = np.array([[1.0, -1.0, 0.0]])


def relaxed_contact(
    mass: float = 1.0, stiffness: float = 100.0, time_step: float = 0.1, friction: float = 0.5
) -> LinearContact:
    """Build the system with Anitescu's relaxed friction, Fig. 7b.

    Args:
        mass: m of the box [kg].
        stiffness: k of the sphere, both directions [N/m].
        time_step: h [s].
        friction: mu.

    Returns:
        The system.
    """
    model = _model(mass, stiffness, time_step)
    return LinearContact(model, NORMAL, TANGENT, np.zeros(1), np.array([friction]))


def coulomb_contact(
    mass: float = 1.0, stiffness: float = 100.0, time_step: float = 0.1, friction: float = 0.5
) -> CoulombContact:
    """Build the system with exact Coulomb friction, Fig. 7a.

    Args:
        mass: m of the box [kg].
        stiffness: k of the sphere, both directions [N/m].
        time_step: h [s].
        friction: mu.

    Returns:
        The system.
    """
    model = _model(mass, stiffness, time_step)
    return CoulombContact(model, NORMAL[0], TANGENT[0], friction)


def _model(mass: float, stiffness: float, time_step: float) -> SpringModel:
    return build_spring_model(
        time_step, np.array([mass]), np.zeros(1), np.array([stiffness, stiffness])
    )
