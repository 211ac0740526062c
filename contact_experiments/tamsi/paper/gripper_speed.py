"""tamsi Fig. 7: what it costs to shake the parallel jaw gripper, by TAMSI and implicit Euler."""

from __future__ import annotations

from contact_experiments.tamsi.cases import ParallelGripper
from contact_experiments.tamsi.paper.integrator_speed import TAMSI

DURATION = 5.0  # [s]
INTEGRATORS = (TAMSI, "ie_fn_tals", "ie_fn")
GRIPPERS = {
    "soft": ParallelGripper(stiffness=1e3, dissipation=3.0),
    "stiff": ParallelGripper(stiffness=1e4, dissipation=10.0),
}
"""Soft pads touch at some 16 points, stiff ones at 4."""
