"""The paper's small contact examples, Sec. IV: normal contact, friction, penalty contact."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from irs_planner.quasi_dynamic.contact_step import SpringModel, build_spring_model
from irs_planner.quasi_dynamic.linear_contact import LinearContact

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


def normal_contact(
    mass: float = 1.0, stiffness: float = 100.0, time_step: float = 0.1
) -> LinearContact:
    """Build the system of (17) to (19): x = (x_u, x_a), contact at x_u = x_a.

    Args:
        mass: m of the object [kg].
        stiffness: k of the robot [N/m].
        time_step: h [s].

    Returns:
        The system; its step is (20) with c = m / (h^2 k).
    """
    model = build_spring_model(time_step, np.array([mass]), np.array([0.0]), np.array([stiffness]))
    return LinearContact(model, np.array([[1.0, -1.0]]), np.zeros((1, 2)), np.zeros(1), np.zeros(1))


# The contact normal points along y, from the box into the sphere; q = (x_u, x_a, y_a).
NORMAL = np.array([[0.0, 0.0, 1.0]])
TANGENT = np.array([[1.0, -1.0, 0.0]])


def relaxed_contact(
    mass: float = 1.0, stiffness: float = 100.0, time_step: float = 0.1, friction: float = 0.5
) -> LinearContact:
    """Build the system with Anitescu's relaxed friction, Fig. 7b.

    Args:
        mass: m of the box [kg].
        stiffness: k of the sphere, both directions [N/m].
        time_step: h [s].
        friction: mu.

    Returns:
        The system.
    """
    model = _model(mass, stiffness, time_step)
    return LinearContact(model, NORMAL, TANGENT, np.zeros(1), np.array([friction]))


def coulomb_contact(
    mass: float = 1.0, stiffness: float = 100.0, time_step: float = 0.1, friction: float = 0.5
) -> CoulombContact:
    """Build the system with exact Coulomb friction, Fig. 7a.

    Args:
        mass: m of the box [kg].
        stiffness: k of the sphere, both directions [N/m].
        time_step: h [s].
        friction: mu.

    Returns:
        The system.
    """
    model = _model(mass, stiffness, time_step)
    return CoulombContact(model, NORMAL[0], TANGENT[0], friction)


def _model(mass: float, stiffness: float, time_step: float) -> SpringModel:
    return build_spring_model(
        time_step, np.array([mass]), np.zeros(1), np.array([stiffness, stiffness])
    )


@dataclass(frozen=True)
class PenaltyContact:
    """A stiff spring along the normal; viscous sticking and dry sliding along the tangent.

    Attributes:
        stiffness: k [N/m].
        dynamic_friction: mu_d, coefficient while sliding.
        static_friction: Coefficient at the stick-slip threshold, c psi_s; if it exceeds
            mu_d, friction jumps there (Stribeck effect).
        threshold: psi_s, tangential speed at which sliding begins [m/s].
    """

    stiffness: float = 1000.0
    dynamic_friction: float = 0.5
    static_friction: float = 0.8
    threshold: float = 0.1

    def normal_force(self, distance: np.ndarray) -> np.ndarray:
        """Return f_n = -k min(phi, 0) [N].

        Args:
            distance: phi [m].
        """
        return -self.stiffness * np.minimum(distance, 0.0)

    def friction_force(self, distance: np.ndarray, speed: np.ndarray) -> np.ndarray:
        """Return the magnitude of friction with the sign of the sliding speed [N].

        Args:
            distance: phi [m].
            speed: psi, tangential velocity [m/s].
        """
        sticking = self.static_friction * speed / self.threshold
        sliding = self.dynamic_friction * np.sign(speed)
        coefficient = np.where(np.abs(speed) <= self.threshold, sticking, sliding)
        return coefficient * self.normal_force(distance)

    def bundled_friction_force(
        self, distance: np.ndarray, speed: np.ndarray, noise: np.ndarray
    ) -> np.ndarray:
        """Return the mean friction force around every point, Fig. 8b [N].

        Args:
            distance: phi [m].
            speed: psi [m/s], of the same shape.
            noise: (N, 2) samples added to phi and psi.
        """
        force = self.friction_force(
            distance[..., np.newaxis] + noise[:, 0], speed[..., np.newaxis] + noise[:, 1]
        )
        return np.asarray(force.mean(axis=-1))
