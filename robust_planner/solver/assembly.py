"""Chains the stages of a program into one sparse program."""

from __future__ import annotations

import casadi
import numpy as np

from robust_planner.program import StagedProgram


def assemble(program: StagedProgram) -> tuple[dict[str, casadi.MX], np.ndarray, np.ndarray]:
    """Write all knots as one vector, knot by knot.

    Args:
        program: The stages.

    Returns:
        Expressions ``x`` (N n), ``p``, ``f`` and ``g``, and the bounds of ``g``: first
        the defects, then the inequalities of the knots.
    """
    count, size = program.lower.shape
    w = casadi.MX.sym("w", size, count)
    p = casadi.MX.sym("p", 3)
    past, future = w[:, :-1], w[:, 1:]
    defects = program.defect.map(count - 1)(past, future, casadi.repmat(p, 1, count - 1))
    inequalities = program.knot.map(count - 1)(future, casadi.repmat(p, 1, count - 1))
    running = program.running_cost.map(count - 1)(past, casadi.repmat(p, 1, count - 1))
    contact = program.contact_cost.map(count - 1)(future, casadi.repmat(p, 1, count - 1))
    zeros = np.zeros(defects.numel())
    nlp = {
        "x": casadi.vec(w),
        "p": p,
        "f": casadi.sum2(running) + casadi.sum2(contact),
        "g": casadi.vertcat(casadi.vec(defects), casadi.vec(inequalities)),
    }
    lower = np.concatenate([zeros, np.tile(program.knot_lower, count - 1)])
    upper = np.concatenate([zeros, np.tile(program.knot_upper, count - 1)])
    return nlp, lower, upper
