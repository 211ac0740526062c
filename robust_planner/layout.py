"""Where each quantity sits in the decision variables of one knot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robust_planner.model.contact_model import ContactModel


@dataclass(frozen=True)
class KnotLayout:
    """Slices of one knot's variables w = (q, v, u, lamN, lamT, gamma, limit, h).

    Attributes:
        position: q (nq) [m, rad].
        velocity: v (nq) [m/s, rad/s].
        control: u (nu) [N, Nm], acting until the next knot.
        normal: lamN (nc) [N], acting since the previous knot, like all forces below.
        tangent: lamT (nc nd) [N], contact by contact.
        slip: gamma (nc) [m/s].
        limit: Forces of the position limits (nl) [N, Nm], lower limits first.
        step: h [s] until the next knot; empty if the time step is fixed.
        size: Number of variables of a knot.
    """

    position: slice
    velocity: slice
    control: slice
    normal: slice
    tangent: slice
    slip: slice
    limit: slice
    step: slice
    size: int

    @property
    def state(self) -> slice:
        """The state x = (q, v)."""
        return slice(self.position.start, self.velocity.stop)

    @property
    def contact(self) -> slice:
        """Every force, and the slip."""
        return slice(self.normal.start, self.limit.stop)


def knot_layout(model: ContactModel, free_time_step: bool) -> KnotLayout:
    """Lay out the variables of a knot.

    Args:
        model: The model.
        free_time_step: Whether the time steps are variables.

    Returns:
        The layout.
    """
    sizes = (
        model.coordinates,
        model.coordinates,
        model.controls,
        model.contacts,
        model.contacts * model.directions,
        model.contacts,
        len(model.limit_offsets),
        int(free_time_step),
    )
    ends = np.cumsum(sizes).tolist()
    slices = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    names = ("position", "velocity", "control", "normal", "tangent", "slip", "limit", "step")
    return KnotLayout(**dict(zip(names, slices, strict=True)), size=ends[-1])
