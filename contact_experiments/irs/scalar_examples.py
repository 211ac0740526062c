"""The functions of Examples 1 to 3, with their bundled objectives in closed form.

Each is smoothed by Gaussian noise of standard deviation sigma.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy.special import erf, ndtr


class ScalarExample(ABC):
    """A function of one variable."""

    @abstractmethod
    def value(self, x: np.ndarray) -> np.ndarray:
        """Return f(x)."""

    @abstractmethod
    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return f'(x) wherever it exists."""

    @abstractmethod
    def bundled(self, x: np.ndarray, sigma: float) -> np.ndarray:
        """Return E[f(x + w)], w ~ N(0, sigma^2)."""

    @abstractmethod
    def bundled_gradient(self, x: np.ndarray, sigma: float) -> np.ndarray:
        """Return d/dx E[f(x + w)]."""


class ManyMinima(ScalarExample):
    """x^2 + 0.1 sin(20 x), Example 1."""

    def value(self, x: np.ndarray) -> np.ndarray:
        """Return f(x)."""
        return x**2 + 0.1 * np.sin(20.0 * x)

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return f'(x)."""
        return 2.0 * x + 2.0 * np.cos(20.0 * x)

    def bundled(self, x: np.ndarray, sigma: float) -> np.ndarray:
        """Return E[f(x + w)]."""
        return x**2 + sigma**2 + 0.1 * np.exp(-200.0 * sigma**2) * np.sin(20.0 * x)

    def bundled_gradient(self, x: np.ndarray, sigma: float) -> np.ndarray:
        """Return d/dx E[f(x + w)]."""
        return 2.0 * x + 2.0 * np.exp(-200.0 * sigma**2) * np.cos(20.0 * x)


class Heaviside(ScalarExample):
    """1 for x >= 0, else 0, Example 2."""

    def value(self, x: np.ndarray) -> np.ndarray:
        """Return f(x)."""
        return np.where(x >= 0.0, 1.0, 0.0)

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return f'(x), 0 almost everywhere."""
        return np.zeros_like(x)

    def bundled(self, x: np.ndarray, sigma: float) -> np.ndarray:
        """Return E[f(x + w)], the normal distribution function."""
        return np.asarray(ndtr(x / sigma))

    def bundled_gradient(self, x: np.ndarray, sigma: float) -> np.ndarray:
        """Return d/dx E[f(x + w)], the normal density."""
        return np.exp(-0.5 * (x / sigma) ** 2) / (sigma * np.sqrt(2.0 * np.pi))


class Vee(ScalarExample):
    """A slope of -1 for x < 0 and of +1 for x >= 0, Example 3.

    As printed, (10) jumps at 0; the text and Fig. 4 describe |x| - 1, without the jump.
    """

    def value(self, x: np.ndarray) -> np.ndarray:
        """Return f(x)."""
        return np.abs(x) - 1.0

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return f'(x)."""
        return np.where(x >= 0.0, 1.0, -1.0)

    def bundled(self, x: np.ndarray, sigma: float) -> np.ndarray:
        """Return E[f(x + w)], the mean of a folded normal distribution, less 1."""
        scaled = x / sigma
        spread = sigma * np.sqrt(2.0 / np.pi) * np.exp(-0.5 * scaled**2)
        return np.asarray(spread + x * erf(scaled / np.sqrt(2.0)) - 1.0)

    def bundled_gradient(self, x: np.ndarray, sigma: float) -> np.ndarray:
        """Return d/dx E[f(x + w)]."""
        return np.asarray(erf(x / (sigma * np.sqrt(2.0))))
