"""Steps that mind what is near: hulls touch by hundreds of pairs of shapes, of which few matter.

A step is solved with the inequalities of the near pairs alone. If it keeps those of the others,
too, it is the step of all of them; if not, it is solved again with all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from contact_core.base.kernel import kernel
from irs_planner.quasi_dynamic.contact_step import (
    ContactRows,
    PairCones,
    SpringModel,
    StepMemory,
    allocate_rows,
    allocate_step,
    polyhedral_rows,
    set_bound,
    solve_step,
)

REACH = 0.03
"""What is nearer than this is near [m]; few steps lead to what is not."""
FEW = 192
"""So many inequalities are all minded: to look at the others afterwards would take longer."""


class NearMemory(NamedTuple):
    """What one thread needs for a step that minds some of m inequalities; contents are scratch.

    Attributes:
        rows: The inequalities.
        share: (m) what belongs to them of an array of all.
        step: The step.
    """

    rows: ContactRows
    share: np.ndarray
    step: StepMemory


@kernel
def allocate_near(cones: PairCones) -> NearMemory:
    """Allocate the memory of a step that may have to mind all edges of the cones at K states."""
    rays, size = cones.friction.shape[0] * cones.edges.shape[0], cones.normal.shape[2]
    return NearMemory(allocate_rows(rays, size), np.empty(rays), allocate_step(size, rays))


@kernel
def choose_near(cones: PairCones, reach: float, memory: NearMemory) -> NearMemory:
    """Write the inequalities of what is nearer than ``reach`` [m]; return the memory for those."""
    rows, step = memory.rows, memory.step
    count = polyhedral_rows(cones, reach, rows)
    return NearMemory(
        ContactRows(
            rows.ray[:count],
            rows.negated[:count],
            rows.normal[:count],
            rows.gap[:count],
            rows.number[:count],
        ),
        memory.share[:count],
        StepMemory(
            step.bound[:count],
            step.gradient,
            step.velocity,
            step.multipliers[: count + 2 * step.velocity.shape[0]],
            step.lower,
            step.upper,
            step.solver,
            step.active,
            step.projected,
            step.gain,
            step.delassus,
        ),
    )


@kernel
def _keeps(
    cones: PairCones, reach: float, velocity: np.ndarray, time_step: float, margin: float
) -> bool:
    """Return whether a velocity (n) keeps what is not nearer than ``reach`` a margin [m] apart."""
    for i in range(cones.gap.shape[0]):
        if not cones.gap[i] >= reach:
            continue
        closing, sliding = 0.0, 0.0
        for k in range(velocity.shape[0]):
            closing -= cones.normal[i, k] * velocity[k]
        for t in range(cones.tangent.shape[1]):
            rate = 0.0
            for k in range(velocity.shape[0]):
                rate += cones.tangent[i, t, k] * velocity[k]
            sliding += rate * rate
        most = closing + cones.friction[i] * math.sqrt(sliding)
        if not most * time_step < cones.gap[i] - margin:
            return False
    return True


@kernel
def solve_near(
    model: SpringModel,
    cones: PairCones,
    state: np.ndarray,
    command: np.ndarray,
    margin: float,
    memory: NearMemory,
    next_state: np.ndarray,
) -> tuple[bool, NearMemory]:
    """Advance by one step, as :func:`irs_planner.quasi_dynamic.contact_step.solve_step` does.

    Args:
        model: Q, b, h.
        cones: The pairs of shapes at ``state``.
        state: (n) q.
        command: (n_a) u.
        margin: Distance that the solution has to keep [m].
        memory: For all inequalities.
        next_state: (n) output: q+, NaN if the QP has no solution.

    Returns:
        (True on success, the memory of the step with the inequalities that were minded).
    """
    few = memory.rows.gap.shape[0] <= FEW
    h, near = model.time_step, choose_near(cones, np.inf if few else REACH, memory)
    set_bound(near.rows, near.step, h, margin)
    solved = solve_step(model, near.rows, state, command, near.step, next_state)
    all_minded = near.rows.gap.shape[0] == memory.rows.gap.shape[0]
    if not solved or all_minded or _keeps(cones, REACH, near.step.velocity, h, margin):
        return solved, near
    near = choose_near(cones, np.inf, memory)
    set_bound(near.rows, near.step, h, margin)
    return solve_step(model, near.rows, state, command, near.step, next_state), near
