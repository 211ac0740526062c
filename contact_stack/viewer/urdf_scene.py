"""Drawing a URDF's primitive shapes in a Viser scene and moving them."""

from __future__ import annotations

from collections.abc import Mapping

import coal
import numpy as np
import pinocchio as pin
import viser


class UrdfScene:
    """The visual shapes of one URDF, drawn under one name."""

    def __init__(self, server: viser.ViserServer, name: str, urdf: str) -> None:
        """Draw the URDF at its neutral configuration.

        Args:
            server: Where to draw.
            name: Path of the scene's nodes, e.g. ``"/robot"``.
            urdf: The URDF's text.
        """
        self._root = server.scene.add_frame(name, show_axes=False)
        self._model = pin.buildModelFromXML(urdf)
        self._data = self._model.createData()
        self._position = pin.neutral(self._model)
        # A shape never moves relative to its joint, so only the joints are sent again.
        self._joints = [
            server.scene.add_frame(f"{name}/{joint}", show_axes=False)
            for joint in self._model.names
        ]
        geometry = pin.buildGeomFromUrdfString(self._model, urdf, pin.GeometryType.VISUAL)
        for shape in geometry.geometryObjects:
            joint = self._model.names[shape.parentJoint]
            node = _add(server, f"{name}/{joint}/{shape.name}", shape)
            node.position, node.wxyz = _pose(shape.placement)
        self.move_joints({})

    def move_root(self, position: np.ndarray, quaternion: np.ndarray) -> None:
        """Move the whole URDF.

        Args:
            position: (3) of its root link [m], world frame.
            quaternion: (4) x, y, z, w.
        """
        self._root.position = position
        self._root.wxyz = np.roll(quaternion, 1)

    def move_joints(self, positions: Mapping[str, float]) -> None:
        """Move joints; those that are not named, or not in the URDF, stay.

        Args:
            positions: Joint name -> position [rad or m].
        """
        for name, position in positions.items():
            if self._model.existJointName(name):
                joint = self._model.joints[self._model.getJointId(name)]
                self._position[joint.idx_q] = position
        pin.forwardKinematics(self._model, self._data, self._position)
        for node, placement in zip(self._joints, self._data.oMi, strict=True):
            node.position, node.wxyz = _pose(placement)


def _pose(placement: pin.SE3) -> tuple[np.ndarray, np.ndarray]:
    """Return position and quaternion (w, x, y, z), as Viser takes them."""
    return placement.translation, np.roll(pin.Quaternion(placement.rotation).coeffs(), 1)


def _add(server: viser.ViserServer, name: str, shape: pin.GeometryObject) -> viser.SceneNodeHandle:
    """Draw one shape at the origin of a node of its own."""
    red, green, blue, _ = shape.meshColor
    color = (float(red), float(green), float(blue))
    geometry = shape.geometry
    match geometry:
        case coal.Sphere():
            return server.scene.add_icosphere(name, geometry.radius, color)
        case coal.Box():
            return server.scene.add_box(name, color, tuple(2 * geometry.halfSide))
        case coal.Cylinder():
            return server.scene.add_cylinder(name, geometry.radius, 2 * geometry.halfLength, color)
        case coal.Capsule():
            node = server.scene.add_frame(name, show_axes=False)
            radius, half_length = geometry.radius, geometry.halfLength
            server.scene.add_cylinder(f"{name}/side", radius, 2 * half_length, color)
            for cap, z in (("top", half_length), ("bottom", -half_length)):
                server.scene.add_icosphere(f"{name}/{cap}", radius, color, position=(0, 0, z))
            return node
    return server.scene.add_frame(name, show_axes=False)
