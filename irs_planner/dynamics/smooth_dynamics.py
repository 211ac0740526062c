"""Smooth systems: one formula for the step, exact Jacobians for free."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from irs_planner.dynamics.dynamics import Dynamics, Jacobians

# Any step works: the complex step has no subtraction, hence no cancellation.
COMPLEX_STEP = 1e-30


class SmoothDynamics(Dynamics):
    """A system whose step is analytic, written with numpy so that it takes complex numbers."""

    @abstractmethod
    def formula(self, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Evaluate x+ = f(x, u), for real or complex arguments.

        Args:
            states: (K, n) x.
            inputs: (K, m) u.

        Returns:
            (K, n) x+.
        """

    def step_batch(self, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Advance a batch by one step, see :meth:`Dynamics.step_batch`."""
        return self.formula(states, inputs)

    def jacobians(self, states: np.ndarray, inputs: np.ndarray) -> Jacobians:
        """Differentiate by the complex step, Im f(z + i e) / e, exact to rounding."""
        n, m = self.state_size, self.input_size
        point = np.concatenate((states, inputs), axis=1).astype(complex)
        columns = np.empty((len(states), n, n + m))
        for k in range(n + m):
            point[:, k] += 1j * COMPLEX_STEP
            columns[:, :, k] = self.formula(point[:, :n], point[:, n:]).imag / COMPLEX_STEP
            point[:, k] -= 1j * COMPLEX_STEP
        return Jacobians(
            np.ascontiguousarray(columns[:, :, :n]), np.ascontiguousarray(columns[:, :, n:])
        )
