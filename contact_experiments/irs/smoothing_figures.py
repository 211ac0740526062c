"""Examples 1 to 3 with their bundled objectives in closed form, and Fig. 2 to 4."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from scipy.special import erf, ndtr

from contact_core.figures import new_figure, save
from contact_core.seeds import generator
from irs_planner.plots.figures import FIRST, ZERO
from irs_planner.smoothing import first_order_bundle, reconstruct, zero_order_bundle


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


POINTS = np.linspace(-1.0, 1.0, 401)
PANELS = 10.8, 3.0
"""Size of three panels side by side [inch]."""


def figure_2(folder: Path, samples: int = 1000, seed: int = 0) -> Path:
    """Draw Fig. 2: many local minima vanish in the bundled objective.

    Args:
        folder: Where to save ``fig2.png``.
        samples: Samples per point.
        seed: Seed of the samples.

    Returns:
        The file.
    """
    title = "bundled, from first order"
    return _three_panels(folder / "fig2.png", ManyMinima(), 0.2, samples, seed, title)


def figure_3(folder: Path, samples: int = 1000, seed: int = 0) -> Path:
    """Draw Fig. 3: first-order samples never see the jump of a Heaviside function.

    Args:
        folder: Where to save ``fig3.png``.
        samples: Samples per point.
        seed: Seed of the samples.

    Returns:
        The file.
    """
    title = "bundled, from first order: jump missed"
    return _three_panels(folder / "fig3.png", Heaviside(), 0.2, samples, seed, title)


def figure_4(folder: Path, samples: int = 10, seed: int = 0) -> Path:
    """Draw Fig. 4: few first-order samples give quantised gradients.

    Args:
        folder: Where to save ``fig4.png``.
        samples: Samples per point.
        seed: Seed of the samples.

    Returns:
        The file.
    """
    example, sigma = Vee(), 0.3
    noise = sigma * generator(seed, "figure 4").standard_normal(samples)
    figure, ((left, center, right),) = new_figure(1, 3, PANELS)
    _objective(left, example)
    first = first_order_bundle(example.gradient, POINTS, noise)
    center.plot(POINTS, first, color=FIRST, label=f"first order, {samples} samples")
    center.plot(POINTS, example.bundled_gradient(POINTS, sigma), "k--", lw=1, label="true")
    center.set(title="gradient bundle: quantised", xlabel="x")
    center.legend(fontsize=8)
    zero = zero_order_bundle(example.value, POINTS, noise)
    _reconstruction(right, example, sigma, zero, ZERO, "bundled, from zero order")
    return save(figure, folder / "fig4.png")


def _three_panels(
    path: Path, example: ScalarExample, sigma: float, samples: int, seed: int, title: str
) -> Path:
    noise = sigma * generator(seed, path.stem).standard_normal(samples)
    figure, ((left, center, right),) = new_figure(1, 3, PANELS)
    _objective(left, example)
    first = first_order_bundle(example.gradient, POINTS, noise)
    _reconstruction(center, example, sigma, first, FIRST, title)
    zero = zero_order_bundle(example.value, POINTS, noise)
    _reconstruction(right, example, sigma, zero, ZERO, "bundled, from zero order")
    return save(figure, path)


def _objective(axes: Axes, example: ScalarExample) -> None:
    axes.plot(POINTS, example.value(POINTS), "k")
    axes.set(title="objective f(x)", xlabel="x")


def _reconstruction(
    axes: Axes, example: ScalarExample, sigma: float, slopes: np.ndarray, color: str, title: str
) -> None:
    exact = example.bundled(POINTS, sigma)
    axes.plot(POINTS, reconstruct(POINTS, slopes, exact[0]), color=color, label="sampled")
    axes.plot(POINTS, exact, "k--", lw=1, label="closed form")
    axes.set(title=title, xlabel="x")
    axes.legend(fontsize=8)
