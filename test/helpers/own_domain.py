"""A ROS domain of a test's own, and how the processes of a test talk in it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from domain_coordinator import domain_id

from contact_core.base.files import share
from contact_ros.environment import RANGE, profiles_variable

# Far from those of another worker: what a test has killed is remembered for a while.
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_DOMAINS = itertools.islice(itertools.cycle(range(1, 101)), 30 * _WORKER, None)
FIRST_PORT, PORTS = 7400, 250
"""Of DDS: the first port of domain 0, and how many each domain has."""


def _next_domain() -> int:
    """Return the next one that nobody is in, not even a node of a test that has ended."""
    sockets = Path("/proc/net/udp").read_text().splitlines()[1:]
    ports = [int(socket.split()[1].rpartition(":")[2], 16) for socket in sockets]
    inhabited = {(port - FIRST_PORT) // PORTS for port in ports}
    return next(domain for domain in _DOMAINS if domain not in inhabited)


@contextmanager
def own_domain() -> Iterator[dict[str, str]]:
    """Reserve a domain.

    Yields:
        Environment variables that reach no other machine. They do without shared memory, as our
        nodes do: where a process was killed at the wrong moment, it blocks all others for good.
    """
    reserved = domain_id(_next_domain)
    domain = reserved.__enter__()
    try:
        yield {
            "ROS_DOMAIN_ID": str(domain),
            RANGE: "SYSTEM_DEFAULT",
            profiles_variable(): str(share("config", "fastdds", "loopback.xml")),
        }
    finally:
        # Not with the error: it takes a TimeoutError for a domain that is in use.
        reserved.__exit__(None, None, None)
