"""tamsi Sec. VI-B: what it costs to turn the mug, by TAMSI and error-controlled implicit Euler."""

from __future__ import annotations

from contact_experiments.tamsi.integrators.config import IntegratorConfig
from contact_experiments.tamsi.paper.integrator_speed import TAMSI

DURATION = 15.0  # [s]
STEPS = (7e-4, 2e-3, 5e-3)
"""Step h of TAMSI, and the longest that implicit Euler may choose [s]; the first is the paper's."""
INTEGRATORS = (TAMSI, "ie_qn_ec", "ie_qn_ec_tals")
LOOSE = IntegratorConfig(accuracy=0.01)
"""The accuracy of the paper's fastest set-up of implicit Euler."""
