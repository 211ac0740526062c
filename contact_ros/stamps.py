"""Conversions between integer nanoseconds and ROS times and durations."""

from __future__ import annotations

from builtin_interfaces.msg import Duration, Time

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
