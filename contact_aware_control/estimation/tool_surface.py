"""The surface of an arm whose tool changes: its fingers open and close, objects are held.

Changes are written into the arrays of the surface, so that nothing that uses it has to be told.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from contact_aware_control.estimation.surface import HIDDEN_DEPTH, surface_of_robot
from contact_core.base.errors import ConfigError, ModelError, choices, real_number
from contact_core.multibody.collision.shapes import PlacedShape, Shape, ShapeKind
from contact_core.robot.robot import HELD_OBJECT, Robot

MAX_HELD_SHAPES = 4
"""Shapes that a held object may consist of."""

HOLDABLE = (ShapeKind.SPHERE, ShapeKind.BOX, ShapeKind.CAPSULE, ShapeKind.CYLINDER)
"""What these may be."""

MAX_OPENING = 4.0
"""Of a gripper's joint, to either side: what is more is neither in metres nor in radians."""

MIN_MOTION = 1e-4
"""Less motion of the fingers [m] makes no difference to where they are touched."""

NOTHING = Shape(ShapeKind.SPHERE)
HERE = pin.SE3.Identity()


class ToolSurface:
    """Everything of an arm that may be touched: the fingers where they are, and what is held.

    Fingers that touch a plane together press with one force between them, where there is
    nothing but the palm, far behind. So the way that a finger has come from where the gripper
    was closed counts as that finger.

    Attributes:
        surface: The shapes; changes.
        links: Name of the link of each.
        body: Number of the body of each: every link is one, but fingers are one together.
    """

    def __init__(self, robot: Robot, links: Sequence[str] = ()) -> None:
        """Collect the shapes; nothing is held.

        Args:
            robot: The arm; its gripper is closed.
            links: The links that may be touched; empty for all that the arm moves. What is
                held always may be.

        Raises:
            ModelError: If a link is unknown.
        """
        robot.set_gripper(0.0)
        self._robot = robot
        self._position = 0.0
        moved = [s for s in robot.collision_shapes if robot.joints_moving(s.body) > 0]
        self._fingers = {
            link: _box_around([shape for shape in moved if shape.body == link])
            for link in robot.finger_links
            if any(shape.body == link for shape in moved)
        }
        self._closed = {link: robot.in_joint(link) for link in self._fingers}
        ways = [PlacedShape("way", link, NOTHING, HERE) for link in self._fingers]
        held = [PlacedShape("held", HELD_OBJECT, NOTHING, HERE)] * MAX_HELD_SHAPES
        self._shapes = [*moved, *ways, *held]
        self.surface, self.links = surface_of_robot(robot, links, [*ways, *held])
        self._touchable = self.surface.candidate.copy()
        self._touchable[-MAX_HELD_SHAPES:] = True
        fingers = [*self._fingers, ""][0]
        bodies = [fingers if link in self._fingers else link for link in self.links]
        names = list(dict.fromkeys(bodies))
        self.body = np.array([names.index(body) for body in bodies])
        self._write(range(len(moved), len(self._shapes)))

    def set_gripper(self, position: float) -> None:
        """Move the fingers.

        Args:
            position: Of the joint that opens the gripper [m].
        """
        if not self._fingers or abs(position - self._position) < MIN_MOTION:
            return
        self._position = position
        self._robot.set_gripper(position)
        for i, shape in enumerate(self._shapes):
            if shape.name == "way":
                self._shapes[i] = self._way(shape.body)
        self._write([i for i, link in enumerate(self.links) if link in self._fingers])

    def hold(self, shapes: Sequence[PlacedShape]) -> None:
        """Take what is held into the surface, and what was held before out of it.

        Args:
            shapes: What :func:`check_held` has passed; each is placed in the tool's frame.
        """
        first = len(self._shapes) - MAX_HELD_SHAPES
        empty = [PlacedShape("held", HELD_OBJECT, NOTHING, HERE)] * (MAX_HELD_SHAPES - len(shapes))
        self._shapes[first:] = [*shapes, *empty]
        self._write(range(first, len(self._shapes)))

    def _way(self, link: str) -> PlacedShape:
        """Return the box between where a sliding finger is and where it was, if that is far."""
        now = self._robot.in_joint(link)
        back = now.actInv(self._closed[link].translation)
        axis = int(np.abs(back).argmax())
        if abs(back[axis]) < 2 * HIDDEN_DEPTH:
            return PlacedShape("way", link, NOTHING, HERE)
        low, high = self._fingers[link]
        inner = low[axis] if back[axis] < 0.0 else high[axis]
        # It hides the palm behind it, and its end in that of the other finger's.
        over = 2 * HIDDEN_DEPTH
        low, high = low - over, high + over
        low[axis], high[axis] = sorted(
            (inner, inner + back[axis] + math.copysign(over, back[axis]))
        )
        a, b, c = (0.5 * (high - low)).tolist()
        pose = pin.SE3(np.eye(3), 0.5 * (low + high))
        return PlacedShape("way", link, Shape(ShapeKind.BOX, (a, b, c)), pose)

    def _write(self, indices: Sequence[int]) -> None:
        """Write shapes into the arrays."""
        surface = self.surface
        for i in indices:
            placed = self._shapes[i]
            pose = self._robot.in_joint(self.links[i]) * placed.placement
            surface.kind[i] = placed.shape.kind
            surface.size[i] = placed.shape.size
            surface.rotation[i], surface.translation[i] = pose.rotation, pose.translation
            surface.bounding_radius[i] = placed.shape.bounding_radius
        area = np.array([placed.shape.area for placed in self._shapes]) * self._touchable
        surface.candidate[:] = area > 0.0
        surface.cumulative_area[:] = np.cumsum(area) / area.sum()


def check_held(shapes: Sequence[PlacedShape]) -> None:
    """Check what somebody says is held.

    Args:
        shapes: The shapes, in the frame of the tool.

    Raises:
        ModelError: If there are too many, or one of a kind or size that cannot be touched.
    """
    if len(shapes) > MAX_HELD_SHAPES:
        raise ModelError(
            f"a held object has {len(shapes)} shapes (valid: at most {MAX_HELD_SHAPES})"
        )
    for placed in shapes:
        kind = placed.shape.kind
        if kind not in HOLDABLE:
            valid = choices([kind.name.lower() for kind in HOLDABLE])
            raise ModelError(f"a held object cannot be a {kind.name.lower()} ({valid})")
        if not 0.0 < placed.shape.area < np.inf or min(placed.shape.size) < 0.0:
            raise ModelError(f"a held object's sizes must be positive, got {placed.shape.size}")


def check_opening(position: float) -> float:
    """Return where somebody says the gripper's fingers are, checked.

    Args:
        position: Of the joint that opens the gripper [m], or [rad].

    Raises:
        ConfigError: If it is no finite number, or beyond MAX_OPENING.
    """
    valid = f"a finite number from {-MAX_OPENING:g} to {MAX_OPENING:g}"
    if abs(real_number(position, "gripper position", valid)) <= MAX_OPENING:
        return position
    raise ConfigError(f"gripper position must be {valid}, got {position!r}")


def _box_around(shapes: Sequence[PlacedShape]) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest corner (3) of the box around a link's shapes, its frame."""
    corners = []
    for placed in shapes:
        a, b, c = placed.shape.size
        round_half = np.array([a, a, b + (a if placed.shape.kind is ShapeKind.CAPSULE else 0.0)])
        half = {
            ShapeKind.BOX: np.array([a, b, c]),
            ShapeKind.SPHERE: np.full(3, a),
        }.get(placed.shape.kind, round_half)
        reach = np.abs(placed.placement.rotation) @ half
        corners += [placed.placement.translation - reach, placed.placement.translation + reach]
    return np.min(corners, axis=0), np.max(corners, axis=0)
