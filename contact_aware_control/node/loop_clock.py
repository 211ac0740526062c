"""The control loop's time in real time."""

from __future__ import annotations

import time
from collections.abc import Callable


class LoopClock:
    """Steady time that began as ROS time.

    ROS time may jump, when the system's clock is set or a simulator restarts. A watchdog
    must not: its ages are differences of this clock, which only ever goes on.
    """

    def __init__(
        self, ros_now: Callable[[], int], steady_now: Callable[[], int] = time.monotonic_ns
    ) -> None:
        """Begin at the present ROS time.

        Args:
            ros_now: ROS time [ns].
            steady_now: A steady clock [ns].
        """
        self._ros_now = ros_now
        self._steady_now = steady_now
        self._offset = ros_now() - steady_now()

    def now(self) -> int:
        """Return the time [ns]."""
        return self._steady_now() + self._offset

    def from_ros(self, stamp: int) -> int:
        """Translate a ROS time, with the clock of ROS as it is now.

        Args:
            stamp: ROS time [ns].

        Returns:
            The same moment on this clock [ns].
        """
        return stamp - self._ros_now() + self.now()
