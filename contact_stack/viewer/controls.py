"""What a person does on the page: drag a link, move the tool's goal, press buttons.

ROS-free: it asks a :class:`Commands` for everything. Whoever may not command sees none of it: that
may be everybody, or whoever enters a token.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import pinocchio as pin
import viser

from contact_aware_control.controllers import CONTROLLERS
from contact_core.model.drawing import Canvas, ForceArrows, pose_of
from contact_stack.viewer.drawing import UrdfScene
from contact_stack.viewer.objects import GoalPlacement, ObjectCommands, SurroundingsControls

HAND_COLOR = (120, 60, 160)
SOFTEST, STIFFEST, SPRING = 50.0, 1000.0, 300.0
"""Stiffness of the hand's spring [N/m]: its range, and at the start."""
MAX_LIMIT = 40.0
"""End of the slider of the force limit [N]."""
COLLABORATIVE = "collaborative: 250 mm/s, stop above 50 N; no certified safety function"
"""What is said of that set of parameters."""
ARM = {"motion": ("hold", "resume"), "fault": ("stop", "reset")}
SIMULATION = {"time": ("pause", "continue"), "": ("step", "restart")}
"""What is asked for by buttons, each with the one that undoes it where there is one."""
UNBOUNDED = "as it can"
PACES = {"1/20": 0.05, "1/10": 0.1, "1/4": 0.25, "1/2": 0.5, "1": 1.0, UNBOUNDED: 0.0}
"""As they are called -> simulated seconds that pass in a real one at most, 0 for no bound."""
ROBOT, SIMULATED = 1.0, 2.0
"""Order of the groups on the page."""
GIZMO = 0.2
"""Size of the tool's goal [m]."""
FOLLOWS = 5.0
"""So long the tool goes on to where it was led by arrows that nobody holds any more [s]."""
RESTS, STILL = 0.5, (1e-3, 0.01)
"""What moves by less in so long a time [s] is at rest [m, rad]."""


@dataclass(frozen=True)
class Grip:
    """A link that is held with the mouse.

    Attributes:
        link: Its name.
        point: (3) where it is held, in the frame of the link [m].
        hand: (3) where the mouse has the hand, world frame [m].
        stiffness: Of the spring between them [N/m].
    """

    link: str
    point: np.ndarray
    hand: np.ndarray
    stiffness: float


class ArmSettings(NamedTuple):
    """What is chosen for the arm.

    Attributes:
        controller: The one that runs.
        limit: Force limit of contacts that nobody planned [N].
        collaborative: Whether it holds what is asked of arms beside people.
    """

    controller: str
    limit: float
    collaborative: bool = False


class Commands(ObjectCommands, Protocol):
    """What the page asks of the graph besides; nothing waits for an answer.

    Attributes:
        settings: As the graph has them, or somebody else has changed them; None until it is known.
    """

    settings: ArmSettings | None

    def pull(self, grip: Grip | None) -> None:
        """Hold a link from now on, or none."""

    def drive(self, pose: pin.SE3 | None) -> None:
        """Lead the tool to a pose from now on, world frame, or nowhere."""

    def ask_arm(self, request: str) -> None:
        """Make one of the requests in ARM of the controller."""

    def ask_simulation(self, request: str) -> None:
        """Make one of the requests in SIMULATION of the simulator."""

    def choose_controller(self, name: str) -> None:
        """Let another controller take over."""

    def limit_force(self, newtons: float) -> None:
        """Set the force limit of contacts that nobody planned [N]."""

    def slow_down(self, pace: float) -> None:
        """Let at most so many simulated seconds pass in a real one, 0 for no bound."""

    def grip(self, opened: bool) -> None:
        """Open or close the gripper."""


@dataclass(frozen=True)
class Permissions:
    """What can be commanded.

    Attributes:
        commands: Does what is asked.
        tool: Link that is the tool.
        links: Those of the arm.
        limit: Force limit at the start [N].
        obstacles: Fixed objects that can stand higher or lower.
        simulated: Whether links can be pulled, and time and the surroundings changed.
        gripper: Whether there is one.
    """

    commands: Commands
    tool: str
    links: Sequence[str]
    limit: float
    obstacles: Sequence[str] = ()
    simulated: bool = True
    gripper: bool = True


class Lead:
    """A tool that is led: as long as somebody holds it, and then until it rests.

    Where it rests, there or anywhere else, it is led no longer: what stops it, holds it, or takes
    it elsewhere would end, and the arm drive off by itself.
    """

    def __init__(self) -> None:
        """Begin, held."""
        self.held = True
        self._released = math.nan
        self._rested: tuple[float, pin.SE3] | None = None

    def ended(self, time: float, tool: pin.SE3) -> bool:
        """Tell whether it is led no longer.

        Args:
            time: Of the arm [s]; it stands still in a pause.
            tool: Where the tool is, in any one frame.
        """
        if self.held:
            self._rested = None
            return False
        if self._rested is None:
            self._released, self._rested = time, (time, tool)
        since, place = self._rested
        change = place.actInv(tool)
        moved = np.linalg.norm(change.translation), np.linalg.norm(pin.log3(change.rotation))
        if moved[0] > STILL[0] or moved[1] > STILL[1]:
            self._rested = time, tool
        # A time that goes back is another start.
        return not self._released <= time < min(since + RESTS, self._released + FOLLOWS)


class Controls:
    """Buttons, sliders, the tool's goal, and links that can be dragged.

    Attributes:
        robot: The group of what is asked of the robot.
        simulation: The group of what is asked of the simulator; None without one.
    """

    def __init__(self, canvas: Canvas, permissions: Permissions, robot: UrdfScene) -> None:
        """Add them to the page.

        Args:
            canvas: The page, or that of one person.
            permissions: What can be commanded.
            robot: The robot on it.
        """
        self._canvas, self._robot = canvas, robot
        self._commands = permissions.commands
        self._tool, self._simulated = permissions.tool, permissions.simulated
        self._owner = canvas.client_id if isinstance(canvas, viser.ClientHandle) else None
        self._grip: Grip | None = None
        self._goal: viser.TransformControlsHandle | None = None
        self._lead: Lead | None = None
        self._settings: ArmSettings | None = None
        self._offer_robot(permissions.limit, permissions.gripper)
        self.simulation: viser.GuiFolderHandle | None = None
        if self._simulated:
            self._offer_simulation()
            for link in permissions.links:
                for handle in robot.solids.get(link, ()):
                    self._let_drag(handle, link)
        self.draw(0.0)

    def _offer_robot(self, limit: float, gripper: bool) -> None:
        gui, commands = self._canvas.gui, self._commands
        self.robot = gui.add_folder("robot", order=ROBOT)
        with self.robot:
            for label, pair in ARM.items():
                asked = gui.add_button_group(label, pair)
                asked.on_click(lambda event: self._ask(commands.ask_arm, event))
            led = gui.add_checkbox("move the tool", False, hint="Drag the arrows at the tool.")
            led.on_update(lambda event: self._show_goal(bool(event.target.value)))
            self._controller = gui.add_dropdown("controller", tuple(CONTROLLERS))
            self._limit = gui.add_slider("force limit [N]", 1.0, MAX_LIMIT, 0.5, limit)
            self._collaborative = gui.add_markdown(COLLABORATIVE, visible=False)
            self._controller.on_update(by_hand(lambda name: commands.choose_controller(str(name))))
            self._limit.on_update(by_hand(lambda value: commands.limit_force(float(value))))
            if gripper:
                fingers = gui.add_button_group("gripper", ("open", "close"))
                fingers.on_click(lambda event: commands.grip(event.target.value == "open"))

    def _offer_simulation(self) -> None:
        canvas, gui, commands = self._canvas, self._canvas.gui, self._commands
        self._arrow = ForceArrows(canvas, "/hand", HAND_COLOR)
        self.simulation = gui.add_folder("simulation", order=SIMULATED)
        with self.simulation:
            for label, pair in SIMULATION.items():
                asked = gui.add_button_group(label, pair)
                asked.on_click(lambda event: self._ask(commands.ask_simulation, event))
            pace = gui.add_dropdown(
                "speed", tuple(PACES), initial_value=UNBOUNDED,
                hint="Of real time; in lock-step only, for otherwise all nodes go by the clock.",
            )  # fmt: skip
            pace.on_update(lambda event: commands.slow_down(PACES[event.target.value]))
            self._hand = gui.add_markdown("")
            self._spring = gui.add_slider("spring [N/m]", SOFTEST, STIFFEST, 10.0, SPRING)

    def let_go(self) -> None:
        """Lead and pull the arm no longer."""
        self._end_lead()
        if self._grip is not None:
            self._commands.pull(None)

    def _ask(self, command: Callable[[str], None], event: Any) -> None:
        """Ask for what a button says; whatever it is, a tool is led no longer."""
        self._end_lead()
        command(str(event.target.value))

    def _end_lead(self) -> None:
        if self._lead is not None:
            self._lead = None
            self._commands.drive(None)

    def draw(self, time: float) -> None:
        """Show what the graph says of the settings, the tool's goal, the hand and its force.

        Args:
            time: Of the arm [s].
        """
        if self._goal is not None:
            tool = self._robot.pose(self._tool)
            if self._lead is not None and self._lead.ended(time, tool):
                self._end_lead()
            if self._lead is None:
                self._goal.position, self._goal.wxyz = pose_of(tool)
        told, now = self._settings, self._commands.settings
        if now is not None and now is not told:
            self._settings = now
            self._collaborative.visible = now.collaborative
            if told is None or now.controller != told.controller:
                self._controller.value = now.controller  # type: ignore[misc]
            if told is None or now.limit != told.limit:
                limit = min(max(now.limit, self._limit.min), self._limit.max)
                self._limit.value = limit  # type: ignore[misc]
        if not self._simulated:
            return
        grip = self._grip
        if grip is None:
            self._hand.content = ""
            self._arrow.draw([], [])
            return
        point = self._robot.pose(grip.link).act(grip.point)
        force = grip.stiffness * (grip.hand - point)
        self._hand.content = f"pulls **{grip.link}** with **{np.linalg.norm(force):.1f} N**"
        self._arrow.draw([point], [force], 1.0 / grip.stiffness)

    def _let_drag(self, handle: Any, link: str) -> None:
        # Only asynchronous callbacks come in the order of the mouse.
        async def drag(event: Any) -> None:
            if self._owner not in (None, event.client_id):
                return
            hand = np.array(event.end_position)
            if event.phase == "start":
                held = self._robot.pose(link).actInv(np.array(event.start_position))
                self._grip = Grip(link, held, hand, float(self._spring.value))
            elif event.phase == "end":
                self._grip = None
            elif self._grip is not None:
                self._grip = Grip(link, self._grip.point, hand, float(self._spring.value))
            self._commands.pull(self._grip)

        handle.on_drag("left")(drag)

    def _show_goal(self, shown: bool) -> None:
        if self._goal is not None:
            self._goal.remove()
            self._goal = None
            self._end_lead()
        if shown:
            position, wxyz = pose_of(self._robot.pose(self._tool))
            goal = self._canvas.scene.add_transform_controls(
                "/goal", scale=GIZMO, position=position, wxyz=wxyz, depth_test=False
            )
            goal.on_update(self._lead_tool)
            self._goal = goal

    async def _lead_tool(self, event: Any) -> None:
        # Only asynchronous callbacks come in the order of the mouse.
        if event.phase == "start":
            self._lead = Lead()
        if self._lead is not None:
            self._lead.held = event.phase != "end"
            self._commands.drive(_pose(event.target))


def by_hand(command: Callable[[Any], None]) -> Callable[[viser.GuiEvent[Any]], None]:
    """Give a command the value that a person has chosen; what the page itself shows is none."""

    def on_update(event: viser.GuiEvent[Any]) -> None:
        if event.client is not None:
            command(event.target.value)

    return on_update


def _pose(goal: Any) -> pin.SE3:
    w, x, y, z = goal.wxyz
    return pin.SE3(pin.Quaternion(w, x, y, z).normalized().matrix(), np.array(goal.position))


DOOR = 0.2
"""Order of the question for the token, which is the first."""
ASKS = "Nothing can be moved from here without the token that the terminal shows."
REFUSES = "**This is not the token.** Nothing can be moved from here without it."


class UserControls:
    """The controls of all who look at a page, or of one of them.

    Attributes:
        controls: Those of the arm and of time.
        placing: Those of objects; None without any.
        simulated: Whether links can be pulled.
    """

    def __init__(
        self,
        canvas: Canvas,
        permissions: Permissions,
        robot: UrdfScene,
        objects: Mapping[str, UrdfScene],
        copy_of: Callable[[Canvas, str], UrdfScene],
    ) -> None:
        """Add them to the page.

        Args:
            canvas: Who gets them.
            permissions: What can be commanded.
            robot: The robot on the page.
            objects: Those on the page that can be pushed.
            copy_of: Draws the translucent copy of one.
        """
        commands, self.simulated = permissions.commands, permissions.simulated
        self.controls = Controls(canvas, permissions, robot)
        if self.controls.simulation is not None:
            with self.controls.simulation:
                SurroundingsControls(canvas, commands, permissions.obstacles)
        self.placing: GoalPlacement | None = None
        if objects:
            with self.controls.robot:
                self.placing = GoalPlacement(
                    canvas, commands, objects, lambda name: copy_of(canvas, name)
                )

    def draw(self, time: float) -> None:
        """Bring them up to date.

        Args:
            time: Of the arm [s].
        """
        self.controls.draw(time)
        if self.placing is not None:
            self.placing.draw()

    def let_go(self) -> None:
        """Leave the arm alone."""
        self.controls.let_go()


class TokenPrompt:
    """Asks everybody who opens a page for the token, and lets in those who know it."""

    def __init__(
        self, server: viser.ViserServer, token: str, let_in: Callable[[viser.ClientHandle], None]
    ) -> None:
        """Ask those who look already, and all who will.

        Args:
            server: The page.
            token: What has to be entered.
            let_in: Told of those who have entered it; who opens the page again is asked again.
        """
        self._token, self._let_in = token.encode(), let_in
        server.on_client_connect(self._ask)

    def _ask(self, client: viser.ClientHandle) -> None:
        folder = client.gui.add_folder("commands", order=DOOR)
        with folder:
            says = client.gui.add_markdown(ASKS)
            field = client.gui.add_text("token", "")

        @field.on_update
        def _(event: object) -> None:
            entered = field.value.strip().encode()
            if secrets.compare_digest(entered, self._token):
                folder.remove()
                self._let_in(client)
            elif len(entered) >= len(self._token):  # it is told at every key
                says.content = REFUSES
