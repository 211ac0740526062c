"""Drawings of planar scenes."""

from __future__ import annotations

import numpy as np
from matplotlib import transforms
from matplotlib.axes import Axes
from matplotlib.patches import Circle, Patch, Rectangle

from irs_planner.plots.motion_drawing import FIXED, GOAL, OBJECT, ROBOT, MotionDrawing, View
from irs_planner.quasi_dynamic import PlanarQuasiDynamics
from irs_planner.scenes.kinematics import place_bodies
from irs_planner.scenes.scene_arrays import BOX, CIRCLE, SceneArrays

MARGIN = 0.05


class PlanarDrawing(MotionDrawing):
    """A motion in the y-z plane."""

    views = (View(0, 1),)

    def __init__(self, dynamics: PlanarQuasiDynamics, states: np.ndarray, goal: np.ndarray) -> None:
        """Take a motion.

        Args:
            dynamics: The system.
            states: (T + 1, n) the motion.
            goal: (n) goal state.
        """
        super().__init__(states, goal, dynamics.time_step)
        self._scene = dynamics.arrays
        self._window = _limits(dynamics.arrays, np.vstack((states, goal)))

    def draw_bodies(self, axes: Axes, instant: int, view: View) -> None:
        """Draw the bodies at an instant, see :meth:`MotionDrawing.draw_bodies`."""
        _draw_shapes(axes, self._scene, _poses(self._scene, self.states[instant]), goal=False)
        _draw_shapes(axes, self._scene, _poses(self._scene, self.goal), goal=True)

    def window(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and highest y, z [m], see :meth:`MotionDrawing.window`."""
        return self._window


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


def _limits(scene: SceneArrays, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the corner points of a window that contains everything that moves."""
    bounded = [i for i, body in enumerate(scene.shape_body) if body > 0]
    points = []
    for state in states:
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
    return np.min(points, axis=0) - MARGIN, np.max(points, axis=0) + MARGIN
