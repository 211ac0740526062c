"""The fake robot as a process: what a driver publishes, at its rate, and what it takes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest
from lbr_fri_idl.msg import LBRState
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from contact_core.base.errors import CommunicationError
from contact_experiments.fake import DRIVERS
from contact_ros.client import GraphClient

pytestmark = pytest.mark.graph

FAKE = (sys.executable, "-m", "contact_stack.cli", "fake", "lbr_fri")


def test_it_stands_where_a_driver_stands(
    start_process: Callable[..., subprocess.Popen[str]],
) -> None:
    process = start_process(*FAKE, "--fault", "foreign_states", "--at", "1.5", "--for", "60")
    driver = DRIVERS["lbr_fri"]()
    with GraphClient() as client:
        first = client.wait_for(LBRState, "state")
        start = np.array(first.measured_joint_position)
        commands = client.node.create_publisher(
            driver.command_type, driver.command_topic, driver.depth
        )
        target = start + 0.05

        def moved(state: LBRState) -> bool:
            commands.publish(driver.encode_command(target))
            return bool(np.abs(np.array(state.measured_joint_position) - target).max() < 5e-3)

        client.wait_for(LBRState, "state", moved)
        # Somebody else publishes the same arm elsewhere.
        client.wait_for(LBRState, "state", lambda state: state.measured_joint_position[6] > 0.15)

        def both_are_known(_: LBRState) -> bool:  # names come later than what is published
            publishers = client.node.get_publishers_info_by_topic("/lbr/state")
            return {p.node_name for p in publishers} == {"fake_robot", "somebody_else"}

        client.wait_for(LBRState, "state", both_are_known)
        # A hardware launch refuses who publishes this.
        assert client.node.count_publishers("/lbr/simulated_robot") == 1
        began = time.monotonic()
        stamps = [_seconds(client.wait_for(LBRState, "state")) for _ in range(2)]
        # Stamps are those of a robot's clock, and keep its time.
        assert 0.0 < stamps[1] - stamps[0] < time.monotonic() - began + 0.1
    process.terminate()
    output, errors = process.communicate(timeout=10)
    assert process.returncode == 0, output + errors
    assert "Traceback" not in output + errors


def test_kuka_waits_for_its_robot_manager_and_begins_as_that_says(
    start_process: Callable[..., subprocess.Popen[str]],
) -> None:
    process = start_process(*FAKE[:-1], "kuka_drivers", "--by-hand")
    with GraphClient(namespace="/lbr/robot_manager") as client:

        def set_to(name: str, value: int) -> str:
            parameter = Parameter(name, value=value).to_parameter_msg()
            request = SetParameters.Request(parameters=[parameter])
            (result,) = client.call(SetParameters, "set_parameters", request).results
            return str(result.reason)

        def bring(transition: int) -> bool:
            request = ChangeState.Request(transition=Transition(id=transition))
            return bool(client.call(ChangeState, "change_state", request).success)

        assert "1 to 10 ms" in set_to("cycle_time", 20)
        assert set_to("cycle_time", 4) == ""
        assert client.node.count_publishers("/lbr/joint_states") == 1
        assert bring(Transition.TRANSITION_CONFIGURE)
        with GraphClient() as listener:
            with pytest.raises(CommunicationError):
                listener.wait_for(JointState, "joint_states", timeout=1.0)
            assert bring(Transition.TRANSITION_ACTIVATE)
            stamps: list[int] = []

            def many(state: JointState) -> bool:
                stamps.append(state.header.stamp.sec * 10**9 + state.header.stamp.nanosec)
                return len(stamps) == 50

            listener.wait_for(JointState, "joint_states", many)
            # None comes between two, and a busy machine may lose some.
            assert np.diff(stamps).min() == 4_000_000
            assert "not while" in set_to("cycle_time", 5)
            assert bring(Transition.TRANSITION_DEACTIVATE)
            assert set_to("cycle_time", 5) == ""
    process.terminate()
    output, errors = process.communicate(timeout=10)
    assert process.returncode == 0, output + errors
    assert "Traceback" not in output + errors


def _seconds(state: LBRState) -> float:
    return float(state.time_stamp_sec + 1e-9 * state.time_stamp_nano_sec)
