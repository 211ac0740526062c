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

AT = 25.0
"""When it goes wrong: everything has started by then [s]."""

TRACKING = (ControllerStatus.TRACKING, ControllerStatus.CONSERVATIVE)
NAMED = {
    "restarts": ("STATE_STALE",),
    "long_outage": ("STATE_STALE",),
    "hung": ("STATE_FROZEN",),
    "nan": ("BAD_INPUT",),
    "degrees": ("STATE_IMPLAUSIBLE",),
    "frozen": ("STATE_FROZEN", "STATE_IMPLAUSIBLE"),
    "foreign_states": ("STATE_IMPLAUSIBLE",),
}
"""What each is called; a busy machine holds the arm before, by other names."""


@pytest.mark.parametrize("driver", ["lbr_fri", "lbr_fri2", "kuka_drivers", "ros2_control"])
@pytest.mark.parametrize("fault", NAMED)
def test_a_fault_holds_the_arm_and_is_named(
    start_process: Callable[..., subprocess.Popen[str]], driver: str, fault: str
) -> None:
    options = ("--fault", fault, "--at", str(AT), "--for", "2")
    began = time.monotonic()
    with fake_graph(start_process, driver, *options) as graph:
        graph.send(10)
        assert time.monotonic() - began < AT, "it took too long to start"
        assert graph.robot.stderr is not None
        assert any(f"{fault}: " in line for line in graph.robot.stderr)
        message = graph.client.wait_for(
            ControllerStatus, "controller_status", lambda m: m.status_name in NAMED[fault]
        )
        assert message.mode not in TRACKING
        # What lasts longer than the patience of a goal ends it: the next one moves the arm again.
        time.sleep(3.0)
        for service in ("resume", "reset", "resume"):
            graph.client.call(Trigger, f"contact_aware_controller/{service}", Trigger.Request())
        graph.send(1)
