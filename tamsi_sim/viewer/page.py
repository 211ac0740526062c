"""A page with a simulation: that of an engine while somebody steps it, and what players share."""

from __future__ import annotations

import html
import threading
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

import numpy as np
import pinocchio as pin
import viser

from contact_core.base.errors import ModelError, ModelWarning, whole_number
from contact_core.model.drawing import (
    Color,
    ForceArrows,
    draw_solid,
    for_any_locale,
    pose_of,
    silence,
)
from contact_core.model.serving import served_our_way
from contact_core.model.visuals import Visual, visuals
from contact_core.multibody.collision.shapes import shape_to_coal
from contact_core.robot.scene import Link
from tamsi_sim.arrays.data import Work
from tamsi_sim.simulation.model import BuiltModel
from tamsi_sim.simulation.observer import Observer

TITLE = "simulation"
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


HOST = "127.0.0.1"
PERIOD = 1.0 / 30.0  # between two pictures [s]
FORCE = (217, 115, 13)
HEIGHT = 480  # in a notebook [pixels]
GRAVITY = 9.81


@dataclass(frozen=True)
class Picture:
    """What a page shows.

    Attributes:
        q: (nq) positions.
        points: (3) where each force acts, world [m].
        forces: (3) each force, world [N].
    """

    q: np.ndarray
    points: Sequence[np.ndarray] = ()
    forces: Sequence[np.ndarray] = ()


@dataclass(frozen=True)
class PageRecording:
    """What a page shows, as one file that needs no server; a notebook displays it.

    Attributes:
        html: The file's text.
    """

    html: str

    def save(self, path: str | Path) -> Path:
        """Write it to a file, which any browser opens.

        Args:
            path: The file, e.g. ``out/run.html``; its folder is made.

        Returns:
            The path.

        Raises:
            OSError: If it cannot be written.
        """
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.html)
        return path

    def _repr_html_(self) -> str:
        return _inline(f'srcdoc="{html.escape(self.html)}"')


class Simulated(Protocol):
    """What pages know of an :class:`~tamsi_sim.simulation.engine.Engine`."""

    built: BuiltModel
    q: np.ndarray
    work: Work

    @property
    def observer(self) -> Observer:
        """Answers questions about the present state."""

    def twin(self) -> Self:
        """Return another simulation of the same model, at its start."""


class SimulationPage(ABC):
    """A page with all links, and contact forces as arrows.

    A thread of its own draws, a picture per PERIOD at most. The page is open until :meth:`close`,
    the end of its ``with`` block or that of the program.

    Attributes:
        address: Where it is.
    """

    def __init__(self, engine: Simulated, port: int, collisions: bool) -> None:
        """Open the page.

        Args:
            engine: The simulation; only its model counts.
            port: Its port on this machine, or the next one that is free.
            collisions: Whether to show collision shapes also where there are visual ones.

        Raises:
            ConfigError: If the port is no positive whole number.
        """
        port = whole_number(port, "port", least=1)
        self._twin = engine.twin()
        with silence(), served_our_way(HOST, TITLE):
            self._server = viser.ViserServer(HOST, port, label=TITLE, verbose=False)
        self.address = f"http://{HOST}:{self._server.get_port()}"
        self._links = LinkNodes(self._server, engine.built, collisions)
        low, high = self._links.box(self._twin.observer.poses())
        size = float(np.linalg.norm(high - low))
        self._server.scene.set_up_direction("+z")
        self._server.initial_camera.look_at = 0.5 * (low + high)
        self._server.initial_camera.position = 0.5 * (low + high) + size * np.array(
            [0.6, -0.6, 0.35]
        )
        self._arrows = ForceArrows(self._server, "/forces", FORCE, radius=0.003 * size)
        # An arrow of all weight together is as long as the scene.
        weight = GRAVITY * float(np.sum(engine.built.arrays.inertias.mass))
        scale = float(f"{1000.0 * size / weight:.1g}") if weight > 0.0 else 1.0
        self._scale = self._server.gui.add_number("arrows [mm/N]", scale, min=0.0)
        shapes = self._server.gui.add_checkbox("collision shapes", collisions)
        self._shown = Picture(self._twin.q.copy())
        self._drawing = threading.RLock()
        self._scale.on_update(lambda _: self._draw(self._shown))
        shapes.on_update(lambda event: self._links.show(event.target.value))
        self._closed = threading.Event()
        self._painter = threading.Thread(target=self._paint, daemon=True)

    def _start(self, first: Picture) -> None:
        """Draw the first picture, and from now on what there is to see."""
        self._draw(first)
        self._painter.start()
        print(f"simulation at {self.address}")

    @abstractmethod
    def _next(self) -> Picture | None:
        """Return what to draw now; None if nothing has changed."""

    @abstractmethod
    def _frames(self) -> Sequence[Picture]:
        """Return the pictures of a recording, PERIOD apart."""

    def recording(self) -> PageRecording:
        """Return what the page shows as one file, for others who do not have this simulation."""
        with self._drawing:
            shown, serializer = self._shown, self._server.get_scene_serializer()
            for frame in self._frames():
                self._draw(frame)
                serializer.insert_sleep(PERIOD)
            text = for_any_locale(serializer.as_html())
            self._draw(shown)
        return PageRecording(text)

    def close(self) -> None:
        """Close the page."""
        if not self._closed.is_set():
            self._closed.set()
            self._painter.join()
            with silence():
                self._server.stop()

    def __enter__(self) -> Self:
        """Return the page itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the page."""
        self.close()

    def _repr_html_(self) -> str:
        return _inline(f'src="{self.address}"')

    def _paint(self) -> None:
        while not self._closed.wait(PERIOD):
            picture = self._next()
            if picture is not None:
                self._draw(picture)

    def _draw(self, picture: Picture) -> None:
        with self._drawing, self._server.atomic():
            self._twin.q[:] = picture.q
            self._links.move(self._twin.observer.poses())
            self._arrows.draw(picture.points, picture.forces, 1e-3 * self._scale.value)
            self._shown = picture


def _inline(source: str) -> str:
    return f'<iframe {source} width="100%" height="{HEIGHT}" style="border: none"></iframe>'


class LivePage(SimulationPage):
    """Shows an engine's latest state. Who opens the page is shown the state of that moment."""

    def __init__(self, engine: Simulated, port: int = 8080, collisions: bool = False) -> None:
        """Open the page.

        Args:
            engine: The simulation.
            port: The page's port on this machine, or the next one that is free.
            collisions: Whether to show collision shapes also where there are visual ones.

        Raises:
            ConfigError: If the port is no positive whole number.
        """
        super().__init__(engine, port, collisions)
        self._engine = engine
        self._news: deque[Picture] = deque(maxlen=1)
        self._server.on_client_connect(lambda _: self._news.append(self._now()))
        self._start(self._now())

    def update(self) -> None:
        """Show the engine's state, with the contact forces of its last step.

        It may be called after every step: the latest state is drawn, a picture per PERIOD at most.
        All it does here is to copy the state, and only if somebody looks.
        """
        if self._server.get_clients():
            self._news.append(self._now())

    def _now(self) -> Picture:
        found = self._engine.work.contacts
        number = min(int(found.number[0]), len(found.depth))
        mean = self._engine.work.contact_forces.mean_force[:number]
        loaded = mean.any(axis=1)
        forces = np.einsum("cij,ci->cj", found.frame[:number][loaded], mean[loaded])
        return Picture(self._engine.q.copy(), list(found.point[:number][loaded]), list(forces))

    def _next(self) -> Picture | None:
        return self._news.pop() if self._news else None

    def _frames(self) -> Sequence[Picture]:
        return [self._now()]
