"""The one motion that the gripper makes at a time, whoever asked for it."""

from __future__ import annotations

import math
import threading
from enum import Enum
from typing import Protocol

from sensor_msgs.msg import JointState

from tamsi_sim.robot.plant import CommandError, GripperCommand

REACHED = 1e-3
"""Distance to the commanded position at which it counts as reached [m]."""

STANDSTILL_SPEED = 1e-3
STANDSTILL_TICKS = 20
"""Below this speed [m/s] for so many ticks the gripper counts as stalled."""


class Ending(Enum):
    """How a motion ended."""

    REACHED = "at the commanded position"
    STALLED = "something holds the fingers"
    CANCELED = "its client asked for it"
    REPLACED = "a newer command took over"


class Client(Protocol):
    """Who asked for a motion."""

    @property
    def cancels(self) -> bool:
        """Whether the motion is no longer wanted."""

    def moving(self, state: JointState) -> None:
        """Hear of the gripper's state after a tick of the motion."""

    def ended(self, ending: Ending, state: JointState) -> None:
        """Hear of the end, once."""


class GripperMotion:
    """Follow one command until it is reached, stalls, or is replaced or canceled.

    Commands come from the thread of the callbacks, ticks from that of the simulation.
    """

    def __init__(self, widest: float, state: JointState) -> None:
        """Start at rest.

        Args:
            widest: Largest position of a finger [m].
            state: The gripper at the start.
        """
        self._widest = widest
        self._state = state
        self._lock = threading.Lock()
        self._command: GripperCommand | None = None
        self._client: Client | None = None
        self._start = 0
        self._still = 0

    def check(self, command: GripperCommand) -> None:
        """Make sure that a command can be followed.

        Args:
            command: The command.

        Raises:
            CommandError: If it cannot.
        """
        numbers = (command.position, command.max_effort)
        if not all(math.isfinite(number) and number >= 0.0 for number in numbers):
            raise CommandError(
                f"position and effort must be finite and not negative, got {list(numbers)}"
            )
        if not command.max_speed > 0.0:
            raise CommandError(f"the speed must be above zero, got {command.max_speed:g}")
        if command.position > self._widest + REACHED:
            raise CommandError(
                f"position {command.position:g} m is beyond the widest, {self._widest:g} m"
            )

    def begin(self, command: GripperCommand, start: int, client: Client) -> None:
        """Take over a command from the one before.

        Args:
            command: The command, checked.
            start: When it begins [ns].
            client: Who asked for it.
        """
        with self._lock:
            self._end(Ending.REPLACED)
            self._command, self._client = command, client
            self._start, self._still = start, 0

    def command(self, stamp: int) -> GripperCommand | None:
        """Return the command for the tick that begins at a time.

        Args:
            stamp: The time [ns].

        Returns:
            The command, None to keep the last one.
        """
        with self._lock:
            return self._command if stamp >= self._start else None

    def update(self, stamp: int, state: JointState) -> None:
        """Judge the motion after a tick.

        Args:
            stamp: Time of the state [ns].
            state: The gripper's state.
        """
        with self._lock:
            self._state = state
            if self._command is None or self._client is None:
                return
            if self._client.cancels:
                self._end(Ending.CANCELED)
            elif stamp >= self._start:
                self._judge(self._command, self._client)

    def _judge(self, command: GripperCommand, client: Client) -> None:
        slow = min(STANDSTILL_SPEED, 0.5 * command.max_speed)
        self._still = self._still + 1 if abs(self._state.velocity[0]) < slow else 0
        if abs(self._state.position[0] - command.position) < REACHED:
            self._end(Ending.REACHED)
        elif self._still >= STANDSTILL_TICKS:
            self._end(Ending.STALLED)
        else:
            client.moving(self._state)

    def _end(self, ending: Ending) -> None:
        """End the motion, if there is one; the gripper keeps its command."""
        client, self._client, self._command = self._client, None, None
        if client is not None:
            client.ended(ending, self._state)
