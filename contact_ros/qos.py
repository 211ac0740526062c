"""The quality of service of every topic of the graph, by name.

In lock-step nothing may be lost, also not the first message while the nodes are still
discovering each other: signals are reliable and a late subscriber gets the last ones. In
real time a sample that is late is worthless: signals have depth 1, publishers offer
reliable delivery as the drivers of the hardware do, and subscribers ask for best effort.
"""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy


def _profile(depth: int, reliable: bool, latched: bool) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


LOCKSTEP = _profile(depth=10, reliable=True, latched=True)
"""Lock-step messages, and every signal of a lock-step run."""

LATCHED = _profile(depth=1, reliable=True, latched=True)
"""Messages that stay valid, e.g. the robot description."""

LATCHED_BY_MANY = _profile(depth=50, reliable=True, latched=True)
"""For a listener to messages that stay valid, one of each of many nodes."""

KEPT_STOPS = _profile(depth=10, reliable=True, latched=True)
"""For a listener to a stop that may have been pressed before; a short press is no less of one."""

LIVE_STOPS = _profile(depth=10, reliable=False, latched=False)
"""For a listener to a stop that is sent by any means."""

DIAGNOSTICS = _profile(depth=10, reliable=True, latched=False)
"""Diagnostics."""

ACTION_SERVICES = {
    f"{service}_service_qos_profile": _profile(depth=100, reliable=True, latched=False)
    for service in ("goal", "result", "cancel")
}
"""For an action server, as arguments: of many goals at once it answers each, and drops none."""

WAITING = 4
"""Joint states that wait until they are taken: those of a gripper do not displace the arm's."""


def signal_publisher(lockstep: bool) -> QoSProfile:
    """Return the profile for publishing a signal of the control loop.

    Args:
        lockstep: True in lock-step, False in real time.

    Returns:
        The profile.
    """
    return LOCKSTEP if lockstep else _profile(depth=1, reliable=True, latched=False)


def signal_subscription(lockstep: bool, reliable: bool = False, depth: int = 1) -> QoSProfile:
    """Return the profile for reading a signal of the control loop.

    Args:
        lockstep: True in lock-step, False in real time.
        reliable: Whether samples that got lost are sent again in real time.
        depth: How many may wait in real time, for a reader that polls what several nodes publish.

    Returns:
        The profile.
    """
    return LOCKSTEP if lockstep else _profile(depth, reliable, latched=False)
