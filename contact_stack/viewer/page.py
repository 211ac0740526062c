"""The page: the robot, the objects, contact forces as arrows, and rolling plots.

ROS-free: it is fed with numbers and draws what it has at the rate its owner asks for.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from html import escape

import numpy as np
import viser
from viser import uplot

from contact_aware_control.estimation.config import ParticleConfig
from contact_core.model.drawing import Canvas, ForceArrows, silence
from contact_stack.viewer.controls import Permissions, TokenPrompt, UserControls
from contact_stack.viewer.drawing import FrictionCones, UrdfScene, light
from contact_stack.viewer.objects import PLACE_COLOR
from contact_stack.viewer.plots import Quantities, RollingPlot, TimelinePlot
from contact_stack.viewer.scene_model import SceneModel
from contact_stack.viewer.serving import TITLE, served_our_way
from contact_stack.viewer.snapshot import PageState

TRUE_COLOR = (217, 115, 13)
ESTIMATE_COLOR = (11, 110, 153)
LIMIT_COLOR = "#777777"
ARROW_OFFSET = 0.015
FLOOR_HEIGHT = -0.47
FLOOR_COLOR, FLOOR_LINES = (236, 239, 242), (205, 211, 217)
CAMERA_POSITION = (1.45, -1.35, 0.95)
CAMERA_TARGET = (0.5, 0.0, 0.3)
GHOST_COLOR, REFERENCE_COLOR, BESIDE_COLOR = (0.25, 0.55, 1.0), (0.2, 0.7, 0.35), (0.85, 0.3, 0.25)
BESIDE_TEXT = (217, 77, 64)
PARTICLE_COLOR, PARTICLE_SIZE = (142, 36, 170), 0.02
STATE_COLORS = {
    "waiting": "#777777",
    "INACTIVE": "#777777",
    "HOLD": "#1c6fb8",
    "TRACKING": "#2b8a3e",
    "CONSERVATIVE": "#b35c00",
    "FAULT": "#c0392b",
}
SWITCHES = 9.0
"""Order of what is shown on request: above the plots."""
PLOT_RATE = 5.0
"""How often plots are drawn [Hz]; a browser without a graphics card draws them slowly."""
NARROW, NARROW_SHIFT = 1.5, np.array([0.0, 0.0, 0.45])
"""How much further away the camera then is, and how much lower it looks, past the controls [m]."""
NOTICE = 6.0
"""How long a notice stays on the page [s]."""


class Page:
    """The page in the browser.

    Attributes:
        server: Viser's.
        address: Where a browser finds it.
    """

    def __init__(
        self,
        model: SceneModel,
        host: str,
        port: int,
        history: float = 0.0,
        pictures: Sequence[PageState] = (),
    ) -> None:
        """Open the page; the first free port from ``port`` on is taken.

        Pages of other sites may not talk to it.

        Args:
            model: What is shown.
            host: Address to listen on.
            port: First port to try.
            history: Time in the plots of a robot that runs [s].
            pictures: Those of a recording, which plots show as a whole.
        """
        with silence(), served_our_way(host):
            self.server = viser.ViserServer(host, port, label=TITLE, verbose=False)
        self.server.scene.set_up_direction("+z")
        light(self.server)
        # Without objects there is nothing that the arm could stand on.
        height = FLOOR_HEIGHT if model.objects else 0.0
        self.server.scene.add_grid(
            "/floor", cell_size=0.1, section_size=0.5, cell_color=FLOOR_LINES,
            section_color=FLOOR_LINES, infinite_grid=True, fade_distance=7.0,
            plane_color=FLOOR_COLOR, plane_opacity=1.0, shadow_opacity=0.25,
            position=(0.0, 0.0, height),
        )  # fmt: skip
        self.server.initial_camera.position = CAMERA_POSITION
        self.server.initial_camera.look_at = CAMERA_TARGET
        self.server.on_client_connect(_fit)
        self._robot = UrdfScene(self.server, "/robot", model.urdf)
        self._objects = {
            name: UrdfScene(self.server, f"/objects/{name}", urdf)
            for name, urdf in model.objects.items()
        }
        self._true = ForceArrows(self.server, "/contacts/true", TRUE_COLOR, ARROW_OFFSET)
        self._estimated = ForceArrows(
            self.server, "/contacts/estimated", ESTIMATE_COLOR, -ARROW_OFFSET
        )
        self._cones = FrictionCones(
            self.server, "/contacts/cones", ESTIMATE_COLOR, ParticleConfig().friction
        )
        self._ghost = UrdfScene(self.server, "/ghost", model.urdf, GHOST_COLOR)
        self._reference = UrdfScene(self.server, "/reference", model.urdf, REFERENCE_COLOR)
        self._beside = UrdfScene(self.server, "/beside", model.urdf, BESIDE_COLOR)
        self._particles = self.server.scene.add_point_cloud(
            "/contacts/particles", np.zeros((0, 3)), PARTICLE_COLOR, point_size=PARTICLE_SIZE,
            point_shape="circle", precision="float32",
        )  # fmt: skip
        self._arm_joints = model.arm_joints
        gui = self.server.gui
        self._status = gui.add_html("waiting for the graph", order=0.0)
        with gui.add_folder("show", order=SWITCHES, expand_by_default=False):
            self._command_shown = gui.add_checkbox(
                "commanded arm",
                False,
                hint="Where the controller pulls the arm to, by its springs.",
            )
            self._cones_shown = gui.add_checkbox(
                "friction cones", False, hint="Where the estimator lets contact forces point."
            )
            self._particles_shown = gui.add_checkbox(
                "particles", False, hint="Where the estimator thinks that a contact may be."
            )
            self._reference_shown = gui.add_checkbox(
                "reference arm", False, hint="Where the motion that is followed has the arm."
            )
        self._plots = [
            TimelinePlot(self.server, *plot, pictures)
            if pictures
            else RollingPlot(self.server, *plot, history)
            for plot in _plots()
        ]
        self._plots_due = 0.0
        self.address = f"http://{host}:{self.server.get_port()}"
        self._urdfs, self._movable = model.objects, model.movable
        self._controls: dict[int | None, UserControls] = {}

    def offer(self, permissions: Permissions, token: str = "") -> None:
        """Offer buttons, links that can be dragged, and what can be done with objects.

        Args:
            permissions: What can be commanded.
            token: What a person has to enter before; empty to offer it to everybody.
        """
        if not token:
            self._controls[None] = self._controls_of(self.server, permissions)
            return

        def let_in(client: viser.ClientHandle) -> None:
            self._controls[client.client_id] = self._controls_of(client, permissions)

        TokenPrompt(self.server, token, let_in)
        self.server.on_client_disconnect(self._leave)

    def _controls_of(self, canvas: Canvas, permissions: Permissions) -> UserControls:
        objects = {name: self._objects[name] for name in self._movable}
        return UserControls(canvas, permissions, self._robot, objects, self._copy_of)

    def _leave(self, client: viser.ClientHandle) -> None:
        """Let go of what somebody holds who has closed the page."""
        controls = self._controls.pop(client.client_id, None)
        if controls is not None:
            controls.let_go()

    def _copy_of(self, canvas: Canvas, name: str) -> UrdfScene:
        """Draw another one of an object, translucent."""
        return UrdfScene(canvas, "/copy", self._urdfs[name], PLACE_COLOR)

    def say(self, text: str) -> None:
        """Tell everybody who looks at the page."""
        for client in self.server.get_clients().values():
            client.add_notification("", text, auto_close_seconds=NOTICE)

    @property
    def watched(self) -> bool:
        """Whether anybody looks."""
        return bool(self.server.get_clients())

    @property
    def shows_particles(self) -> bool:
        """Whether a person wants to see the particles."""
        return bool(self._particles_shown.value)

    @property
    def shows_reference(self) -> bool:
        """Whether a person wants to see the arm of the reference."""
        return bool(self._reference_shown.value)

    def note(self, now: PageState) -> None:
        """Remember for the plots what nobody looks at.

        Args:
            now: What would be shown.
        """
        for plot in self._plots:
            plot.note(now)

    def draw(self, now: PageState, live: PageState | None = None) -> None:
        """Bring the page up to date.

        Args:
            now: What to show.
            live: What plots go on with, where ``now`` lies in the past.
        """
        self._robot.move_joints(now.joints)
        for controls in tuple(self._controls.values()):  # people come and go
            controls.draw()
        for name, (position, quaternion) in now.objects.items():
            if name in self._objects:
                self._objects[name].move_root(position, quaternion)
        self._true.draw(now.true_points, now.true_forces)
        self._estimated.draw(now.estimated_points, now.estimated_forces)
        cones = zip(now.estimated_points, now.estimated_normals, strict=True)
        shown = list(cones) if self._cones_shown.value else []
        self._cones.draw(shown)
        self._draw_ghost(self._ghost, now, now.command if self._command_shown.value else ())
        self._draw_ghost(self._reference, now, now.reference if self.shows_reference else ())
        self._beside.show(bool(now.beside))
        if now.beside:
            self._beside.move_joints(now.beside)
            self._beside.stand_out(self._robot)
        particles = now.particles if self.shows_particles else now.particles[:0]
        self._particles.points = particles
        self.note(live or now)
        if time.monotonic() >= self._plots_due:
            self._plots_due = time.monotonic() + 1.0 / PLOT_RATE
            for plot in self._plots:
                plot.draw(live or now)
        self._status.content = _status_html(now)

    def _draw_ghost(self, ghost: UrdfScene, now: PageState, arm: Sequence[float]) -> None:
        """Show an arm elsewhere, with the gripper as it is, if it is known where."""
        shown = len(arm) == len(self._arm_joints)
        ghost.show(shown)
        if shown:
            ghost.move_joints({**now.joints, **dict(zip(self._arm_joints, arm, strict=True))})
            ghost.stand_out(self._robot)

    def close(self) -> None:
        """Close the page."""
        with silence():
            self.server.stop()


def _fit(client: viser.ClientHandle) -> None:
    """Step back where the window is narrow, as on a telephone."""
    if client.camera.aspect < 1.0:
        target = np.array(CAMERA_TARGET)
        client.camera.position = target + NARROW * (np.array(CAMERA_POSITION) - target)
        client.camera.look_at = target - NARROW_SHIFT


def _plots() -> list[tuple[str, dict[str, uplot.Series], Quantities]]:
    """Return title, curves and quantities of the plots."""
    true = uplot.Series(stroke=_css(TRUE_COLOR), width=2)
    estimated = uplot.Series(stroke=_css(ESTIMATE_COLOR), width=2)
    limit = uplot.Series(stroke=LIMIT_COLOR, width=2, dash=(6, 4))
    return [
        (
            "contact force [N]",
            {"true": true, "estimated": estimated, "limit": limit},
            {
                "true": lambda now: now.true_force,
                "estimated": lambda now: now.estimated_force,
                "limit": lambda now: now.force_limit,
            },
        ),
        (
            "tracking error",
            {"position [mm]": true, "rotation [deg]": estimated},
            {
                "position [mm]": lambda now: 1e3 * np.nan_to_num(now.position_error),
                "rotation [deg]": lambda now: np.degrees(np.nan_to_num(now.rotation_error)),
            },
        ),
    ]


def _status_html(now: PageState) -> str:
    """Return what is known in words; what others have sent is quoted."""
    color = STATE_COLORS[now.state]
    pace = "" if np.isnan(now.pace) else f", {now.pace:.2f} of real time"
    why = f": {escape(now.status)}" if now.status else ""
    lines = [
        f'<strong style="color: {color}">{now.state}{why}</strong> at {now.time:.2f} s{pace}',
        f'<span style="color: {color}">{escape(now.remedy)}</span>' if now.remedy else "",
        *map(escape, now.felt),
        f'The <span style="color: {_css(BESIDE_TEXT)}">red translucent arm</span> is that of '
        f"<strong>{escape(now.beside_name)}</strong>, at the same time."
        if now.beside
        else "",
        f'Arrows: <span style="color: {_css(TRUE_COLOR)}">orange the true contact force</span>, '
        f'<span style="color: {_css(ESTIMATE_COLOR)}">blue the estimated one</span>.',
    ]
    return "".join(f'<p style="margin: 0.4em 0.6em">{line}</p>' for line in lines if line)


def _css(color: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*color)
