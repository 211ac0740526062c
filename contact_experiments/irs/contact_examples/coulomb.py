"""Exact Coulomb friction as a linear complementarity problem, for one contact.

D. E. Stewart and J. C. Trinkle, reference [14] of bundled_gradients. The problem has four
unknowns, so that all sixteen choices of active unknowns can be tried.
"""

from __future__ import annotations

import itertools

import numpy as np

from irs_planner.quasi_dynamic.spring_model import SpringModel

# Complementarity violated by no more than this counts as satisfied.
TOLERANCE = 1e-10


class CoulombContact:
    """A quasi-dynamic step with one frictional contact, phi = Jn q.

    Unknowns z = (lambda_n, beta_+, beta_-, gamma), all >= 0 and each orthogonal to
    (Jn v + phi / h, Jt v + gamma, -Jt v + gamma, mu lambda_n - beta_+ - beta_-) >= 0,
    with Q v + b = Jn^T lambda_n + Jt^T (beta_+ - beta_-).
    """

    def __init__(
        self, model: SpringModel, normal: np.ndarray, tangent: np.ndarray, friction: float
    ) -> None:
        """Describe the contact.

        Args:
            model: Inertia, load and springs.
            normal: (n) Jn.
            tangent: (n) Jt.
            friction: mu.
        """
        self.model = model
        self.normal = normal
        self._rays = np.stack((normal, tangent, -tangent), axis=1)
        matrix = np.zeros((4, 4))
        matrix[:3, :3] = self._rays.T @ model.inverse @ self._rays
        matrix[1:3, 3] = 1.0
        matrix[3] = friction, -1.0, -1.0, 0.0
        self._matrix = matrix

    def step_batch(self, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Advance a batch by one step.

        Args:
            states: (K, n) q.
            inputs: (K, n_a) u.

        Returns:
            (K, n) q+, NaN where no choice of active unknowns is consistent.
        """
        model, h = self.model, self.model.time_step
        free = len(model.load)
        pull = np.zeros(states.shape)
        pull[:, :free] = h * model.load
        pull[:, free:] = h * model.stiffness * (inputs - states[:, free:])
        relaxed = pull @ model.inverse
        offset = np.zeros((len(states), 4))
        offset[:, :3] = relaxed @ self._rays
        offset[:, 0] += states @ self.normal / h
        impulse = self._solve(offset)[:, :3]
        return states + h * (relaxed + impulse @ self._rays.T @ model.inverse)

    def _solve(self, offset: np.ndarray) -> np.ndarray:
        """Return (K, 4) z with 0 <= z, 0 <= M z + offset, and a product of 0."""
        solution = np.full(offset.shape, np.nan)
        for size in range(5):
            for chosen in itertools.combinations(range(4), size):
                basis = list(chosen)
                block = self._matrix[np.ix_(basis, basis)]
                if size and np.linalg.matrix_rank(block) < size:
                    continue
                candidate = np.zeros(offset.shape)
                candidate[:, basis] = -offset[:, basis] @ np.linalg.inv(block).T
                slack = candidate @ self._matrix.T + offset
                valid = (candidate >= -TOLERANCE).all(1) & (slack >= -TOLERANCE).all(1)
                fill = valid & np.isnan(solution[:, 0])
                solution[fill] = candidate[fill]
        return solution
