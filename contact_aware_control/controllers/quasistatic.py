"""Quasistatic dynamics of a stiffness-controlled arm in contact.

The arm is a set of joint springs K between command and position. Contacts are points
that cannot move along the direction of their force (bilateral, frictionless). From the
configuration q and the next command q_cmd+ the model predicts the next equilibrium and
its contact forces: contact_aware_control (5)-(9).

The measured force lags behind (estimator, low-pass of the torque sensor); feeding it back
directly makes the robot chatter. The model knows the force from the positions alone, at
once, but is off by friction and calibration. So the model predicts, and the low-passed
difference to the measurement corrects it: :class:`ForcePrediction`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from contact_aware_control.controllers.contact_jacobian import ContactSet
from contact_core.kernel import kernel


@dataclass(frozen=True, slots=True)
class QuasistaticModel:
    """The model at one set of contacts; nc contacts, n joints.

    Attributes:
        jacobian: J (nc, n) rows u_i^T J_Ci [m/rad], (4c).
        compliance: G = J K^-1 J^T (nc, nc) [m/N]: how far the springs give way.
        force_map: A = G^-1 J (nc, n) [N/rad].
        deflection: K^-1 J^T (n, nc) [rad/N]: joint motion per contact force.
    """

    jacobian: np.ndarray
    compliance: np.ndarray
    force_map: np.ndarray
    deflection: np.ndarray

    @classmethod
    def at(
        cls, stiffness: np.ndarray, jacobian: np.ndarray, environment_compliance: float = 0.0
    ) -> QuasistaticModel:
        """Build the model.

        Args:
            stiffness: (n) diagonal of K [Nm/rad].
            jacobian: J (nc, n) [m/rad], of full row rank unless the environment gives way.
            environment_compliance: Added to the diagonal of G [m/N]: 1 / the stiffness
                of the environment, which also keeps G regular.

        Returns:
            The model.
        """
        contacts, n = jacobian.shape
        compliance = np.empty((contacts, contacts))
        force_map = np.empty((contacts, n))
        deflection = np.empty((n, contacts))
        if contacts:
            _assemble(
                stiffness, jacobian, environment_compliance, compliance, force_map, deflection
            )
        return cls(jacobian, compliance, force_map, deflection)

    @property
    def contacts(self) -> int:
        """The number nc of contacts."""
        return len(self.jacobian)

    def force(self, q: np.ndarray, command: np.ndarray) -> np.ndarray:
        """Predict the contact forces lam+ = A (q - q_cmd+), (9a).

        Args:
            q: (n) configuration [rad].
            command: (n) next command q_cmd+ [rad].

        Returns:
            (nc) [N], positive when the environment pushes.
        """
        force: np.ndarray = self.force_map @ (q - command)
        return force

    def equilibrium(self, q: np.ndarray, command: np.ndarray) -> np.ndarray:
        """Predict the configuration q+ = q + N (q_cmd+ - q), (9b).

        Args:
            q: (n) configuration [rad].
            command: (n) next command q_cmd+ [rad].

        Returns:
            (n) [rad]; equal to the command where there is no contact.
        """
        equilibrium: np.ndarray = command + self.deflection @ self.force(q, command)
        return equilibrium

    def null_space(self) -> np.ndarray:
        """Return N = I - K^-1 J^T A (n, n): the part of a motion no contact resists."""
        projector: np.ndarray = np.eye(len(self.deflection)) - self.deflection @ self.force_map
        return projector


class ForcePrediction:
    """lam_hat = A (q - q_cmd) + b, b = low-pass of lam_measured - A (q - q_cmd).

    An estimator that has not found the place of a contact yet may report any force: then
    nothing is corrected, and the larger of model and measurement counts. A difference beyond
    the force limit counts as one of the limit's size.
    """

    def __init__(self, time_constant: float, period: float) -> None:
        """Set the low-pass.

        Args:
            time_constant: Of b [s].
            period: Time between ticks [s].
        """
        self._gain = 1.0 - math.exp(-period / time_constant)

    def predict(
        self,
        model: QuasistaticModel,
        contacts: ContactSet,
        q: np.ndarray,
        command: np.ndarray,
    ) -> tuple[np.ndarray, tuple[float, ...]]:
        """Predict the forces under the present command.

        Args:
            model: The quasistatic model at the contacts.
            contacts: The contacts, with their biases b of the last tick.
            q: (n) measured configuration [rad].
            command: (n) present command [rad].

        Returns:
            (lam_hat (nc) [N], b of each contact now [N]).
        """
        predicted = model.force(q, command)
        biases = list(contacts.biases)
        for i, contact in enumerate(contacts.active):
            modelled = float(predicted[i])
            if contact.trusted:
                difference = contact.force - modelled - biases[i]
                biases[i] += self._gain * min(max(difference, -contact.limit), contact.limit)
                predicted[i] = modelled + biases[i]
            else:
                predicted[i] = max(modelled + biases[i], contact.force)
        return predicted, tuple(biases)


@kernel
def _assemble(
    stiffness: np.ndarray,
    jacobian: np.ndarray,
    environment_compliance: float,
    compliance: np.ndarray,
    force_map: np.ndarray,
    deflection: np.ndarray,
) -> None:
    """Fill G, A and K^-1 J^T; A by Cholesky factorisation of G."""
    contacts, n = jacobian.shape
    for i in range(contacts):
        for k in range(n):
            deflection[k, i] = jacobian[i, k] / stiffness[k]
    for i in range(contacts):
        for j in range(contacts):
            total = environment_compliance if i == j else 0.0
            for k in range(n):
                total += jacobian[i, k] * deflection[k, j]
            compliance[i, j] = total
    factor = np.empty((contacts, contacts))
    for i in range(contacts):
        for j in range(i + 1):
            total = compliance[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            factor[i, j] = np.sqrt(total) if i == j else total / factor[j, j]
    for column in range(n):
        for i in range(contacts):
            total = jacobian[i, column]
            for k in range(i):
                total -= factor[i, k] * force_map[k, column]
            force_map[i, column] = total / factor[i, i]
        for i in range(contacts - 1, -1, -1):
            total = force_map[i, column]
            for k in range(i + 1, contacts):
                total -= factor[k, i] * force_map[k, column]
            force_map[i, column] = total / factor[i, i]
