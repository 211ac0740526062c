"""The page: the robot, the objects, contact forces as arrows, and what is written over them.

ROS-free: it is fed with numbers and draws what it has at the rate its owner asks for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import viser

from contact_aware_control.config import ForceConfig
from contact_aware_control.estimation.config import ParticleConfig
from contact_core.model.drawing import Canvas, Color, ForceArrows, silence
from contact_core.model.serving import served_our_way
from contact_core.robot.robot import Robot
from contact_stack.viewer.card import (
    BESIDE_COLOR,
    ESTIMATE_COLOR,
    TITLE,
    TRUE_COLOR,
    Card,
    Sign,
    css,
)
from contact_stack.viewer.controls import HAND_COLOR, Permissions, TokenPrompt, UserControls
from contact_stack.viewer.drawing import (
    ELSEWHERE_COLOR,
    TOLD_COLOR,
    UNFELT_COLOR,
    FrictionCones,
    ProspectDots,
    UrdfScene,
    light,
)
from contact_stack.viewer.objects import PLACE_COLOR
from contact_stack.viewer.scene_model import SceneModel
from contact_stack.viewer.snapshot import PageState

ARROW_OFFSET = 0.015
FLOOR_HEIGHT = -0.47
FLOOR_COLOR, FLOOR_LINES = (236, 239, 242), (205, 211, 217)
CAMERA_POSITION = (1.45, -1.35, 0.95)
CAMERA_TARGET = (0.5, 0.0, 0.3)
GHOST_COLOR, REFERENCE_COLOR = (64, 140, 255), (51, 179, 89)
PARTICLE_COLOR, PARTICLE_SIZE = (142, 36, 170), 0.02
LOOK = 9.0
"""Order of what is shown on request: below everything else."""
ARROW, ARM, DOT, CONE = "\u2192", "\u25a2", "\u25cf", "\u25b2"
"""Signs of the legend, none of which a telephone makes a picture of."""
NARROW, NARROW_SHIFT = 1.5, np.array([0.0, 0.0, 0.35])
"""How much further away the camera then is, and how much higher it looks, past what is written."""
NOTICE = 6.0
"""How long a notice stays on the page [s]."""


class Page:
    """The page in the browser.

    Attributes:
        server: Viser's.
        address: Where a browser finds it.
        card: What is written over the scene.
        look: The group of what a person chooses for the eye alone.
    """

    def __init__(
        self,
        model: SceneModel,
        host: str,
        port: int,
        history: float = 0.0,
        pictures: Sequence[PageState] = (),
        robot: Robot | None = None,
    ) -> None:
        """Open the page; the first free port from ``port`` on is taken.

        Pages of other sites may not talk to it.

        Args:
            model: What is shown.
            host: Address to listen on.
            port: First port to try.
            history: Time in the plots of a robot that runs [s].
            pictures: Those of a recording, which plots show as a whole.
            robot: The arm, to show what it could feel; None: that is not offered.
        """
        with silence(), served_our_way(host, TITLE):
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
        self._ghost = UrdfScene(self.server, "/ghost", model.urdf, _share(GHOST_COLOR))
        self._reference = UrdfScene(self.server, "/reference", model.urdf, _share(REFERENCE_COLOR))
        self._beside = UrdfScene(self.server, "/beside", model.urdf, _share(BESIDE_COLOR))
        self._particles = self.server.scene.add_point_cloud(
            "/contacts/particles", np.zeros((0, 3)), PARTICLE_COLOR, point_size=PARTICLE_SIZE,
            point_shape="circle", precision="float32",
        )  # fmt: skip
        self._dots = None if robot is None else ProspectDots(self.server, "/prospect", robot)
        self._arm_joints = model.arm_joints
        self.card = Card(self.server, model.name, history, pictures)
        gui = self.server.gui
        # Folded at first: what matters is written over the scene.
        self.look = gui.add_folder("look", order=LOOK, expand_by_default=False)
        with self.look:
            self._command_shown = gui.add_checkbox(
                "commanded",
                False,
                hint="Where the controller pulls the arm to, by its springs.",
            )
            self._reference_shown = gui.add_checkbox(
                "reference", False, hint="Where the motion that is followed has the arm."
            )
            self._cones_shown = gui.add_checkbox(
                "friction cones", False, hint="Where the estimator lets contact forces point."
            )
            self._particles_shown = gui.add_checkbox(
                "particles", False, hint="Where the estimator thinks that a contact may be."
            )
            if self._dots is not None:
                self._dots_shown = gui.add_checkbox(
                    "what it could feel", False, hint="What joint torques would tell of a push."
                )
            self._tracking_shown = gui.add_checkbox(
                "tracking error", False, hint="How far the tool is from the motion it follows."
            )
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
        self.card.note(now)

    def draw(self, now: PageState, live: PageState | None = None) -> None:
        """Bring the page up to date.

        Args:
            now: What to show.
            live: What plots go on with, where ``now`` lies in the past.
        """
        self._robot.move_joints(now.joints)
        for controls in tuple(self._controls.values()):  # people come and go
            controls.draw((live or now).time)
        for name, (position, quaternion) in now.objects.items():
            if name in self._objects:
                self._objects[name].move_root(position, quaternion)
        self._true.draw(now.true_points, now.true_forces or ())
        self._estimated.draw(now.estimated_points, now.estimated_forces or ())
        cones = zip(now.estimated_points, now.estimated_normals, strict=True)
        shown = list(cones) if self._cones_shown.value else []
        self._cones.draw(shown)
        self._draw_ghost(self._ghost, now, now.command if self._command_shown.value else ())
        self._draw_ghost(self._reference, now, now.reference if self.shows_reference else ())
        self._beside.show(bool(now.beside))
        if now.beside:
            self._beside.move_joints(now.beside)
        if self._dots is not None and set(self._arm_joints) <= now.joints.keys():
            self._dots.shown = bool(self._dots_shown.value)
            arm = np.array([now.joints[joint] for joint in self._arm_joints])
            self._dots.draw(arm, self._push(now))
        particles = now.particles if self.shows_particles else now.particles[:0]
        self._particles.points = particles
        self.card.show(now, live or now, self._legend(now), self._tracking_shown.value)

    def _legend(self, now: PageState) -> list[Sign]:
        """Return what is drawn in the scene, besides the arm and the objects themselves."""
        dots, push = self._dots is not None and self._dots.shown, f"{self._push(now):.0f} N"
        pulled = any(controls.simulated for controls in tuple(self._controls.values()))
        lines = {
            (ARROW, TRUE_COLOR, "true contact force"): now.true_forces is not None,
            (ARROW, ESTIMATE_COLOR, "contact force that it feels"): now.estimated_forces
            is not None,
            (ARROW, HAND_COLOR, "your pull: drag any link of the arm"): pulled,
            (ARM, BESIDE_COLOR, f"outline: arm of {now.beside_name} at the same time"): bool(
                now.beside
            ),
            (ARM, GHOST_COLOR, "outline: commanded arm"): self._command_shown.value,
            (ARM, REFERENCE_COLOR, "outline: reference arm"): self.shows_reference,
            (CONE, ESTIMATE_COLOR, "where contact forces may point"): self._cones_shown.value,
            (DOT, PARTICLE_COLOR, "where a contact may be"): self.shows_particles,
            (DOT, TOLD_COLOR, f"pushed with {push} here, it knows where to 8 cm"): dots,
            (DOT, ELSEWHERE_COLOR, f"{push} are felt, but may be elsewhere"): dots,
            (DOT, UNFELT_COLOR, f"{push} are not felt"): dots,
        }
        return [(sign, css(color), text) for (sign, color, text), shown in lines.items() if shown]

    @staticmethod
    def _push(now: PageState) -> float:
        """Return the force of which is shown what the arm could feel [N]."""
        return now.force_limit or ForceConfig().limit

    def _draw_ghost(self, ghost: UrdfScene, now: PageState, arm: Sequence[float]) -> None:
        """Show an arm elsewhere, with the gripper as it is, if it is known where."""
        shown = len(arm) == len(self._arm_joints)
        ghost.show(shown)
        if shown:
            ghost.move_joints({**now.joints, **dict(zip(self._arm_joints, arm, strict=True))})

    def close(self) -> None:
        """Close the page."""
        with silence():
            self.server.stop()


def narrow_view() -> tuple[np.ndarray, np.ndarray]:
    """Return where the camera is, and what it looks at, in a narrow window, (3) each [m]."""
    target = np.array(CAMERA_TARGET)
    return target + NARROW * (np.array(CAMERA_POSITION) - target), target + NARROW_SHIFT


def _fit(client: viser.ClientHandle) -> None:
    """Step back where the window is narrow, as on a telephone."""
    if client.camera.aspect < 1.0:
        client.camera.position, client.camera.look_at = narrow_view()


def _share(color: tuple[int, int, int]) -> Color:
    red, green, blue = (level / 255.0 for level in color)
    return red, green, blue
