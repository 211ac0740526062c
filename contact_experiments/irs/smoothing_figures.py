"""Examples 1 to 3 with their bundled objectives in closed form, and Fig. 2 to 4."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import erf, ndtr

from contact_core.base.figures import new_figure
from contact_core.base.seeds import generator
from contact_core.base.sweep import Sweep
from contact_experiments.papers.figure import spread
from contact_experiments.papers.pictures import FigureResult
from irs_planner.plots.figures import FIRST, ZERO, name_lines
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
PANELS = 10.8, 3.4
"""Size of three panels side by side [inch]."""
SEEDS = 5
EXAMPLES: dict[str, ScalarExample] = {
    "many_minima": ManyMinima(),
    "heaviside": Heaviside(),
    "vee": Vee(),
}


@dataclass(frozen=True)
class SampledSlopes:
    """Gradient bundles of an example at POINTS.

    Attributes:
        first: (K) of first order.
        zero: (K) of zero order.
    """

    first: np.ndarray
    zero: np.ndarray


def sample_slopes(
    name: str, sigma: float, samples: int, seed: int, stream: str = "slopes"
) -> SampledSlopes:
    """Estimate the gradient bundles of an example.

    Args:
        name: One of EXAMPLES.
        sigma: Standard deviation of the samples.
        samples: Per point, the same at every point.
        seed: Seed of the samples.
        stream: Name of the random numbers.
    """
    example = EXAMPLES[name]
    noise = sigma * generator(seed, stream).standard_normal(samples)
    return SampledSlopes(
        first_order_bundle(example.gradient, POINTS, noise),
        zero_order_bundle(example.value, POINTS, noise),
    )


def count_minima(values: np.ndarray) -> int:
    """Return how many local minima lie inside (K) values."""
    slopes = np.sign(np.diff(values))
    return int(np.count_nonzero((slopes[:-1] < 0) & (slopes[1:] > 0)))


def figure_2(sweep: Sweep, samples: int = 1000) -> FigureResult:
    """Fig. 2: many local minima vanish in the bundled objective."""
    example, sigma = EXAMPLES["many_minima"], 0.2
    found = _sample(sweep, "many_minima", sigma, samples, "fig2")
    figure = _three_panels(example, sigma, found[0])
    numbers = _errors(example, sigma, found)
    start = example.bundled(POINTS, sigma)[0]
    numbers["minima"] = {
        "objective": count_minima(example.value(POINTS)),
        "first_order": spread([count_minima(reconstruct(POINTS, s.first, start)) for s in found]),
        "zero_order": spread([count_minima(reconstruct(POINTS, s.zero, start)) for s in found]),
    }
    return figure, numbers


def figure_3(sweep: Sweep, samples: int = 1000) -> FigureResult:
    """Fig. 3: first-order samples never see the jump of a Heaviside function (Theorem 1)."""
    example, sigma = EXAMPLES["heaviside"], 0.2
    found = _sample(sweep, "heaviside", sigma, samples, "fig3")
    figure = _three_panels(example, sigma, found[0])
    middle = len(POINTS) // 2
    numbers = _errors(example, sigma, found)
    numbers["slope_at_the_jump"] = {
        "closed_form": float(example.bundled_gradient(POINTS, sigma)[middle]),
        "first_order": spread([s.first[middle] for s in found]),
        "zero_order": spread([s.zero[middle] for s in found]),
    }
    return figure, numbers


def figure_4(sweep: Sweep, samples: int = 10) -> FigureResult:
    """Fig. 4: few first-order samples give quantised gradients."""
    example, sigma = EXAMPLES["vee"], 0.3
    found = _sample(sweep, "vee", sigma, samples, "figure 4")
    figure, ((left, center, right),) = new_figure(1, 3, PANELS)
    _draw_objective(left, example, "objective")
    center.plot(POINTS, found[0].first, color=FIRST, label="from first order")
    center.plot(POINTS, example.bundled_gradient(POINTS, sigma), "k--", lw=1, label=CLOSED_FORM)
    center.set(title=f"gradient bundle, {samples} samples", xlabel="x", ylabel="slope")
    _draw_bundled(right, example, sigma, found[0].zero, ZERO, "from zero order")
    right.set_ylim(left.get_ylim())
    name_lines(figure)
    return figure, {
        "distinct_slopes": {
            "first_order": spread([len(np.unique(s.first.round(9))) for s in found]),
            "zero_order": spread([len(np.unique(s.zero.round(9))) for s in found]),
        },
        "points": len(POINTS),
    }


CLOSED_FORM = "bundled, closed form"


def _sample(
    sweep: Sweep, name: str, sigma: float, samples: int, stream: str
) -> list[SampledSlopes]:
    tasks = [(name, sigma, samples, seed, stream) for seed in range(SEEDS)]
    return sweep.run(sample_slopes, tasks, name)


def _errors(
    example: ScalarExample, sigma: float, found: Sequence[SampledSlopes]
) -> dict[str, object]:
    """Return the largest errors of the bundled objective, over seeds."""
    exact = example.bundled(POINTS, sigma)
    orders = {"first_order": [s.first for s in found], "zero_order": [s.zero for s in found]}
    return {
        f"{order}_error": spread(
            [np.abs(reconstruct(POINTS, slopes, exact[0]) - exact).max() for slopes in sampled]
        )
        for order, sampled in orders.items()
    }


def _three_panels(example: ScalarExample, sigma: float, slopes: SampledSlopes) -> Figure:
    figure, ((left, center, right),) = new_figure(1, 3, PANELS, sharey=True)
    _draw_objective(left, example, "objective")
    _draw_bundled(center, example, sigma, slopes.first, FIRST, "from first order")
    _draw_bundled(right, example, sigma, slopes.zero, ZERO, "from zero order")
    name_lines(figure)
    return figure


def _draw_objective(axes: Axes, example: ScalarExample, title: str) -> None:
    axes.plot(POINTS, example.value(POINTS), "k", lw=1.3)
    axes.set(title=title, xlabel="x", ylabel="f(x)")
    axes.margins(y=0.05)


def _draw_bundled(
    axes: Axes, example: ScalarExample, sigma: float, slopes: np.ndarray, color: str, label: str
) -> None:
    exact = example.bundled(POINTS, sigma)
    axes.plot(POINTS, reconstruct(POINTS, slopes, exact[0]), color=color, label=label)
    axes.plot(POINTS, exact, "k--", lw=1, label=CLOSED_FORM)
    axes.set(title=f"bundled objective, {label}", xlabel="x")
