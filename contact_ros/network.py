"""How far a process talks: to this machine only, or as the environment says; and over what."""

from __future__ import annotations

import os

from rclpy.utilities import get_rmw_implementation_identifier

from contact_core.base.errors import ConfigError, choices
from contact_core.base.files import share
from contact_ros import environment
from contact_ros.environment import NEWER_PROFILES, PROFILES, RANGE, profiles_variable

NETWORK = "CONTACT_STACK_NETWORK"
"""The variable that chooses; ``network:=`` of the launch files sets it for their nodes."""

LOCALHOST = "localhost"
ENVIRONMENT = "environment"

TRANSPORTS = "FASTDDS_BUILTIN_TRANSPORTS"
SKIP_PROFILES_OF_FOLDER = "SKIP_DEFAULT_XML_FILE"

DECIDED_BY_USER = (TRANSPORTS, PROFILES, NEWER_PROFILES, "ROS_STATIC_PEERS")
"""Variables that leave everything as it is: who sets one of them has plans of their own."""

REACHING_OUT = (
    *(*DECIDED_BY_USER, "ROS_LOCALHOST_ONLY", "ROS_DISCOVERY_SERVER", "ROS_SUPER_CLIENT"),
    *("FASTDDS_ENVIRONMENT_FILE", "CYCLONEDDS_URI"),
)
"""Variables by which a process may reach another machine whatever its range."""


def enter(default: str) -> None:
    """Let this process talk as far as it was asked to; has to be called before ``rclpy.init``.

    Args:
        default: :data:`LOCALHOST` or :data:`ENVIRONMENT`, where :data:`NETWORK` is not set.

    Raises:
        ConfigError: If that variable is neither, or one of ROS has no valid value.
    """
    chosen = os.environ.get(NETWORK) or default
    if chosen not in (LOCALHOST, ENVIRONMENT):
        raise ConfigError(f"{NETWORK} is '{chosen}' ({choices((LOCALHOST, ENVIRONMENT))})")
    if chosen == LOCALHOST:
        for name in REACHING_OUT:
            os.environ.pop(name, None)
        os.environ |= {RANGE: "LOCALHOST", SKIP_PROFILES_OF_FOLDER: "1"}
    avoid_shared_memory()
    environment.check()


def avoid_shared_memory() -> None:
    """Let this process use UDP, on the loopback interface if it is to see this machine only.

    Fast DDS prefers shared memory. When a process dies or freezes there at the wrong moment,
    everybody who publishes to it is blocked until the memory counts as unhealthy, for a second
    or two: a control loop must not depend on the health of who listens. UDP drops what nobody
    takes. Another middleware than Fast DDS is left alone.
    """
    if any(name in os.environ for name in DECIDED_BY_USER):
        return
    if "fastrtps" not in get_rmw_implementation_identifier():
        return
    if os.environ.get(RANGE) == "LOCALHOST":
        # For this range ROS insists on shared memory; the profile is as narrow without it.
        os.environ[profiles_variable()] = str(share("config", "fastdds", "loopback.xml"))
        os.environ[RANGE] = "SYSTEM_DEFAULT"
    else:
        os.environ[TRANSPORTS] = "UDPv4"
