"""The graph on two hosts: discovery, a cut link, a slow host, a clock that differs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from across_machines import SCENARIOS
from hosts import PRIVATE, why_not

pytestmark = [pytest.mark.graph, pytest.mark.verify]

SCRIPT = Path(__file__).parent / "across_machines.py"


@pytest.fixture(scope="module", autouse=True)
def network_namespaces() -> None:
    if reason := why_not():
        pytest.skip(reason)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_across_machines(scenario: str, ros_domain: int) -> None:
    done = subprocess.run(
        [*PRIVATE, sys.executable, SCRIPT, scenario],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
