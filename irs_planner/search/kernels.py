"""Loops of the search over nodes, candidates and contact pairs."""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inner_kernel, kernel
from irs_planner.linear_algebra import factor_cholesky, solve_cholesky

CONVERGED = 1e-4
DAMPING = 1e-4
STEEPER, CLOSE = 8.0, 1.05
"""Factors by which a weight is raised until inputs are within their bounds, and then known."""


@kernel
def nearest_inputs(
    slope: np.ndarray, error: np.ndarray, metric: np.ndarray, effort: float, result: np.ndarray
) -> None:
    """Minimise |S w + e|^2 + r w^T W w with the least r from a given one on at which all |w| <= 1.

    Args:
        slope: (K, n, m) S.
        error: (K, n) e.
        metric: (K, m, m) W, positive definite.
        effort: Least r, > 0.
        result: (K, m) output: w.
    """
    rows, inputs = slope.shape[1], slope.shape[2]
    factor, scaled = np.empty((inputs, inputs)), np.empty((rows, inputs))
    gram, damped, solved = np.empty((rows, rows)), np.empty((rows, rows)), np.empty(rows)
    for k in range(slope.shape[0]):
        factor[:] = metric[k]
        factor_cholesky(factor, inputs)
        for i in range(rows):
            scaled[i] = slope[k, i]
            solve_cholesky(factor, inputs, scaled[i])
        for i in range(rows):
            for j in range(rows):
                gram[i, j] = 0.0
                for a in range(inputs):
                    gram[i, j] += slope[k, i, a] * scaled[j, a]
        low = high = effort
        largest = _damped_inputs(gram, scaled, error[k], high, damped, solved, result[k])
        while largest > 1.0:
            low, high = high, STEEPER * high
            largest = _damped_inputs(gram, scaled, error[k], high, damped, solved, result[k])
        while high > CLOSE * low:
            middle = math.sqrt(low * high)
            if _damped_inputs(gram, scaled, error[k], middle, damped, solved, result[k]) > 1.0:
                low = middle
            else:
                high = middle
        _damped_inputs(gram, scaled, error[k], high, damped, solved, result[k])


@inner_kernel
def _damped_inputs(
    gram: np.ndarray,
    scaled: np.ndarray,
    error: np.ndarray,
    effort: float,
    damped: np.ndarray,
    solved: np.ndarray,
    result: np.ndarray,
) -> float:
    """Compute w = -Z^T (S Z^T + r I)^-1 e with Z = S W^-1; return the largest |w|."""
    rows, inputs = scaled.shape
    for i in range(rows):
        solved[i] = error[i]
        for j in range(rows):
            damped[i, j] = gram[i, j]
        damped[i, i] += effort
    factor_cholesky(damped, rows)
    solve_cholesky(damped, rows, solved)
    largest = 0.0
    for a in range(inputs):
        result[a] = 0.0
        for i in range(rows):
            result[a] -= scaled[i, a] * solved[i]
        largest = max(largest, abs(result[a]))
    return largest


@kernel
def reach_factors(slope: np.ndarray, regularization: float, factor: np.ndarray) -> None:
    """Compute the Cholesky factors L of S S^T + gamma I, the reach of one step.

    Args:
        slope: (K, r, m) S, effect of the largest inputs.
        regularization: gamma.
        factor: (K, r, r) output: L.
    """
    rows = slope.shape[1]
    for k in range(slope.shape[0]):
        for i in range(rows):
            for j in range(rows):
                total = regularization if i == j else 0.0
                for a in range(slope.shape[2]):
                    total += slope[k, i, a] * slope[k, j, a]
                factor[k, i, j] = total
        factor_cholesky(factor[k], rows)
        for i in range(rows):
            factor[k, i, i + 1 :] = 0.0


@kernel
def reach_distances(
    factor: np.ndarray, center: np.ndarray, target: np.ndarray, distance: np.ndarray
) -> None:
    """Compute the Mahalanobis distances |L^-1 (p - c)| of a target.

    Args:
        factor: (K, r, r) L.
        center: (K, r) c, where the objects go by themselves.
        target: (r) p.
        distance: (K) output.
    """
    rows = target.shape[0]
    solved = np.empty(rows)
    for k in range(center.shape[0]):
        total = 0.0
        for i in range(rows):
            value = target[i] - center[k, i]
            for j in range(i):
                value -= factor[k, i, j] * solved[j]
            solved[i] = value / factor[k, i, i]
            total += solved[i] ** 2
        distance[k] = np.sqrt(total)


@kernel
def sweep_costs(weight: np.ndarray, spacing: float, turn: float, cost: np.ndarray) -> bool:
    """Lower the costs of ways over a grid of places and turns by those of all neighbours.

    Args:
        weight: (X, Y, T) cost per length at every point, infinite where no way leads.
        spacing: Of the places along x and y [m].
        turn: Length that a turn to the next point counts as [m].
        cost: (X, Y, T) of the way to the goal, 0 there and infinite elsewhere at first; updated.

    Returns:
        Whether anything became less: then another sweep is due.
    """
    width, depth, turns = cost.shape
    changed = False
    for way in range(2):
        for number in range(width * depth * turns):
            index = number if way == 0 else width * depth * turns - 1 - number
            x, y, t = index // (depth * turns), index // turns % depth, index % turns
            if not np.isfinite(weight[x, y, t]):
                continue
            best = cost[x, y, t]
            for i in range(max(x - 1, 0), min(x + 2, width)):
                for j in range(max(y - 1, 0), min(y + 2, depth)):
                    for k in range(-1, 2):
                        other = (t + k + turns) % turns
                        if not np.isfinite(cost[i, j, other]):
                            continue
                        length = spacing * math.sqrt((i - x) ** 2 + (j - y) ** 2) + turn * abs(k)
                        mean = 0.5 * (weight[x, y, t] + weight[i, j, other])
                        best = min(best, cost[i, j, other] + length * mean)
            if best < cost[x, y, t] - CONVERGED * spacing:
                cost[x, y, t], changed = best, True
    return changed


@kernel
def approach(
    gap: np.ndarray,
    point: np.ndarray,
    frame: np.ndarray,
    normal: np.ndarray,
    tangent: np.ndarray,
    first: np.ndarray,
    chosen: np.ndarray,
    place: np.ndarray,
    radius: float,
    clearance: float,
    output_error: np.ndarray,
    output_slope: np.ndarray,
    moved: np.ndarray,
    limit: np.ndarray,
    joints: np.ndarray,
) -> None:
    """Take one Gauss-Newton step of inverse kinematics towards contact.

    First the chosen pairs are led to places around the object, then, with ``radius`` 0, to the
    clearance; whatever else is nearer than that is led away. Outputs of the kinematics keep
    to their goals all the time.

    Args:
        gap: (K, P) signed distances of the robot from other things [m].
        point: (K, P, D) nearest points of the first parts [m].
        frame: (K, P, D, D) normals and tangents.
        normal: (K, P, n_a) Jn, robot columns.
        tangent: (K, P, D - 1, n_a) Jt, robot columns.
        first: (P) whether the robot is the first part.
        chosen: (K, C) pairs that are to touch, -1 for none.
        place: (K, C, D) where to be led first [m].
        radius: Length that makes errors of places dimensionless [m]; 0 to close the gaps.
        clearance: Gap to arrive at [m].
        output_error: (K, p) goal - y, in tolerances.
        output_slope: (K, p, n_a) dy/dq likewise.
        moved: (n_a) 1 for joints that take part, else 0.
        limit: (n_a) largest steps of the joints [m, rad].
        joints: (K, n_a) q_a, updated.
    """
    size, dimensions = joints.shape[1], point.shape[2]
    hessian, gradient, row = np.empty((size, size)), np.empty(size), np.empty(size)
    for k in range(joints.shape[0]):
        gradient[:] = 0.0
        for i in range(size):
            hessian[i, :] = 0.0
            hessian[i, i] = DAMPING
        for i in range(gap.shape[1]):
            slot = -1
            for c in range(chosen.shape[1]):
                if chosen[k, c] == i:
                    slot = c
            if radius > 0.0 and slot >= 0:
                for d in range(dimensions):
                    here = point[k, i, d]
                    if not first[i]:
                        here -= gap[k, i] * frame[k, i, 0, d]
                    for j in range(size):
                        rate = frame[k, i, 0, d] * normal[k, i, j]
                        for e in range(1, dimensions):
                            rate += frame[k, i, e, d] * tangent[k, i, e - 1, j]
                        row[j] = (rate if first[i] else -rate) * moved[j] / radius
                    _add_row(hessian, gradient, row, (place[k, slot, d] - here) / radius)
            elif radius == 0.0 and (slot >= 0 or gap[k, i] < clearance):
                for j in range(size):
                    row[j] = normal[k, i, j] * moved[j] / clearance
                _add_row(hessian, gradient, row, (clearance - gap[k, i]) / clearance)
        for i in range(output_error.shape[1]):
            for j in range(size):
                row[j] = output_slope[k, i, j] * moved[j]
            _add_row(hessian, gradient, row, output_error[k, i])
        if factor_cholesky(hessian, size):
            solve_cholesky(hessian, size, gradient)
            scale = 1.0
            for j in range(size):
                scale = max(scale, abs(gradient[j]) / limit[j])
            for j in range(size):
                joints[k, j] += moved[j] * gradient[j] / scale


@inner_kernel
def _add_row(hessian: np.ndarray, gradient: np.ndarray, row: np.ndarray, residual: float) -> None:
    """Add a row to the normal equations J^T J dq = J^T r."""
    for i in range(row.shape[0]):
        gradient[i] += row[i] * residual
        for j in range(row.shape[0]):
            hessian[i, j] += row[i] * row[j]
