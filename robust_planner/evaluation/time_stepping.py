"""Open-loop simulation with the time stepping of Stewart and Trinkle (1996), an LCP per step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import casadi
import numpy as np

from contact_core.base.errors import ContactStackError
from robust_planner.contact_model import ContactModel
from robust_planner.problem import RobustProblem
from robust_planner.trajectory import ContactTrajectory

# Entries of the pivot column below this do not block.
MIN_PIVOT = 1e-11


class ComplementarityError(ContactStackError):
    """Lemke's method ended on a ray: the problem has no solution that it can find.

    Evaluate with smaller uncertainties or a shorter time step.
    """


def solve_lcp(matrix: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Find z >= 0 with w = M z + q >= 0 and z' w = 0.

    Terminates with a solution for copositive-plus M, to which time stepping with a
    polyhedral friction cone belongs.

    Args:
        matrix: M (n, n).
        offset: q (n).

    Returns:
        z (n).

    Raises:
        ComplementarityError: If the method ends on a secondary ray.
    """
    size = len(offset)
    if np.min(offset, initial=0.0) >= 0.0:
        return np.zeros(size)
    # Columns: w (n), z (n), the artificial variable, the right-hand side and, to break ties
    # lexicographically, the initial identity (which is the block of w).
    tableau = np.hstack([np.eye(size), -matrix, -np.ones((size, 1)), offset[:, None]])
    artificial = 2 * size
    basis = np.arange(size)
    row, entering = int(np.argmin(offset)), artificial
    for _ in range(50 * (size + 1)):
        leaving = basis[row]
        _pivot(tableau, row, entering)
        basis[row] = entering
        if leaving == artificial:
            z = np.zeros(2 * size + 1)
            z[basis] = tableau[:, -1]
            return np.maximum(z[size:artificial], 0.0)
        entering = leaving + size if leaving < size else leaving - size
        row = _blocking_row(tableau, entering, basis, artificial)
    raise ComplementarityError(f"no solution within {50 * (size + 1)} pivots")


def _pivot(tableau: np.ndarray, row: int, column: int) -> None:
    tableau[row] /= tableau[row, column]
    factors = tableau[:, column].copy()
    factors[row] = 0.0
    tableau -= np.outer(factors, tableau[row])


def _blocking_row(tableau: np.ndarray, column: int, basis: np.ndarray, artificial: int) -> int:
    """Return the row whose variable reaches zero first, the artificial one in a tie."""
    size = len(tableau)
    rows = np.flatnonzero(tableau[:, column] > MIN_PIVOT)
    if rows.size == 0:
        raise ComplementarityError("the problem has no solution: Lemke's method ended on a ray")
    keys = np.hstack([tableau[rows, -1:], tableau[rows, :size]]) / tableau[rows, column, None]
    first = keys[:, 0].min()
    tied = rows[keys[:, 0] <= first + 1e-12 * (1.0 + abs(first))]
    if artificial in basis[tied]:
        return int(tied[basis[tied] == artificial][0])
    return int(rows[np.lexsort(keys.T[::-1])[0]])


@dataclass(frozen=True)
class SteppedMotion:
    """The motion that followed from a sequence of controls.

    Attributes:
        time: (N) [s].
        position: q (N, nq) [m, rad].
        velocity: v (N, nq) [m/s, rad/s].
        normal_force: lamN (N, nc) [N], mean over the step that ends at the knot.
    """

    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    normal_force: np.ndarray


class Simulator(Protocol):
    """Executes a plan without feedback."""

    def __call__(
        self,
        trajectory: ContactTrajectory,
        problem: RobustProblem,
        friction: float,
        height: float = 0.0,
    ) -> SteppedMotion:
        """Apply a plan's controls.

        Args:
            trajectory: The plan.
            problem: Its model and start; a start below the ground is raised onto it.
            friction: mu.
            height: Height of the ground [m].

        Returns:
            The simulation, from the start to the last knot.
        """


class TimeStepping:
    """Simulates a model on flat ground of given height and friction.

    Each step solves for impulses p = h lambda such that, with v+ from
    M (v+ - v) = h (B u - c) + J' p,

        0 <= pN _|_ phi + h Jn v+ >= 0
        0 <= pT _|_ e gamma + Jt v+ >= 0
        0 <= gamma _|_ mu pN - e' pT >= 0

    Position limits are frictionless contacts. Contacts are inelastic.
    """

    def __init__(self, model: ContactModel, friction: float, height: float = 0.0) -> None:
        """Choose the world.

        Args:
            model: The model.
            friction: mu.
            height: Height of the ground [m].
        """
        self._model = model
        self._height = height
        self._friction = friction
        q, v = casadi.SX.sym("q", model.coordinates), casadi.SX.sym("v", model.coordinates)
        # One call per step instead of five: calls cost more than the arithmetic.
        self._terms = casadi.Function(
            "terms",
            [q, v],
            [
                model.mass_matrix(q),
                model.bias_force(q, v),
                model.distance(q),
                model.normal_jacobian(q),
                model.tangent_jacobian(q),
            ],
        )
        self._cone = np.kron(np.eye(model.contacts), np.ones((model.directions, 1)))

    def simulate(self, start: np.ndarray, controls: np.ndarray, time: np.ndarray) -> SteppedMotion:
        """Apply controls one after the other.

        Args:
            start: x = (q, v) (2 nq) at the first knot.
            controls: u (N, nu) [N, Nm]; the last one is not used.
            time: Knot times (N) [s].

        Returns:
            The simulation.
        """
        count, model = len(time), self._model
        q, v = (np.zeros((count, model.coordinates)) for _ in range(2))
        normal = np.zeros((count, model.contacts))
        q[0], v[0] = np.split(np.asarray(start, dtype=float), 2)
        for k, step in enumerate(np.diff(time)):
            v[k + 1], normal[k + 1] = self.step(q[k], v[k], controls[k], step)
            q[k + 1] = q[k] + step * v[k + 1]
        return SteppedMotion(time, q, v, normal)

    def step(
        self, q: np.ndarray, v: np.ndarray, control: np.ndarray, step: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Advance by one step.

        Args:
            q: Configuration (nq) [m, rad].
            v: Velocity (nq) [m/s, rad/s].
            control: u (nu) [N, Nm].
            step: h [s].

        Returns:
            v+ (nq) and the normal forces lamN (nc) [N].

        Raises:
            ComplementarityError: If the step has no solution.
        """
        model = self._model
        mass, bias, phi, normal, tangent = (np.asarray(term) for term in self._terms(q, v))
        free = v + np.linalg.solve(mass, step * (model.actuation @ control - bias.ravel()))
        phi = phi.ravel() - self._height * model.grounded
        gaps = np.concatenate([phi, q @ model.limit_directions + model.limit_offsets])
        unilateral = np.vstack([normal, model.limit_directions.T])
        jacobian = np.vstack([unilateral, tangent])
        inverse = np.linalg.solve(mass, jacobian.T)
        rows, faces = len(unilateral), len(tangent)
        size = rows + faces + model.contacts
        matrix, offset = np.zeros((size, size)), np.zeros(size)
        matrix[: rows + faces, : rows + faces] = jacobian @ inverse
        matrix[rows : rows + faces, rows + faces :] = self._cone
        matrix[rows + faces :, rows : rows + faces] = -self._cone.T
        matrix[rows + faces :, : model.contacts] = self._friction * np.eye(model.contacts)
        offset[: rows + faces] = jacobian @ free
        offset[:rows] += gaps / step
        impulses = solve_lcp(matrix, offset)[: rows + faces]
        return free + inverse @ impulses, impulses[: model.contacts] / step


def simulate_plan(
    trajectory: ContactTrajectory, problem: RobustProblem, friction: float, height: float = 0.0
) -> SteppedMotion:
    """Apply a plan's controls with Stewart-Trinkle time stepping; see :class:`Simulator`."""
    world = TimeStepping(problem.model, friction, height)
    return world.simulate(raised_start(problem, height), trajectory.control, trajectory.time)


def raised_start(problem: RobustProblem, height: float) -> np.ndarray:
    """Return the start x0 (2 nq), put onto the ground if the ground is higher.

    Args:
        problem: The problem.
        height: Height of the ground [m].
    """
    return raised(problem.model, np.array([problem.start]), np.array([height]))[0]


def raised(model: ContactModel, states: np.ndarray, height: np.ndarray) -> np.ndarray:
    """Put states onto the ground where that is higher.

    Args:
        model: The model; the vertical position is its last translation.
        states: x = (q, v) (n, 2 nq).
        height: Height of the ground for each state (n) [m].

    Returns:
        The states (n, 2 nq).
    """
    distance = np.asarray(model.distance(states[:, : model.coordinates].T))
    gaps = distance[model.grounded].min(axis=0) - height
    on_ground = states.copy()
    on_ground[:, model.dimension - 1] -= np.minimum(gaps, 0.0)
    return on_ground
