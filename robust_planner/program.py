"""A nonlinear program in stages, as every solver gets it."""

from __future__ import annotations

from dataclasses import dataclass

import casadi
import numpy as np


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
