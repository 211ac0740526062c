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
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from contact_aware_control.config import ControllerConfig, ForceConfig
from contact_aware_control.controllers.contact_selection import ContactSet, ForceMemory
from contact_core.base.kernel import kernel
from contact_core.base.low_pass import followed_share
from contact_core.robot.robot import Robot

LEAD = 2.0
"""How far the model may be ahead of the measured force, which lags, in force limits: the springs
carry what accelerates and damps the arm, too."""

BIAS_TIME = 0.1
"""Time constant of the correction of the predicted force by the measured one [s]."""

MOTION_TIME = 0.03
"""Time constant of the velocity with which what is touched moves [s]."""

ENVIRONMENT_COMPLIANCE = 1e-6
"""Compliance of the environment, added to the diagonal of G so that it stays regular [m/N]."""

MAX_EXCESS = 10.0
"""So many force limits a force may change by, or differ from its model."""


class QuasistaticModel(NamedTuple):
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


class JointDamping:
    """The damping of the joint springs, D = 2 ratio sqrt(K m_ii) of (2)."""

    def __init__(self, robot: Robot, config: ControllerConfig) -> None:
        """Take the springs.

        Args:
            robot: The arm.
            config: Has their stiffness and damping ratio.
        """
        self._model, self._data = robot.model, robot.model.createData()
        self._stiffness = robot.stiffness
        self._ratio = robot.damping_ratio

    def time(self, q: np.ndarray) -> np.ndarray:
        """Return T = D / K (n) [s].

        Args:
            q: (n) configuration [rad].
        """
        inertia = pin.crba(self._model, self._data, q).diagonal()
        times: np.ndarray = 2.0 * self._ratio * np.sqrt(inertia / self._stiffness)
        return times


class ForcePrediction:
    """lam_hat = A (q - q_cmd) + A T qd + b, with the velocity of what is touched as a state.

    What is touched moves by J dq + c dlam: with the arm, and by what the touched surfaces of
    compliance c give way. Times G^-1 that is a rate r of force, low-passed: so fast the force
    grows if the command stands still. The damping of the joint springs, K T qd of (2), resists an
    arm that follows with r: T_c r, where T_c is the mean of T over the joints, by how much the
    contact moves them.

    b is the low-passed rest of the measured force. Measured forces lag; so it is compared with
    a model that lags, too.

    An estimator that has not found the place of a contact yet may report any force: then
    nothing is corrected, and the larger of model and measurement counts. Where nobody reports any
    force, the model counts: what was measured once is gone when the arm has given way. A difference
    of more than MAX_EXCESS force limits counts as that many.
    """

    def __init__(self, config: ForceConfig, period: float, damping: JointDamping) -> None:
        """Set the low-passes.

        Args:
            config: Has the lag of measured forces and the compliance of what is touched.
            period: Time between ticks [s].
            damping: Of the joint springs.
        """
        self._gain = followed_share(period, BIAS_TIME)
        self._rate_gain = followed_share(period, MOTION_TIME)
        self._lag_gain = followed_share(period, config.lag)
        self._compliance = config.surface_compliance
        self._period = period
        self._damping = damping

    def predict(
        self,
        model: QuasistaticModel,
        contacts: ContactSet,
        q: np.ndarray,
        command: np.ndarray,
        blind: bool,
    ) -> tuple[np.ndarray, ContactSet]:
        """Predict the forces under the present command.

        Args:
            model: The quasistatic model at the contacts.
            contacts: The contacts, with what is known of their forces since the last tick.
            q: (n) measured configuration [rad].
            command: (n) present command, without what the springs carry beside contacts [rad].
            blind: Whether nothing has been measured.

        Returns:
            (lam_hat (nc) [N], the contacts with what is known now; what was not measured is what
            is predicted).
        """
        if not contacts.active:
            return np.zeros(0), contacts._replace(position=q)
        predicted = model.force(q, command)
        before = q if contacts.position is None else contacts.position
        moved = model.force_map @ (q - before)
        slowness, stiffness = _springs(
            model.force_map, model.deflection, model.compliance, self._damping.time(q)
        )
        memories: list[ForceMemory] = []
        rows = zip(
            contacts.active,
            contacts.memories,
            moved.tolist(),
            predicted.tolist(),
            slowness.tolist(),
            (self._compliance * stiffness).tolist(),
            strict=True,
        )
        for i, (contact, memory, change, modelled, slow, soft) in enumerate(rows):
            bias, rate, lagging, last = memory
            measured, trusted = contact.force, contact.trusted
            largest = MAX_EXCESS * contact.limit
            if trusted and last == last:
                change += soft * min(max(measured - last, -largest), largest)
            rate += self._rate_gain * (change / self._period - rate)
            modelled += slow * rate
            if lagging != lagging:
                lagging = modelled
            lagging += self._lag_gain * (modelled - lagging)
            if trusted:
                difference = measured - lagging - bias
                bias += self._gain * min(max(difference, -largest), largest)
                predicted[i] = min(modelled + bias, measured + LEAD * contact.limit)
            elif blind:
                predicted[i], measured = max(modelled + bias, 0.0), math.nan
            else:
                predicted[i] = max(modelled + bias, measured)
            memories.append(ForceMemory(bias, rate, lagging, measured))
        if blind:
            forces = zip(contacts.active, predicted.tolist(), strict=True)
            contacts = contacts._replace(active=tuple(c._replace(force=f) for c, f in forces))
        return predicted, contacts._replace(memories=tuple(memories), position=q)


@kernel
def _springs(
    force_map: np.ndarray, deflection: np.ndarray, compliance: np.ndarray, time: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return T_c [s] and 1 / G_cc [N/m] of every contact, each (nc)."""
    contacts, n = force_map.shape
    slowness, stiffness = np.zeros(contacts), np.empty(contacts)
    for c in range(contacts):
        stiffness[c] = 1.0 / compliance[c, c]
        for i in range(n):
            slowness[c] += force_map[c, i] * time[i] * deflection[i, c]
    return slowness, stiffness


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
