"""Whether nodes can find each other and talk."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

from contact_core.base.errors import CommunicationError, ConfigError
from contact_ros import environment
from contact_stack.checks import SET_UP, Check

SAFE_DOMAIN_IDS = range(102)
"""Domain ids whose ports lie below those Linux hands out to other programs."""

PATIENCE = 15.0
VIEWER_PORT = 8080

TALKER = """
import sys, time
import rclpy
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node("doctor_talker", start_parameter_services=False)
publisher = node.create_publisher(String, sys.argv[1], 1)
while True:
    publisher.publish(String(data="hello"))
    time.sleep(0.02)
"""


def network() -> Iterator[Check]:
    """Check the ROS domain, the communication and the viewer's port.

    Yields:
        The checks.
    """
    yield domain_id()
    yield discovery_range()
    yield communication()
    yield port(VIEWER_PORT)


def domain_id() -> Check:
    """Check the number of the ROS domain.

    Returns:
        The check.
    """
    name, value = "ROS_DOMAIN_ID", os.environ.get("ROS_DOMAIN_ID", "")
    if not value:
        return Check.ok(name, "not set: domain 0")
    if not value.isdigit() or int(value) not in SAFE_DOMAIN_IDS:
        return Check.fail(name, f"'{value}' is no usable domain", "set it to 0 .. 101")
    return Check.ok(name, value)


def discovery_range() -> Check:
    """Check how far nodes look for each other.

    Returns:
        The check.
    """
    name = "ROS_AUTOMATIC_DISCOVERY_RANGE"
    value = os.environ.get(name, "")
    if value and value not in environment.RANGES:
        valid = ", ".join(environment.RANGES)
        return Check.fail(name, f"'{value}' is unknown", f"set it to one of {valid}")
    if value == "OFF":
        return Check.fail(name, "OFF: no node finds another", "set it to LOCALHOST")
    if value == "LOCALHOST":
        return Check.ok(name, value)
    return Check.warn(
        name,
        f"{value or 'not set'}: a hardware launch and single nodes see other machines' nodes, and "
        "are seen",
        "set it to LOCALHOST unless the robot is reached over the network",
    )


def communication() -> Check:
    """Let a second process publish, and listen to it.

    Returns:
        The check.
    """
    name = "communication"
    try:
        from std_msgs.msg import String

        from contact_ros.client import GraphClient
    except Exception:  # what is wrong with it is another check's business
        return Check.fail(name, "not tried: rclpy cannot be imported", SET_UP)
    topic = f"doctor_{os.getpid()}"
    talker = subprocess.Popen(
        [sys.executable, "-c", TALKER, topic],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with GraphClient("doctor", "") as client:
            start = time.monotonic()
            client.wait_for(String, topic, timeout=PATIENCE)
            elapsed = time.monotonic() - start
    except ConfigError as error:
        return Check.fail(name, str(error), "set it to a valid value, or unset it")
    except CommunicationError:
        return Check.fail(
            name,
            f"a node heard nothing from another one within {PATIENCE:g} s",
            "allow UDP on the loopback interface (firewall), and make sure /dev/shm is not full",
        )
    finally:
        talker.kill()
        talker.wait()
    return Check.ok(name, f"a node heard another one after {elapsed:.1f} s")


def port(number: int) -> Check:
    """Check that the viewer can use its port.

    Args:
        number: The port.

    Returns:
        The check.
    """
    name = f"port {number}"
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", number))
        except OSError as error:
            return Check.warn(
                name,
                f"{error.strerror}: the viewer will take the next free one",
                "end the program that uses it if you want the usual address",
            )
    return Check.ok(name, "free for the viewer")
