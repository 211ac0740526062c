"""The motion of the cabinet's arm: the client's position in the place of the interpolator's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamsi_sim.cabinet.invented import BRAKING, EXTRAPOLATED, MAX_LAG


class OverlayMotion:
    """Moves the robot's command, one cycle at a time.

    Attributes:
        position: (n) the robot's command [rad].
        interpolator: (n) the position held under the client's commands [rad].
        tracking: Tracking performance: 1 while the arm follows, less where it is asked for more.
    """

    def __init__(
        self,
        position: np.ndarray,
        lowest: np.ndarray,
        highest: np.ndarray,
        speed: np.ndarray,
        period: float,
        multiplier: int,
    ) -> None:
        """Hold a position.

        Args:
            position: (n) [rad].
            lowest: (n) smallest positions [rad].
            highest: (n) largest positions [rad].
            speed: (n) largest speeds [rad/s].
            period: Of a cycle [s].
            multiplier: Cycles from one answer to the next.
        """
        self._lowest, self._highest = lowest, highest
        self._fastest = speed * period
        self._braking = BRAKING * period**2
        self._multiplier = multiplier
        self.hold(position)

    def hold(self, position: np.ndarray) -> None:
        """Be at rest somewhere.

        Args:
            position: (n) [rad].
        """
        self.position = np.array(position, dtype=float)
        self.interpolator = self.position.copy()
        self.tracking = 1.0
        self._step = np.zeros(self.position.size)
        self._missing = 0
        self._brakes = False

    def follow(self, target: Sequence[float]) -> str:
        """Go to what a client has answered, within the cycles until the next answer.

        Args:
            target: (n) finite joint positions [rad].

        Returns:
            Why this ends the motion; empty if it does not.
        """
        wanted = np.array(target)
        if ((wanted < self._lowest) | (wanted > self._highest)).any():
            return f"a command beyond the joints' range: {np.round(wanted, 3).tolist()} rad"
        change = (wanted - self.position) / self._multiplier
        # What the arm can do exactly is not too fast.
        excess = max(1.0, float(np.max(np.abs(change) / self._fastest)) - 1e-6)
        self.tracking = 1.0 / excess
        self._step = change / excess
        self._missing = 0
        lag = self._multiplier * float(np.max(np.abs(change - self._step)))
        return f"the command lags by {lag:.3f} rad: it is too fast" if lag > MAX_LAG else ""

    def miss(self) -> None:
        """An answer that was due is missing: go on as before, then brake."""
        self._missing += 1

    def brake(self) -> None:
        """Come to rest, because the motion has ended."""
        self._brakes = True

    def advance(self) -> None:
        """Let one cycle pass."""
        if self._brakes or self._missing > EXTRAPOLATED:
            self._step = self._step - np.clip(self._step, -self._braking, self._braking)
        self.position = np.clip(self.position + self._step, self._lowest, self._highest)
