"""A hand that presses and a load that hangs are the same torques at rest: which one is it?

While something is taken for a contact, the same torques are explained as a load on the last link,

    tau_ext = H phi,    phi = (mass, first moment of mass) in the frame of the last joint,

which is constant as long as it hangs there. It comes on top of what is known to hang there: the
declared payload, which may have been dropped or never taken, and loads found before. So phi may be
negative, but the sum has to be a mass within reach of the hand. The hypothesis fails when it is
not, or when the torque changes in a way that phi does not foresee: then it is a contact. If it
holds while the arm turns so far that a force of the environment would have had to follow the
load's, it is a load. Until then nobody can know.
"""

from __future__ import annotations

import math
from enum import Enum

import numpy as np

from contact_aware_control.estimation.config import LoadConfig
from contact_aware_control.estimation.measurement import diagonal, squared_norm
from contact_aware_control.estimation.torque_errors import CORRELATION_TIME

NO_LOAD, ANY_LOAD = np.zeros(4), np.diag([100.0, 1.0, 1.0, 1.0])
"""Mean and covariance of a load that nothing is known of [kg], [kg m]."""

SURPRISE = 24.0
"""Squared whitened error that seven torques of the hypothesis exceed once in a thousand samples."""

DISTINCT = 30.0
"""Squared whitened change of a load's torque, as the arm turns, from which on no hand can have
followed it by chance."""

WINDOW = 0.5
"""Time that a load takes to be taken up at most; afterwards it does not change [s]."""

CERTAIN, DOUBTED = 0.05, 0.3
"""By how much of itself the torque of a contact may change in its direction, which is no load;
where a load is in doubt that moves the arm meanwhile, the contact may slide and change more."""

SLIGHT = 1.0
"""A load that is less makes no difference beside a contact [kg]."""

_Sample = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]
"""Torque, its covariance, H, known load and period, see :meth:`LoadHypothesis.update`."""


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

    def __init__(self, config: LoadConfig) -> None:
        """Take thresholds.

        Args:
            config: What a load may be.
        """
        self._config = config
        self.reset()

    def reset(self) -> None:
        """Begin anew with the next sample, of which nothing is known."""
        self.verdict = Verdict.AMBIGUOUS
        self._age = 0.0
        self._restart()

    def _restart(self) -> None:
        self.load, self.covariance = NO_LOAD, ANY_LOAD
        self._first: np.ndarray | None = None
        self._lasted = 0.0

    def update(
        self,
        torque: np.ndarray,
        covariance: np.ndarray,
        matrix: np.ndarray,
        known: np.ndarray,
        period: float,
    ) -> Verdict:
        """Take in a sample.

        Args:
            torque: (n) that a contact or a load has to explain, low-passed [Nm].
            covariance: (n, n) of what is neither in it [Nm^2].
            matrix: (n, 4) H.
            known: (4) load that is counted already, declared or found [kg], [kg m].
            period: Time since the last sample [s].

        Returns:
            The verdict.
        """
        self._age += period
        sample = torque, covariance, matrix, known, period
        changed = self._first is not None and not self._explains(sample)
        if changed:
            self._restart()
        if self._first is None and not self._explains(sample):
            self.verdict = Verdict.CONTACT
            self._restart()
        elif changed and self._age > WINDOW and self.load[0] >= 0.0:
            # A load takes a moment to be taken up, a hand goes on to change its mind. What may be
            # missing of a known load stays in doubt: no hand has to press against it.
            self.verdict = Verdict.CONTACT
        elif self.verdict is not Verdict.CONTACT or self._lasted >= WINDOW:
            self.verdict = self._decided(covariance, matrix)
        return self.verdict

    def _explains(self, sample: _Sample) -> bool:
        """Take in a sample; tell whether one load explains it and those before."""
        torque, covariance, matrix, known, period = sample
        total = covariance + matrix @ self.covariance @ matrix.T
        if squared_norm(total, torque - matrix @ self.load) > SURPRISE:
            return False
        self._condition(torque, covariance, matrix, period)
        return self._is_plausible(known)

    def _condition(
        self, torque: np.ndarray, covariance: np.ndarray, matrix: np.ndarray, period: float
    ) -> None:
        """Condition the load on a sample, which says little new if it comes soon."""
        new = 1.0 if self._first is None else min(1.0, period / CORRELATION_TIME)
        if self._first is None:
            self._first = matrix
        spread = matrix @ self.covariance
        gain = np.linalg.solve(covariance / new + spread @ matrix.T, spread).T
        self.load = self.load + gain @ (torque - matrix @ self.load)
        self.covariance = self.covariance - gain @ spread
        self._lasted += period

    def _is_plausible(self, known: np.ndarray) -> bool:
        """Tell whether all that hangs there may be a mass within reach of the hand.

        At rest the moment about the vertical is not seen; what is seen of it has to be in reach.
        """
        mass, moment = self.load[0] + known[0], self.load[1:] + known[1:]
        if mass < -3.0 * math.sqrt(self.covariance[0, 0]):
            return False
        covariance = self.covariance[1:, 1:]
        seen = np.linalg.solve(covariance, moment)
        seen = seen / max(float(np.linalg.norm(seen)), 1e-9)
        least = abs(seen @ moment) - 3.0 * math.sqrt(seen @ covariance @ seen)
        return bool(least <= self._config.farthest * max(mass, 0.0))

    def _decided(self, covariance: np.ndarray, matrix: np.ndarray) -> Verdict:
        """It is a load if its torque has changed so much that a mere force would not have."""
        assert self._first is not None
        turned = matrix - self._first
        change = turned @ self.load
        total = covariance + turned @ self.covariance @ turned.T
        return Verdict.LOAD if squared_norm(total, change) > DISTINCT else Verdict.AMBIGUOUS


class LoadClassifier:
    """Tells contacts from loads, also where something touches the arm that is certainly no load.

    What a load cannot explain is a contact, and the torque it causes is remembered, low-passed.
    When the torque then changes as a load would change it, the change is in doubt until it is
    gone, or until the arm has turned; the contact may press more or less meanwhile.

    Attributes:
        contact: (n) torque that is certainly of contacts [Nm].
        load: (4) the load that explains what is in doubt, or was found [kg], [kg m].
        covariance: (4, 4) of it.
    """

    def __init__(self, joints: int, config: LoadConfig, threshold: float) -> None:
        """Take thresholds.

        Args:
            joints: Number of joints n.
            config: What a load may be.
            threshold: Squared whitened norm of a torque that is significant.
        """
        self._nothing = np.zeros(joints)
        self._threshold = threshold
        self._whole = LoadHypothesis(config)
        self._change = LoadHypothesis(config)
        self._in_doubt, self._slight_for = False, 0.0
        self.reset()

    def reset(self) -> None:
        """Nothing touches the arm."""
        self._whole.reset()
        self._become_certain(self._nothing)
        self.load, self.covariance = self._whole.load, self._whole.covariance

    def update(
        self,
        torque: np.ndarray,
        covariance: np.ndarray,
        matrix: np.ndarray,
        known: np.ndarray,
        period: float,
    ) -> Verdict:
        """Take in a sample of an arm that is touched, see :meth:`LoadHypothesis.update`."""
        found, doubted = self._whole, self._whole.load
        verdict = found.update(torque, covariance, matrix, known, period)
        if verdict is not Verdict.CONTACT:
            self._become_certain(self._nothing)
        elif not self.contact.any() and abs(doubted[0]) < SLIGHT:
            self._become_certain(torque)
        else:
            if not self.contact.any():
                # Something touches the arm beside what may be a load, which stays in doubt.
                self._become_certain(torque - matrix @ doubted)
                self._in_doubt = True
            found = self._change
            verdict = self._judge_change((torque, covariance, matrix, known, period))
        self.load, self.covariance = found.load, found.covariance
        return verdict

    def _judge_change(self, sample: _Sample) -> Verdict:
        """Tell whether a load may be what has changed the torque of a contact."""
        torque, covariance, matrix, known, period = sample
        change = torque - self.contact
        # It may press any harder, or not at all.
        along = self.contact[:, None] * self.contact
        steady = self._beside(covariance, CERTAIN)
        is_slight = squared_norm(steady + along, change) < self._threshold
        if self._in_doubt:
            self._slight_for = self._slight_for + period if is_slight else 0.0
            if self._slight_for < WINDOW:
                moved = self._beside(covariance, DOUBTED) + along
                verdict = self._change.update(change, moved, matrix, known, period)
                if verdict is not Verdict.CONTACT:
                    return verdict
            self._become_certain(torque)
            return Verdict.CONTACT
        if not is_slight:
            # A load alone: together with a contact that changes it would explain too much.
            verdict = self._change.update(change, steady, matrix, known, period)
            heavy = abs(self._change.load[0]) >= SLIGHT
            if heavy and verdict is not Verdict.CONTACT:
                self._in_doubt = True
                return verdict
        self._become_certain(self.contact + (1.0 - math.exp(-period / WINDOW)) * change)
        return Verdict.CONTACT

    def _beside(self, covariance: np.ndarray, share: float) -> np.ndarray:
        """Return a covariance (n, n) with that of a contact's torque which changes by a share."""
        total = covariance.copy()
        diagonal(total)[:] += share**2 * (self.contact @ self.contact)
        return total

    def _become_certain(self, torque: np.ndarray) -> None:
        """Take a torque (n) for that of contacts [Nm]."""
        self.contact = torque
        self._in_doubt, self._slight_for = False, 0.0
        self._change.reset()
