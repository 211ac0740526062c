"""Conversions between integer nanoseconds and ROS times and durations, and timers of real time."""

from __future__ import annotations

from collections.abc import Callable

from builtin_interfaces.msg import Duration, Time
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.timer import Timer

MAX_START = 3600.0
"""How far ahead may lie what is to begin later [s]."""
NANOSECONDS = 1_000_000_000
"""Nanoseconds in a second."""


def to_time(nanoseconds: int) -> Time:
    """Convert a time.

    Args:
        nanoseconds: Time [ns], not negative.

    Returns:
        The same time as a message.
    """
    seconds, fraction = divmod(int(nanoseconds), NANOSECONDS)
    return Time(sec=seconds, nanosec=fraction)


def to_duration(nanoseconds: int) -> Duration:
    """Convert a duration.

    Args:
        nanoseconds: Duration [ns], of either sign.

    Returns:
        The same duration as a message; its fraction is never negative.
    """
    seconds, fraction = divmod(int(nanoseconds), NANOSECONDS)
    return Duration(sec=seconds, nanosec=fraction)


def to_nanoseconds(message: Time | Duration) -> int:
    """Convert a time or a duration message.

    Args:
        message: The message.

    Returns:
        The same time or duration [ns].
    """
    return message.sec * NANOSECONDS + message.nanosec


def steady_timer(
    node: Node, period: float, callback: Callable[[], None], autostart: bool = True
) -> Timer:
    """Create a timer that goes by real time, whatever clock the graph has.

    Args:
        node: The node that runs it.
        period: Its period [s].
        callback: What it calls.
        autostart: Whether it runs from the start; otherwise ``reset`` starts it.
    """
    steady = Clock(clock_type=ClockType.STEADY_TIME)
    return node.create_timer(period, callback, clock=steady, autostart=autostart)
