"""The linear-quadratic tracking problem that MPC solves at every step."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np


class TrackingProblem(NamedTuple):
    """Minimise sum_t |s_t - r_t|_W^2 + |w_t|_R^2 + |s_T - r_T|_Wd^2 (bundled_gradients (23)).

    Subject to s_{t+1} = F_t s_t + G_t w_t + c_t and to bounds on w_t and s_{t+1}. Bounds of
    a component with softness sigma > 0 may be violated by e at a cost of e^2 / (2 sigma);
    the first state is never bounded. Solving from a later start just drops earlier stages.

    Attributes:
        transition: (T, n, n) F.
        control: (T, n, m) G.
        offset: (T, n) c.
        reference: (T + 1, n) r.
        weight: (n, n) W.
        final_weight: (n, n) Wd.
        control_weight: (m, m) R, positive definite.
        lower: (T, n + m) bounds of [s_{t+1}; w_t], -inf for none.
        upper: (T, n + m) likewise, inf for none.
        softness: (n + m) sigma, 0 for hard bounds.
    """

    transition: np.ndarray
    control: np.ndarray
    offset: np.ndarray
    reference: np.ndarray
    weight: np.ndarray
    final_weight: np.ndarray
    control_weight: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    softness: np.ndarray


class MpcStatus(IntEnum):
    """How an MPC solve ended; the numbers are what kernels return."""

    OPTIMAL = 0
    ITERATION_LIMIT = 1
    NOT_CONVEX = 2
    INFEASIBLE = 3

    @property
    def remedy(self) -> str:
        """What the caller can do about it."""
        return _REMEDIES[self]


_REMEDIES = {
    MpcStatus.OPTIMAL: "none needed",
    MpcStatus.ITERATION_LIMIT: "scale the weights or loosen the bounds",
    MpcStatus.NOT_CONVEX: "make the input weights positive; check the linearisation for NaN",
    MpcStatus.INFEASIBLE: "loosen the input bounds: no input satisfies all of them",
}
