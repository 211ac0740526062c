"""The bounds of a tracking problem as one flat list, sorted by stage."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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
