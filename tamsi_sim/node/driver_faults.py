"""The misbehaviour of the arm's driver, on request: what the hardware does on a bad day."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from contact_core.base.config import parameter
from contact_ros.stamps import NANOSECONDS

RESTART_TIME = 2.0
"""The driver takes so long to start again [s]."""


@dataclass(frozen=True)
class DriverFaultsConfig:
    """How the simulated driver behaves when it is not at its best; in real time only."""

    command_guard: bool = parameter(
        True, "whether a command beyond a position limit, or too fast a motion, ends the driver"
    )
    late: float = parameter(
        0.05,
        "how late a state is when that fault is asked for",
        unit="s",
        above=0.0,
        high=1.0,
        live=True,
    )
    state_every: int = parameter(
        1, "publish only every n-th state: 2 is the driver's default of 100 Hz", low=1, high=20
    )


@dataclass(frozen=True)
class GuardLimits:
    """What the driver's command guard checks.

    Attributes:
        lowest: (n) smallest commanded position [rad].
        highest: (n) largest commanded position [rad].
        speed: (n) largest measured speed [rad/s].
        names: The joints.
    """

    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]
    speed: NDArray[np.float64]
    names: tuple[str, ...]


class DriverFaults:
    """Decides which commands reach the arm, and which of its states reach the graph.

    Attributes:
        config: How it misbehaves.
        commanding: Whether the robot's session is in its commanding state.
        silent: Whether no state is published.
        tripped: Why the command guard has ended the driver; empty while it runs.
    """

    def __init__(
        self, config: DriverFaultsConfig, limits: GuardLimits, log: Callable[[str], object]
    ) -> None:
        """Start without a fault.

        Args:
            config: How to misbehave.
            limits: Of the command guard.
            log: Told why the command guard ends the driver.
        """
        self.commanding = True
        self.silent = False
        self.tripped = ""
        self.config = config
        self._limits = limits
        self._log = log
        self._silent_until = 0
        self._states = 0

    @property
    def name(self) -> str:
        """The fault that is active; empty if there is none."""
        if self.tripped:
            return f"the command guard ended the driver: {self.tripped}"
        if self.silent:
            return "the driver is silent"
        return "" if self.commanding else "the session has left its commanding state"

    def delay(self, now: int) -> None:
        """Make the next states late, once.

        Args:
            now: The time [ns].
        """
        self._silent_until = now + round(self.config.late * NANOSECONDS)

    def restart(self, now: int) -> None:
        """Start the driver again after its command guard has ended it.

        Args:
            now: The time [ns].
        """
        self.tripped = ""
        self._silent_until = now + round(RESTART_TIME * NANOSECONDS)

    def accepts(self, command: NDArray[np.float64]) -> bool:
        """Tell whether a command reaches the arm; one beyond a limit ends the driver.

        Args:
            command: q_cmd, shape (n,) [rad].
        """
        limits = self._limits
        beyond = (command < limits.lowest) | (command > limits.highest)
        if self.config.command_guard and not self.tripped and beyond.any():
            joint = int(np.argmax(beyond))
            self._trip(
                f"{limits.names[joint]} was commanded to {command[joint]:.3f} rad, its limits are "
                f"{limits.lowest[joint]:.3f} and {limits.highest[joint]:.3f} rad"
            )
        return self.commanding and not self.tripped

    def publishes(self, now: int, velocity: NDArray[np.float64]) -> bool:
        """Tell whether a state is published; too fast a motion ends the driver.

        Args:
            now: The time of the state [ns].
            velocity: Measured joint velocities, shape (n,) [rad/s].
        """
        limits = self._limits
        fast = np.abs(velocity) > limits.speed
        if self.config.command_guard and not self.tripped and fast.any():
            joint = int(np.argmax(fast))
            self._trip(
                f"{limits.names[joint]} moved at {abs(velocity[joint]):.2f} rad/s, its limit is "
                f"{limits.speed[joint]:.2f} rad/s"
            )
        self._states += 1
        hidden = self.tripped or self.silent or now < self._silent_until
        return not hidden and self._states % self.config.state_every == 0

    def _trip(self, reason: str) -> None:
        self.tripped = reason
        self._log(self.name)


REAL_TIME_ONLY = "refused: in lock-step nothing is late or missing; launch with lockstep:=false"


class FaultServices:
    """Serve ``leave_commanding``, ``silence``, ``delay`` and ``restart`` of the driver."""

    def __init__(
        self, node: Node, prefix: str, faults: DriverFaults, lockstep: bool, now: Callable[[], int]
    ) -> None:
        """Create the services.

        Args:
            node: The simulator's node.
            prefix: Put before the services' names.
            faults: What they switch.
            lockstep: True in lock-step, where every request is refused.
            now: The simulated time [ns].
        """
        self._faults = faults
        self._lockstep = lockstep
        offers: tuple[tuple[type, str, Callable[[Any], None]], ...] = (
            (SetBool, "leave_commanding", self._leave),
            (SetBool, "silence", self._silence),
            (Trigger, "delay", lambda request: faults.delay(now())),
            (Trigger, "restart", lambda request: faults.restart(now())),
        )
        for service_type, name, serve in offers:
            node.create_service(service_type, f"{prefix}/{name}", self._server(serve))

    def _leave(self, request: SetBool.Request) -> None:
        self._faults.commanding = not request.data

    def _silence(self, request: SetBool.Request) -> None:
        self._faults.silent = request.data

    def _server(self, serve: Callable[[Any], None]) -> Callable[[Any, Any], Any]:
        """Return a callback that serves in real time, and answers with the active fault."""

        def answer(request: Any, response: Any) -> Any:
            if not self._lockstep:
                serve(request)
            response.success = not self._lockstep
            response.message = REAL_TIME_ONLY if self._lockstep else self._faults.name
            return response

        return answer
