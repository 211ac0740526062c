"""Primal-dual interior point on top of the Riccati recursion.

S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM Journal
on Optimization 2 (1992): a predictor step, then a centred and corrected step with the same
factorisation. M. Colombo and J. Gondzio, "Further development of multiple centrality
correctors for interior point methods", Computational Optimization and Applications 41
(2008), explain why the correction must shrink with the predictor step. C. Cartis, "Some
disadvantages of a Mehrotra-type primal-dual corrector interior point algorithm for linear
programming", Applied Numerical Mathematics 59 (2009): a correction can make the iterates
cycle, a step that is only centred cannot. Iterates always satisfy the dynamics; only the
bounds are relaxed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contact_core.base.kernel import kernel
from contact_core.quadratic_program import QuadraticProgramStatus
from irs_planner.mpc.riccati import StageMemory, factor_stages, newton_step, roll_out
from irs_planner.mpc.tracking_problem import TrackingProblem


class BoundList(NamedTuple):
    """K scalar inequalities g = sign (y - limit) >= 0 on components y of [s_{t+1}; w_t].

    Attributes:
        first: (T + 1) index of the first bound of every stage, then K.
        stage: (K) t.
        component: (K) index into [s_{t+1}; w_t].
        sign: (K) +1 for a lower bound, -1 for an upper one.
        limit: (K) the bound.
        softness: (K) sigma, 0 for a hard bound.
        slack: (K) scratch: slack variables, > 0.
        dual: (K) scratch: multipliers z, > 0.
        slack_step: (K) scratch: their Newton steps.
        dual_step: (K) scratch: likewise.
        residual: (K) scratch: g + sigma z - slack, 0 at a solution.
    """

    first: np.ndarray
    stage: np.ndarray
    component: np.ndarray
    sign: np.ndarray
    limit: np.ndarray
    softness: np.ndarray
    slack: np.ndarray
    dual: np.ndarray
    slack_step: np.ndarray
    dual_step: np.ndarray
    residual: np.ndarray


def list_bounds(problem: TrackingProblem) -> BoundList:
    """Collect the finite bounds of a problem.

    Args:
        problem: The problem.

    Returns:
        Its bounds; the scratch arrays are zero.
    """
    lower_stage, lower_component = np.nonzero(np.isfinite(problem.lower))
    upper_stage, upper_component = np.nonzero(np.isfinite(problem.upper))
    stage = np.concatenate((lower_stage, upper_stage))
    component = np.concatenate((lower_component, upper_component))
    sign = np.concatenate((np.ones(len(lower_stage)), -np.ones(len(upper_stage))))
    limit = np.concatenate(
        (problem.lower[lower_stage, lower_component], problem.upper[upper_stage, upper_component])
    )
    order = np.argsort(stage, kind="stable")
    return BoundList(
        np.searchsorted(stage[order], np.arange(len(problem.lower) + 1)),
        stage[order],
        component[order],
        sign[order],
        limit[order],
        problem.softness[component[order]],
        *np.zeros((5, len(order))),
    )


OPTIMAL = int(QuadraticProgramStatus.OPTIMAL)
ITERATION_LIMIT = int(QuadraticProgramStatus.ITERATION_LIMIT)
NOT_CONVEX = int(QuadraticProgramStatus.NOT_CONVEX)

MAX_ITERATIONS = 100
# Stop at a duality gap of this fraction of the cost, at this fraction of the first gradient, and
# at this bound residual.
TOLERANCE = 1e-9
MIN_COST = 1e-9
# Slacks start at least this far inside, and steps stop this fraction short of the boundary.
FIRST_SLACK = 1e-2
FRACTION_TO_BOUNDARY = 0.995
# The duality gap a step aims at, relative to the present one, where the corrector would widen it.
CENTRING = 0.5


@kernel
def solve_interior_point(
    problem: TrackingProblem, bounds: BoundList, start: int, memory: StageMemory
) -> tuple[int, int]:
    """Solve the problem from stage ``start`` on.

    Args:
        problem: The problem.
        bounds: Its bounds.
        start: First stage.
        memory: ``state[start]`` is the initial state and ``control[start:]`` a first guess;
            the optimal states and controls are output.

    Returns:
        (status, number of iterations).
    """
    first = bounds.first[start]
    roll_out(problem, start, memory)
    # The duality gap, one product per bound, starts as large as the cost itself.
    count = len(bounds.limit) - first
    cost = max(_cost(problem, start, memory), MIN_COST)
    _first_slacks(bounds, first, cost / count, memory)
    # What is left of the gradient of the Lagrangian: it is linear in the iterate.
    stationarity = 1.0
    for iteration in range(MAX_ITERATIONS):
        mean, residual = _measure(bounds, first, memory)
        # The first guess may have cost far more than any solution does.
        cost = max(_cost(problem, start, memory), MIN_COST)
        if max(count * mean / cost, residual, stationarity) <= TOLERANCE:
            return OPTIMAL, iteration
        _condense(bounds, first, 0.0, 0.0, memory)
        if not factor_stages(problem, start, memory):
            return NOT_CONVEX, iteration
        newton_step(problem, start, memory)
        predictor = min(1.0, _bound_steps(bounds, first, 0.0, 0.0, memory))
        predicted = _mean_after(bounds, first, predictor)
        target = (predicted / mean) ** 3 * mean
        # The second-order error of a predictor step of this length (Colombo and Gondzio).
        correction = predictor**2
        length = _centred_step(problem, bounds, start, target, correction, memory)
        if _mean_after(bounds, first, length) > mean:
            length = _centred_step(problem, bounds, start, CENTRING * mean, 0.0, memory)
        _advance(bounds, first, start, length, memory)
        stationarity *= 1.0 - length
    return ITERATION_LIMIT, MAX_ITERATIONS


@kernel
def _cost(problem: TrackingProblem, start: int, memory: StageMemory) -> float:
    """Return the cost of the iterate, without its first state."""
    horizon, n, m = problem.control.shape
    total = 0.0
    for t in range(start, horizon):
        weight = problem.final_weight if t + 1 == horizon else problem.weight
        for i in range(n):
            error = memory.state[t + 1, i] - problem.reference[t + 1, i]
            for k in range(n):
                other = memory.state[t + 1, k] - problem.reference[t + 1, k]
                total += error * weight[i, k] * other
        for i in range(m):
            for k in range(m):
                product = memory.control[t, i] * memory.control[t, k]
                total += problem.control_weight[i, k] * product
    return total


@kernel
def _first_slacks(bounds: BoundList, first: int, product: float, memory: StageMemory) -> None:
    """Start with equal products of slack and multiplier."""
    state, control = memory.state, memory.control
    n = state.shape[1]
    for k in range(first, bounds.limit.shape[0]):
        t, i = bounds.stage[k], bounds.component[k]
        value = state[t + 1, i] if i < n else control[t, i - n]
        bounds.slack[k] = max(bounds.sign[k] * (value - bounds.limit[k]), FIRST_SLACK)
        bounds.dual[k] = product / bounds.slack[k]


@kernel
def _measure(bounds: BoundList, first: int, memory: StageMemory) -> tuple[float, float]:
    """Update the residuals; return the mean complementarity and the largest residual."""
    state, control = memory.state, memory.control
    n = state.shape[1]
    total, largest = 0.0, 0.0
    for k in range(first, bounds.limit.shape[0]):
        t, i = bounds.stage[k], bounds.component[k]
        value = state[t + 1, i] if i < n else control[t, i - n]
        inside = bounds.sign[k] * (value - bounds.limit[k])
        # sigma z is by how much a soft bound is violated.
        residual = inside + bounds.softness[k] * bounds.dual[k] - bounds.slack[k]
        bounds.residual[k] = residual
        largest = max(largest, abs(residual))
        total += bounds.slack[k] * bounds.dual[k]
    return total / (bounds.limit.shape[0] - first), largest


@kernel
def _condense(
    bounds: BoundList, first: int, target: float, correction: float, memory: StageMemory
) -> None:
    """Eliminate slacks and multipliers: they become curvature and slope of the stages.

    dz = -(rc + z (r + dg)) / (slack + sigma z) for the change dg of the distance, with the
    residuals r of the bound and rc of the complementarity.
    """
    curvature, slope = memory.curvature, memory.slope
    for k in range(first, bounds.limit.shape[0]):
        t, i = bounds.stage[k], bounds.component[k]
        curvature[t, i] = 0.0
        slope[t, i] = 0.0
    for k in range(first, bounds.limit.shape[0]):
        t, i = bounds.stage[k], bounds.component[k]
        z = bounds.dual[k]
        stiffness = bounds.slack[k] + bounds.softness[k] * z
        error = bounds.slack[k] * z - target + z * bounds.residual[k]
        error += correction * bounds.slack_step[k] * bounds.dual_step[k]
        curvature[t, i] += z / stiffness
        slope[t, i] -= bounds.sign[k] * (z - error / stiffness)


@kernel
def _bound_steps(
    bounds: BoundList, first: int, target: float, correction: float, memory: StageMemory
) -> float:
    """Recover the steps of slacks and multipliers; return the longest feasible length.

    Primal and dual steps share it: in a QP the gradient depends on both.
    """
    state_step, control_step = memory.state_step, memory.control_step
    n = state_step.shape[1]
    longest = 1.0 / FRACTION_TO_BOUNDARY
    for k in range(first, bounds.limit.shape[0]):
        t, i = bounds.stage[k], bounds.component[k]
        change = state_step[t + 1, i] if i < n else control_step[t, i - n]
        slack, z, sigma = bounds.slack[k], bounds.dual[k], bounds.softness[k]
        error = slack * z - target
        error += correction * bounds.slack_step[k] * bounds.dual_step[k]
        moved = bounds.residual[k] + bounds.sign[k] * change
        dual_step = -(error + z * moved) / (slack + sigma * z)
        slack_step = moved + sigma * dual_step
        bounds.dual_step[k] = dual_step
        bounds.slack_step[k] = slack_step
        if slack_step < 0.0:
            longest = min(longest, -slack / slack_step)
        if dual_step < 0.0:
            longest = min(longest, -z / dual_step)
    return longest


@kernel
def _centred_step(
    problem: TrackingProblem,
    bounds: BoundList,
    start: int,
    target: float,
    correction: float,
    memory: StageMemory,
) -> float:
    """Compute a step towards products of ``target``; return the length to go."""
    first = bounds.first[start]
    _condense(bounds, first, target, correction, memory)
    newton_step(problem, start, memory)
    longest = _bound_steps(bounds, first, target, correction, memory)
    return min(1.0, FRACTION_TO_BOUNDARY * longest)


@kernel
def _mean_after(bounds: BoundList, first: int, length: float) -> float:
    """Return the mean complementarity that a step of this length would lead to."""
    total = 0.0
    for k in range(first, bounds.limit.shape[0]):
        slack = bounds.slack[k] + length * bounds.slack_step[k]
        total += slack * (bounds.dual[k] + length * bounds.dual_step[k])
    return total / (bounds.limit.shape[0] - first)


@kernel
def _advance(bounds: BoundList, first: int, start: int, length: float, memory: StageMemory) -> None:
    state, control = memory.state, memory.control
    state_step, control_step = memory.state_step, memory.control_step
    for t in range(start, control.shape[0]):
        for i in range(state.shape[1]):
            state[t + 1, i] += length * state_step[t + 1, i]
        for i in range(control.shape[1]):
            control[t, i] += length * control_step[t, i]
    for k in range(first, bounds.limit.shape[0]):
        bounds.slack[k] += length * bounds.slack_step[k]
        bounds.dual[k] += length * bounds.dual_step[k]
