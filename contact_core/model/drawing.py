"""What pages in the browser are drawn with: solids, and forces as arrows."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import coal
import numpy as np
import pinocchio as pin
import rich
import viser
from viser.infra import _infra
from viser.infra._async_message_buffer import AsyncMessageBuffer

from contact_core.multibody.collision.convex_mesh import hull_triangles
from contact_core.multibody.collision.shapes import triangles_from_coal

Color = tuple[float, float, float]
"""Red, green, blue in 0..1."""

Canvas = viser.ViserServer | viser.ClientHandle
"""All who look at a page, or one of them."""

PLANE = (10.0, 10.0, 1e-3)  # of a half space that is seen [m]


@contextmanager
def silence() -> Iterator[None]:
    """Keep Viser from greeting and taking leave, in the terminal and in a notebook's cell."""
    console = rich.get_console()
    console.quiet = True
    try:
        yield
    finally:
        console.quiet = False


class LoopEvent(asyncio.Event):
    """An event that is set in its own loop only.

    Viser sets events in the thread that draws and in its loop as well. The first may meet a client
    that leaves: ``InvalidStateError`` then ends the thread, and the page stands still.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Belong to a loop."""
        super().__init__()
        self._home = loop

    def set(self) -> None:
        """Wake who waits; in another thread nothing is done."""
        if asyncio._get_running_loop() is self._home:
            super().set()


class MessageBuffer(AsyncMessageBuffer):
    """Messages to those who look at a page, written by any thread."""

    def __init__(self, event_loop: asyncio.AbstractEventLoop, persistent_messages: bool) -> None:
        """Be read in a loop; what is persistent is kept for those who come later."""
        super().__init__(event_loop, persistent_messages, LoopEvent(event_loop))


LANGUAGE = """<script>
// Where the locale is C, browsers name a language that JavaScript refuses: the page stays white.
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en" });
}
</script>"""


def for_any_locale(page: str) -> str:
    """Return the text of Viser's page as one that browsers of any locale show."""
    return page.replace("<head>", f"<head>{LANGUAGE}", 1)


_infra.AsyncMessageBuffer = MessageBuffer  # type: ignore[assignment, attr-defined]


def pose_of(placement: pin.SE3) -> tuple[np.ndarray, np.ndarray]:
    """Return (3) position [m] and (4) quaternion w, x, y, z, as Viser takes them."""
    return placement.translation, pin.Quaternion(placement.rotation).coeffs()[[3, 0, 1, 2]]


def draw_solid(
    server: Canvas,
    name: str,
    solid: coal.CollisionGeometry,
    color: Color,
    placement: pin.SE3,
    opacity: float | None = None,
) -> list[viser.SceneNodeHandle]:
    """Draw a solid at a node of its own.

    Args:
        server: Where to draw.
        name: Path of the node.
        solid: A primitive, a half space, a mesh or a convex polyhedron.
        color: Of its surface.
        placement: Its pose in the parent node.
        opacity: Of its surface; None if nothing is seen through it.

    Returns:
        The meshes it is made of.
    """
    scene, paint = server.scene, (float(color[0]), float(color[1]), float(color[2]))
    position, wxyz = pose_of(placement)
    scene.add_frame(name, show_axes=False, position=position, wxyz=wxyz)
    match solid:
        case coal.Sphere():
            return [scene.add_icosphere(f"{name}/ball", solid.radius, paint, opacity=opacity)]
        case coal.Ellipsoid():
            a, b, c = (float(radius) for radius in solid.radii)
            return [
                scene.add_icosphere(f"{name}/ball", 1.0, paint, scale=(a, b, c), opacity=opacity)
            ]
        case coal.Box():
            return [scene.add_box(f"{name}/box", paint, 2.0 * solid.halfSide, opacity=opacity)]
        case coal.Halfspace():
            below = (0.0, 0.0, -0.5 * PLANE[2])
            return [scene.add_box(f"{name}/plane", paint, PLANE, opacity=opacity, position=below)]
        case coal.Cylinder() | coal.Capsule():
            radius, half = solid.radius, solid.halfLength
            caps = (("top", half), ("bottom", -half)) if isinstance(solid, coal.Capsule) else ()
            return [
                scene.add_cylinder(f"{name}/side", radius, 2.0 * half, paint, opacity=opacity),
                *(
                    scene.add_icosphere(
                        f"{name}/{cap}", radius, paint, opacity=opacity, position=(0.0, 0.0, z)
                    )
                    for cap, z in caps
                ),
            ]
        case coal.BVHModelBase() | coal.ConvexBase():
            points, triangles = triangles_from_coal(solid)
            if not len(triangles):
                triangles = hull_triangles(points)
            # Files do not agree on which side of a triangle is outside.
            return [
                scene.add_mesh_simple(
                    f"{name}/mesh", points, triangles, color=paint, flat_shading=True,
                    side="double", opacity=opacity,
                )
            ]  # fmt: skip
    return []


METRES_PER_NEWTON = 0.02
RADIUS = 0.008
HIDDEN = np.zeros((0, 2, 3))


class ForceArrows:
    """All the contact forces of one kind."""

    def __init__(
        self,
        server: Canvas,
        name: str,
        color: tuple[int, int, int],
        offset: float = 0.0,
        radius: float = RADIUS,
    ) -> None:
        """Prepare the arrows; none is drawn yet.

        Args:
            server: Where to draw.
            name: Path of the scene's node.
            color: Red, green, blue in 0..255.
            offset: How far the arrows are moved sideways, so that those of another kind
                are not hidden behind them [m].
            radius: Of the shafts [m].
        """
        self._server = server
        self._name = name
        self._color = color
        self._offset = offset
        self._radius = radius
        self._shown = True
        self.draw([], [])

    def draw(
        self,
        points: Iterable[np.ndarray],
        forces: Iterable[np.ndarray],
        scale: float = METRES_PER_NEWTON,
    ) -> None:
        """Replace the arrows.

        Args:
            points: (3) contact points [m], world frame.
            forces: (3) forces [N], world frame, one per point.
            scale: Length of an arrow per force [m/N].
        """
        starts = ((p + self._offset * _across(f), f) for p, f in zip(points, forces, strict=True))
        arrows = np.array([(start, start + scale * force) for start, force in starts])
        if not (len(arrows) or self._shown):
            return
        self._shown = len(arrows) > 0
        self._server.scene.add_arrows(
            self._name,
            arrows if len(arrows) else HIDDEN,
            self._color,
            shaft_radius=self._radius,
            head_radius=2.5 * self._radius,
            head_length=5 * self._radius,
            visible=self._shown,
        )


def _across(force: np.ndarray) -> np.ndarray:
    """Return a horizontal unit vector across a force."""
    across = np.array([-force[1], force[0], 0.0])
    length = np.linalg.norm(across)
    return across / length if length > 0.0 else np.array([1.0, 0.0, 0.0])
