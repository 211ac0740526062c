"""A hand that presses and a load that hangs are the same torques at rest: which one is it?

While something is taken for a contact, the same torques are explained as a load on the last link,

    tau_ext = H phi,    phi = (mass, first moment of mass) in the frame of the last joint,

which is constant as long as it hangs there. The hypothesis fails when the torque changes in a way
that phi does not foresee, or when phi is no mass within reach of the hand: then it is a contact.
If it holds while the arm turns so far that a force of the environment would have had to follow the
load's, it is a load. Until then nobody can know.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from contact_aware_control.estimation.config import LoadConfig

BROADEST = np.array([10.0, 1.0, 1.0, 1.0])
"""Standard deviations of a load that nothing is known of [kg], [kg m]."""

SURPRISE = 24.0
"""Squared whitened error that seven torques of the hypothesis exceed once in a thousand samples."""


class Verdict(Enum):
    """What explains the torques."""

    CONTACT = "a contact, no load"
    AMBIGUOUS = "a contact or a load"
    LOAD = "a load"


class LoadHypothesis:
    """Explains the torques of a contact as a load, recursively.

    Attributes:
        verdict: Of the last sample.
        load: (4) phi, the load that explains them best [kg], [kg m].
        covariance: (4, 4) of it.
    """

    def __init__(self, config: LoadConfig, correlation_time: float) -> None:
        """Take thresholds.

        Args:
            config: What a load may be.
            correlation_time: Samples within it count as one [s].
        """
        self._config = config
        self._correlation_time = max(correlation_time, 1e-9)
        self.reset()

    def reset(self) -> None:
        """Begin anew with the next sample, of which nothing is known."""
        self.verdict = Verdict.AMBIGUOUS
        self._age = 0.0
        self._restart()

    def _restart(self) -> None:
        self.load = np.zeros(4)
        self.covariance = np.diag(BROADEST**2)
        self._first: np.ndarray | None = None
        self._lasted = 0.0

    def update(
        self, torque: np.ndarray, covariance: np.ndarray, matrix: np.ndarray, period: float
    ) -> Verdict:
        """Take in a sample.

        Args:
            torque: (n) that a contact or a load has to explain, low-passed [Nm].
            covariance: (n, n) of what is neither in it [Nm^2].
            matrix: (n, 4) H.
            period: Time since the last sample [s].

        Returns:
            The verdict.
        """
        self._age += period
        changed = self._first is not None and self._is_surprised(torque, covariance, matrix)
        if changed:
            self._restart()
        possible = not self._is_surprised(torque, covariance, matrix)
        self._condition(torque, covariance, matrix, period)
        if not (possible and self._is_plausible()):
            self.verdict = Verdict.CONTACT
            self._restart()
        elif changed and self._age > self._config.window:
            # A load takes a moment to be taken up, a hand goes on to change its mind.
            self.verdict = Verdict.CONTACT
        elif self.verdict is not Verdict.CONTACT or self._lasted >= self._config.window:
            self.verdict = self._decided(covariance, matrix)
        return self.verdict

    def _is_surprised(self, torque: np.ndarray, covariance: np.ndarray, matrix: np.ndarray) -> bool:
        """Tell whether the samples so far did not foresee this one."""
        error = torque - matrix @ self.load
        total = covariance + matrix @ self.covariance @ matrix.T
        return bool(error @ np.linalg.solve(total, error) > SURPRISE)

    def _condition(
        self, torque: np.ndarray, covariance: np.ndarray, matrix: np.ndarray, period: float
    ) -> None:
        """Condition the load on a sample, which says little new if it comes soon."""
        new = 1.0 if self._first is None else min(1.0, period / self._correlation_time)
        if self._first is None:
            self._first = matrix
        spread = matrix @ self.covariance
        gain = np.linalg.solve(covariance / new + spread @ matrix.T, spread).T
        self.load = self.load + gain @ (torque - matrix @ self.load)
        self.covariance = self.covariance - gain @ spread
        self._lasted += period

    def _is_plausible(self) -> bool:
        """Tell whether phi may be a mass within reach of the hand."""
        deviation = np.sqrt(self.covariance.diagonal())
        mass, moment = self.load[0], self.load[1:]
        if mass < -3.0 * deviation[0]:
            return False
        reach = self._config.farthest * max(mass, 0.0) + 3.0 * float(np.linalg.norm(deviation[1:]))
        return bool(np.linalg.norm(moment) <= reach)

    def _decided(self, covariance: np.ndarray, matrix: np.ndarray) -> Verdict:
        """It is a load if its torque has changed so much that a mere force would not have."""
        assert self._first is not None
        turned = matrix - self._first
        change = turned @ self.load
        total = covariance + turned @ self.covariance @ turned.T
        distinct = float(change @ np.linalg.solve(total, change))
        return Verdict.LOAD if distinct > self._config.distinct else Verdict.AMBIGUOUS
