"""The external stop: a latched input from outside, e.g. a button's node."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import Bool

from contact_aware_control.safety.request import Request
from contact_aware_control.safety_config import ExternalStopConfig
from contact_ros.diagnostics import AgeMonitor

TOPIC = "external_stop"


class ExternalStop:
    """Turn the messages of the topic, or their absence, into requests."""

    def __init__(
        self,
        node: Node,
        config: ExternalStopConfig,
        ask: Callable[[Request, str], object],
    ) -> None:
        """Listen.

        Args:
            node: The controller's node.
            config: How long the topic may be silent.
            ask: Asks the control loop; called in the executor's thread by messages, and in
                the loop's thread by :meth:`check`.
        """
        self._timeout = config.timeout
        self._age = AgeMonitor(config.timeout)
        self._ask = ask
        self._pressed = False
        self._subscription = node.create_subscription(
            Bool, TOPIC, self._arrived, QoSProfile(depth=1)
        )

    @property
    def pressed(self) -> bool:
        """Whether it is pressed now."""
        return self._pressed

    def check(self) -> None:
        """Count silence as a press, if it must not be silent."""
        if self._timeout > 0.0 and self._age.stale and not self._pressed:
            self._pressed = True
            self._ask(
                Request.PRESS_EXTERNAL_STOP,
                f"topic {TOPIC} has been silent for more than {self._timeout:g} s",
            )

    def _arrived(self, message: Bool) -> None:
        self._age.arrived()
        if message.data == self._pressed:
            return
        self._pressed = message.data
        if message.data:
            self._ask(Request.PRESS_EXTERNAL_STOP, "the external stop was pressed")
        else:
            self._ask(Request.RELEASE_EXTERNAL_STOP, "")
