"""Example 4: a robot box pushes an object box along a line (Fig. 5)."""

from __future__ import annotations

import numpy as np

from irs_planner.quasi_dynamic.linear_contact import LinearContact
from irs_planner.quasi_dynamic.spring_model import build_spring_model


def normal_contact(
    mass: float = 1.0, stiffness: float = 100.0, time_step: float = 0.1
) -> LinearContact:
    """Build the system of (17) to (19): x = (x_u, x_a), contact at x_u = x_a.

    Args:
        mass: m of the object [kg].
        stiffness: k of the robot [N/m].
        time_step: h [s].

    Returns:
        The system; its step is (20) with c = m / (h^2 k).
    """
    model = build_spring_model(time_step, np.array([mass]), np.array([0.0]), np.array([stiffness]))
    return LinearContact(model, np.array([[1.0, -1.0]]), np.zeros((1, 2)), np.zeros(1), np.zeros(1))
