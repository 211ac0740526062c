"""The state of an engine while somebody steps it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from tamsi_sim.viewer.page import Picture, Simulated, SimulationPage


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
