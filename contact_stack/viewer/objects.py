"""What a person does with the objects about the arm: change them, and say where they should go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pinocchio as pin
import viser

from contact_core.model.drawing import Canvas
from contact_stack.viewer.drawing import UrdfScene

PLACE_COLOR = (0.2, 0.7, 0.35)
MAX_FRICTION, SOFTEST, STIFFEST, MAX_HEIGHT = 3.0, 0.1, 5.0, 0.2
"""Ends of the sliders: friction and stiffness relative to the scene's, height [m]."""
GIZMO = 0.15
"""Size of the handles at a place [m]."""


@dataclass(frozen=True)
class Place:
    """Where an object should go, upright and at its height.

    Attributes:
        name: Its name.
        x: World frame [m].
        y: World frame [m].
        yaw: About the vertical [rad].
    """

    name: str
    x: float
    y: float
    yaw: float


class ObjectCommands(Protocol):
    """What is asked of the graph; nothing waits for an answer.

    Attributes:
        progress: How far the object is that is brought to its place, in words; empty if none is.
    """

    progress: str

    def surround(self, values: Mapping[str, float | str]) -> None:
        """Change the surroundings, by the names of the simulator's parameters."""

    def bring(self, place: Place | None) -> None:
        """Have an object pushed to a place, or pushed no longer."""


class SurroundingsControls:
    """Sliders for friction, stiffness and the height of an obstacle."""

    def __init__(self, server: Canvas, commands: ObjectCommands, obstacles: Sequence[str]) -> None:
        """Add them to the group that is open.

        Args:
            server: The page.
            commands: Does what is asked.
            obstacles: Fixed objects that can stand higher or lower.
        """
        gui = server.gui
        with gui.add_folder("surroundings", expand_by_default=False):
            inputs: dict[str, Any] = {
                "friction": gui.add_slider(
                    "friction", 0.0, MAX_FRICTION, 0.05, 1.0,
                    hint="Of everything, relative to the scene's.",
                ),
                "stiffness": gui.add_slider(
                    "stiffness", SOFTEST, STIFFEST, 0.1, 1.0,
                    hint="Of all surfaces, relative to the scene's.",
                ),
            }  # fmt: skip
            if obstacles:
                inputs["obstacle"] = gui.add_dropdown("obstacle", tuple(obstacles))
                inputs["height"] = gui.add_slider(
                    "height [m]", -MAX_HEIGHT, MAX_HEIGHT, 0.005, 0.0,
                    hint="How much higher it stands than in the scene.",
                )  # fmt: skip

        def change(event: Any) -> None:
            commands.surround({name: item.value for name, item in inputs.items()})

        for item in inputs.values():
            item.on_update(change)


class GoalPlacement:
    """A translucent copy of an object, put where that should go."""

    def __init__(
        self,
        server: Canvas,
        commands: ObjectCommands,
        objects: Mapping[str, UrdfScene],
        draw: Callable[[str], UrdfScene],
    ) -> None:
        """Add the controls to the group that is open.

        Args:
            server: The page.
            commands: Does what is asked.
            objects: Those that can be pushed, on the page.
            draw: Draws the translucent copy of one.
        """
        self._server, self._commands = server, commands
        self._objects, self._draw = objects, draw
        self._copy: UrdfScene | None = None
        self._goal: viser.TransformControlsHandle | None = None
        gui = server.gui
        with gui.add_folder("bring an object to its place", expand_by_default=False):
            self._object = gui.add_dropdown("object", tuple(objects))
            self._chosen = gui.add_checkbox(
                "choose a place", False, hint="Click on the table, or drag the green copy."
            )
            asked = gui.add_button_group("", ("bring it", "cancel"))
            self._says = gui.add_markdown("")
        self._object.on_update(lambda event: self._choose())
        self._chosen.on_update(lambda event: self._choose())
        asked.on_click(lambda event: self._ask(event.target.value == "bring it"))

    def draw(self) -> None:
        """Show how far it is."""
        self._says.content = self._commands.progress

    def _choose(self) -> None:
        """Show the copy where the object is, or none."""
        if self._goal is not None and self._copy is not None:
            self._server.scene.remove_click_callback()
            self._goal.remove()
            self._copy.remove()
            self._goal = None
        if not self._chosen.value:
            return
        name = str(self._object.value)
        position, wxyz = self._objects[name].root
        upright = _turned(_yaw(wxyz))
        self._copy = self._draw(name)
        self._goal = self._server.scene.add_transform_controls(
            "/place", scale=GIZMO, active_axes=(True, True, False), depth_test=False,
            position=position, wxyz=upright,
        )  # fmt: skip
        self._goal.on_update(lambda event: self._follow())
        self._server.scene.on_click()(self._click)
        self._follow()

    def _click(self, event: Any) -> None:
        """Put the copy where the ray of a click meets the height of the object."""
        start, ray = np.array(event.ray_origin), np.array(event.ray_direction)
        if self._goal is None or not ray[2]:
            return
        along = (self._goal.position[2] - start[2]) / ray[2]
        if along > 0.0:
            self._goal.position = start + along * ray
            self._follow()

    def _follow(self) -> None:
        if self._goal is not None and self._copy is not None:
            self._copy.move_root(self._goal.position, np.roll(self._goal.wxyz, -1))

    def _ask(self, bring: bool) -> None:
        if bring and self._goal is None:
            self._chosen.value = True  # type: ignore[misc]
            self._choose()
        elif bring and self._goal is not None:
            x, y, _ = (float(value) for value in self._goal.position)
            self._commands.bring(Place(str(self._object.value), x, y, _yaw(self._goal.wxyz)))
        else:
            self._commands.bring(None)


def _yaw(wxyz: Sequence[float] | np.ndarray) -> float:
    w, x, y, z = (float(value) for value in wxyz)
    return float(pin.rpy.matrixToRpy(pin.Quaternion(w, x, y, z).normalized().matrix())[2])


def _turned(yaw: float) -> tuple[float, float, float, float]:
    return float(np.cos(0.5 * yaw)), 0.0, 0.0, float(np.sin(0.5 * yaw))
