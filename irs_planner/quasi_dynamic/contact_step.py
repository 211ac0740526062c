"""One convex quasi-dynamic step: objective, friction cones, contact QP and its derivatives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contact_core.base.kernel import kernel
from contact_core.quadratic_program import (
    QuadraticProgramStatus,
    Workspace,
    allocate_workspace,
    solve_dual_active_set,
)
from irs_planner.linear_algebra import factor_cholesky, solve_cholesky


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


class ContactFrames(NamedTuple):
    """The P pairs of shapes that can touch at K states, in D = 2 or 3 dimensions.

    Attributes:
        gap: (K, P) signed distance phi [m], negative inside.
        point: (K, P, D) the point of the first part nearest to the second one, world [m].
        frame: (K, P, D, D) unit vectors in the world: the normal n, which points from the
            second part into the first, then the tangents.
        normal: (K, P, n) Jn, normal velocity of the first relative to the second part.
        tangent: (K, P, D - 1, n) Jt, tangential velocities likewise.
    """

    gap: np.ndarray
    point: np.ndarray
    frame: np.ndarray
    normal: np.ndarray
    tangent: np.ndarray


class PairCones(NamedTuple):
    """What P pairs of shapes may do to each other: they keep apart, with friction.

    Arrays of K states have one more leading dimension, apart from friction and edges.

    Attributes:
        gap: (P) phi [m].
        normal: (P, n) Jn.
        tangent: (P, D - 1, n) Jt.
        friction: (P) mu.
        edges: (R, D - 1) edge directions d of every cone.
    """

    gap: np.ndarray
    normal: np.ndarray
    tangent: np.ndarray
    friction: np.ndarray
    edges: np.ndarray


class ContactRows(NamedTuple):
    """Constraints J_i v + phi_i / h >= 0 of the m edges of some cones, contact by contact.

    Every contact has the edges J = Jn + mu d^T Jt of a polyhedral friction cone (Anitescu's
    relaxation of Coulomb friction; bundled_gradients, reference [23]).

    Attributes:
        ray: (m, n) J.
        negated: (m, n) -J, as the QP solver wants it.
        normal: (m, n) Jn of the contact to which the edge belongs.
        gap: (m) phi [m] of that contact.
        number: (m) number of the edge among those of all cones, R P.
    """

    ray: np.ndarray
    negated: np.ndarray
    normal: np.ndarray
    gap: np.ndarray
    number: np.ndarray


PLANAR_EDGES = np.array([[1.0], [-1.0]])
"""Edge directions d of the cone of a planar contact."""


def spatial_edges(count: int) -> np.ndarray:
    """Return the (count, 2) edge directions d of a cone in 3-D, evenly spread.

    Args:
        count: Number of edges, at least 3.
    """
    angle = 2.0 * np.pi * np.arange(count) / count
    return np.stack((np.cos(angle), np.sin(angle)), axis=1)


@kernel
def allocate_rows(rays: int, size: int) -> ContactRows:
    """Allocate m rows of n coordinates."""
    return ContactRows(
        np.empty((rays, size)),
        np.empty((rays, size)),
        np.empty((rays, size)),
        np.empty(rays),
        np.empty(rays, dtype=np.int64),
    )


@kernel
def cones_at(cones: PairCones, state: int) -> PairCones:
    """Return the cones at one of several states, as views."""
    return PairCones(
        cones.gap[state], cones.normal[state], cones.tangent[state], cones.friction, cones.edges
    )


@kernel
def polyhedral_rows(cones: PairCones, reach: float, rows: ContactRows) -> int:
    """Write out the edges of the cones of what is nearer than a distance.

    Args:
        cones: The cones at one state.
        reach: The distance [m].
        rows: Output, of as many rows as there are edges.

    Returns:
        How many rows there are.
    """
    row, edges = 0, cones.edges
    for i in range(cones.gap.shape[0]):
        if cones.gap[i] >= reach:  # what is not finite is for the solver to tell
            continue
        for e in range(edges.shape[0]):
            rows.gap[row], rows.number[row] = cones.gap[i], edges.shape[0] * i + e
            for k in range(cones.normal.shape[1]):
                ray = cones.normal[i, k]
                for t in range(edges.shape[1]):
                    ray += cones.friction[i] * edges[e, t] * cones.tangent[i, t, k]
                rows.ray[row, k] = ray
                rows.negated[row, k] = -ray
                rows.normal[row, k] = cones.normal[i, k]
            row += 1
    return row


OPTIMAL = int(QuadraticProgramStatus.OPTIMAL)
# A ray holds the solution back if its impulse exceeds this [N s]; below it is rounding.
ACTIVE_IMPULSE = 1e-9

allocate_solver = kernel(allocate_workspace)


class StepMemory(NamedTuple):
    """What one thread needs for one step after the other; contents are scratch.

    Attributes:
        bound: (m) phi / h [m/s].
        gradient: (n) b.
        velocity: (n) v.
        multipliers: (m + 2 n) ray impulses [N s], then those of the unused bounds.
        lower: (n) -inf.
        upper: (n) +inf.
        solver: Workspace of the QP solver.
        active: (n) indices of the active rays.
        projected: (n, n) Q^-1 N^T, column a for active ray a.
        gain: (n, n) E = Q^-1 N^T S^-1, likewise.
        delassus: (n, n) S = N Q^-1 N^T, then its Cholesky factor.
    """

    bound: np.ndarray
    gradient: np.ndarray
    velocity: np.ndarray
    multipliers: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    solver: Workspace
    active: np.ndarray
    projected: np.ndarray
    gain: np.ndarray
    delassus: np.ndarray


@kernel
def allocate_step(size: int, rays: int) -> StepMemory:
    """Allocate the memory of a step.

    Args:
        size: The number n of states.
        rays: The number m of contact rays.

    Returns:
        The memory.
    """
    return StepMemory(
        np.zeros(rays),
        np.zeros(size),
        np.zeros(size),
        np.zeros(rays + 2 * size),
        np.full(size, -np.inf),
        np.full(size, np.inf),
        allocate_solver(size, rays),
        np.zeros(size, dtype=np.int64),
        np.zeros((size, size)),
        np.zeros((size, size)),
        np.zeros((size, size)),
    )


@kernel
def set_bound(rows: ContactRows, memory: StepMemory, time_step: float, margin: float) -> None:
    """Compute the right-hand sides (phi - margin) / h of the contact inequalities.

    Args:
        rows: The inequalities.
        memory: Its ``bound`` is output.
        time_step: h [s].
        margin: Distance that the solution has to keep [m].
    """
    for i in range(memory.bound.shape[0]):
        memory.bound[i] = (rows.gap[i] - margin) / time_step


@kernel
def solve_step(
    model: SpringModel,
    rows: ContactRows,
    state: np.ndarray,
    command: np.ndarray,
    memory: StepMemory,
    next_state: np.ndarray,
) -> bool:
    """Advance by one step: v minimises 1/2 v^T Q v + b^T v, J v + phi / h >= 0; q+ = q + h v.

    Args:
        model: Q, b, h.
        rows: The contact inequalities at ``state``.
        state: (n) q.
        command: (n_a) u.
        memory: Its ``bound`` belongs to ``state``; ``multipliers`` are output.
        next_state: (n) output: q+, NaN if the QP has no solution.

    Returns:
        True on success.
    """
    fill_gradient(model, state, command, memory.gradient)
    status, _ = solve_dual_active_set(
        model.hessian,
        memory.gradient,
        rows.negated,
        memory.bound,
        memory.lower,
        memory.upper,
        memory.solver,
        memory.velocity,
        memory.multipliers,
    )
    if status != OPTIMAL:
        next_state[:] = np.nan
        return False
    for i in range(state.shape[0]):
        next_state[i] = state[i] + model.time_step * memory.velocity[i]
    return True


@kernel
def differentiate_step(
    model: SpringModel,
    rows: ContactRows,
    memory: StepMemory,
    state_jacobian: np.ndarray,
    input_jacobian: np.ndarray,
) -> None:
    """Differentiate the last step by the implicit function theorem on its active rays.

    With the active rays N: S = N Q^-1 N^T, E = Q^-1 N^T S^-1, P = Q^-1 - E N Q^-1,
    B = dq+/du = h^2 P[:, a] K and A = dq+/dq = I - [0 | B] - E Jn. The change of the
    contact geometry itself, dJ/dq, is neglected, as in the paper's code.

    Args:
        model: Q, h, K.
        rows: The contact inequalities of that step.
        memory: As :func:`solve_step` left it.
        state_jacobian: (n, n) output: A, NaN if S is singular.
        input_jacobian: (n, n_a) output: B, likewise.
    """
    n = memory.velocity.shape[0]
    count = 0
    for i in range(memory.bound.shape[0]):
        if memory.multipliers[i] > ACTIVE_IMPULSE and count < n:
            memory.active[count] = i
            count += 1
    for a in range(count):
        ray = rows.ray[memory.active[a]]
        for i in range(n):
            total = 0.0
            for k in range(n):
                total += model.inverse[i, k] * ray[k]
            memory.projected[i, a] = total
        for b in range(a + 1):
            other = rows.ray[memory.active[b]]
            total = 0.0
            for k in range(n):
                total += other[k] * memory.projected[k, a]
            memory.delassus[a, b] = total
    if not factor_cholesky(memory.delassus, count):
        state_jacobian[:] = np.nan
        input_jacobian[:] = np.nan
        return
    for i in range(n):
        for a in range(count):
            memory.gain[i, a] = memory.projected[i, a]
        solve_cholesky(memory.delassus, count, memory.gain[i])

    free, h = model.load.shape[0], model.time_step
    for i in range(n):
        for k in range(n):
            state_jacobian[i, k] = 1.0 if i == k else 0.0
            for a in range(count):
                state_jacobian[i, k] -= memory.gain[i, a] * rows.normal[memory.active[a], k]
        for j in range(model.stiffness.shape[0]):
            total = model.inverse[i, free + j]
            for a in range(count):
                total -= memory.gain[i, a] * memory.projected[free + j, a]
            input_jacobian[i, j] = h * h * total * model.stiffness[j]
            state_jacobian[i, free + j] -= input_jacobian[i, j]
