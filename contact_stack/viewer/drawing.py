"""URDFs on the page, drawn by joint positions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pinocchio as pin
import viser

from contact_core.drawing import draw_solid, pose_of


class UrdfScene:
    """The visual shapes of one URDF, drawn under one name.

    Attributes:
        solids: Link -> what it looks like, on the page.
    """

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
        self.solids: dict[str, list[viser.SceneNodeHandle]] = {}
        geometry = pin.buildGeomFromUrdfString(self._model, urdf, pin.GeometryType.VISUAL)
        for shape in geometry.geometryObjects:
            joint = self._model.names[shape.parentJoint]
            red, green, blue, _ = shape.meshColor
            path = f"{name}/{joint}/{shape.name}"
            link = self._model.frames[shape.parentFrame].name
            self.solids.setdefault(link, []).extend(
                draw_solid(server, path, shape.geometry, (red, green, blue), shape.placement)
            )
        self.move_joints({})

    def move_root(self, position: np.ndarray, quaternion: np.ndarray) -> None:
        """Move the whole URDF.

        Args:
            position: (3) of its root link [m], world frame.
            quaternion: (4) x, y, z, w.
        """
        self._root.position = position
        self._root.wxyz = np.roll(quaternion, 1)

    def pose(self, link: str) -> pin.SE3:
        """Return where a link is, in the frame of the root."""
        frame = self._model.frames[self._model.getFrameId(link)]
        return self._data.oMi[frame.parentJoint] * frame.placement

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
            node.position, node.wxyz = pose_of(placement)
