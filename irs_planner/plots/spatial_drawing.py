"""Frames of a plan in 3-D, from above and from the side, as in Fig. 1."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.axes import Axes
from matplotlib.patches import Circle, Patch, Polygon
from scipy.spatial import ConvexHull

from contact_stack.core.shapes import ShapeKind
from irs_planner.plots.scene_drawing import FIXED, GOAL, OBJECT, ROBOT
from irs_planner.plots.style import save
from irs_planner.quasi_dynamic import SpatialQuasiDynamics
from irs_planner.scenes.spatial_contacts import place_spatial_bodies

ABOVE, SIDE = (0, 1), (0, 2)
AXES = "xyz"
MARGIN = 0.05
CORNERS = np.array(np.meshgrid(*[(-1.0, 1.0)] * 3)).reshape(3, -1).T


def draw_spatial_strip(
    dynamics: SpatialQuasiDynamics,
    states: np.ndarray,
    goal: np.ndarray,
    path: Path,
    frames: int = 6,
) -> Path:
    """Draw some frames of a motion side by side, from above and from the side.

    Args:
        dynamics: The system.
        states: (T + 1, n) the motion.
        goal: (n) goal state, its objects are drawn as outlines.
        path: Image file to write.
        frames: Number of frames.

    Returns:
        The file.
    """
    figure, grid = plt.subplots(
        2, frames, figsize=(2.4 * frames, 4.6), sharex=True, sharey="row", layout="constrained"
    )
    low, high = _limits(dynamics, states, goal)
    for column, t in enumerate(np.linspace(0, len(states) - 1, frames).astype(int)):
        for axes, view in zip(grid[:, column], (ABOVE, SIDE), strict=True):
            _draw_frame(axes, dynamics, states[: t + 1], goal, view)
            axes.set_xlim(low[0], high[0])
            axes.set_ylim(low[view[1]], high[view[1]])
        grid[0, column].set_title(f"{t * dynamics.time_step:.1f} s", fontsize=9)
        grid[1, column].set_xlabel("x [m]")
    grid[0, 0].set_ylabel("from above: y [m]")
    grid[1, 0].set_ylabel("from the side: z [m]")
    return save(figure, path)


def animate_spatial(
    dynamics: SpatialQuasiDynamics, states: np.ndarray, goal: np.ndarray, path: Path
) -> Path:
    """Write a motion, seen from above, as an animated GIF, in real time.

    Args:
        dynamics: The system.
        states: (T + 1, n) the motion.
        goal: (n) goal state, its objects are drawn as outlines.
        path: File to write.

    Returns:
        The file.
    """
    figure, axes = plt.subplots(figsize=(5.0, 4.5), layout="constrained")
    low, high = _limits(dynamics, states, goal)

    def show(t: int) -> list[Patch]:
        axes.clear()
        _draw_frame(axes, dynamics, states[: t + 1], goal, ABOVE)
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="x [m]", ylabel="y [m]")
        axes.set_title(f"{t * dynamics.time_step:.1f} s", fontsize=9)
        return []

    path.parent.mkdir(parents=True, exist_ok=True)
    animation = FuncAnimation(figure, show, frames=len(states), blit=False)
    animation.save(path, PillowWriter(fps=max(1, round(1.0 / dynamics.time_step))))
    plt.close(figure)
    return path


def _draw_frame(
    axes: Axes,
    dynamics: SpatialQuasiDynamics,
    states: np.ndarray,
    goal: np.ndarray,
    view: tuple[int, int],
) -> None:
    """Draw the last of some states, the path of the tool so far, and the goal."""
    for patch in _patches(dynamics, states[-1], view):
        axes.add_patch(patch)
    for patch in _patches(dynamics, goal, view, only_objects=True):
        patch.set(facecolor="none", edgecolor=GOAL, linewidth=1.5, linestyle="--")
        axes.add_patch(patch)
    _, position = _bodies(dynamics, states[-1])
    arm = position[1 + dynamics.arrays.objects :]
    tool = dynamics.outputs(states[:, : dynamics.coordinates])[0][:, :3]
    arm = np.vstack((arm, tool[-1:]))
    axes.plot(arm[:, view[0]], arm[:, view[1]], color=FIXED, lw=3, alpha=0.6, zorder=3)
    axes.plot(tool[:, view[0]], tool[:, view[1]], color=ROBOT, lw=1, zorder=4)
    axes.set_aspect("equal")
    axes.tick_params(labelsize=8)


def _patches(
    dynamics: SpatialQuasiDynamics,
    state: np.ndarray,
    view: tuple[int, int],
    only_objects: bool = False,
) -> Iterator[Patch]:
    """Project the shapes of everything that moves, and of the furniture."""
    arrays = dynamics.arrays
    rotation, position = _bodies(dynamics, state)
    for i, body in enumerate(arrays.shape_body):
        is_object = 1 <= body <= arrays.objects
        if only_objects and not is_object:
            continue
        turn = rotation[body] @ arrays.shape_rotation[i]
        center = position[body] + rotation[body] @ arrays.shape_position[i]
        color = OBJECT if is_object else (ROBOT if body else FIXED)
        patch: Patch
        if arrays.shape_kind[i] == ShapeKind.SPHERE:
            patch = Circle(center[list(view)], arrays.shape_size[i, 0], zorder=5)
        elif arrays.shape_kind[i] == ShapeKind.BOX:
            corners = (center + (CORNERS * arrays.shape_size[i]) @ turn.T)[:, view]
            patch = Polygon(corners[ConvexHull(corners).vertices], zorder=2 if body else 1)
        else:
            continue
        patch.set(facecolor=color, edgecolor="black", linewidth=0.6)
        if body == 0:
            patch.set(alpha=0.2, edgecolor="none")
        yield patch


def _bodies(dynamics: SpatialQuasiDynamics, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rotations and positions of all bodies."""
    count = 1 + dynamics.arrays.objects + len(dynamics.arrays.joint_axis)
    rotation, position = np.empty((count, 3, 3)), np.empty((count, 3))
    q = np.ascontiguousarray(state[: dynamics.coordinates])
    place_spatial_bodies(dynamics.arrays, q, rotation, position, np.empty((len(q), 3)))
    return rotation, position


def _limits(
    dynamics: SpatialQuasiDynamics, states: np.ndarray, goal: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest x, y, z [m] of objects and tool."""
    q = np.vstack((states, goal))[:, : dynamics.coordinates]
    points = [dynamics.outputs(q)[0][:, :3]]
    points += [q[:, 6 * i : 6 * i + 3] for i in range(dynamics.arrays.objects)]
    radius = 0.0
    for kind, size, body in zip(
        dynamics.arrays.shape_kind, dynamics.arrays.shape_size, dynamics.arrays.shape_body,
        strict=True,
    ):  # fmt: skip
        if body and kind == ShapeKind.BOX:
            radius = max(radius, float(np.linalg.norm(size)))
    everything = np.vstack(points)
    return everything.min(axis=0) - radius - MARGIN, everything.max(axis=0) + radius + MARGIN
