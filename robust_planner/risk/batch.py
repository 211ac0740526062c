"""Time stepping of many worlds at once, see :mod:`robust_planner.evaluation.time_stepping`."""

from __future__ import annotations

from dataclasses import dataclass

import casadi
import numpy as np

from contact_core.kernel import inner_kernel, kernel
from robust_planner.evaluation.time_stepping import SMALLEST_PIVOT
from robust_planner.problem import RobustProblem
from robust_planner.risk.worlds import Worlds, starts
from robust_planner.trajectory import stack

SMALLEST_FORCE = 1e-3
"""With less force nothing touches [N]."""
SMALLEST_WAY = 1e-12
"""In a step [m]; keeps a quotient finite."""


@dataclass(frozen=True)
class BatchMotion:
    """What followed from one sequence of controls in n worlds; NaN from where it failed.

    Attributes:
        position: q (n, N, nq) [m, rad].
        velocity: v (n, N, nq) [m/s, rad/s].
        normal_force: lamN (n, N, nc) [N], mean over the step that ends at the knot, as all forces.
        tangent_force: lamT (n, N, nc nd) [N].
        slip: gamma (n, N, nc) [m/s].
        limit_force: Forces of the position limits (n, N, nl) [N, Nm].
        impact_speed: Speed towards the ground when a point touches it in the step that ends at
            the knot (n, N, nc) [m/s], zero for those that rest there or do not touch.
    """

    position: np.ndarray
    velocity: np.ndarray
    normal_force: np.ndarray
    tangent_force: np.ndarray
    slip: np.ndarray
    limit_force: np.ndarray
    impact_speed: np.ndarray


def simulate_worlds(problem: RobustProblem, controls: np.ndarray, worlds: Worlds) -> BatchMotion:
    """Apply controls open-loop in every world.

    Args:
        problem: Its model, start and time step.
        controls: u (N, nu) [N, Nm] for all worlds, or (n, N, nu); the last one is not used.
        worlds: The worlds (n).

    Returns:
        The motions.
    """
    model, count, knots = problem.model, len(worlds), controls.shape[-2]
    controls = np.broadcast_to(controls, (count, knots, model.controls))
    terms = _terms(problem).map(count)
    rows = model.contacts + len(model.limit_offsets)
    faces = model.contacts * model.directions
    size = rows + faces + model.contacts
    cone = np.kron(np.eye(model.contacts), np.ones((model.directions, 1)))
    limits = np.broadcast_to(
        model.limit_directions.T, (count, len(model.limit_offsets), model.coordinates)
    )
    matrix, offset = np.zeros((count, size, size)), np.zeros((count, size))
    matrix[:, rows : rows + faces, rows + faces :] = cone
    matrix[:, rows + faces :, rows : rows + faces] = -cone.T
    for contact in range(model.contacts):
        matrix[:, rows + faces + contact, contact] = worlds.friction
    states = np.zeros((knots, count, 2 * model.coordinates))
    forces = np.zeros((knots, count, size))
    impact = np.zeros((knots, count, model.contacts))
    states[0] = starts(problem, worlds)
    h = problem.time_step
    for k in range(knots - 1):
        q, v = np.split(states[k], 2, axis=1)
        mass, bias, phi, normal, tangent = (np.asarray(t) for t in terms(q.T, v.T))
        inertia = worlds.mass[:, None, None] * stack(mass, model.coordinates)
        push = controls[:, k] @ model.actuation.T - worlds.mass[:, None] * bias.T
        unilateral = np.concatenate([stack(normal, model.coordinates), limits], axis=1)
        jacobian = np.concatenate([unilateral, stack(tangent, model.coordinates)], axis=1)
        gaps = np.hstack(
            [phi.T - worlds.height[:, None], q @ model.limit_directions + model.limit_offsets]
        )
        columns = np.concatenate([h * push[:, :, None], jacobian.transpose(0, 2, 1)], axis=2)
        answer = np.linalg.solve(inertia, columns)
        free, inverse = v + answer[:, :, 0], answer[:, :, 1:]
        matrix[:, : rows + faces, : rows + faces] = jacobian @ inverse
        offset[:, : rows + faces] = np.einsum("nij,nj->ni", jacobian, free)
        offset[:, :rows] += gaps / h
        z = _solve_lcps(matrix, offset)
        after = free + np.einsum("nij,nj->ni", inverse, z[:, : rows + faces])
        states[k + 1] = np.hstack([q + h * after, after])
        forces[k + 1] = z
        forces[k + 1, :, : rows + faces] /= h
        impact[k + 1] = _impact_speeds(jacobian, matrix, gaps, v, after, z, h, model.contacts)
    states, forces = states.swapaxes(0, 1), forces.swapaxes(0, 1)
    return BatchMotion(
        position=states[..., : model.coordinates],
        velocity=states[..., model.coordinates :],
        normal_force=forces[..., : model.contacts],
        tangent_force=forces[..., rows : rows + faces],
        slip=forces[..., rows + faces :],
        limit_force=forces[..., model.contacts : rows],
        impact_speed=impact.swapaxes(0, 1),
    )


def _impact_speeds(
    jacobian: np.ndarray,
    matrix: np.ndarray,
    gaps: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    impulses: np.ndarray,
    step: float,
    contacts: int,
) -> np.ndarray:
    """Return the speed of each contact point (n, nc) at the moment in the step at which it touches.

    Taken at the knot before, it would jump by an acceleration times a step with the knot at which
    contact begins.
    """
    normal = jacobian[:, :contacts]
    impulse = impulses[:, :contacts]
    own = matrix[:, np.arange(contacts), np.arange(contacts)]
    speed = np.einsum("nci,ni->nc", normal, before)
    # What the step would have ended with, had this point not been stopped.
    free = np.einsum("nci,ni->nc", normal, after) - own * impulse
    moment = np.clip(gaps[:, :contacts] / np.maximum(-step * free, SMALLEST_WAY), 0.0, 1.0)
    touches = impulse > SMALLEST_FORCE * step
    return np.where(touches, np.maximum(-(speed + moment * (free - speed)), 0.0), 0.0)


def _terms(problem: RobustProblem) -> casadi.Function:
    model = problem.model
    q, v = casadi.SX.sym("q", model.coordinates), casadi.SX.sym("v", model.coordinates)
    outputs = [
        casadi.densify(term)
        for term in (
            model.mass_matrix(q),
            model.bias_force(q, v),
            model.distance(q),
            model.normal_jacobian(q),
            model.tangent_jacobian(q),
        )
    ]
    return casadi.Function("terms", [q, v], outputs)


@inner_kernel
def _precedes(tableau: np.ndarray, basis: np.ndarray, i: int, j: int, entering: int) -> bool:
    """Return whether the variable of row i reaches zero before that of row j."""
    size = len(basis)
    artificial, last = 2 * size, 2 * size + 1
    first, second = tableau[i, last] / tableau[i, entering], tableau[j, last] / tableau[j, entering]
    if abs(first - second) > 1e-12 * (1.0 + abs(second)):
        return bool(first < second)
    if basis[i] == artificial or basis[j] == artificial:
        return bool(basis[i] == artificial)
    for column in range(size):
        first = tableau[i, column] / tableau[i, entering]
        second = tableau[j, column] / tableau[j, entering]
        if first != second:
            return bool(first < second)
    return False


@kernel
def _solve_lcps(matrices: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Solve many complementarity problems by Lemke's method, as ``solve_lcp`` does.

    Args:
        matrices: M (n, m, m).
        offsets: q (n, m).

    Returns:
        z (n, m), NaN where the method ends on a ray or q is NaN.
    """
    count, size = offsets.shape
    solutions = np.zeros((count, size))
    artificial = 2 * size
    tableau = np.empty((size, 2 * size + 2))
    basis = np.empty(size, np.int64)
    # Columns: w, z, the artificial variable, the right-hand side; the first block breaks ties.
    last = artificial + 1
    for problem in range(count):
        q = offsets[problem]
        row = 0
        for i in range(size):
            if not q[i] >= q[row]:
                row = i
        if q[row] >= 0.0:
            continue
        for i in range(size):
            for j in range(size):
                tableau[i, j] = 1.0 if i == j else 0.0
                tableau[i, size + j] = -matrices[problem, i, j]
            tableau[i, artificial] = -1.0
            tableau[i, last] = q[i]
            basis[i] = i
        entering = artificial
        solved = False
        for _ in range(50 * (size + 1)):
            leaving = basis[row]
            pivot = tableau[row, entering]
            for j in range(last + 1):
                tableau[row, j] /= pivot
            for i in range(size):
                factor = tableau[i, entering]
                if i != row and factor != 0.0:
                    for j in range(last + 1):
                        tableau[i, j] -= factor * tableau[row, j]
            basis[row] = entering
            if leaving == artificial:
                solved = True
                break
            entering = leaving + size if leaving < size else leaving - size
            row = -1
            for i in range(size):
                if tableau[i, entering] <= SMALLEST_PIVOT:
                    continue
                if row < 0 or _precedes(tableau, basis, i, row, entering):
                    row = i
            if row < 0:
                break
        for i in range(size):
            if not solved:
                solutions[problem, i] = np.nan
            elif size <= basis[i] < artificial:
                solutions[problem, basis[i] - size] = max(tableau[i, last], 0.0)
    return solutions
