"""Fig. 2 to 4: randomised smoothing of three functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from contact_core.seeds import generator
from contact_experiments.irs.scalar_examples import Heaviside, ManyMinima, ScalarExample, Vee
from irs_planner.plots.style import FIRST, ZERO, panels, save
from irs_planner.smoothing import first_order_bundle, reconstruct, zero_order_bundle

POINTS = np.linspace(-1.0, 1.0, 401)


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
    figure, (left, center, right) = panels(3)
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
    figure, (left, center, right) = panels(3)
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
