"""What a tracking term of the QP's objective has to provide."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np


class TrackingTask(ABC):
    """Asks for a change x of the command that follows a reference.

    The error is never evaluated at the measured configuration: contact and sensor delay
    would close a loop of unit gain through it.
    """

    @abstractmethod
    def objective(self, q: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the term 1/2 x^T H x + g^T x of one tick.

        Args:
            q: (n) configuration at which the error is evaluated [rad]: the command, or
                the equilibrium the model predicts for it.
            time: Reference time [s].

        Returns:
            H (n, n), g (n).
        """

    @abstractmethod
    def error(self, time: float) -> tuple[float, float]:
        """Return how far the tool is from the reference, for reports.

        Args:
            time: Reference time [s]; the robot has to be updated at the measured q.

        Returns:
            Position error of the tool [m], its rotation error [rad].
        """
