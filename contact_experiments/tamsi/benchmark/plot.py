"""The benchmark's figure: cost of every scene, and its growth with contacts and bodies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

from contact_experiments.tamsi.benchmark.measure import SceneResult
from contact_experiments.tamsi.benchmark.report import LABELS
from contact_experiments.tamsi.benchmark.runners import DRAKE_SAP, DRAKE_TAMSI, MUJOCO, OURS

# Simulator -> label, colour, marker.
STYLE = {
    DRAKE_TAMSI: (LABELS[DRAKE_TAMSI], "#7d6bb0", "D"),
    DRAKE_SAP: (LABELS[DRAKE_SAP], "#6f9a3a", "^"),
    MUJOCO: (LABELS[MUJOCO], "#3b6ea8", "s"),
    OURS: ("tamsi_sim", "#c8372d", "o"),
}


def plot_cost(results: Sequence[SceneResult], growth: Sequence[SceneResult], path: Path) -> Path:
    """Draw CPU time per step, of every scene and against the size of a scene.

    Args:
        results: The scenes.
        growth: Scenes of one kind by growing size; may be empty.
        path: Image to write.

    Returns:
        The path.
    """
    figure = Figure(figsize=(12.0, 5.0), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.7, 1.0))
    _draw_scenes(left, results)
    _draw_growth(right, growth)
    left.set_ylabel("CPU time per step [µs]")
    left.legend(frameon=False, loc="upper left")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    return path


def _draw_scenes(axes: Axes, results: Sequence[SceneResult]) -> None:
    ordered = sorted(results, key=lambda result: result.cost(OURS) or 0.0)
    places = np.arange(len(ordered))
    for place, result in enumerate(ordered):
        costs = [cost for name in STYLE if (cost := result.cost(name)) is not None]
        axes.plot([place, place], [min(costs), max(costs)], color="0.85", lw=6, zorder=0)
    _draw_markers(axes, places, ordered, "")
    labels = [f"{r.name}\n{r.contacts[OURS]:.0f} contacts\n{r.bodies} bodies" for r in ordered]
    axes.set_xticks(places, labels, fontsize=8)
    _style(axes)


def _draw_growth(axes: Axes, growth: Sequence[SceneResult]) -> None:
    bodies = np.array([result.bodies for result in growth])
    axes.set(xscale="log", xlabel="blocks in towers of four, 4 contact points each")
    _draw_markers(axes, bodies, growth, "-")
    axes.set_xticks(bodies)
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.minorticks_off()
    _style(axes)


def _draw_markers(
    axes: Axes, places: np.ndarray, results: Sequence[SceneResult], line: str
) -> None:
    for simulator, (label, color, marker) in STYLE.items():
        costs = [result.cost(simulator) for result in results]
        heights = np.array([np.nan if cost is None else cost for cost in costs])
        axes.plot(
            places, heights, marker=marker, linestyle=line, color=color, label=label, ms=8, lw=1.3,
            mec="white", mew=0.7,
        )  # fmt: skip


def _style(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.grid(True, axis="y", which="major", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
