"""Keeps the last seconds of the control loop until someone wants them, and computes them again.

A tick is a function of the loop's state and its inputs. So the state before the first tick
and the inputs of every tick are all that a replay needs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.control_loop import ControlLoop
from contact_aware_control.loop_state import LoopInputs, LoopState, LoopStatus
from contact_aware_control.safety.status import Mode, Request, Status
from contact_core.robot.arm_state import SoundCommand
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot

BAD = frozenset(
    (
        Status.STATE_STALE,
        Status.QP_FAILED,
        Status.FORCE_EXCEEDED,
        Status.BAD_INPUT,
        *(status for status in Status if Status.NOT_ARMED <= status <= Status.COMMAND_REFUSED),
    )
)
"""Statuses that are worth a record, besides faults."""


SEGMENTS = 2
"""The requested time is divided into this many segments; one more is kept."""


@dataclass(frozen=True, slots=True, eq=False)
class TickRecord:
    """One tick.

    Attributes:
        requests: What was asked since the tick before, and the reason in words.
        inputs: What the tick was given.
        command: (n) its answer q_cmd [rad]; None if none was sent.
        mode: What it did.
        status: Why.
    """

    requests: tuple[tuple[Request, str], ...]
    inputs: LoopInputs
    command: np.ndarray | None
    mode: Mode
    status: Status


@dataclass(frozen=True, eq=False)
class Incident:
    """A stretch of the control loop's life; nothing outside of it is used by a replay.

    Attributes:
        reason: Why it was written.
        robot: The robot.
        config: Every parameter of the controller.
        state: What the loop remembered before the first tick and its requests.
        ticks: The ticks, oldest first.
    """

    reason: str
    robot: RobotDescription
    config: ControllerConfig
    state: LoopState
    ticks: Sequence[TickRecord]


class IncidentLog:
    """The last ticks: the state now and then, and every input and answer.

    Logging a tick keeps references to what nobody changes; nothing is copied or written
    until :meth:`record` is called.
    """

    def __init__(
        self, config: ControllerConfig, robot: RobotDescription, state: LoopState, duration: float
    ) -> None:
        """Start to log.

        Args:
            config: Every parameter of the loop.
            robot: The robot it was built from.
            state: What it remembers now.
            duration: How far back a record goes at least [s].
        """
        self._robot = robot
        self._length = max(1, round(duration / config.period / SEGMENTS))
        # The state before the first tick of a segment, and its ticks.
        self._segments: deque[tuple[LoopState, list[TickRecord]]] = deque(maxlen=SEGMENTS + 1)
        self.restart(config, state)
        self._requests: list[tuple[Request, str]] = []
        self._fault = False
        self._good_ticks = self._length * SEGMENTS

    def restart(self, config: ControllerConfig, state: LoopState) -> None:
        """Forget what was, because the parameters have changed: a record has one set of them.

        Args:
            config: Every parameter of the loop from now on.
            state: What it remembers now.
        """
        self._config = config
        self._segments.clear()
        self._segments.append((state, []))

    def note(self, request: Request, detail: str = "") -> None:
        """Note what was asked of the loop before its next tick.

        Args:
            request: What.
            detail: The reason, in words.
        """
        self._requests.append((request, detail))

    def tick(
        self,
        inputs: LoopInputs,
        state: LoopState,
        command: SoundCommand | None,
        status: LoopStatus,
    ) -> bool:
        """Note a tick.

        Args:
            inputs: What the loop was given.
            state: What it remembers afterwards.
            command: What it sent.
            status: What happened.

        Returns:
            True when a fault begins, or something is wrong again after a good time as long
            as the log.
        """
        position = None if command is None else command.position
        tick = TickRecord(tuple(self._requests), inputs, position, status.mode, status.status)
        self._segments[-1][1].append(tick)
        if len(self._segments[-1][1]) >= self._length:
            self._segments.append((state, []))
        self._requests.clear()
        fault = status.mode is Mode.FAULT
        bad = fault or status.status in BAD
        began = bad and self._good_ticks >= self._length * SEGMENTS
        began |= fault and not self._fault
        self._fault = fault
        self._good_ticks = 0 if bad else self._good_ticks + 1
        return began

    def record(self, reason: str) -> Incident:
        """Return what is known now; it does not change any more.

        Args:
            reason: Why it is wanted.

        Returns:
            The record.
        """
        ticks = [tick for _, segment in self._segments for tick in segment]
        return Incident(reason, self._robot, self._config, self._segments[0][0], ticks)


@dataclass(frozen=True)
class ReplayedTick:
    """One tick, recorded and computed again.

    Attributes:
        recorded: What happened.
        command: (n) the command computed again [rad]; None if none would be sent.
        mode: The mode computed again.
        status: The status computed again.
    """

    recorded: TickRecord
    command: np.ndarray | None
    mode: Mode
    status: Status

    @property
    def command_difference(self) -> float:
        """Largest difference of the two commands [rad]; infinite if only one was sent."""
        before, after = self.recorded.command, self.command
        if before is None or after is None:
            return 0.0 if before is after else np.inf
        return float(np.max(np.abs(before - after), initial=0.0))

    def agrees(self, tolerance: float) -> bool:
        """Tell whether both are the same.

        Args:
            tolerance: Largest difference of the commands [rad].

        Returns:
            True if mode and status are equal and the commands close.
        """
        same = (self.mode, self.status) == (self.recorded.mode, self.recorded.status)
        return same and self.command_difference <= tolerance


def replay(incident: Incident) -> Iterator[ReplayedTick]:
    """Compute every tick of a record again, with a control loop of its own.

    Args:
        incident: The record.

    Yields:
        The ticks in order.

    Raises:
        ContactStackError: If robot and parameters do not make a control loop.
    """
    loop = ControlLoop(Robot.from_description(incident.robot), incident.config)
    state = incident.state
    for tick in incident.ticks:
        for request, detail in tick.requests:
            state, _ = loop.handle(state, request, detail)
        state, command, status = loop.tick(state, tick.inputs)
        position = None if command is None else command.position
        yield ReplayedTick(tick, position, status.mode, status.status)
