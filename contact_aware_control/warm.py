"""Compile the controller's kernels ahead of time, so that the first tick is not late."""

from __future__ import annotations

import numpy as np

from contact_aware_control.quasistatic import QuasistaticModel
from contact_aware_control.tracking import pose_tracking
from contact_stack.core.quadratic_program import DualActiveSetSolver, QuadraticProgram

JOINTS = 7


def compile_kernels() -> None:
    """Call every kernel once with the types of a real tick; results go to Numba's cache."""
    jacobian = np.ones((1, JOINTS))
    model = QuasistaticModel.at(np.ones(JOINTS), jacobian, 1e-6)
    problem = QuadraticProgram.from_arrays(
        np.eye(JOINTS),
        np.ones(JOINTS),
        -model.force_map,
        np.ones(1),
        -np.ones(JOINTS),
        np.ones(JOINTS),
    )
    DualActiveSetSolver().solve(problem)
    # Pinocchio's Jacobians come in Fortran order.
    tool_jacobian = np.ones((6, JOINTS), order="F")
    pose_tracking._quadratic(tool_jacobian, np.ones(6), np.ones(6), np.ones(JOINTS), 1e-3)
