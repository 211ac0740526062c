"""A trajectory that is played."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import viser

from contact_core.base.errors import ConfigError, ModelError, choices
from tamsi_sim.viewer.page import PERIOD, Picture, Simulated, SimulationPage

if TYPE_CHECKING:
    from tamsi_sim.simulation.records import Trajectory

SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "4")


class Player(SimulationPage):
    """Plays a trajectory, with the resultant contact force on each free body at its origin."""

    def __init__(
        self, engine: Simulated, trajectory: Trajectory, port: int = 8080, collisions: bool = False
    ) -> None:
        """Open the page at the trajectory's start.

        Args:
            engine: The simulation that the trajectory is of; its state does not matter.
            trajectory: What to play, up to a step that failed.
            port: The page's port on this machine, or the next one that is free.
            collisions: Whether to show collision shapes also where there are visual ones.

        Raises:
            ConfigError: If the port is no positive whole number.
            ModelError: If the trajectory belongs to another model.
        """
        if trajectory.q.shape[1:] != engine.q.shape:
            raise ModelError(
                f"the trajectory has {trajectory.q.shape[1]} positions, the engine {len(engine.q)}"
            )
        super().__init__(engine, port, collisions)
        self._trajectory = trajectory
        self._states = int(np.isfinite(trajectory.q).all(axis=1).sum())
        self._end = float(trajectory.time[self._states - 1])
        self._time, self._drawn, self._started = 0.0, 0.0, 0.0
        self._playing = False
        gui = self._server.gui
        self._slider = gui.add_slider("time [s]", 0.0, max(self._end, PERIOD), 1e-3, 0.0)
        self._button = gui.add_button("play")
        self._speed = gui.add_dropdown("speed", SPEEDS, initial_value="1")
        self._slider.on_update(self._on_slider)
        self._button.on_click(lambda _: self.pause() if self._playing else self.play())
        self._start(self._at(0.0))

    @property
    def time(self) -> float:
        """The time that is shown [s]; set it to go there."""
        return self._time

    @time.setter
    def time(self, value: float) -> None:
        self._time = min(max(float(value), 0.0), self._end)
        self._slider.value = self._time  # type: ignore[misc]

    @property
    def speed(self) -> float:
        """Time of the trajectory per time on the clock; one of SPEEDS."""
        return float(self._speed.value)

    @speed.setter
    def speed(self, value: float) -> None:
        if f"{value:g}" not in SPEEDS:
            raise ConfigError(f"no speed {value!r} ({choices(SPEEDS)})")
        self._speed.value = f"{value:g}"  # type: ignore[misc]

    def play(self) -> None:
        """Play from here on; from the start if this is the end."""
        if self._time >= self._end:
            self.time = 0.0
        self._started = time.monotonic()
        self._playing, self._button.label = True, "pause"

    def pause(self) -> None:
        """Stop here."""
        self._playing, self._button.label = False, "play"

    def _on_slider(self, event: viser.GuiEvent[viser.GuiSliderHandle[float]]) -> None:
        if event.client is not None:  # It was moved by a person, not by the player.
            self._time = float(event.target.value)

    def _next(self) -> Picture | None:
        if self._playing:
            now = time.monotonic()
            self.time = self._time + self.speed * (now - self._started)
            self._started = now
            if self._time >= self._end:
                self.pause()
        if self._time == self._drawn:
            return None
        self._drawn = self._time
        return self._at(self._time)

    def _frames(self) -> Sequence[Picture]:
        return [self._at(t) for t in np.append(np.arange(0.0, self._end, PERIOD), self._end)]

    def _at(self, moment: float) -> Picture:
        """The last state that is not later than a moment."""
        run = self._trajectory
        # The times of the slider are rounded.
        k = int(np.searchsorted(run.time[: self._states], moment + 1e-9, side="right")) - 1
        if k == 0 or not len(run.contact_force):
            return Picture(run.q[k])
        bodies = [
            (run.q[k, i : i + 3], run.contact_force[k - 1, dof : dof + 3])
            for i, dof in self._twin.built.free_bodies.values()
        ]
        loaded = [(origin, force) for origin, force in bodies if force.any()]
        return Picture(run.q[k], [origin for origin, _ in loaded], [force for _, force in loaded])
