"""Says when the controller is dead; the robot's driver then keeps the last command.

A process of its own, because a dead controller cannot say so itself. It stops nothing:
drivers go on applying the last command when commands end.
"""

from __future__ import annotations

import time
from typing import Any

from contact_stack_msgs.msg import ControllerStatus
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from std_msgs.msg import Bool

from contact_aware_control.node.config import WatchdogConfig
from contact_ros.diagnostics import AgeMonitor, Diagnostics, Health, Level
from contact_ros.driver_profile import driver_profile
from contact_ros.entry_point import run
from contact_ros.guarded_node import GuardedNode
from contact_ros.parameters import read
from contact_ros.qos import LATCHED, signal_subscription

NAME = "command_watchdog"
ALIVE_TOPIC = "controller_alive"


class WatchdogNode(GuardedNode):
    """Watch the ages of status and commands; publish a change at once."""

    def __init__(self) -> None:
        """Listen to the controller.

        Raises:
            ContactStackError: If a parameter or the driver profile is wrong.
        """
        super().__init__(NAME)
        self._config = config = read(self, WatchdogConfig)
        profile = driver_profile(config.driver, config.arm)
        self._timeout = config.periods / config.rate
        self._status_age = AgeMonitor(self._timeout)
        self._command_age = AgeMonitor(self._timeout)
        self._mode: int | None = None
        self._link = ControllerStatus.LOST
        self._level: Level | None = None
        self._outages = 0
        self._alive = self.create_publisher(Bool, ALIVE_TOPIC, LATCHED)
        self._diagnostics = Diagnostics(self, self._health)
        quality = signal_subscription(lockstep=False)
        status = self.create_subscription(
            ControllerStatus, "controller_status", self._status_arrived, quality
        )
        commands = self.create_subscription(
            profile.command_type,
            profile.topic(profile.command_topic),
            self._command_arrived,
            quality,
        )
        look = 0.2 * self._timeout
        self.poll(1.0 / look, status, commands)
        # The system clock may jump, and simulated time may stand still.
        self._timer = self.create_timer(
            look, self._check, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        self._last_check = time.monotonic()

    def _status_arrived(self, message: ControllerStatus) -> None:
        self._mode, self._link = message.mode, message.link
        self._status_age.arrived()

    def _command_arrived(self, message: Any) -> None:
        self._command_age.arrived()

    def _check(self) -> None:
        """Publish a change of the verdict at once."""
        now = time.monotonic()
        asleep = now - self._last_check > self._timeout
        self._last_check = now
        if asleep:
            # We did not run ourselves: what waits in the queues has to be read first.
            return
        health = self._health()
        if health.level is self._level:
            return
        before, self._level = self._level, health.level
        self._alive.publish(Bool(data=health.level is Level.OK))
        if health.level is Level.ERROR:
            self._outages += 1
            self.get_logger().error(health.message)
        elif before is Level.ERROR:
            self.get_logger().info(health.message)
        self._diagnostics.publish()

    def _health(self) -> Health:
        values: dict[str, object] = {
            "status_age_s": f"{self._status_age.age:.3f}",
            "command_age_s": f"{self._command_age.age:.3f}",
            "outages": self._outages,
        }
        if self._mode is None:
            return Health(Level.STALE, "waiting for the controller", values)
        if self._status_age.stale:
            return Health(
                Level.ERROR,
                f"the controller has been silent for more than {self._timeout:g} s: the robot "
                "keeps the last command; restart the controller",
                values,
            )
        if self._mode == ControllerStatus.INACTIVE:
            return Health(Level.WARN, "the controller runs, but sends no commands", values)
        if self._link != ControllerStatus.ARMED:
            return Health(Level.OK, "the controller waits for a link to the robot", values)
        if self._command_age.stale:
            return Health(
                Level.ERROR,
                f"no command for more than {self._timeout:g} s though the controller runs: check "
                "driver profile and network",
                values,
            )
        return Health(Level.OK, "the controller sends commands", values)


def main() -> int:
    """Run the watchdog.

    Returns:
        The exit code.
    """
    return run(WatchdogNode)
