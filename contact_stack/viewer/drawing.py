"""On the page: URDFs by joint positions, friction cones, and what the arm could feel, as dots."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pinocchio as pin
import viser

from contact_aware_control.estimation.identifiability import ContactProspect
from contact_core.model.drawing import Canvas, Color, draw_solid, pose_of
from contact_core.model.visuals import read_visuals
from contact_core.robot.robot import Robot

GHOST_OPACITY, GHOST_SIZE = 0.55, 1.05
"""Of a ghost: it is a little larger, and seen from inside, so that it is an outline where the same
thing is, and nothing flickers there."""
LAMP, LIT = (2.0, -2.0, 3.6), (0.4, 0.0, 0.0)
"""Where the lamp is, and what it is directed at [m]."""
GROUND_COLOR = (185, 188, 194)
TOLD_COLOR, ELSEWHERE_COLOR, UNFELT_COLOR = (42, 157, 143), (217, 165, 13), (200, 55, 45)
"""Where a push would be located; where it is felt, and may be elsewhere; where it is not felt."""
DOTS, DOT_SIZE, LIFT = 24, 0.018, 0.004
"""Of what could be felt: their number on each link, their size and height over it [m]."""
PROSPECT_PERIOD, TURNED = 0.5, 0.02
"""They are judged anew so often at most [s], and where a joint has turned so far [rad]."""
CONE_HEIGHT, CONE_SIDES = 0.25, 24
"""Of a friction cone [m], and the number of its faces."""


def light(server: viser.ViserServer) -> None:
    """Light a page by the sky and one lamp: with Viser's own lights a picture costs three times it.

    Solids throw their shadows on the floor alone; those on curved solids would be grainy.

    Args:
        server: The page.
    """
    scene, ray = server.scene, np.subtract(LIT, LAMP)
    scene.configure_default_lights(enabled=False)
    scene.configure_environment_map(None)
    scene.add_light_hemisphere("/light/sky", ground_color=GROUND_COLOR, intensity=2.0)
    x, y, z = (float(value) for value in ray / np.linalg.norm(ray))
    scene.add_light_spot(
        "/light/lamp", position=LAMP, direction=(x, y, z), angle=0.6, penumbra=0.6,
        intensity=32.0, cast_shadow=True,
    )  # fmt: skip


class UrdfScene:
    """The visual shapes of one URDF, drawn under one name.

    Attributes:
        solids: Link -> what it looks like, on the page.
    """

    def __init__(self, server: Canvas, name: str, urdf: str, ghost: Color | None = None) -> None:
        """Draw the URDF at its neutral configuration.

        Args:
            server: Where to draw.
            name: Path of the scene's nodes, e.g. ``"/robot"``.
            urdf: The URDF's text.
            ghost: Colour of the whole, which is then translucent.
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
        for shape in read_visuals(self._model, urdf):
            joint = self._model.names[shape.parentJoint]
            red, green, blue, _ = shape.meshColor
            color = (red, green, blue) if ghost is None else ghost
            opacity = None if ghost is None else GHOST_OPACITY
            path = f"{name}/{joint}/{shape.name}"
            link = self._model.frames[shape.parentFrame].name
            placed = (path, shape.geometry, color, shape.placement)
            meshes: list[Any] = draw_solid(server, *placed, opacity)
            for mesh in meshes:
                mesh.receive_shadow, mesh.cast_shadow = False, ghost is None
                if ghost is not None:
                    mesh.side = "back"
                    # The origin of a mesh may be anywhere.
                    if not isinstance(mesh, viser.MeshHandle):
                        mesh.scale = tuple((GHOST_SIZE * np.ones(3) * mesh.scale).tolist())
            self.solids.setdefault(link, []).extend(meshes)
        self.move_joints({})

    def show(self, visible: bool) -> None:
        """Show the whole URDF, or hide it."""
        self._root.visible = visible

    def remove(self) -> None:
        """Take the whole URDF off the page."""
        self._root.remove()

    @property
    def root(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the root link is: (3) position [m] and (4) quaternion w, x, y, z, world frame."""
        return self._root.position, self._root.wxyz

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
        frame = self._model.frames[self._model.getFrameId(link, pin.FrameType.BODY)]
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


class FrictionCones:
    """Where forces of contacts that stick may point: cones of translucent surface."""

    def __init__(
        self, server: viser.ViserServer, name: str, color: tuple[int, int, int], friction: float
    ) -> None:
        """Prepare the cones; none is drawn yet.

        Args:
            server: Where to draw.
            name: Path of the scene's nodes.
            color: Red, green, blue in 0..255.
            friction: Coefficient of friction.
        """
        self._server, self._name, self._color = server, name, color
        angles = np.linspace(0.0, 2.0 * np.pi, CONE_SIDES, endpoint=False)
        rim = [friction * np.cos(angles), friction * np.sin(angles), np.ones(CONE_SIDES)]
        self._points = CONE_HEIGHT * np.vstack([np.zeros(3), np.transpose(rim)])
        side = np.arange(CONE_SIDES)
        self._triangles = np.transpose([0 * side, 1 + side, 1 + (side + 1) % CONE_SIDES])
        self._cones: list[viser.MeshHandle] = []

    def draw(self, contacts: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        """Replace the cones.

        Args:
            contacts: Point (3) [m] and unit vector (3) of the axis of each, world frame.
        """
        while len(self._cones) < len(contacts):
            self._cones.append(
                self._server.scene.add_mesh_simple(
                    f"{self._name}/{len(self._cones)}", self._points, self._triangles,
                    color=self._color, opacity=0.3, side="double", cast_shadow=False,
                )
            )  # fmt: skip
        for k, cone in enumerate(self._cones):
            cone.visible = k < len(contacts)
        for cone, (point, normal) in zip(self._cones, contacts, strict=False):
            turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), normal)
            cone.position, cone.wxyz = pose_of(pin.SE3(turn, point))


class ProspectDots:
    """What the torques could tell of pushes on the arm, before there is one, as dots all over it.

    Attributes:
        shown: Whether they are to be seen.
    """

    def __init__(self, server: viser.ViserServer, name: str, robot: Robot) -> None:
        """Prepare the dots; none is drawn yet.

        Args:
            server: Where to draw.
            name: Path of the scene's node.
            robot: The arm; it is updated.
        """
        self._robot = robot
        self._prospect: ContactProspect | None = None
        self.shown = False
        self._judged = np.empty(0)
        self._next = -np.inf
        self._cloud = server.scene.add_point_cloud(
            name, np.zeros((0, 3)), TOLD_COLOR, point_size=DOT_SIZE, point_shape="circle",
            precision="float32",
        )  # fmt: skip

    def draw(self, arm: np.ndarray, force: float) -> None:
        """Judge the dots where the arm is now, if they are shown and it has moved.

        Args:
            arm: (n) joint positions [rad].
            force: Of the pushes [N].
        """
        if not self.shown:
            if len(self._judged):
                self._judged, self._cloud.points = np.empty(0), np.zeros((0, 3), np.float32)
            return
        now, key = time.monotonic(), np.append(arm, force)
        there = len(self._judged) == len(key) and np.abs(key - self._judged).max() < TURNED
        if there or now < self._next:
            return
        self._judged, self._next = key, now + PROSPECT_PERIOD
        # To draw the places takes a second, which nobody waits for who does not look.
        self._prospect = self._prospect or ContactProspect(self._robot, places=DOTS)
        found = self._prospect.at(arm, force)
        felt = force >= found.felt
        sure = found.located[:, None]
        colors = np.where(sure, TOLD_COLOR, np.where(felt[:, None], ELSEWHERE_COLOR, UNFELT_COLOR))
        self._cloud.points = (found.points - LIFT * found.directions).astype(np.float32)
        self._cloud.colors = colors.astype(np.uint8)
