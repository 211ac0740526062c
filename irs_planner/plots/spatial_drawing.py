"""Drawings of scenes in 3-D, from above and from the side."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, Patch, Polygon
from scipy.spatial import ConvexHull

from contact_core.collision.shapes import ShapeKind
from irs_planner.plots.motion_drawing import FIXED, GOAL, OBJECT, ROBOT, MotionDrawing, View
from irs_planner.quasi_dynamic import SpatialQuasiDynamics
from irs_planner.scenes.spatial_contacts import place_spatial_bodies

MARGIN = 0.05
CORNERS = np.array(np.meshgrid(*[(-1.0, 1.0)] * 3)).reshape(3, -1).T


class SpatialDrawing(MotionDrawing):
    """A motion of an arm and the objects it pushes, with the path of its tool."""

    views = (
        View(0, 1, ("x [m]", "from above: y [m]")),
        View(0, 2, ("x [m]", "from the side: z [m]")),
    )

    def __init__(
        self, dynamics: SpatialQuasiDynamics, states: np.ndarray, goal: np.ndarray
    ) -> None:
        """Take a motion.

        Args:
            dynamics: The system.
            states: (T + 1, n) the motion.
            goal: (n) goal state.
        """
        super().__init__(states, goal, dynamics.time_step)
        self._dynamics = dynamics
        self._tool = dynamics.outputs(states[:, : dynamics.coordinates])[0][:, :3]
        self._window = _limits(dynamics, states, goal)

    def draw_bodies(self, axes: Axes, instant: int, view: View) -> None:
        """Draw the bodies at an instant, see :meth:`MotionDrawing.draw_bodies`."""
        state, shown = self.states[instant], [view.horizontal, view.vertical]
        for patch in _patches(self._dynamics, state, shown):
            axes.add_patch(patch)
        for patch in _patches(self._dynamics, self.goal, shown, only_objects=True):
            patch.set(facecolor="none", edgecolor=GOAL, linewidth=1.5, linestyle="--")
            axes.add_patch(patch)
        tool = self._tool[: instant + 1]
        links = _bodies(self._dynamics, state)[1][1 + self._dynamics.arrays.objects :]
        arm = np.vstack((links, tool[-1:]))
        axes.plot(*arm[:, shown].T, color=FIXED, lw=3, alpha=0.6, zorder=3)
        axes.plot(*tool[:, shown].T, color=ROBOT, lw=1, zorder=4)

    def window(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and highest x, y, z [m], see :meth:`MotionDrawing.window`."""
        return self._window


def _patches(
    dynamics: SpatialQuasiDynamics,
    state: np.ndarray,
    shown: list[int],
    only_objects: bool = False,
) -> Iterator[Patch]:
    """Project all shapes onto two coordinates."""
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
            patch = Circle(center[shown], arrays.shape_size[i, 0], zorder=5)
        elif arrays.shape_kind[i] == ShapeKind.BOX:
            corners = (center + (CORNERS * arrays.shape_size[i]) @ turn.T)[:, shown]
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
