"""The memory of an MPC solve."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contact_core.kernel import kernel


class StageMemory(NamedTuple):
    """Iterate, Newton step and factorisation over T stages; contents are scratch.

    Attributes:
        state: (T + 1, n) s.
        control: (T, m) w.
        state_step: (T + 1, n) Newton step of s.
        control_step: (T, m) Newton step of w.
        gain: (T, m, n) K of the policy dw = -k - K ds.
        feedforward: (T, m) k.
        factor: (T, m, m) Cholesky factor of the control Hessian.
        curvature: (T, n + m) what the bounds add to the Hessian diagonal.
        slope: (T, n + m) what the bounds add to the gradient.
        value: (n, n) Hessian of the cost to go.
        product: (n, n) value times transition.
        product_control: (n, m) value times control.
        cross: (m, n) control^T value transition.
        costate: (n) gradient of the cost to go.
        gradient: (m) gradient with respect to the control.
    """

    state: np.ndarray
    control: np.ndarray
    state_step: np.ndarray
    control_step: np.ndarray
    gain: np.ndarray
    feedforward: np.ndarray
    factor: np.ndarray
    curvature: np.ndarray
    slope: np.ndarray
    value: np.ndarray
    product: np.ndarray
    product_control: np.ndarray
    cross: np.ndarray
    costate: np.ndarray
    gradient: np.ndarray


@kernel
def allocate_stages(horizon: int, states: int, controls: int) -> StageMemory:
    """Allocate the memory of problems of one size.

    Args:
        horizon: T.
        states: n.
        controls: m.

    Returns:
        The memory; curvature and slope are zero.
    """
    return StageMemory(
        np.zeros((horizon + 1, states)),
        np.zeros((horizon, controls)),
        np.zeros((horizon + 1, states)),
        np.zeros((horizon, controls)),
        np.zeros((horizon, controls, states)),
        np.zeros((horizon, controls)),
        np.zeros((horizon, controls, controls)),
        np.zeros((horizon, states + controls)),
        np.zeros((horizon, states + controls)),
        np.zeros((states, states)),
        np.zeros((states, states)),
        np.zeros((states, controls)),
        np.zeros((controls, states)),
        np.zeros(states),
        np.zeros(controls),
    )
