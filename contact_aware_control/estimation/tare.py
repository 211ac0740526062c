"""What the external torque holds beside contact: bias, noise, and the weight of the payload.

The bias is measured while nothing touches the robot, which is called a tare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum

import numpy as np

from contact_aware_control.estimation.config import NoiseConfig, TareConfig
from contact_core.multibody.collision.shapes import PlacedShape
from contact_core.robot.robot import Robot

JUMP = 45.0
"""Squared whitened innovation that 7 joints of Gaussian noise exceed once in 1e7 samples."""


MAX_VARIATION = 6.0
"""A standard deviation of more than this times the noise in the robot's file, or the smallest
noise, means that the robot is touched or moves."""

TRANSIENT_TIME = 0.1
"""Time constant with which trust returns after the payload has changed [s]."""


class TareStatus(Enum):
    """What the tare is doing; the value says what to do about it."""

    COLLECTING = "averaging the torque: keep the robot free of contact and still"
    DONE = "bias known"
    TOUCHED = "the robot is touched: tare again in free space"
    VARIATION = "the torque varies too much for a tare: let the robot come to rest"
    BIAS = "the mean torque is too large for a bias: check payload and contact, tare again"


class Tare:
    """Averages the torque of free space on request; a failed measurement is repeated.

    Attributes:
        noise: (n) standard deviation of the torque [Nm].
        status: Of the last or the running measurement.
        measured: True once a measurement has succeeded.
    """

    def __init__(self, known: np.ndarray, config: TareConfig, noise: NoiseConfig) -> None:
        """Start the first measurement.

        Args:
            known: (n) standard deviation of the torque as the robot's file has it [Nm].
            config: Duration and limits.
            noise: What to assume before, and at least.
        """
        self._config = config
        self._smallest_noise = noise.smallest
        self.noise = np.maximum(known, max(noise.before_tare, noise.smallest))
        self._largest_variation = MAX_VARIATION * np.maximum(known, noise.smallest)
        self.measured = False
        self.start()

    def start(self) -> None:
        """Measure anew."""
        self._running = True
        self.status = TareStatus.COLLECTING
        self._restart()

    @property
    def running(self) -> bool:
        """True while a measurement is running."""
        return self._running

    def update(self, torque: np.ndarray, touched: bool, period: float) -> np.ndarray | None:
        """Take in one sample, while a measurement is running.

        Args:
            torque: (n) less payload and all errors that are known [Nm].
            touched: True if a contact is detected.
            period: Time since the last sample [s].

        Returns:
            (n) the mean once it is measured [Nm], else None.
        """
        if touched:
            self.status = TareStatus.TOUCHED
            self._restart()
            return None
        return self._collect(torque, period)

    def _restart(self) -> None:
        self._count = 0
        self._time = 0.0
        self._mean = np.zeros_like(self.noise)
        self._squares = np.zeros_like(self.noise)

    def _collect(self, torque: np.ndarray, period: float) -> np.ndarray | None:
        """Welford's running mean and variance; decide when the time is over."""
        self._count += 1
        self._time += period
        deviation = torque - self._mean
        self._mean += deviation / self._count
        self._squares += deviation * (torque - self._mean)
        if self._time < self._config.duration or self._count < 2:
            return None
        mean, variation = self._mean, np.sqrt(self._squares / (self._count - 1))
        self._restart()
        if np.any(variation > self._largest_variation):
            self.status = TareStatus.VARIATION
            return None
        if np.any(np.abs(mean) > self._config.largest_bias):
            self.status = TareStatus.BIAS
            return None
        self.status = TareStatus.DONE
        self.noise = np.maximum(variation, self._smallest_noise)
        self.measured = True
        self._running = False
        return mean


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
        """
        self._announced = [change for change in self._announced if change[0] < start_ns]
        load = self._robot.load_of_payload(mass, np.asarray(center_of_mass, dtype=float))
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
        if self._value is None or np.sum(((sample - self._value) / noise) ** 2) > JUMP:
            gain = 1.0
        else:
            time = self._time_constant
            gain = 1.0 - math.exp(-period / time) if time > 0.0 else 1.0
        self._value = sample.copy() if gain == 1.0 else self._value + gain * (sample - self._value)
        self.variance_share = (1.0 - gain) ** 2 * self.variance_share + gain**2
        return self._value
