"""The QP (22) for frictionless contacts, in condensed form.

It minimises the error of the predicted equilibrium itself. With q+ = q + N (q_cmd+ - q),
(9b), and x = q_cmd+ - q_cmd, the equilibrium moves by N x:

    minimise    |q_eq + N x - q_ref+|^2_W + eps |x|^2               (22a)

under the constraints of (24). What x does along the contacts' normals shows in the forces
alone; (22a) has no opinion on it but eps, which is why (24a) is the better objective
where there is friction (contact_aware_control Sec. V-B1).
"""

from __future__ import annotations

import numpy as np

from contact_aware_control.controllers.base import ControllerInput
from contact_aware_control.controllers.contact_jacobian import ContactConstraint
from contact_aware_control.controllers.qp_controller import QpController
from contact_aware_control.controllers.quasistatic import QuasistaticModel


class FrictionlessQpController(QpController):
    """Follows a reference with its equilibrium while it bounds every contact force."""

    def _damping_weight(self, contacts: list[ContactConstraint], blind: bool) -> float:
        """Return the weight of |x|^2 beside eps: (22a) has none, unless contacts are old."""
        return self._config.safety.blind_weight if blind else 0.0

    def _objective(
        self, model: QuasistaticModel, inputs: ControllerInput, weight: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return H and g of (22a); the weights eps and w are relative to trace(H)/n."""
        assert self._task is not None
        equilibrium = model.equilibrium(inputs.position, inputs.command)
        hessian, gradient = self._task.objective(equilibrium, inputs.time)
        scale = np.trace(hessian) / self._robot.n
        damping = scale * (self._config.tracking.regularization + weight)
        if model.contacts:
            projector = model.null_space()
            hessian = projector.T @ hessian @ projector
            gradient = projector.T @ gradient
        return hessian + damping * self._identity, gradient
