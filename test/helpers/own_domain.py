"""A ROS domain of a test's own, and how the processes of a test talk in it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager

from domain_coordinator import domain_id

from contact_core.base.files import share
from contact_ros.environment import RANGE, profiles_variable

# It goes on from test to test, and far from those of another worker: what a test has killed is
# remembered in its domain for a while.
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_DOMAINS = itertools.cycle(range(1, 101))
_next_domain = itertools.islice(_DOMAINS, 30 * _WORKER, None).__next__


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
