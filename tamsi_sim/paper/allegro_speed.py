"""tamsi Sec. VI-B: what it costs to turn the mug, by TAMSI and error-controlled implicit Euler."""

from __future__ import annotations

from tamsi_sim.integrators.config import IntegratorConfig
from tamsi_sim.paper.integrator_speed import TAMSI

DURATION = 15.0  # [s]
INTEGRATORS = (TAMSI, "ie_qn_ec", "ie_qn_ec_tals")
LOOSE = IntegratorConfig(accuracy=0.01)
"""The accuracy of the paper's fastest set-up of implicit Euler."""
