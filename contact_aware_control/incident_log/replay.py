"""Run a flight record through a control loop of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from contact_aware_control.incident_log import snapshot
from contact_aware_control.incident_log.record import FlightRecord, TickRecord
from contact_aware_control.safety.status import Mode, Status
from contact_core.robot import Robot


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


def replay(record: FlightRecord) -> Iterator[ReplayedTick]:
    """Compute every tick of a record again.

    Args:
        record: The record.

    Yields:
        The ticks in order.

    Raises:
        ModelError: If the record does not fit this version of the controller.
    """
    robot = Robot.from_description(record.robot)
    loop = snapshot.restore(record.snapshot, record.known, robot, record.config)
    for tick in record.ticks:
        for request in tick.requests:
            loop.handle(request)
        command, status = loop.tick(tick.now, tick.state, tick.report, tick.goal)
        yield ReplayedTick(tick, command, status.mode, status.status)
