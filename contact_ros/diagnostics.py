"""A node's own report on /diagnostics, once a second."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node

from contact_ros.qos import DIAGNOSTICS

PERIOD = 1.0
"""Period of the reports [s], as tools for diagnostics expect."""


class Level(Enum):
    """How well a node is."""

    OK = DiagnosticStatus.OK
    WARN = DiagnosticStatus.WARN
    ERROR = DiagnosticStatus.ERROR
    STALE = DiagnosticStatus.STALE


@dataclass(frozen=True)
class Health:
    """What a node reports.

    Attributes:
        level: How well it is.
        message: One sentence, with the remedy if something is wrong.
        values: Figures by name, with the unit in the name, e.g. ``tick_p99_us``.
    """

    level: Level
    message: str
    values: Mapping[str, object] = field(default_factory=dict)


class Diagnostics:
    """Publish a node's health at 1 Hz of real time."""

    def __init__(self, node: Node, health: Callable[[], Health]) -> None:
        """Start publishing.

        Args:
            node: The node that reports.
            health: Called for each report, in the executor's thread.
        """
        self._node = node
        self._health = health
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", DIAGNOSTICS)
        self._timer = node.create_timer(
            PERIOD, self.publish, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    def publish(self) -> None:
        """Publish one report now."""
        health = self._health()
        status = DiagnosticStatus(
            level=health.level.value,
            name=self._node.get_fully_qualified_name(),
            message=health.message,
            values=[KeyValue(key=key, value=str(value)) for key, value in health.values.items()],
        )
        report = DiagnosticArray(status=[status])
        report.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(report)
