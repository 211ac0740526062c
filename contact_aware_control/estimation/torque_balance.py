"""What contacts have to explain: the external torque less payload and model errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from contact_aware_control.estimation.calibration import Calibration
from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.joint_torque import is_believed
from contact_aware_control.estimation.measurement import diagonal
from contact_aware_control.estimation.tare import Tare, TareStatus
from contact_aware_control.estimation.torque_errors import TorqueErrors
from contact_core.base.errors import ConfigError, real_number
from contact_core.base.kernel import kernel
from contact_core.multibody.collision.shapes import PlacedShape
from contact_core.robot.arm_state import ArmState
from contact_core.robot.robot import Robot

MAX_PERIOD = 0.1
"""A longer time [s] between samples is taken as this long by filters and tare."""

HEAVIEST = 20.0
"""Largest mass of a payload that is believed [kg]."""

MAX_CENTER = 2.0
"""Farthest coordinate of its centre of mass that is believed [m]."""

MEAN_SHARE = 0.1
"""Variance of a tare's mean over that of a sample."""

TORQUE_TIME, MEAN_TIME = 0.01, 0.05
"""Time constants of the low-pass on the torque that detection and force use, and of a mean that
tells how much of it is no noise; jumps that noise does not explain pass unfiltered [s]."""

JUMP = 45.0
"""Squared whitened innovation that 7 joints of Gaussian noise exceed once in 1e7 samples."""

TRANSIENT_TIME = 0.1
"""Time constant with which trust returns after the payload has changed [s]."""


class CompensatedTorque(NamedTuple):
    """A torque that is zero, but for its uncertainty, while nothing touches the arm.

    Attributes:
        period: Time since the sample before [s].
        torque: (n) [Nm].
        covariance: (n, n) of what is not contact in it [Nm^2].
        noise: (n) standard deviation of the white part of that [Nm].
        smooth: (n) the torque, low-passed [Nm].
        mean: (n) the torque, low-passed more slowly, so that noise hides less [Nm].
        mean_share: Variance of white noise in the mean over that in a sample.
        load_matrix: (n, 4) torque per mass and first moment on the last link.
    """

    period: float
    torque: np.ndarray
    covariance: np.ndarray
    noise: np.ndarray
    smooth: np.ndarray
    mean: np.ndarray
    mean_share: float
    load_matrix: np.ndarray


class TorqueBalance:
    """Takes payload and errors from tau_ext; learns the errors while nothing touches the arm.

    Attributes:
        now: The last sample.
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
        self._smooth, self._mean = JumpingLowPass(TORQUE_TIME), JumpingLowPass(MEAN_TIME)
        self._last_ns: int | None = None
        nothing = self._nothing = np.zeros(robot.n)
        self._reference = self._contact = self.bias = nothing
        covariance = np.zeros((robot.n, robot.n))
        noise, matrix = self._tare.noise, np.zeros((robot.n, 4))
        self.now = CompensatedTorque(0.0, nothing, covariance, noise, nothing, nothing, 1.0, matrix)
        self.rejected = 0
        self.found_load = np.zeros(4)
        self.calibrated = calibration.of_this_arm

    def take_load(self, load: np.ndarray, covariance: np.ndarray) -> None:
        """Count a load among what is known, see :meth:`TorqueErrors.take_load`."""
        self._errors.take_load(load, covariance)
        self.found_load = self.found_load + load
        self._smooth.reset()
        self._mean.reset()

    @property
    def known_load(self) -> np.ndarray:
        """(4) what counts as hanging on the arm: mass [kg], first moment [kg m]."""
        known: np.ndarray = self._payload.counted + self.found_load
        return known

    @property
    def undeclared_mass(self) -> float:
        """What counts beside the declared payload [kg]; negative: less hangs there."""
        payload = self._payload
        return float(payload.counted[0] + self.found_load[0] - payload.declared[0])

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

    def memory(self) -> dict[str, np.ndarray]:
        """Return what another one can go on with, see :meth:`recall`; empty before a tare."""
        if not self._tare.measured:
            return {}
        mean, covariance = self._errors.state
        return {
            "mean": mean,
            "covariance": covariance,
            "noise": self._tare.noise,
            "counted": self._payload.counted,
            "found_load": self.found_load,
        }

    def recall(self, memory: Mapping[str, np.ndarray]) -> None:
        """Go on with what another one has learned, without a tare.

        Args:
            memory: Of :meth:`memory`.
        """
        self._errors.go_on(memory["mean"], memory["covariance"])
        self._tare.take(memory["noise"])
        self._payload.declared = self._payload.counted = memory["counted"]
        self.found_load = memory["found_load"]

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

    def update(self, state: ArmState) -> CompensatedTorque | None:
        """Take in a sample.

        Args:
            state: Its stamp, positions and external torque.

        Returns:
            What contacts have to explain; None if the sample is refused: it is not finite, of
            another size, absurdly large or not newer than the one before.
        """
        stamp_ns, q = state.stamp, np.asarray(state.position, dtype=float)
        external_torque = np.asarray(state.external_torque, dtype=float)
        is_sound = q.shape == self._nothing.shape and bool(np.isfinite(q).all())
        is_sound = is_sound and is_believed(external_torque, self._robot)
        period = self._advance(stamp_ns) if is_sound else None
        if period is None:
            self.rejected += 1
            return None
        self._robot.update(q)
        self.bias, covariance = self._errors.expect(q, period)
        variances, noise, matrix = diagonal(covariance), self._tare.noise, self._errors.load_matrix
        variances += noise**2
        if self._payload.advance(stamp_ns):
            self._reference = self._contact
        if self._payload.pending:
            torque = external_torque - self.bias - matrix @ self._payload.counted
            if self._tare.running:
                # It may have hung there from the start, and have been taken for a bias.
                self._errors.forget_bias()
                self._count_payload(stamp_ns)
            elif self._shows_declared(torque - self._reference, covariance, matrix):
                self._count_payload(stamp_ns)
        payload, deviation = self._payload.torque(stamp_ns, matrix)
        variances += deviation**2
        torque = external_torque - payload - self.bias
        total = np.sqrt(variances)
        smooth = self._smooth.update(torque, total, period)
        mean = self._mean.update(torque, total, period)
        share = self._mean.variance_share
        self.now = CompensatedTorque(period, torque, covariance, noise, smooth, mean, share, matrix)
        return self.now

    def _count_payload(self, stamp_ns: int) -> None:
        """Count what is declared, in place of all that was known to hang there before."""
        self._payload.count(stamp_ns)
        if self.found_load.any():
            self.bias = self.bias - self._errors.load_matrix @ self.found_load
            self.take_load(-self.found_load, np.zeros((4, 4)))

    def _shows_declared(
        self, change: np.ndarray, covariance: np.ndarray, matrix: np.ndarray
    ) -> bool:
        """Tell whether a torque has changed as the declared payload changes it, by half at least.

        What is too little to be seen is believed.
        """
        expected = matrix @ (self._payload.declared - self.known_load)
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
        self._contact = self._nothing if contact is None else contact
        if not touched:
            self._reference = self._contact
        period, torque = self.now.period, self.now.torque
        if self._tare.running:
            mean = self._tare.update(torque, touched, period)
            if mean is not None:
                self._errors.forget_bias()
                self._errors.condition(mean, MEAN_SHARE * self._tare.noise**2)
        elif free and not touched:
            self._errors.learn(torque, self._tare.noise, period)

    def _advance(self, stamp_ns: int) -> float | None:
        """Return the time since the last stamp [s], None if it does not come after that.

        It is compared with the one before, right or not: a single stamp from the future must not
        make all later ones too old.
        """
        before, self._last_ns = self._last_ns, stamp_ns
        if before is None:
            return 0.0
        return min(1e-9 * (stamp_ns - before), MAX_PERIOD) if stamp_ns > before else None


class Payload:
    """The payload over time: declared for given times, counted once the torque shows it.

    A payload may be declared before it is lifted, after it was dropped, or by mistake. Until the
    torque shows at least half of the change, the payload before it counts. When an object is
    dropped, its weight leaves the torque at a moment that is not known exactly, so for a short
    time after a change the change itself counts as uncertainty.

    Attributes:
        declared: (4) mass [kg] and first moment [kg m], in the last joint's frame, that were
            declared for now.
        counted: (4) the load that is taken from the torque.
        shapes: Of what was declared, tool frame.
    """

    def __init__(self, robot: Robot) -> None:
        """Start without payload.

        Args:
            robot: The arm.
        """
        self._robot = robot
        self.declared = self.counted = self._before = np.zeros(4)
        self._changed_at: int | None = None
        self._announced: list[tuple[int, np.ndarray, tuple[PlacedShape, ...]]] = []
        self.shapes: tuple[PlacedShape, ...] = ()

    @property
    def pending(self) -> bool:
        """Whether the declared payload does not count yet."""
        return self.counted is not self.declared

    def set(
        self,
        mass: float,
        center_of_mass: np.ndarray,
        start_ns: int,
        shapes: Sequence[PlacedShape] = (),
    ) -> None:
        """Declare a payload; later declarations replace announced ones that start later.

        Args:
            mass: [kg], 0 for none.
            center_of_mass: (3) tool frame [m].
            start_ns: Time from which on it is held [ns].
            shapes: Where it may be touched, tool frame.

        Raises:
            ConfigError: If mass or centre are no numbers, or beyond HEAVIEST and MAX_CENTER.
        """
        valid = f"0 to {HEAVIEST:g} kg"
        if real_number(mass, "mass", valid, above=-1e-9) > HEAVIEST:
            raise ConfigError(f"mass must be {valid}, got {mass!r}")
        center = np.asarray(center_of_mass, dtype=float)
        if center.shape != (3,) or not (np.abs(center) <= MAX_CENTER).all():
            raise ConfigError(
                f"center_of_mass is {center_of_mass} (valid: three numbers up to {MAX_CENTER:g} m)"
            )
        self._announced = [change for change in self._announced if change[0] < start_ns]
        load = self._robot.load_of_payload(mass, center)
        self._announced.append((start_ns, load, tuple(shapes)))

    def advance(self, stamp_ns: int) -> bool:
        """Go on to a time.

        Args:
            stamp_ns: The time [ns].

        Returns:
            Whether another payload is declared from now on.
        """
        changed = False
        while self._announced and self._announced[0][0] <= stamp_ns:
            _, self.declared, self.shapes = self._announced.pop(0)
            changed = True
        return changed

    def count(self, stamp_ns: int) -> None:
        """Count what is declared from a time on [ns]."""
        self._before, self.counted = self.counted, self.declared
        self._changed_at = stamp_ns

    def torque(self, stamp_ns: int, load_matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the payload's torque at a time.

        Args:
            stamp_ns: The time [ns].
            load_matrix: (n, 4) torque per mass and first moment, where the robot is then.

        Returns:
            (n) torque [Nm], (n) its standard deviation [Nm].
        """
        torque: np.ndarray = load_matrix @ self.counted
        if self._changed_at is None:
            return torque, np.zeros_like(torque)
        # A stamp may go back behind the change, where another one was wrong.
        elapsed = max(0.0, 1e-9 * (stamp_ns - self._changed_at))
        trust_missing = math.exp(-elapsed / TRANSIENT_TIME)
        return torque, trust_missing * np.abs(torque - load_matrix @ self._before)


class JumpingLowPass:
    """First-order low-pass, except that what noise cannot explain passes at once.

    An impact is thus seen without delay, while a steady force is smoothed.

    Attributes:
        variance_share: Variance of white noise in the value over that in a sample.
    """

    def __init__(self, time_constant: float) -> None:
        """Start without a value.

        Args:
            time_constant: [s].
        """
        self._time_constant = time_constant
        self.variance_share = 1.0
        self._value: np.ndarray | None = None

    def reset(self) -> None:
        """Forget the value; the next sample is taken as it is."""
        self._value = None

    def update(self, sample: np.ndarray, noise: np.ndarray, period: float) -> np.ndarray:
        """Take in one sample.

        Args:
            sample: (n).
            noise: (n) standard deviation of a sample.
            period: Time since the last sample [s].

        Returns:
            (n) the filtered value.
        """
        if self._value is None or _innovation(sample, self._value, noise) > JUMP:
            gain = 1.0
        else:
            time = self._time_constant
            gain = 1.0 - math.exp(-period / time) if time > 0.0 else 1.0
        self._value = sample.copy() if gain == 1.0 else self._value + gain * (sample - self._value)
        self.variance_share = (1.0 - gain) ** 2 * self.variance_share + gain**2
        return self._value


@kernel
def _innovation(sample: np.ndarray, value: np.ndarray, noise: np.ndarray) -> float:
    """Return the squared norm of a change, whitened."""
    total = 0.0
    for i in range(sample.size):
        total += ((sample[i] - value[i]) / noise[i]) ** 2
    return total
