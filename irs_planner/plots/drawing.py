"""Drawings of a motion through contact, instant by instant, in the plane and in 3-D."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from matplotlib import transforms
from matplotlib.axes import Axes
from matplotlib.patches import Circle, Patch, Polygon, Rectangle
from scipy.spatial import ConvexHull

from contact_core.base.figures import ROLES
from contact_core.multibody.collision.shapes import ShapeKind
from irs_planner.quasi_dynamic import PlanarQuasiDynamics, SpatialQuasiDynamics
from irs_planner.scenes.planar_arrays import BOX, CIRCLE, POLYGON, SceneArrays
from irs_planner.scenes.planar_contacts import place_bodies
from irs_planner.scenes.spatial_arrays import WORLD, SpatialArrays
from irs_planner.scenes.spatial_contacts import place_spatial_bodies

ROBOT, OBJECT, GOAL, FIXED = ROLES["robot"], ROLES["object"], ROLES["goal"], "0.6"


class View(NamedTuple):
    """A direction to look from.

    Attributes:
        horizontal: Coordinate that runs to the right.
        vertical: Coordinate that runs up.
        labels: What is written at these axes; without them there are no ticks either.
    """

    horizontal: int
    vertical: int
    labels: tuple[str, str] | None = None


class MotionDrawing(ABC):
    """Knows how to draw the bodies of a scene, and the window that shows all of them.

    Attributes:
        states: (T + 1, n) the motion.
        goal: (n) goal state, its objects are drawn as outlines.
        time_step: Between states [s].
        views: Where to look from, the first one in animations.
    """

    views: tuple[View, ...]

    def __init__(self, states: np.ndarray, goal: np.ndarray, time_step: float) -> None:
        """Take a motion.

        Args:
            states: (T + 1, n) x.
            goal: (n) goal state.
            time_step: h [s].
        """
        self.states, self.goal, self.time_step = states, goal, time_step

    @abstractmethod
    def draw_bodies(self, axes: Axes, instant: int, view: View) -> None:
        """Draw the bodies at an instant, and the objects where they should go.

        Args:
            axes: Where to.
            instant: Index of the state.
            view: Where to look from.
        """

    @abstractmethod
    def window(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and highest coordinates [m] of everything that moves."""

    def draw(self, axes: Axes, instant: int, view: View) -> None:
        """Draw an instant into its window.

        Args:
            axes: Where to.
            instant: Index of the state.
            view: Where to look from.
        """
        low, high = self.window()
        self.draw_bodies(axes, instant, view)
        axes.set(
            xlim=(low[view.horizontal], high[view.horizontal]),
            ylim=(low[view.vertical], high[view.vertical]),
            aspect="equal",
        )
        if view.labels is None:
            axes.set(xticks=[], yticks=[])
        axes.tick_params(labelsize=8)


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
        self._window = _planar_window(dynamics.arrays, np.vstack((states, goal)))

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
        patch = _planar_patch(scene, i)
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


def _planar_patch(scene: SceneArrays, shape: int) -> Patch | None:
    """Return the outline of a shape in its body frame, None for points."""
    y, z, angle = scene.shape_pose[shape]
    half_width, half_height = scene.shape_size[shape]
    if scene.shape_kind[shape] == POLYGON:
        first, count = scene.shape_size[shape].astype(int)
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        return Polygon(scene.vertex[first : first + count] @ turn + (y, z))
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


def _planar_window(scene: SceneArrays, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the corner points of a window that contains everything that moves."""
    moves = (scene.shape_body > 0) & (scene.shape_kind != POLYGON)  # their corners are points
    bounded = np.flatnonzero(moves)
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
        self._window = _spatial_window(dynamics, states, goal)

    def draw_bodies(self, axes: Axes, instant: int, view: View) -> None:
        """Draw the bodies at an instant, see :meth:`MotionDrawing.draw_bodies`."""
        state, shown = self.states[instant], [view.horizontal, view.vertical]
        for patch in _spatial_patches(self._dynamics, state, shown):
            axes.add_patch(patch)
        for patch in _spatial_patches(self._dynamics, self.goal, shown, only_objects=True):
            patch.set(facecolor="none", edgecolor=GOAL, linewidth=1.5, linestyle="--")
            axes.add_patch(patch)
        tool, arrays = self._tool[: instant + 1], self._dynamics.arrays
        position = np.vstack((_bodies(self._dynamics, state)[1], tool[-1:]))
        carriers = [*arrays.joint_parent, arrays.tool_body]
        for body, carrier in enumerate(carriers, 1 + arrays.objects):
            if carrier != WORLD:
                link = position[[carrier, body]][:, shown]
                axes.plot(*link.T, color=FIXED, lw=3, alpha=0.6, zorder=3, solid_capstyle="round")
        axes.plot(*tool[:, shown].T, color=ROBOT, lw=1, zorder=4)

    def window(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and highest x, y, z [m], see :meth:`MotionDrawing.window`."""
        return self._window


def _spatial_patches(
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
        if arrays.shape_kind[i] == ShapeKind.HALF_SPACE:
            continue
        if arrays.shape_kind[i] == ShapeKind.SPHERE:
            patch = Circle(center[shown], arrays.shape_size[i, 0], zorder=5)
        else:
            corners = (center + _surface_points(arrays, i) @ turn.T)[:, shown]
            patch = Polygon(corners[ConvexHull(corners).vertices], zorder=2 if body else 1)
        patch.set(facecolor=color, edgecolor="black", linewidth=0.6)
        if body == 0:
            patch.set(alpha=0.2, edgecolor="none")
        yield patch


def _surface_points(arrays: SpatialArrays, shape: int) -> np.ndarray:
    """Return points (n, 3) of a shape's frame whose convex hull looks like the shape [m]."""
    kind, size = arrays.shape_kind[shape], arrays.shape_size[shape]
    if kind == ShapeKind.MESH:
        first, last = arrays.meshes.first_vertex[int(size[0]) :][:2]
        return np.asarray(arrays.meshes.vertex[first:last])
    if kind == ShapeKind.BOX:
        return np.asarray(CORNERS * size)
    angle = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    rise = np.linspace(0.0, 0.5 * np.pi, 6) if kind == ShapeKind.CAPSULE else np.zeros(1)
    around, up = (grid.ravel() for grid in np.meshgrid(angle, rise))
    flat = size[0] * np.cos(up)
    end = np.column_stack(
        (flat * np.cos(around), flat * np.sin(around), size[1] + size[0] * np.sin(up))
    )
    return np.concatenate((end, end * (1.0, 1.0, -1.0)))


def _bodies(dynamics: SpatialQuasiDynamics, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rotations and positions of all bodies."""
    count = 1 + dynamics.arrays.objects + len(dynamics.arrays.joint_axis)
    rotation, position = np.empty((count, 3, 3)), np.empty((count, 3))
    q = np.ascontiguousarray(state[: dynamics.coordinates])
    axis = np.empty((count + 5 * dynamics.arrays.objects, 3))
    place_spatial_bodies(dynamics.arrays, q, rotation, position, axis)
    return rotation, position


def _spatial_window(
    dynamics: SpatialQuasiDynamics, states: np.ndarray, goal: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest x, y, z [m] of objects and tool."""
    q = np.vstack((states, goal))[:, : dynamics.coordinates]
    points = [dynamics.outputs(q)[0][:, :3]]
    points += [q[:, 6 * i : 6 * i + 3] for i in range(dynamics.arrays.objects)]
    radius = 0.0
    for reach, body in zip(dynamics.arrays.shape_radius, dynamics.arrays.shape_body, strict=True):
        if 0 < body <= dynamics.arrays.objects:
            radius = max(radius, reach)
    everything = np.vstack(points)
    return everything.min(axis=0) - radius - MARGIN, everything.max(axis=0) + radius + MARGIN
