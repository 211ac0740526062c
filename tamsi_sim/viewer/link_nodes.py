"""The links of a model on a page: what they look like, or what they collide as."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
import pinocchio as pin
import viser

from contact_core.base.errors import ModelError, ModelWarning
from contact_core.model.drawing import Color, draw_solid, pose_of
from contact_core.model.visuals import Visual, visuals
from contact_core.multibody.collision.shapes import shape_to_coal
from contact_core.robot.scene import Link
from tamsi_sim.simulation.model import BuiltModel

FIXED: Color = (0.72, 0.72, 0.72)
# Of collision shapes that move, instance by instance.
COLORS: tuple[Color, ...] = (
    (0.20, 0.51, 0.74), (0.89, 0.55, 0.16), (0.33, 0.63, 0.35), (0.78, 0.31, 0.33),
    (0.55, 0.42, 0.68), (0.55, 0.45, 0.38),
)  # fmt: skip
MAX_DISTANCE = 10.0  # what reaches further from the origin is not looked at from the start [m]


class LinkNodes:
    """Nodes ``/INSTANCE/LINK`` of a page, a slash in a name replaced by a colon.

    Links without visual shapes show their collision shapes instead.
    """

    def __init__(self, server: viser.ViserServer, built: BuiltModel, collisions: bool) -> None:
        """Draw the links, at the origin.

        Args:
            server: Where to draw.
            built: The model.
            collisions: Whether to show collision shapes.
        """
        self._server, self._built = server, built
        self._collisions = _collision_solids(built)
        self._looks = {**self._collisions, **_looks(built)}
        self._nodes = {link: self._frame(_path(link)) for link in self._looks}
        self._layers: dict[bool, list[viser.FrameHandle]] = {}
        self.show(collisions)

    def show(self, collisions: bool) -> None:
        """Choose what is shown.

        Args:
            collisions: Whether to show collision shapes, through which forces are seen.
        """
        if collisions not in self._layers:
            solids = self._collisions if collisions else self._looks
            self._layers[collisions] = [self._draw(*item, collisions) for item in solids.items()]
        for layer, frames in self._layers.items():
            for frame in frames:
                frame.visible = layer == collisions

    def move(self, poses: Mapping[Link, pin.SE3]) -> None:
        """Move the links.

        Args:
            poses: Pose of each link in the world.
        """
        for link, node in self._nodes.items():
            node.position, node.wxyz = pose_of(poses[link])

    def box(self, poses: Mapping[Link, pin.SE3]) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and highest corner of a box around all shapes, (3) each [m].

        Args:
            poses: Pose of each link in the world.
        """
        built = self._built
        radii = built.arrays.geometry.radius
        balls = [
            ((poses[instance, shape.body] * shape.placement).translation, radius)
            for instance, shape, radius in zip(built.instances, built.shapes, radii, strict=True)
        ]
        near = [ball for ball in balls if np.linalg.norm(ball[0]) + ball[1] < MAX_DISTANCE]
        near = near or [(np.zeros(3), 1.0)]
        low = np.min([center - radius for center, radius in near], axis=0)
        return low, np.max([center + radius for center, radius in near], axis=0)

    def _frame(self, name: str) -> viser.FrameHandle:
        return self._server.scene.add_frame(name, show_axes=False)

    def _draw(self, link: Link, solids: list[Visual], collisions: bool) -> viser.FrameHandle:
        path = f"{_path(link)}/{'collision' if collisions else 'look'}"
        frame = self._frame(path)
        for number, item in enumerate(solids):
            name = f"{path}/{number}"
            # Forces begin between bodies and end inside of one.
            opacity = 0.5 if collisions and self._built.links[link][0] >= 0 else None
            draw_solid(self._server, name, item.solid, item.color, item.placement, opacity)
        return frame


def _path(link: Link) -> str:
    return "".join(f"/{name.replace('/', ':')}" for name in link)


def _collision_solids(built: BuiltModel) -> dict[Link, list[Visual]]:
    colors = {name: COLORS[k % len(COLORS)] for k, name in enumerate(built.texts)}
    found: dict[Link, list[Visual]] = {}
    for instance, shape in zip(built.instances, built.shapes, strict=True):
        link = (instance, shape.body)
        color = colors[instance] if built.links[link][0] >= 0 else FIXED
        item = Visual(shape.name, shape.body, shape_to_coal(shape.shape), color, shape.placement)
        found.setdefault(link, []).append(item)
    return found


def _looks(built: BuiltModel) -> dict[Link, list[Visual]]:
    found: dict[Link, list[Visual]] = {}
    for instance, text in built.texts.items():
        try:
            items = visuals(text)
        except ModelError as error:
            warnings.warn(
                f"{instance}: {error}: collision shapes are shown instead",
                ModelWarning,
                stacklevel=2,
            )
            continue
        for item in items:
            if (instance, item.link) in built.links:
                found.setdefault((instance, item.link), []).append(item)
    return found
