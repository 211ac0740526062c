"""A ROS domain of a test's own, and how the processes of a test talk in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from domain_coordinator import domain_id
from domain_coordinator.impl import default_selector

from contact_core.base.files import share
from contact_ros.environment import PROFILES, RANGE

# It goes on from test to test: what a test has killed is remembered in its domain for a while.
_next_domain = default_selector()


@contextmanager
def own_domain() -> Iterator[dict[str, str]]:
    """Reserve a domain.

    Yields:
        Environment variables that reach no other machine. They do without shared memory, as our
        nodes do: where a process was killed at the wrong moment, it blocks all others for good.
    """
    with domain_id(_next_domain) as domain:
        yield {
            "ROS_DOMAIN_ID": str(domain),
            RANGE: "SYSTEM_DEFAULT",
            PROFILES: str(share("config", "fastdds", "loopback.xml")),
        }
