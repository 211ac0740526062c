"""Settings with which the engine's step is Drake's kTamsi step."""

from __future__ import annotations

from contact_core.robot.scene_config import SolverConfig

# Drake's friction law, its soft norm of the slip speed, where its line search lands, and its
# gyroscopic terms.
PARITY = SolverConfig(
    friction_law="quadratic", soft_norm=0.01, landing=0.5, gyroscopic_terms="explicit"
)
