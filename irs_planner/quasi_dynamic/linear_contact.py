"""Quasi-dynamic contact between bodies that only translate: the Jacobians are constant."""

from __future__ import annotations

import numpy as np

from irs_planner.dynamics import Dynamics, Jacobians
from irs_planner.quasi_dynamic import batch_kernels
from irs_planner.quasi_dynamic.batch_kernels import StepBatch
from irs_planner.quasi_dynamic.contact_step import PLANAR_EDGES, PairCones, SpringModel


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
        free, self.input_size = len(model.load), len(model.stiffness)
        robots = (f"robot_{i}" for i in range(self.input_size))
        self.state_names = (*(f"object_{i}" for i in range(free)), *robots)
        self.commanded_states = tuple(range(free, self.state_size))

    def step_batch(self, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Advance a batch by one step, see :meth:`Dynamics.step_batch`."""
        next_states = np.empty(states.shape)
        batch_kernels.step_batch(self._prepare(states), states, inputs, next_states)
        return next_states

    def jacobians(self, states: np.ndarray, inputs: np.ndarray) -> Jacobians:
        """Differentiate a batch exactly, see :meth:`Dynamics.jacobians`."""
        count, n = states.shape
        result = Jacobians(np.empty((count, n, n)), np.empty((count, n, self.input_size)))
        batch_kernels.jacobian_batch(
            self._prepare(states), states, inputs, np.empty(states.shape), *result
        )
        return result

    def _prepare(self, states: np.ndarray) -> StepBatch:
        count = len(states)
        normal, tangent, hessian, inverse = (
            np.repeat(array[np.newaxis], count, axis=0)
            for array in (
                self.normal,
                self.tangent[:, np.newaxis],
                self.model.hessian,
                self.model.inverse,
            )
        )
        gaps = states @ self.normal.T + self.offset
        model = self.model
        return StepBatch(
            np.arange(count),
            model.time_step,
            hessian,
            inverse,
            np.repeat(model.load[np.newaxis], count, axis=0),
            model.stiffness,
            PairCones(gaps, normal, tangent, self.friction, PLANAR_EDGES),
        )
