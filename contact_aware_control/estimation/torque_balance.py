"""What contacts have to explain: the external torque less payload and model errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from contact_aware_control.estimation.calibration import Calibration
from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.tare import Payload, Tare, TareStatus
from contact_aware_control.estimation.torque_errors import TorqueErrors
from contact_core.multibody.collision.shapes import PlacedShape
from contact_core.robot.robot import Robot

MAX_PERIOD = 0.1
"""A longer time [s] between samples is taken as this long by filters and tare."""

MEAN_SHARE = 0.1
"""Variance of a tare's mean over that of a sample."""


class FreeTorque(NamedTuple):
    """A torque that is zero, but for its uncertainty, while nothing touches the arm.

    Attributes:
        period: Time since the sample before [s].
        torque: (n) [Nm].
        covariance: (n, n) of what is not contact in it [Nm^2].
        noise: (n) standard deviation of the white part of that [Nm].
    """

    period: float
    torque: np.ndarray
    covariance: np.ndarray
    noise: np.ndarray


class TorqueBalance:
    """Takes payload and errors from tau_ext; learns the errors while nothing touches the arm.

    Attributes:
        bias: (n) what was taken for an error in the last sample [Nm].
        rejected: Number of samples that were refused.
        calibrated: Whether the arm's errors are known from a calibration.
        found_load: (4) mass [kg] and first moment [kg m], in the last joint's frame, of what was
            found to hang on the arm beside the declared payload.
    """

    def __init__(self, robot: Robot, config: EstimatorConfig, calibration: Calibration) -> None:
        """Start a tare.

        Args:
            robot: The arm; it is updated with every sample.
            config: Every parameter.
            calibration: What is known of the arm's errors.
        """
        self._robot = robot
        self._errors = TorqueErrors(robot, config.errors, config.tare.expected_bias, calibration)
        self._tare = Tare(robot.torque_noise, config.tare, config.noise)
        self._payload = Payload(robot)
        self._significant = config.detection.threshold
        self._reference = self._contact = np.zeros(robot.n)
        self._last_ns: int | None = None
        self._now = FreeTorque(
            0.0, np.zeros(robot.n), np.zeros((robot.n, robot.n)), self._tare.noise
        )
        self.bias = np.zeros(robot.n)
        self.rejected = 0
        self.found_load = np.zeros(4)
        self.calibrated = calibration.of_this_arm

    @property
    def load_matrix(self) -> np.ndarray:
        """(n, 4) torque per mass and first moment on the last link, at the last sample."""
        return self._errors.load_matrix

    def take_load(self, load: np.ndarray, covariance: np.ndarray) -> None:
        """Count a load among what is known, see :meth:`TorqueErrors.take_load`."""
        self._errors.take_load(load, covariance)
        self.found_load = self.found_load + load

    @property
    def known_load(self) -> np.ndarray:
        """(4) what counts as hanging on the arm: mass [kg], first moment [kg m]."""
        known: np.ndarray = self._payload.counted + self.found_load
        return known

    @property
    def undeclared_mass(self) -> float:
        """What counts beside the declared payload [kg]; negative: less hangs there."""
        return float(self.known_load[0] - self._payload.declared[0])

    @property
    def held(self) -> tuple[PlacedShape, ...]:
        """The shapes of what was held at the last sample, tool frame."""
        return self._payload.shapes

    @property
    def tare_status(self) -> TareStatus:
        """What the tare is doing."""
        return self._tare.status

    @property
    def measured(self) -> bool:
        """Whether there has been a tare."""
        return self._tare.measured

    def tare(self) -> None:
        """Measure the bias anew; the old one is kept meanwhile."""
        self._tare.start()

    def set_payload(
        self,
        mass: float,
        center_of_mass: np.ndarray,
        start_ns: int,
        shapes: Sequence[PlacedShape] = (),
    ) -> None:
        """Tell what the robot holds from a time on, see :meth:`Payload.set`."""
        self._payload.set(mass, center_of_mass, start_ns, shapes)

    def update(
        self, stamp_ns: int, q: np.ndarray, external_torque: np.ndarray
    ) -> FreeTorque | None:
        """Take in a sample.

        Args:
            stamp_ns: Its time [ns].
            q: (n) joint positions [rad].
            external_torque: (n) as measured [Nm].

        Returns:
            What contacts have to explain; None if the sample is refused: it is not finite, of
            another size or not newer than the one before.
        """
        q, external_torque = np.asarray(q, dtype=float), np.asarray(external_torque, dtype=float)
        period = self._advance(stamp_ns) if self._is_sound(q, external_torque) else None
        if period is None:
            self.rejected += 1
            return None
        self._robot.update(q)
        self.bias, covariance = self._errors.expect(q, period)
        covariance = covariance + np.diag(self._tare.noise**2)
        if self._payload.advance(stamp_ns):
            self._reference = self._contact
        if self._payload.pending:
            torque = external_torque - self.bias - self.load_matrix @ self._payload.counted
            if self._tare.running:
                # It may have hung there from the start, and have been taken for a bias.
                self._errors.forget_bias()
                self._payload.count(stamp_ns)
            elif self._shows_declared(torque - self._reference, covariance):
                self._payload.count(stamp_ns)
        payload, deviation = self._payload.torque(stamp_ns, self.load_matrix)
        covariance = covariance + np.diag(deviation**2)
        torque = external_torque - payload - self.bias
        self._now = FreeTorque(period, torque, covariance, self._tare.noise)
        return self._now

    def _shows_declared(self, change: np.ndarray, covariance: np.ndarray) -> bool:
        """Tell whether a torque has changed as the declared payload changes it, by half at least.

        What is too little to be seen is believed.
        """
        expected = self.load_matrix @ (self._payload.declared - self.known_load)
        weighted = np.linalg.solve(covariance, expected)
        significance = float(expected @ weighted)
        if significance < self._significant:
            return True
        return float(change @ weighted) > 0.5 * significance

    def learn(self, *, touched: bool, free: bool, contact: np.ndarray | None = None) -> None:
        """Learn from the last sample.

        Args:
            touched: Whether a contact is followed.
            free: Whether the sample is certainly of free space.
            contact: (n) torque that is certainly of contacts [Nm]; None: none is.
        """
        self._contact = np.zeros(self._robot.n) if contact is None else contact
        if not touched:
            self._reference = self._contact
        period, torque = self._now.period, self._now.torque
        if self._tare.running:
            mean = self._tare.update(torque, touched, period)
            if mean is not None:
                self._errors.forget_bias()
                self._errors.condition(mean, MEAN_SHARE * self._tare.noise**2)
        elif free and not touched:
            self._errors.learn(torque, self._tare.noise, period)

    def _is_sound(self, q: np.ndarray, torque: np.ndarray) -> bool:
        n = self._robot.n
        if q.shape != (n,) or torque.shape != (n,):
            return False
        return bool(np.isfinite(q).all() and np.isfinite(torque).all())

    def _advance(self, stamp_ns: int) -> float | None:
        """Return the time since the last stamp [s], None if it does not come after that.

        It is compared with the one before, right or not: a single stamp from the future must not
        make all later ones too old.
        """
        before, self._last_ns = self._last_ns, stamp_ns
        if before is None:
            return 0.0
        return min(1e-9 * (stamp_ns - before), MAX_PERIOD) if stamp_ns > before else None
