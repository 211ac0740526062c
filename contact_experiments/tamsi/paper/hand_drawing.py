"""The hand and the mug as flat-shaded faces, for pictures without a renderer."""

from __future__ import annotations

import itertools

import coal
import numpy as np
import pinocchio as pin
from mpl_toolkits.mplot3d import Axes3D
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from contact_core.robot.description import read_urdf

LIGHT = np.array([0.7, -0.35, 0.62])
AMBIENT = 0.45
SEGMENTS = 28  # Of round shapes.


class HandDrawing:
    """The visual shapes of hand and mug."""

    def __init__(self) -> None:
        """Read the URDFs."""
        self._hand = _Visuals("urdf/allegro_hand.urdf")
        self._mug = _Visuals("urdf/mug.urdf")

    def draw(self, axes: Axes3D, joints: np.ndarray, pose: np.ndarray) -> None:
        """Draw hand and mug.

        Args:
            axes: Axes of a 3-D plot.
            joints: (16) joint positions [rad].
            pose: (7) position [m] and quaternion (x, y, z, w) of the mug.
        """
        faces, colors = self._hand.faces(joints, pin.SE3.Identity())
        more, other_colors = self._mug.faces(np.zeros(0), pin.XYZQUATToSE3(pose))
        # One collection for everything, so that faces are sorted by depth.
        shades = colors + other_colors
        # Edges in the colour of the faces close the hairline gaps between them.
        collection = Poly3DCollection(faces + more, facecolors=shades, edgecolors=shades)
        collection.set_linewidth(0.4)
        axes.add_collection3d(collection)


class _Visuals:
    """The visual shapes of a URDF."""

    def __init__(self, urdf: str) -> None:
        text = read_urdf(urdf)
        self._model = pin.buildModelFromXML(text)
        self._geometry = pin.buildGeomFromUrdfString(self._model, text, pin.GeometryType.VISUAL)
        self._data, self._poses = self._model.createData(), self._geometry.createData()

    def faces(
        self, joints: np.ndarray, base: pin.SE3
    ) -> tuple[list[np.ndarray], list[tuple[float, ...]]]:
        """Return polygons in the world [m] and their shaded colours."""
        pin.updateGeometryPlacements(self._model, self._data, self._geometry, self._poses, joints)
        faces, colors = [], []
        for item, local in zip(self._geometry.geometryObjects, self._poses.oMg, strict=True):
            pose = base * local
            for face in _polygons(item.geometry):
                world = face @ pose.rotation.T + pose.translation
                faces.append(world)
                colors.append(_shaded(world, np.array(item.meshColor[:3])))
        return faces, colors


def _polygons(geometry: coal.CollisionGeometry) -> list[np.ndarray]:
    """Return the faces of a box, a sphere or a cylinder, seen from outside anticlockwise."""
    match geometry:
        case coal.Box():
            return _box(np.array(geometry.halfSide).ravel())
        case coal.Sphere():
            latitudes = np.linspace(-np.pi / 2, np.pi / 2, SEGMENTS // 2)
            outline = geometry.radius * np.array([np.cos(latitudes), np.sin(latitudes)])
            return _revolve(outline.T)
        case coal.Cylinder():
            r, h = geometry.radius, geometry.halfLength
            return _revolve(np.array([[0.0, -h], [r, -h], [r, 0.0], [r, h], [0.0, h]]))
    raise TypeError(f"no drawing of a {type(geometry).__name__}")


def _box(half: np.ndarray) -> list[np.ndarray]:
    faces = []
    for axis in range(3):
        for side in (-1.0, 1.0):
            corners = np.empty((4, 3))
            corners[:, axis] = side
            corners[:, (axis + 1) % 3] = side * np.array([-1.0, 1.0, 1.0, -1.0])
            corners[:, (axis + 2) % 3] = [-1.0, -1.0, 1.0, 1.0]
            faces.append(corners * half)
    return faces


def _revolve(outline: np.ndarray) -> list[np.ndarray]:
    """Return the faces of an outline of (radius, height) turned about z."""
    turns = np.linspace(0.0, 2.0 * np.pi, SEGMENTS + 1)
    rings = [
        np.stack([r * np.cos(turns), r * np.sin(turns), np.full_like(turns, z)], axis=1)
        for r, z in outline
    ]
    return [
        np.array([low[k], low[k + 1], high[k + 1], high[k]])
        for low, high in itertools.pairwise(rings)
        for k in range(SEGMENTS)
    ]


def _shaded(face: np.ndarray, color: np.ndarray) -> tuple[float, ...]:
    normal = np.cross(face[2] - face[0], face[3] - face[1])
    length = np.linalg.norm(normal)
    cosine = normal @ LIGHT / (length * np.linalg.norm(LIGHT)) if length > 0.0 else 0.0
    bright = AMBIENT + (1.0 - AMBIENT) * max(0.0, cosine)
    return tuple(np.clip(color * bright, 0.0, 1.0))
