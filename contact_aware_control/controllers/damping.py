"""Adaptive damping: move less where the frictionless model predicts forces badly."""

from __future__ import annotations

import math
from collections.abc import Sequence

from contact_aware_control.config import DampingConfig


class AdaptiveDamping:
    """The weight w of the second term of (24a), updated by (28) and (29).

    Attributes:
        weight: w, relative to the tracking term.
    """

    def __init__(self, config: DampingConfig) -> None:
        """Start undamped.

        Args:
            config: beta, alpha and w_max.
        """
        self._config = config
        self.weight = 0.0

    def update(self, predicted: Sequence[float], measured: Sequence[float]) -> float:
        """Take the prediction error of one tick into account.

        Args:
            predicted: (nc) forces predicted for this tick one tick ago [N].
            measured: (nc) forces measured now [N].

        Returns:
            The new weight. With no contact the error is zero, and the weight decays.
        """
        config = self._config
        squared_error = sum((p - m) ** 2 for p, m in zip(predicted, measured, strict=True))
        discrepancy = 1.0 - math.exp(-config.beta * squared_error)  # (28)
        self.weight += config.alpha * (config.weight_max * discrepancy - self.weight)  # (29)
        return self.weight

    def reset(self) -> None:
        """Forget the past."""
        self.weight = 0.0
