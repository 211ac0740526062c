"""A primal-dual active-set method on the Riccati recursion, which goes on from its last solution.

M. Hintermüller, K. Ito and K. Kunisch, "The primal-dual active set strategy as a semismooth
Newton method", SIAM Journal on Optimization 13 (2002). With the active bounds held, one backward
pass gives a policy and the cost to go of every stage; following the policy shows which bounds
become active and which let go. Stages behind the last change keep their policy, so that the
shrinking problems of MPC cost what changes, and not what is left of the horizon.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from contact_core.base.kernel import kernel
from contact_core.quadratic_program import QuadraticProgramStatus
from irs_planner.linear_algebra import factor_cholesky, solve_cholesky
from irs_planner.mpc.interior_point import BoundList
from irs_planner.mpc.riccati import multiply, multiply_transposed
from irs_planner.mpc.tracking_problem import TrackingProblem

OPTIMAL = int(QuadraticProgramStatus.OPTIMAL)
ITERATION_LIMIT = int(QuadraticProgramStatus.ITERATION_LIMIT)
NOT_CONVEX = int(QuadraticProgramStatus.NOT_CONVEX)

ROUNDS = 40
"""Rounds of changes to the active bounds before the method gives up."""
PATIENCE = 3
"""Rounds without fewer wrong bounds than ever before only one stage changes at a time."""
MOST = 2**62
TOLERANCE = 1e-10
"""By how much a bound may be violated, or a control would move if its bound let go."""
FREE = -1


class Policy(NamedTuple):
    """Policy w = -k - K s and cost to go 1/2 s^T P s + p^T s of T stages, for the active bounds.

    Attributes:
        state: (T + 1, n) s, where the policy led last.
        control: (T, m) w.
        side: (T, n + m) of every bound: -1 if it is active below, 1 above, 0 if it is not.
        owner: (n + m) control that a hard bound determines: itself, or the one that moves a state
            by its own size; FREE for soft bounds, and hard ones that cannot be held like this.
        gain: (T, m, n) K.
        feedforward: (T, m) k.
        value: (T + 1, n, n) P.
        slope: (T + 1, n) p.
        hessian: (T, m, m) H of 1/2 w^T H w + w^T (M s + h), the cost to go by the control.
        cross: (T, m, n) M.
        gradient: (T, m) h.
        factor: (m, m) scratch: Cholesky factor of H for the controls that are free.
        holder: (m) scratch: component whose bound holds a control, or FREE.
        ahead: (n, n) scratch: P with active soft bounds.
        ahead_slope: (n) scratch: p likewise, at s = c.
        product: (n, n) scratch.
        product_control: (n, m) scratch.
        column: (m) scratch.
    """

    state: np.ndarray
    control: np.ndarray
    side: np.ndarray
    owner: np.ndarray
    gain: np.ndarray
    feedforward: np.ndarray
    value: np.ndarray
    slope: np.ndarray
    hessian: np.ndarray
    cross: np.ndarray
    gradient: np.ndarray
    factor: np.ndarray
    holder: np.ndarray
    ahead: np.ndarray
    ahead_slope: np.ndarray
    product: np.ndarray
    product_control: np.ndarray
    column: np.ndarray


def allocate_policy(problem: TrackingProblem) -> Policy:
    """Allocate the memory of a problem, no bound active.

    Args:
        problem: The problem.

    Returns:
        The memory.
    """
    horizon, n, m = problem.control.shape
    owner = np.full(n + m, FREE)
    owner[n:] = np.arange(m)
    for i, k in itertools.product(range(n), range(m)):
        if (problem.control[:, i] == np.eye(m)[k]).all():
            owner[i] = k
    owner[problem.softness > 0.0] = FREE
    return Policy(
        np.zeros((horizon + 1, n)),
        np.zeros((horizon, m)),
        np.zeros((horizon, n + m), dtype=np.int8),
        owner,
        np.zeros((horizon, m, n)),
        np.zeros((horizon, m)),
        np.zeros((horizon + 1, n, n)),
        np.zeros((horizon + 1, n)),
        np.zeros((horizon, m, m)),
        np.zeros((horizon, m, n)),
        np.zeros((horizon, m)),
        np.zeros((m, m)),
        np.full(m, FREE),
        np.zeros((n, n)),
        np.zeros(n),
        np.zeros((n, n)),
        np.zeros((n, m)),
        np.zeros(m),
    )


@kernel
def solve_active_set(
    problem: TrackingProblem, start: int, known: int, policy: Policy
) -> tuple[int, int, int]:
    """Solve the problem from stage ``start`` on.

    Args:
        problem: The problem.
        start: First stage.
        known: The policy is that of the active bounds from this stage on.
        policy: ``policy.state[start]`` is the initial state; states and controls are output.

    Returns:
        (status, rounds in which active bounds changed, the new ``known``).
    """
    last, fewest, patience = known - 1, MOST, PATIENCE
    for rounds in range(ROUNDS):
        if last >= start:
            if not improve_policy(problem, start, last, policy):
                return NOT_CONVEX, rounds, last + 1
            known = start
        last, wrong = _follow(problem, start, patience > 0, policy)
        if wrong == 0:
            return OPTIMAL, rounds, known
        patience = PATIENCE if wrong < fewest else patience - 1
        fewest = min(fewest, wrong)
    return ITERATION_LIMIT, ROUNDS, last + 1


@kernel
def improve_policy(problem: TrackingProblem, first: int, last: int, policy: Policy) -> bool:
    """Compute the policy of some stages for the active bounds.

    Args:
        problem: The problem.
        first: First stage.
        last: Last stage; the cost to go after it is that of ``policy``.
        policy: Output.

    Returns:
        False if the Hessian of the free controls is not positive definite.
    """
    horizon, n = problem.control.shape[:2]
    if last == horizon - 1:
        for i in range(n):
            policy.slope[horizon, i] = 0.0
            for k in range(n):
                policy.value[horizon, i, k] = 2.0 * problem.final_weight[i, k]
                policy.slope[horizon, i] -= policy.value[horizon, i, k] * problem.reference[-1, k]
    for t in range(last, first - 1, -1):
        _expand(problem, t, policy)
        if not _hold(problem, t, policy):
            return False
        _add_stage(problem, t, policy)
    return True


@kernel
def _expand(problem: TrackingProblem, t: int, policy: Policy) -> None:
    """Compute the cost to go by control and state of a stage: H, M and h."""
    n, m = problem.control.shape[1:]
    ahead, slope, offset = policy.ahead, policy.ahead_slope, problem.offset[t]
    ahead[:] = policy.value[t + 1]
    slope[:] = policy.slope[t + 1]
    for i in range(n):
        if policy.owner[i] == FREE and policy.side[t, i] != 0:
            ahead[i, i] += 1.0 / problem.softness[i]
            slope[i] -= _limit(problem, t, i, policy) / problem.softness[i]
    for i in range(n):
        for k in range(n):
            slope[i] += ahead[i, k] * offset[k]
    multiply(ahead, problem.transition[t], policy.product)
    multiply(ahead, problem.control[t], policy.product_control)
    multiply_transposed(problem.control[t], policy.product, policy.cross[t])
    multiply_transposed(problem.control[t], policy.product_control, policy.hessian[t])
    for i in range(m):
        policy.gradient[t, i] = 0.0
        for k in range(m):
            policy.hessian[t, i, k] += 2.0 * problem.control_weight[i, k]
        for k in range(n):
            policy.gradient[t, i] += problem.control[t, k, i] * slope[k]


@kernel
def _limit(problem: TrackingProblem, t: int, component: int, policy: Policy) -> float:
    """Return the bound of a component on the side where it is active."""
    bounds = problem.lower if policy.side[t, component] < 0 else problem.upper
    return bounds[t, component]


@kernel
def _hold(problem: TrackingProblem, t: int, policy: Policy) -> bool:
    """Compute gain and feedforward: held controls follow their bounds, free ones answer."""
    n, m = problem.control.shape[1:]
    hessian, factor, holder = policy.hessian[t], policy.factor, policy.holder
    gain, feedforward, column = policy.gain[t], policy.feedforward[t], policy.column
    holder[:] = FREE
    gain[:] = 0.0
    feedforward[:] = 0.0
    for i in range(n + m):
        control = policy.owner[i]
        if policy.side[t, i] == 0 or control == FREE:
            continue
        holder[control] = i
        feedforward[control] = -_limit(problem, t, i, policy)
        if i < n:
            feedforward[control] += problem.offset[t, i]
            gain[control, :] = problem.transition[t, i]
    for i in range(m):
        for k in range(i + 1):
            held = holder[i] != FREE or holder[k] != FREE
            factor[i, k] = (1.0 if i == k else 0.0) if held else hessian[i, k]
    if not factor_cholesky(factor, m):
        return False
    for j in range(n + 1):
        for i in range(m):
            column[i] = 0.0
            if holder[i] == FREE:
                column[i] = policy.cross[t, i, j] if j < n else policy.gradient[t, i]
                for k in range(m):
                    if holder[k] != FREE:
                        column[i] -= hessian[i, k] * (gain[k, j] if j < n else feedforward[k])
        solve_cholesky(factor, m, column)
        for i in range(m):
            if holder[i] == FREE and j < n:
                gain[i, j] = column[i]
            elif holder[i] == FREE:
                feedforward[i] = column[i]
    return True


@kernel
def _add_stage(problem: TrackingProblem, t: int, policy: Policy) -> None:
    """Compute the cost to go of a stage under its policy."""
    n, m = problem.control.shape[1:]
    value, slope, gain, cross = policy.value[t], policy.slope[t], policy.gain[t], policy.cross[t]
    feedforward, product = policy.feedforward[t], policy.product_control
    multiply_transposed(problem.transition[t], policy.product, value)
    multiply_transposed(gain, policy.hessian[t], product)
    for i in range(n):
        total = 0.0
        for k in range(n):
            total += problem.transition[t, k, i] * policy.ahead_slope[k]
            total -= 2.0 * problem.weight[i, k] * problem.reference[t, k]
        for k in range(m):
            total -= gain[k, i] * policy.gradient[t, k]
            total += (product[i, k] - cross[k, i]) * feedforward[k]
        slope[i] = total
        for j in range(i + 1):
            total = value[i, j] + 2.0 * problem.weight[i, j]
            for k in range(m):
                total += (product[i, k] - cross[k, i]) * gain[k, j] - gain[k, i] * cross[k, j]
            value[i, j] = total
            value[j, i] = total


@kernel
def _follow(
    problem: TrackingProblem, start: int, everywhere: bool, policy: Policy
) -> tuple[int, int]:
    """Follow the policy and change what bounds are active, everywhere or at one stage.

    Returns:
        (the last stage that changed, number of wrong bounds).
    """
    horizon, n, m = problem.control.shape
    state, control, last, wrong = policy.state, policy.control, start - 1, 0
    for t in range(start, horizon):
        for i in range(m):
            total = -policy.feedforward[t, i]
            for k in range(n):
                total -= policy.gain[t, i, k] * state[t, k]
            control[t, i] = total
        for i in range(n):
            total = problem.offset[t, i]
            for k in range(n):
                total += problem.transition[t, i, k] * state[t, k]
            for k in range(m):
                total += problem.control[t, i, k] * control[t, k]
            state[t + 1, i] = total
        change = everywhere or wrong == 0
        found = _check_soft(problem, t, change, policy) + _check_hard(problem, t, change, policy)
        if found > 0 and change:
            last = t
        wrong += found
    return last, wrong


@kernel
def _check_soft(problem: TrackingProblem, t: int, change: bool, policy: Policy) -> int:
    """Let soft bounds of the next state act where they are violated; return how many are wrong.

    A violated bound that is neither soft nor of one control stays wrong.
    """
    n, m = problem.control.shape[1:]
    wrong = 0
    for i in range(n + m):
        if policy.owner[i] != FREE:
            continue
        value = policy.state[t + 1, i] if i < n else policy.control[t, i - n]
        side = policy.side[t, i]
        # What acts keeps acting until it is inside by more than rounding errors.
        margin = TOLERANCE if side == 0 else -TOLERANCE
        below, above = problem.lower[t, i] - value, value - problem.upper[t, i]
        new = 1 if above > margin else -1 if below > margin else 0
        if new != side:
            wrong += 1
            if change and i < n and problem.softness[i] > 0.0:
                policy.side[t, i] = new
    return wrong


@kernel
def _check_hard(problem: TrackingProblem, t: int, change: bool, policy: Policy) -> int:
    """Hold controls at bounds they violate, let go those drawn inwards; return how many."""
    n, m = problem.control.shape[1:]
    worst, violation = policy.holder, policy.column
    wrong = 0
    worst[:] = FREE
    violation[:] = TOLERANCE
    for i in range(n + m):
        k = policy.owner[i]
        if k == FREE:
            continue
        value = policy.state[t + 1, i] if i < n else policy.control[t, i - n]
        excess = max(problem.lower[t, i] - value, value - problem.upper[t, i])
        if excess > violation[k]:
            worst[k], violation[k] = i, excess
    for i in range(n + m):
        k = policy.owner[i]
        side = policy.side[t, i]
        if k == FREE:
            continue
        if worst[k] == i:
            value = policy.state[t + 1, i] if i < n else policy.control[t, i - n]
            new = -1 if value < problem.lower[t, i] else 1
        elif side != 0:
            # How the cost would change if the control went on outwards.
            slope = policy.gradient[t, k]
            for j in range(m):
                slope += policy.hessian[t, k, j] * policy.control[t, j]
            for j in range(n):
                slope += policy.cross[t, k, j] * policy.state[t, j]
            inwards = side * slope > TOLERANCE * policy.hessian[t, k, k]
            new = 0 if inwards or worst[k] != FREE else side
        else:
            continue
        if new != side:
            wrong += 1
            if change:
                policy.side[t, i] = new
    return wrong


@kernel
def take_over(bounds: BoundList, first: int, policy: Policy) -> None:
    """Start from the bounds that are active at another method's solution.

    Args:
        bounds: All bounds with their slacks and multipliers there.
        first: The first bound to look at.
        policy: Its ``side`` is changed.
    """
    for k in range(first, bounds.limit.shape[0]):
        policy.side[bounds.stage[k], bounds.component[k]] = 0
    for k in range(first, bounds.limit.shape[0]):
        i = bounds.component[k]
        held = policy.owner[i] != FREE or bounds.softness[k] > 0.0
        if held and bounds.dual[k] > bounds.slack[k]:
            policy.side[bounds.stage[k], i] = -bounds.sign[k]
