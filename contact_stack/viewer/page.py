"""The page: the robot, the objects, contact forces as arrows, and rolling plots.

ROS-free: it is fed with numbers and draws what it has at the rate its owner asks for.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import viser
import websockets.asyncio.server

from contact_aware_control.controllers import CONTROLLERS
from contact_core.drawing import ForceArrows
from contact_stack.viewer.controls import Commands, Controls
from contact_stack.viewer.drawing import RollingPlot, UrdfScene

TRUE_COLOR = (217, 115, 13)
ESTIMATE_COLOR = (11, 110, 153)
LIMIT_COLOR = "#777777"
ARROW_OFFSET = 0.015
FLOOR_HEIGHT = -0.47
CAMERA_POSITION = (1.45, -1.35, 0.95)
CAMERA_TARGET = (0.5, 0.0, 0.3)
NOTICE = 6.0
"""How long a notice stays on the page [s]."""
OURS = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
"""Pages that may talk to this one."""


@dataclass
class Snapshot:
    """The latest of everything the page shows; replaced piece by piece as news arrive.

    Attributes:
        time: Since the first state that was heard [s].
        joints: Joint name -> position [rad or m].
        objects: Object name -> (position [m], quaternion x y z w), world frame.
        true_points: (3) true contact points [m], world frame.
        true_forces: (3) true contact forces on the robot [N], world frame.
        estimated_points: (3) estimated contact points [m], world frame.
        estimated_forces: (3) estimated contact forces on the robot [N], world frame.
        felt: What the estimator feels, a line of text for each contact.
        force_limit: [N].
        position_error: Of the measured tool from the reference [m], NaN without one.
        rotation_error: Likewise [rad].
        state: What the controller does, e.g. ``"TRACKING"``.
        remedy: What to do about it, empty if nothing.
    """

    time: float = 0.0
    joints: Mapping[str, float] = field(default_factory=dict)
    objects: Mapping[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    true_points: Sequence[np.ndarray] = ()
    true_forces: Sequence[np.ndarray] = ()
    estimated_points: Sequence[np.ndarray] = ()
    estimated_forces: Sequence[np.ndarray] = ()
    felt: Sequence[str] = ()
    force_limit: float = 0.0
    position_error: float = np.nan
    rotation_error: float = np.nan
    state: str = "waiting"
    remedy: str = ""


class Page:
    """The page in the browser."""

    def __init__(
        self,
        robot_urdf: str,
        object_urdfs: Mapping[str, str],
        host: str,
        port: int,
        history: int,
    ) -> None:
        """Open the page; the first free port from ``port`` on is taken.

        Pages of other sites may not talk to it.

        Args:
            robot_urdf: URDF text of the robot.
            object_urdfs: Object name -> URDF text.
            host: Address to listen on.
            port: First port to try.
            history: Points kept in the plots.
        """
        # Viser greets with a box of its own.
        with redirect_stdout(io.StringIO()), _foreign_pages_refused():
            self._server = viser.ViserServer(host, port, label="contact stack")
        self._server.scene.set_up_direction("+z")
        self._server.scene.add_grid(
            "/floor", 4.0, 4.0, cell_size=0.1, position=(0.0, 0.0, FLOOR_HEIGHT)
        )
        self._server.initial_camera.position = CAMERA_POSITION
        self._server.initial_camera.look_at = CAMERA_TARGET
        self._robot = UrdfScene(self._server, "/robot", robot_urdf)
        self._objects = {
            name: UrdfScene(self._server, f"/objects/{name}", urdf)
            for name, urdf in object_urdfs.items()
        }
        self._true = ForceArrows(self._server, "/contacts/true", TRUE_COLOR, ARROW_OFFSET)
        self._estimated = ForceArrows(
            self._server, "/contacts/estimated", ESTIMATE_COLOR, -ARROW_OFFSET
        )
        self._status = self._server.gui.add_markdown("waiting for the graph", order=0.0)
        true, estimated = _css(TRUE_COLOR), _css(ESTIMATE_COLOR)
        self._force = RollingPlot(
            self._server,
            "contact force [N]",
            {"true": true, "estimated": estimated, "limit": LIMIT_COLOR},
            history,
        )
        self._error = RollingPlot(
            self._server,
            "tracking error",
            {"position [mm]": true, "rotation [deg]": estimated},
            history,
        )
        self.address = f"http://{host}:{self._server.get_port()}"
        self._controls: Controls | None = None

    def offer(self, commands: Commands, tool: str, links: Sequence[str], limit: float) -> None:
        """Offer buttons, and links that can be dragged.

        Args:
            commands: Does what is asked.
            tool: Link that is the tool.
            links: Those of the arm.
            limit: Force limit at the start [N].
        """
        self._controls = Controls(
            self._server, self._robot, commands, tool, links, tuple(CONTROLLERS), limit
        )

    def say(self, text: str) -> None:
        """Tell everybody who looks at the page."""
        for client in self._server.get_clients().values():
            client.add_notification("", text, auto_close_seconds=NOTICE)

    def draw(self, now: Snapshot) -> None:
        """Bring the page up to date.

        Args:
            now: What to show.
        """
        self._robot.move_joints(now.joints)
        if self._controls is not None:
            self._controls.draw()
        for name, (position, quaternion) in now.objects.items():
            if name in self._objects:
                self._objects[name].move_root(position, quaternion)
        self._true.draw(now.true_points, now.true_forces)
        self._estimated.draw(now.estimated_points, now.estimated_forces)
        self._force.append(
            now.time,
            {
                "true": _total(now.true_forces),
                "estimated": _total(now.estimated_forces),
                "limit": now.force_limit,
            },
        )
        self._error.append(
            now.time,
            {
                "position [mm]": 1e3 * np.nan_to_num(now.position_error),
                "rotation [deg]": np.degrees(np.nan_to_num(now.rotation_error)),
            },
        )
        self._force.draw()
        self._error.draw()
        self._status.content = _status_text(now)

    def close(self) -> None:
        """Close the page."""
        self._server.stop()


@contextmanager
def _foreign_pages_refused() -> Iterator[None]:
    """Let a page that is opened in the block refuse connections from pages of other sites.

    A browser lets any site connect to this machine, and tells which one it was.
    """
    serve = websockets.asyncio.server.serve
    ours = partial(serve, origins=[None, OURS])
    websockets.asyncio.server.serve = ours  # type: ignore[misc, assignment]
    try:
        yield
    finally:
        websockets.asyncio.server.serve = serve  # type: ignore[misc]


def _status_text(now: Snapshot) -> str:
    lines = [f"**{now.state}** at {now.time:.2f} s", now.remedy, *now.felt]
    lines.append("Arrows: orange the true contact force, blue the estimated one.")
    return "\n\n".join(filter(None, lines))


def _total(forces: Sequence[np.ndarray]) -> float:
    return float(np.linalg.norm(np.sum(forces, axis=0))) if len(forces) else 0.0


def _css(color: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*color)
