"""A nonlinear program in stages, and where each quantity sits in its decision variables."""

from __future__ import annotations

from dataclasses import dataclass

import casadi
import numpy as np

from robust_planner.contact_model import ContactModel


@dataclass(frozen=True)
class ProgramParameters:
    """What continuation changes between two solves of one program.

    Attributes:
        relaxation: s, upper bound of the complementarity products.
        penalty: rho, weight of the exact penalty.
        residual_weight: alpha, weight of the expected residual.
    """

    relaxation: float = 0.0
    penalty: float = 0.0
    residual_weight: float = 0.0

    def vector(self) -> np.ndarray:
        """Return (s, rho, alpha)."""
        return np.array([self.relaxation, self.penalty, self.residual_weight])


@dataclass(frozen=True)
class StagedProgram:
    """Minimise the sum of knot costs over w (N, n).

    Constraints couple neighbours and single knots only, so that a solver may use the
    sparsity: defect(w_k, w_k+1) = 0 for k < N - 1; knot_lower <= knot(w_k) <= knot_upper
    for k > 0; lower <= w <= upper.

    Attributes:
        defect: Function (w_k, w_k+1, p) -> dynamics error.
        knot: Function (w_k, p) -> inequalities.
        running_cost: Function (w_k, p) -> scalar, for k < N - 1.
        contact_cost: Function (w_k, p) -> scalar, for k > 0.
        knot_lower: Lower bounds of ``knot``.
        knot_upper: Upper bounds of ``knot``.
        lower: Lower bounds of the variables (N, n).
        upper: Upper bounds of the variables (N, n).
    """

    defect: casadi.Function
    knot: casadi.Function
    running_cost: casadi.Function
    contact_cost: casadi.Function
    knot_lower: np.ndarray
    knot_upper: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


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
