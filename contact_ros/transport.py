"""Which transport nodes use between the processes of one machine.

Fast DDS prefers shared memory. When a process dies or freezes there at the wrong moment,
everybody who publishes to it is blocked until the memory counts as unhealthy, for a second
or two: a control loop must not depend on the health of who listens. UDP drops what nobody
takes.
"""

from __future__ import annotations

import os

from rclpy.utilities import get_rmw_implementation_identifier

RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
TRANSPORTS = "FASTDDS_BUILTIN_TRANSPORTS"
PROFILES = "FASTRTPS_DEFAULT_PROFILES_FILE"

DECIDED_BY_USER = (TRANSPORTS, PROFILES, "FASTDDS_DEFAULT_PROFILES_FILE", "ROS_STATIC_PEERS")
"""Variables that leave everything as it is: who sets one of them has plans of their own."""


def avoid_shared_memory() -> None:
    """Let this process use UDP, on the loopback interface if it is to see this machine only.

    Has to be called before ``rclpy.init``. Another middleware than Fast DDS is left alone.
    """
    if any(name in os.environ for name in DECIDED_BY_USER):
        return
    if "fastrtps" not in get_rmw_implementation_identifier():
        return
    if os.environ.get(RANGE) == "LOCALHOST":
        # Takes a while to import, and by now a signal may interrupt it.
        from contact_core.description import share

        # For this range ROS insists on shared memory; the profile is as narrow without it.
        os.environ[PROFILES] = str(share("config", "fastdds", "loopback.xml"))
        os.environ[RANGE] = "SYSTEM_DEFAULT"
    else:
        os.environ[TRANSPORTS] = "UDPv4"
