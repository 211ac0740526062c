"""What a person may do on the page, and who may: everybody, or whoever enters a token."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import viser

from contact_aware_control.controllers import CONTROLLERS
from contact_core.model.drawing import Canvas
from contact_stack.viewer.controls import Commands, Controls
from contact_stack.viewer.drawing import UrdfScene
from contact_stack.viewer.objects import GoalPlacement, SurroundingsControls

DOOR, PLACING, SURROUNDINGS = 0.2, 4.0, 5.0
"""Order of the question for the token, which is the first, and of what is done with objects."""
ASKS = "Nothing can be moved from here without the token that the terminal shows."
REFUSES = "**This is not the token.** Nothing can be moved from here without it."


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
    """

    commands: Commands
    tool: str
    links: Sequence[str]
    limit: float
    obstacles: Sequence[str] = ()
    simulated: bool = True


class UserControls:
    """The controls of all who look at a page, or of one of them."""

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
        commands = permissions.commands
        self.controls = Controls(
            canvas, robot, commands, permissions.tool, permissions.links, tuple(CONTROLLERS),
            permissions.limit, permissions.simulated,
        )  # fmt: skip
        if permissions.simulated:
            SurroundingsControls(canvas, commands, permissions.obstacles, SURROUNDINGS)
        self.placing: GoalPlacement | None = None
        if objects:
            self.placing = GoalPlacement(
                canvas, commands, objects, lambda name: copy_of(canvas, name), PLACING
            )

    def draw(self) -> None:
        """Bring them up to date."""
        self.controls.draw()
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
