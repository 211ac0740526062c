"""The objective of a quasi-dynamic step: object inertia and robot springs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contact_core.kernel import kernel


class SpringModel(NamedTuple):
    """Q and b of min_v 1/2 v^T Q v + b^T v, with q+ = q + h v and q = [q_u; q_a].

    Q = blkdiag(M_u, h^2 K) and b = -h [tau_u; K (u - q_a)]: objects keep their momentum
    balance from rest, robots balance contact against their position controllers
    (bundled_gradients (17)-(18), reference [17]).

    Attributes:
        time_step: h [s].
        hessian: (n, n) Q, symmetric.
        inverse: (n, n) Q^-1.
        load: (n_u) tau_u [N, Nm] on the objects, gravity for instance.
        stiffness: (n_a) K [N/m, Nm/rad].
    """

    time_step: float
    hessian: np.ndarray
    inverse: np.ndarray
    load: np.ndarray
    stiffness: np.ndarray


def build_spring_model(
    time_step: float, inertia: np.ndarray, load: np.ndarray, stiffness: np.ndarray
) -> SpringModel:
    """Assemble the objective of a step.

    Args:
        time_step: h [s].
        inertia: (n_u) diagonal of M_u [kg, kg m^2].
        load: (n_u) tau_u [N, Nm].
        stiffness: (n_a) K [N/m, Nm/rad].

    Returns:
        The model.
    """
    diagonal = np.concatenate((inertia, time_step**2 * stiffness))
    return SpringModel(
        time_step,
        np.diag(diagonal),
        np.diag(1.0 / diagonal),
        np.array(load, dtype=float),
        np.array(stiffness, dtype=float),
    )


@kernel
def fill_gradient(
    model: SpringModel, state: np.ndarray, command: np.ndarray, gradient: np.ndarray
) -> None:
    """Compute b = -h [tau_u; K (u - q_a)].

    Args:
        model: The objective.
        state: (n) q = [q_u; q_a].
        command: (n_a) u, commanded positions.
        gradient: (n) output: b.
    """
    h, free = model.time_step, model.load.shape[0]
    for i in range(free):
        gradient[i] = -h * model.load[i]
    for j in range(model.stiffness.shape[0]):
        gradient[free + j] = -h * model.stiffness[j] * (command[j] - state[free + j])
