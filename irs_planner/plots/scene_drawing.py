"""Drawings of planar scenes: frames of a plan in a strip, as in Fig. 1, or animated."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import transforms
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.axes import Axes
from matplotlib.patches import Circle, Patch, Rectangle

from irs_planner.plots.style import save
from irs_planner.quasi_dynamic import PlanarQuasiDynamics
from irs_planner.scenes.kinematics import place_bodies
from irs_planner.scenes.scene_arrays import BOX, CIRCLE, SceneArrays

ROBOT, OBJECT, GOAL, FIXED = "#d9534f", "#5cb85c", "black", "0.6"


def draw_strip(
    dynamics: PlanarQuasiDynamics,
    states: np.ndarray,
    goal: np.ndarray,
    path: Path,
    frames: int = 6,
) -> Path:
    """Draw some frames of a motion side by side.

    Args:
        dynamics: The system.
        states: (T + 1, n) the motion.
        goal: (n) goal state, its objects are drawn as outlines.
        path: Image file to write.
        frames: Number of frames.

    Returns:
        The file.
    """
    low, high = _limits(dynamics, states, goal)
    size = (high - low) / max(high - low)
    figure, grid = plt.subplots(
        1, frames, figsize=(2.6 * frames * size[0], 2.6 * size[1] + 0.4), layout="constrained"
    )
    for axes, t in zip(grid, np.linspace(0, len(states) - 1, frames).astype(int), strict=True):
        _draw_frame(axes, dynamics, states[t], goal, low, high)
        axes.set_title(f"{t * dynamics.time_step:.1f} s", fontsize=9)
    return save(figure, path)


def animate(
    dynamics: PlanarQuasiDynamics, states: np.ndarray, goal: np.ndarray, path: Path
) -> Path:
    """Write a motion as an animated GIF, in real time.

    Args:
        dynamics: The system.
        states: (T + 1, n) the motion.
        goal: (n) goal state, its objects are drawn as outlines.
        path: GIF file to write.

    Returns:
        The file.
    """
    low, high = _limits(dynamics, states, goal)
    figure, axes = plt.subplots(figsize=(4.0, 4.0), layout="constrained")

    def draw(t: int) -> list[Patch]:
        axes.clear()
        _draw_frame(axes, dynamics, states[t], goal, low, high)
        return list(axes.patches)

    path.parent.mkdir(parents=True, exist_ok=True)
    animation = FuncAnimation(figure, draw, frames=len(states))
    animation.save(path, writer=PillowWriter(fps=round(1.0 / dynamics.time_step)))
    plt.close(figure)
    return path


def _draw_frame(
    axes: Axes,
    dynamics: PlanarQuasiDynamics,
    state: np.ndarray,
    goal: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> None:
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    axes.set_xticks([])
    axes.set_yticks([])
    scene = dynamics.arrays
    _draw_shapes(axes, scene, _poses(scene, state), goal=False)
    _draw_shapes(axes, scene, _poses(scene, goal), goal=True)


def _draw_shapes(axes: Axes, scene: SceneArrays, poses: np.ndarray, goal: bool) -> None:
    for i, body in enumerate(scene.shape_body):
        is_object = 0 < body <= scene.objects
        if goal and not is_object:
            continue
        color = OBJECT if is_object else (ROBOT if body else FIXED)
        frame = (
            transforms.Affine2D().rotate(poses[body, 2]).translate(*poses[body, :2])
            + axes.transData
        )
        patch = _patch(scene, i)
        if patch is None:
            continue
        patch.set_transform(frame)
        if goal:
            patch.set(fill=False, edgecolor=GOAL, linestyle="--")
        else:
            patch.set(facecolor=color, edgecolor="0.2", linewidth=0.6)
        axes.add_patch(patch)
        # A lone disc needs a mark to show that it turns.
        lone = np.count_nonzero(scene.shape_body == body) == 1
        if scene.shape_kind[i] == CIRCLE and is_object and lone:
            y, z, _ = scene.shape_pose[i]
            radius = scene.shape_size[i, 0]
            style = "--" if goal else "-"
            axes.plot([y, y + radius], [z, z], "k", ls=style, lw=0.8, transform=frame)


def _patch(scene: SceneArrays, shape: int) -> Patch | None:
    """Return the outline of a shape in its body frame, None for points."""
    y, z, angle = scene.shape_pose[shape]
    half_width, half_height = scene.shape_size[shape]
    if scene.shape_kind[shape] == CIRCLE:
        return Circle((y, z), half_width) if half_width > 0.0 else None
    if scene.shape_kind[shape] == BOX:
        corner = (y - half_width, z - half_height)
        return Rectangle(
            corner,
            2.0 * half_width,
            2.0 * half_height,
            angle=np.degrees(angle),
            rotation_point=(y, z),
        )
    # A half plane is drawn as a slab below its line.
    return Rectangle(
        (y - 50.0, z - 0.1), 100.0, 0.1, angle=np.degrees(angle), rotation_point=(y, z)
    )


def _poses(scene: SceneArrays, state: np.ndarray) -> np.ndarray:
    bodies = 1 + scene.objects + len(scene.parent)
    poses = np.empty((bodies, 3))
    place_bodies(scene, state, poses, np.empty((bodies, len(state), 3)))
    return poses


def _limits(
    dynamics: PlanarQuasiDynamics, states: np.ndarray, goal: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the corner points of a window that contains everything that moves."""
    scene = dynamics.arrays
    bounded = [i for i, body in enumerate(scene.shape_body) if body > 0]
    points = []
    for state in (*states, goal):
        poses = _poses(scene, state)
        for i in bounded:
            y, z, angle = poses[scene.shape_body[i]]
            local = scene.shape_pose[i, :2]
            reach = np.hypot(*scene.shape_size[i])
            center = np.array(
                (
                    y + np.cos(angle) * local[0] - np.sin(angle) * local[1],
                    z + np.sin(angle) * local[0] + np.cos(angle) * local[1],
                )
            )
            points += [center - reach, center + reach]
    return np.min(points, axis=0) - 0.05, np.max(points, axis=0) + 0.05
