"""A plan as a strip of frames, as in Fig. 1 of bundled_gradients, or as an animation."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.figure import Figure

from contact_core.base.figures import save
from irs_planner.plots.drawing import MotionDrawing, PlanarDrawing, SpatialDrawing
from irs_planner.quasi_dynamic import PlanarQuasiDynamics, SpatialQuasiDynamics

FRAME = 2.4
"""Width of a frame [inch]."""


def draw_strip(
    dynamics: PlanarQuasiDynamics | SpatialQuasiDynamics,
    states: np.ndarray,
    goal: np.ndarray,
    path: Path,
    frames: int = 6,
) -> Path:
    """Draw some frames of a motion side by side; those in 3-D from above and from the side.

    Args:
        dynamics: The system.
        states: (T + 1, n) the motion.
        goal: (n) goal state, its objects are drawn as outlines.
        path: Image file to write.
        frames: Number of frames.

    Returns:
        The file.
    """
    drawing = _drawing(dynamics, states, goal)
    low, high = drawing.window()
    extent = high - low
    heights = [FRAME * extent[v.vertical] / extent[v.horizontal] for v in drawing.views]
    figure = Figure(figsize=(FRAME * frames, sum(heights) + 0.4), layout="constrained")
    grid = figure.subplots(
        len(heights), frames, squeeze=False, sharex=True, sharey="row", height_ratios=heights
    )
    for column, t in enumerate(np.linspace(0, len(states) - 1, frames).astype(int)):
        for axes, view in zip(grid[:, column], drawing.views, strict=True):
            drawing.draw(axes, t, view)
        grid[0, column].set_title(f"{t * drawing.time_step:.1f} s", fontsize=9)
    for axes, view in zip(grid[:, 0], drawing.views, strict=True):
        axes.set_ylabel(view.labels[1] if view.labels else "")
    for axes in grid[-1]:
        axes.set_xlabel(view.labels[0] if view.labels else "")
    return save(figure, path)


def animate(
    dynamics: PlanarQuasiDynamics | SpatialQuasiDynamics,
    states: np.ndarray,
    goal: np.ndarray,
    path: Path,
) -> Path:
    """Write a motion as an animated GIF, in real time; one in 3-D is seen from above.

    Args:
        dynamics: The system.
        states: (T + 1, n) the motion.
        goal: (n) goal state, its objects are drawn as outlines.
        path: GIF file to write.

    Returns:
        The file.
    """
    drawing = _drawing(dynamics, states, goal)
    view = drawing.views[0]
    figure, axes = plt.subplots(figsize=(4.5, 4.5), layout="constrained")

    def show(t: int) -> None:
        axes.clear()
        drawing.draw(axes, t, view)
        axes.set_title(f"{t * drawing.time_step:.1f} s", fontsize=9)

    path.parent.mkdir(parents=True, exist_ok=True)
    animation = FuncAnimation(figure, show, frames=len(states), blit=False)
    animation.save(path, writer=PillowWriter(fps=max(1, round(1.0 / drawing.time_step))))
    plt.close(figure)
    return path


def _drawing(
    dynamics: PlanarQuasiDynamics | SpatialQuasiDynamics, states: np.ndarray, goal: np.ndarray
) -> MotionDrawing:
    if isinstance(dynamics, SpatialQuasiDynamics):
        return SpatialDrawing(dynamics, states, goal)
    return PlanarDrawing(dynamics, states, goal)
