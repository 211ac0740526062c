"""The faults over DDS: the fake robot as a process, estimator and controller as theirs."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

import pytest
from contact_stack_msgs.msg import ControllerStatus
from fake_graph import fake_graph
from std_srvs.srv import Trigger

pytestmark = [pytest.mark.graph, pytest.mark.verify]

HOLD_TIME = 0.05
REPORT_TIME = 0.1
"""What a busy machine may add until a status has been received [s]."""
AT = 25.0
"""When it goes wrong: everything has started by then [s]."""

TRACKING = (ControllerStatus.TRACKING, ControllerStatus.CONSERVATIVE)


@pytest.mark.parametrize("driver", ["lbr_fri", "lbr_fri2", "kuka_drivers", "ros2_control"])
@pytest.mark.parametrize(
    "fault", ["restarts", "long_outage", "hung", "nan", "degrees", "frozen", "foreign_states"]
)
def test_a_fault_holds_the_arm_and_is_named(
    start_process: Callable[..., subprocess.Popen[str]], driver: str, fault: str
) -> None:
    options = ("--fault", fault, "--at", str(AT), "--for", "2")
    began = time.monotonic()
    with fake_graph(start_process, driver, *options) as graph:
        graph.send(10)
        assert time.monotonic() - began < AT, "it took too long to start"
        held = ControllerStatus
        message = graph.client.wait_for(
            held, "controller_status", lambda m: m.mode not in TRACKING, timeout=AT
        )
        assert message.status_name != "OK"
        if fault in ("restarts", "long_outage"):
            # Stale since three periods: how late we hear of it is what may be added.
            assert message.status == ControllerStatus.STATE_STALE
        time.sleep(3.0)
        for service in ("resume", "reset", "resume"):
            graph.client.call(Trigger, f"contact_aware_controller/{service}", Trigger.Request())
        graph.client.wait_for(held, "controller_status", lambda m: m.mode in TRACKING)
