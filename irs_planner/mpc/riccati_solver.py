"""MPC by one Riccati pass where no bound is active, by interior point elsewhere."""

from __future__ import annotations

import numpy as np

from contact_core.kernel import kernel
from contact_core.quadratic_program import QuadraticProgramStatus
from irs_planner.mpc.interior_point import (
    OPTIMAL,
    BoundList,
    list_bounds,
    solve_interior_point,
    violates_bounds,
)
from irs_planner.mpc.riccati import (
    StageMemory,
    allocate_stages,
    factor_stages,
    newton_step,
    roll_out,
)
from irs_planner.mpc.tracking_problem import MpcSolution, MpcSolver, TrackingProblem


class RiccatiSolver(MpcSolver):
    """One backward pass yields a policy that serves every start; it stands if no bound is hit."""

    def __init__(self) -> None:
        """Create the solver; memory is allocated by :meth:`prepare`."""
        self._problem: TrackingProblem | None = None
        self._policy: StageMemory | None = None
        self._memory: StageMemory | None = None
        self._bounds: BoundList | None = None

    def prepare(self, problem: TrackingProblem) -> QuadraticProgramStatus:
        """Compute the policy without bounds, see :meth:`MpcSolver.prepare`."""
        self._problem = problem
        self._policy = allocate_stages(*problem.control.shape)
        self._memory = allocate_stages(*problem.control.shape)
        self._bounds = list_bounds(problem)
        convex = _compute_policy(problem, self._policy)
        return QuadraticProgramStatus.OPTIMAL if convex else QuadraticProgramStatus.NOT_CONVEX

    def solve(self, start: int, state: np.ndarray) -> MpcSolution:
        """Solve from one stage to the end, see :meth:`MpcSolver.solve`."""
        assert self._problem is not None and self._policy is not None
        assert self._memory is not None and self._bounds is not None
        status, iterations = _solve(
            self._problem, self._bounds, self._policy, start, state, self._memory
        )
        return MpcSolution(
            QuadraticProgramStatus(status), self._memory.control[start:].copy(), iterations
        )


@kernel
def _compute_policy(problem: TrackingProblem, policy: StageMemory) -> bool:
    """Compute gains around the motion without controls; they are exact for every start."""
    if not factor_stages(problem, 0, policy):
        return False
    roll_out(problem, 0, policy)
    newton_step(problem, 0, False, policy)
    return True


@kernel
def _solve(
    problem: TrackingProblem,
    bounds: BoundList,
    policy: StageMemory,
    start: int,
    state: np.ndarray,
    memory: StageMemory,
) -> tuple[int, int]:
    horizon, n, m = problem.control.shape
    for i in range(n):
        memory.state[start, i] = state[i]
    for t in range(start, horizon):
        for i in range(m):
            total = -policy.feedforward[t, i]
            for k in range(n):
                total -= policy.gain[t, i, k] * (memory.state[t, k] - policy.state[t, k])
            memory.control[t, i] = total
        for i in range(n):
            total = problem.offset[t, i]
            for k in range(n):
                total += problem.transition[t, i, k] * memory.state[t, k]
            for k in range(m):
                total += problem.control[t, i, k] * memory.control[t, k]
            memory.state[t + 1, i] = total
    if not violates_bounds(bounds, start, memory):
        return OPTIMAL, 0
    # Controls within their bounds are a better first guess than the policy's.
    for t in range(start, horizon):
        for i in range(m):
            low, high = problem.lower[t, n + i], problem.upper[t, n + i]
            memory.control[t, i] = min(max(memory.control[t, i], low), high)
    return solve_interior_point(problem, bounds, start, memory)
