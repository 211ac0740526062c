"""When a motion of the simulated gripper has ended."""

from __future__ import annotations

from sensor_msgs.msg import JointState

from contact_core.robot.gripper import GripperCommand
from contact_ros.gripper import REACHED, Ending

STANDSTILL_SPEED = 1e-3
STANDSTILL_TICKS = 20
"""Below this speed [m/s] for so many ticks the gripper counts as stalled."""


class Standstill:
    """Judges a motion by where the fingers are, and by whether they stand still elsewhere."""

    def __init__(self) -> None:
        """Know no motion yet."""
        self._command: GripperCommand | None = None
        self._still = 0

    def __call__(self, command: GripperCommand, state: JointState) -> Ending | None:
        """Judge after a tick.

        Args:
            command: What the gripper follows.
            state: The gripper's state.

        Returns:
            How the motion ended; None while it goes on.
        """
        if command is not self._command:
            self._command, self._still = command, 0
        slow = min(STANDSTILL_SPEED, 0.5 * command.max_speed)
        self._still = self._still + 1 if abs(state.velocity[0]) < slow else 0
        if abs(state.position[0] - command.position) < REACHED:
            return Ending.REACHED
        return Ending.STALLED if self._still >= STANDSTILL_TICKS else None
