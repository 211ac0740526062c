"""tamsi Fig. 4: Newton's residuals at the box's first transition from sliding to stiction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contact_experiments.tamsi.integrators.config import IntegratorConfig
from contact_experiments.tamsi.integrators.registry import make_integrator
from contact_experiments.tamsi.paper.stick_slip_box import StickSlipBox

ITERATIONS = 10
# So that an iteration that cycles is shown, not given up.
PATIENT = IntegratorConfig(max_iterations=ITERATIONS, max_rate=1e3, min_step=1e-2)


@dataclass(frozen=True)
class ResidualHistory:
    """Newton's method in one step.

    Attributes:
        time: Start of the step [s].
        residuals: |r| of each iteration [Ns].
        converged: Whether the step succeeded.
    """

    time: float
    residuals: np.ndarray
    converged: bool


def residual_history(integrator: str, case: StickSlipBox | None = None) -> ResidualHistory:
    """Step up to the first transition into stiction, and record Newton's residuals there.

    Args:
        integrator: Name of an implicit Euler.
        case: The box, by default with the paper's step of 10 ms.

    Returns:
        The history of the step that starts in sliding and ends, or fails to end, in stiction.
    """
    case = case or StickSlipBox()
    engine = case.engine()
    moved = make_integrator(integrator, engine, case.excitation(), PATIENT)
    stiction = case.solver.stiction_velocity
    while True:
        time, slip = moved.time, abs(float(engine.v[0]))
        converged = moved.step() == 0
        if not converged or (slip > stiction and abs(engine.v[0]) < stiction):
            return ResidualHistory(time, moved.residuals, converged)
