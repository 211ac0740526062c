"""Prediction of the contact forces from positions, corrected by slow measurements.

The measured force lags behind (estimator, low-pass of the torque sensor); feeding it back
directly makes the robot chatter. The quasistatic model knows the force from the positions
alone, at once, but is off by friction and calibration. So the model predicts, and the
low-passed difference to the measurement corrects it. An estimator that has not found the
place of a contact yet may report any force: then nothing is corrected, and the larger of
model and measurement counts. A difference beyond the force limit counts as one of the
limit's size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from contact_aware_control.controllers.contact_jacobian import ContactConstraint
from contact_aware_control.controllers.quasistatic import QuasistaticModel


class ForcePrediction:
    """Keeps lam_hat = A (q - q_cmd) + b, b = low-pass of lam_measured - A (q - q_cmd)."""

    def __init__(self, time_constant: float, period: float) -> None:
        """Set the low-pass.

        Args:
            time_constant: Of b [s].
            period: Time between updates [s].
        """
        self._gain = 1.0 - math.exp(-period / time_constant)

    def update(
        self,
        model: QuasistaticModel,
        contacts: Sequence[ContactConstraint],
        q: np.ndarray,
        command: np.ndarray,
    ) -> np.ndarray:
        """Predict the forces under the present command.

        Args:
            model: The quasistatic model at the contacts.
            contacts: The contacts; their biases are updated.
            q: (n) measured configuration [rad].
            command: (n) present command [rad].

        Returns:
            lam_hat (nc) [N].
        """
        modelled = model.force(q, command)
        predicted = np.empty(len(contacts))
        for i, contact in enumerate(contacts):
            if contact.trusted:
                difference = contact.force - modelled[i] - contact.bias
                contact.bias += self._gain * min(max(difference, -contact.limit), contact.limit)
            predicted[i] = modelled[i] + contact.bias
            if not contact.trusted:
                predicted[i] = max(predicted[i], contact.force)
        return predicted
