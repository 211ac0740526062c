"""Quasi-dynamic contact between bodies that only translate: the Jacobians are constant."""

from __future__ import annotations

import numpy as np

from contact_stack.core.kernel import kernel
from irs_planner.dynamics.dynamics import Dynamics, Jacobians
from irs_planner.quasi_dynamic.contact_rows import planar_rows
from irs_planner.quasi_dynamic.spring_model import SpringModel
from irs_planner.quasi_dynamic.step import (
    allocate_step,
    differentiate_step,
    set_bound,
    solve_step,
)


class LinearContact(Dynamics):
    """x = q = [q_u; q_a], u = commanded q_a; contacts phi = Jn q + phi_0, relaxed friction.

    With constant Jacobians the derivatives are exact, nothing is neglected.
    """

    def __init__(
        self,
        model: SpringModel,
        normal: np.ndarray,
        tangent: np.ndarray,
        offset: np.ndarray,
        friction: np.ndarray,
    ) -> None:
        """Describe the contacts.

        Args:
            model: Inertia, load and springs.
            normal: (P, n) Jn.
            tangent: (P, n) Jt.
            offset: (P) phi_0 [m].
            friction: (P) mu.
        """
        self.model = model
        self.normal = normal
        self.tangent = tangent
        self.offset = offset
        self.friction = friction

    @property
    def state_size(self) -> int:
        """The number of coordinates."""
        return len(self.model.hessian)

    @property
    def input_size(self) -> int:
        """The number of commanded coordinates."""
        return len(self.model.stiffness)

    @property
    def state_names(self) -> tuple[str, ...]:
        """Objects, then robots."""
        free = len(self.model.load)
        return (
            *(f"object_{i}" for i in range(free)),
            *(f"robot_{i}" for i in range(self.input_size)),
        )

    @property
    def commanded_states(self) -> tuple[int, ...]:
        """The robot coordinates."""
        return tuple(range(len(self.model.load), self.state_size))

    def step_batch(self, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Advance a batch by one step, see :meth:`Dynamics.step_batch`."""
        next_states, _ = self._solve(states, inputs)
        return next_states

    def jacobians(self, states: np.ndarray, inputs: np.ndarray) -> Jacobians:
        """Differentiate a batch exactly, see :meth:`Dynamics.jacobians`."""
        _, jacobians = self._solve(states, inputs)
        return jacobians

    def _solve(self, states: np.ndarray, inputs: np.ndarray) -> tuple[np.ndarray, Jacobians]:
        count, n = states.shape
        next_states = np.empty((count, n))
        jacobians = Jacobians(np.empty((count, n, n)), np.empty((count, n, self.input_size)))
        gaps = states @ self.normal.T + self.offset
        _solve_batch(
            self.model,
            gaps,
            self.normal,
            self.tangent,
            self.friction,
            states,
            inputs,
            next_states,
            *jacobians,
        )
        return next_states, jacobians


@kernel
def _solve_batch(
    model: SpringModel,
    gaps: np.ndarray,
    normal: np.ndarray,
    tangent: np.ndarray,
    friction: np.ndarray,
    states: np.ndarray,
    inputs: np.ndarray,
    next_states: np.ndarray,
    state_jacobian: np.ndarray,
    input_jacobian: np.ndarray,
) -> None:
    memory = allocate_step(states.shape[1], 2 * gaps.shape[1])
    for i in range(states.shape[0]):
        planar_rows(gaps[i], normal, tangent, friction, memory.rows)
        set_bound(memory, model.time_step, 0.0)
        if solve_step(model, states[i], inputs[i], memory, next_states[i]):
            differentiate_step(model, memory, state_jacobian[i], input_jacobian[i])
        else:
            state_jacobian[i] = np.nan
            input_jacobian[i] = np.nan
