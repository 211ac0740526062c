"""What the integrators' kernels read (Options) and write (Memory)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Schemes.
IMPLICIT_EULER = 0
ONE_WAY = 1
TWO_WAY = 2

# Entries of Memory.counters.
EVALUATIONS = 0
JACOBIANS = 1
FACTORIZATIONS = 2
ITERATIONS = 3
STEPS = 4
RETRIES = 5
REJECTIONS = 6
LIMITED = 7
LANDINGS = 8
MISSED = 9
COUNTERS = 10

# Entries of Memory.clock.
TIME = 0
NEXT_STEP = 1
MIN_STEP = 2
MATRIX_STEP = 3
NORMAL_RATIO = 4
WARNED_SINCE = 5

# Entries of Memory.jacobian_state.
KNOWN = 0
FRESH = 1
# Pair and contact that TALS made land inside stiction, -1 if there is none.
LANDING_PAIR = 2
LANDING_CONTACT = 3


class Options(NamedTuple):
    """Scalars of an integrator.

    Attributes:
        scheme: IMPLICIT_EULER, ONE_WAY or TWO_WAY.
        full_newton: 1 for a Jacobian in every iteration, 0 to keep it while it serves.
        line_search: 1 to limit implicit Euler's Newton updates by TALS.
        error_control: 1 to choose steps by step doubling.
        accuracy: a, bound on the local error of the velocities [m/s and rad/s].
        newton_tolerance: Error that Newton's method may leave in them [m/s and rad/s].
        newton_drift: The same per length of the step [m/s^2 and rad/s^2].
        max_iterations: Newton iterations of one implicit Euler step.
        max_rate: Newton's method has diverged when an update is larger than the one before
            by more than this factor.
        min_step: A step is not halved below this [s].
    """

    scheme: int
    full_newton: int
    line_search: int
    error_control: int
    accuracy: float
    newton_tolerance: float
    newton_drift: float
    max_iterations: int
    max_rate: float
    min_step: float


class Memory(NamedTuple):
    """Clock, counters and scratch of one integrator.

    Attributes:
        clock: (6) see the names above.
        counters: (10) see the names above.
        jacobian_state: (4) see the names above.
        residuals: norms of the residuals of the last Newton solve, then NaN [Nms or Ns].
        q_start: (nq) state at the start of the step that is being tried.
        v_start: (nv)
        q: (nq) state at its end, Newton's iterate.
        v: (nv)
        q_safe: (nq) state to return to when step doubling fails.
        v_safe: (nv)
        v_whole: (nv) velocity after one whole step, to be compared with two halves.
        direction: (nv) of a perturbation of q, between perturbations zero.
        acceleration: (nv) (v - v_start) / h.
        imbalance: (nv) F - M a [Nm or N].
        by_v: (nv, nv) derivative of F - M a by the velocity.
        by_q: (nv, nv) by the motion of the configuration.
        matrix: (nv, nv) factors of Newton's matrix.
        pivots: (nv) its row exchanges.
        dissipation: (nm) d of the rules, which one-way coupling applies at the step's start.
        mode: (nv) estimate of the stiffest mode of the normal forces.
        mode_force: (nv) their force in this mode.
    """

    clock: np.ndarray
    counters: np.ndarray
    jacobian_state: np.ndarray
    residuals: np.ndarray
    q_start: np.ndarray
    v_start: np.ndarray
    q: np.ndarray
    v: np.ndarray
    q_safe: np.ndarray
    v_safe: np.ndarray
    v_whole: np.ndarray
    direction: np.ndarray
    acceleration: np.ndarray
    imbalance: np.ndarray
    by_v: np.ndarray
    by_q: np.ndarray
    matrix: np.ndarray
    pivots: np.ndarray
    dissipation: np.ndarray
    mode: np.ndarray
    mode_force: np.ndarray


def make_memory(nq: int, nv: int, dissipation: np.ndarray, iterations: int) -> Memory:
    """Allocate an integrator's memory.

    Args:
        nq: Number of positions.
        nv: Number of velocities.
        dissipation: (nm) d of the rules [s/m].
        iterations: Newton iterations of one step.

    Returns:
        The memory at time zero.
    """
    arrays = {name: np.zeros(nv) for name in Memory._fields}
    arrays |= {name: np.zeros(nq) for name in ("q_start", "q", "q_safe")}
    arrays |= {name: np.zeros((nv, nv)) for name in ("by_v", "by_q", "matrix")}
    arrays |= {
        "clock": np.array([0.0, np.inf, np.inf, 0.0, 0.0, np.inf]),
        "counters": np.zeros(COUNTERS, dtype=np.int64),
        "jacobian_state": np.array([0, 0, -1, -1]),
        "residuals": np.full(iterations, np.nan),
        "pivots": np.zeros(nv, dtype=np.int64),
        "dissipation": dissipation,
    }
    return Memory(**arrays)
