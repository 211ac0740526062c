"""What the page is drawn with: a URDF's shapes, forces as arrows, rolling plots."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

import coal
import numpy as np
import pinocchio as pin
import viser
from viser import uplot


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


METRES_PER_NEWTON = 0.02
RADIUS = 0.008
HIDDEN = np.zeros((0, 2, 3))


class ForceArrows:
    """All the contact forces of one kind."""

    def __init__(
        self, server: viser.ViserServer, name: str, color: tuple[int, int, int], offset: float
    ) -> None:
        """Prepare the arrows; none is drawn yet.

        Args:
            server: Where to draw.
            name: Path of the scene's node.
            color: Red, green, blue in 0..255.
            offset: How far the arrows are moved sideways, so that those of another kind
                are not hidden behind them [m].
        """
        self._server = server
        self._name = name
        self._color = color
        self._offset = offset
        self.draw([], [])

    def draw(self, points: Iterable[np.ndarray], forces: Iterable[np.ndarray]) -> None:
        """Replace the arrows.

        Args:
            points: (3) contact points [m], world frame.
            forces: (3) forces on the robot [N], world frame, one per point.
        """
        arrows = np.array(
            [_arrow(p + self._offset * _across(f), f) for p, f in zip(points, forces, strict=True)]
        )
        self._server.scene.add_arrows(
            self._name,
            arrows if len(arrows) else HIDDEN,
            self._color,
            shaft_radius=RADIUS,
            head_radius=2.5 * RADIUS,
            head_length=5 * RADIUS,
            visible=len(arrows) > 0,
        )


def _arrow(start: np.ndarray, force: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return start, start + METRES_PER_NEWTON * force


def _across(force: np.ndarray) -> np.ndarray:
    """Return a horizontal unit vector across a force."""
    across = np.array([-force[1], force[0], 0.0])
    length = np.linalg.norm(across)
    return across / length if length > 0.0 else np.array([1.0, 0.0, 0.0])


MINIMUM_POINTS = 2


class RollingPlot:
    """Several quantities over the last seconds."""

    def __init__(
        self, server: viser.ViserServer, title: str, colors: Mapping[str, str], points: int
    ) -> None:
        """Add an empty plot to the page.

        Args:
            server: The page.
            title: What is drawn, with its unit.
            colors: Quantity -> its colour (CSS).
            points: How many of the latest points are kept.
        """
        self._time: deque[float] = deque(maxlen=points)
        self._values: dict[str, deque[float]] = {name: deque(maxlen=points) for name in colors}
        zeros = np.zeros(MINIMUM_POINTS)
        self._handle = server.gui.add_uplot(
            (np.arange(MINIMUM_POINTS, dtype=float), *(zeros for _ in colors)),
            (
                uplot.Series(label="time [s]"),
                *(uplot.Series(label=n, stroke=c, width=2) for n, c in colors.items()),
            ),
            title=title,
            scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
            legend=uplot.Legend(show=True),
            aspect=2.0,
        )

    def append(self, time: float, values: Mapping[str, float]) -> None:
        """Add one point; a time before the last one starts the plot anew.

        Args:
            time: [s].
            values: Quantity -> value.
        """
        if self._time and time < self._time[-1]:
            self._time.clear()
            for series in self._values.values():
                series.clear()
        self._time.append(time)
        for name, series in self._values.items():
            series.append(values[name])

    def draw(self) -> None:
        """Send the points to the browser."""
        if len(self._time) >= MINIMUM_POINTS:
            self._handle.data = (
                np.array(self._time), *(np.array(v) for v in self._values.values())
            )  # fmt: skip
