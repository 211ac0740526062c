"""Deaths, bad messages, clocks that jump and the external stop, on the graph in real time."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from client import FULL_RATE, NODES, RATE, GraphClient
from contact_stack_msgs.msg import ControllerStatus
from faults import (
    REPORT_TIME,
    ask,
    ask_until_granted,
    diagnostic,
    first_status,
    goal_down,
    last_arrival,
    mode,
)
from lbr_fri_idl.msg import LBRState
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool

from contact_aware_control.incident_log import load, replay
from contact_ros.qos import LATCHED
from contact_stack.launch import NodeGraph

pytestmark = pytest.mark.graph

MAIN = "import sys; from contact_aware_control.node.{} import main; sys.exit(main())"
SIMULATED = ("robot:=iiwa14_wsg50", "hardware:=false", f"rate:={RATE}")
"""Parameters of a controller whose arm is simulated."""
NAMESPACE = ("--ros-args", "-r", "__ns:=/lbr")

Moving = tuple[GraphClient, dict[str, int]]


@pytest.fixture
def start_motion(
    launch: Callable[..., NodeGraph],
    client: GraphClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Moving]:
    """Start the graph in real time and a slow goal; return also the nodes' processes."""
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path))

    def start(rate: float = RATE) -> Moving:
        graph = launch(rate=rate, held_mass="0.1")
        client.wait_until_ready()
        client.send(client.pose, goal_down(client, 0.1, 30.0))
        client.spin_until(lambda: mode(client) == ControllerStatus.TRACKING)
        return client, dict(zip(NODES, graph.pids, strict=True))

    return start


def wait_for(client: GraphClient, wanted: int, name: str | None = None) -> ControllerStatus:
    """Wait for a mode, and the name of a status."""

    def reached() -> bool:
        latest = client.latest("controller_status")
        return latest.mode == wanted and name in (None, latest.status_name)

    client.spin_until(reached)
    return client.latest("controller_status")


def commands_since(client: GraphClient, start: float, count: int) -> list[Any]:
    """Return the commands that arrived after a time, empty if there are fewer than needed."""
    heard = client.heard["controller_status"]
    commands = [s.joint_command for t, s in heard if t > start and s.joint_command]
    return commands if len(commands) >= count else []


@pytest.mark.verify
def test_a_late_state_and_an_outage(start_motion: Callable[..., Moving]) -> None:
    """50 ms late: on by itself. Over a second: only after resume, with a new goal."""
    client, pids = start_motion(FULL_RATE)
    os.kill(pids["tamsi_sim"], signal.SIGSTOP)
    client.spin_for(0.05)  # hear it: a queue has room for five statuses
    stopped = last_arrival(client, "truth/joint_states")
    os.kill(pids["tamsi_sim"], signal.SIGCONT)
    assert first_status(client, "STATE_STALE", stopped) - stopped <= 3 / FULL_RATE + REPORT_TIME
    wait_for(client, ControllerStatus.TRACKING, "OK")

    os.kill(pids["tamsi_sim"], signal.SIGSTOP)
    stopped = time.monotonic()
    try:
        client.spin_for(1.3)
        client.spin_until(
            lambda: "STATE_STALE" in diagnostic(client, "contact_aware_controller", stopped)[0]
        )
    finally:
        os.kill(pids["tamsi_sim"], signal.SIGCONT)
    client.spin_for(0.3)
    assert mode(client) == ControllerStatus.HOLD
    ask_until_granted(client, "resume")
    client.send(client.pose, goal_down(client, 0.1, 30.0))  # the old one has not waited for ever
    wait_for(client, ControllerStatus.TRACKING, "OK")


def test_dead_nodes(start_motion: Callable[..., Moving]) -> None:
    """First the estimator, then the simulator: conservative, then held, each with a reason."""
    client, pids = start_motion()
    os.kill(pids["contact_estimator"], signal.SIGKILL)
    client.spin_for(0.02)
    died = last_arrival(client, "contacts")
    first_status(client, "CONTACTS_STALE", died)
    assert wait_for(client, ControllerStatus.CONSERVATIVE).remedy
    os.kill(pids["tamsi_sim"], signal.SIGKILL)
    client.spin_for(0.02)
    died = last_arrival(client, "truth/joint_states")
    changed = first_status(client, "STATE_STALE", died)
    client.spin_for(3 * REPORT_TIME)
    settled = time.monotonic()
    commands = client.spin_until(lambda: commands_since(client, settled, 10))
    assert all(np.array_equal(command, commands[0]) for command in commands)
    client.spin_until(
        lambda: "STATE_STALE" in diagnostic(client, "contact_aware_controller", changed)[0]
    )


class FakeRobot:
    """The test as the robot: a still arm, without a simulator.

    Attributes:
        spoil: Changes every state before it is sent.
    """

    def __init__(self, client: GraphClient) -> None:
        """Send states while the client spins."""
        self._clock = client.node.get_clock()
        self._states = client.node.create_publisher(JointState, "joint_states", 1)
        self._torques = client.node.create_publisher(
            JointState, "external_torque_broadcaster/joint_states", 1
        )
        self.spoil: Callable[[list[float]], Any] = lambda position: None
        client.node.create_timer(1.0 / RATE, self._publish)

    def _publish(self) -> None:
        names = [f"lbr_A{i}" for i in range(1, 8)]
        position = [0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0]
        self.spoil(position)
        state = JointState(name=names, position=position, velocity=[0.0] * 7)
        state.header.stamp = self._clock.now().to_msg()
        self._states.publish(state)
        self._torques.publish(JointState(header=state.header, name=names, effort=[0.0] * 7))


@pytest.fixture
def start_alone(
    start_process: Callable[..., Any],
    client: GraphClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[..., FakeRobot]]:
    """Start the controller without simulator and estimator, holding a fake robot."""
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path))
    processes = []

    def start(*parameters: str) -> FakeRobot:
        words = [
            word for p in (*SIMULATED, "driver:=ros2_control", *parameters) for word in ("-p", p)
        ]
        processes.append(
            start_process(sys.executable, "-c", MAIN.format("controller"), *NAMESPACE, *words)
        )
        robot = FakeRobot(client)
        client.spin_until(lambda: client.latest("controller_status"))
        wait_for(client, ControllerStatus.HOLD)
        return robot

    yield start
    for process in processes:
        process.terminate()
        assert process.wait(10.0) == 0


def test_bad_states_are_a_latched_fault(
    start_alone: Callable[..., FakeRobot], client: GraphClient
) -> None:
    """Good states, then bad ones, then good ones again, which do not end the fault."""
    robot = start_alone()
    spoils: tuple[Callable[[list[float]], Any], ...] = (
        lambda position: position.__setitem__(2, float("nan")),
        lambda position: position.__setitem__(2, float("inf")),
        lambda position: position.pop(),
    )
    for spoil in spoils:
        held = list(client.latest("controller_status").joint_command)
        robot.spoil = spoil
        began = time.monotonic()
        status = wait_for(client, ControllerStatus.FAULT, "BAD_INPUT")
        assert list(status.joint_command) == held
        client.spin_until(partial(many_rejected, client, began))
        robot.spoil = lambda position: None
        client.spin_for(0.1)
        assert mode(client) == ControllerStatus.FAULT
        assert ask(client, "reset").success
        wait_for(client, ControllerStatus.HOLD)


def many_rejected(client: GraphClient, after: float) -> bool:
    values = diagnostic(client, "contact_aware_controller", after)[1]
    return "10 rejected messages of late" in values.get("fault", "")


def test_a_jumping_clock_changes_nothing(
    start_alone: Callable[..., FakeRobot], client: GraphClient
) -> None:
    """ROS time jumps on and back by hours; the ages of the signals do not."""
    clock = client.node.create_publisher(Clock, "/clock", 1)
    # The test itself is the robot: what delays it must not look like a jump.
    start_alone("use_sim_time:=true", "safety.state_timeout_periods:=20.0")
    client.spin_until(clock.get_subscription_count)
    began = time.monotonic()
    for seconds in (1000, 5000, 10):
        clock.publish(Clock(clock=Time(sec=seconds)))
        client.spin_for(0.2)
    since = [status for t, status in client.heard["controller_status"] if t > began]
    assert len(since) > 10
    assert {status.mode for status in since} == {ControllerStatus.HOLD}
    assert {status.status_name for status in since} == {"CONTACTS_STALE"}


def press(client: GraphClient) -> Any:
    """Press the external stop; return its publisher."""
    stop = client.node.create_publisher(Bool, "external_stop", 1)
    client.spin_until(stop.get_subscription_count)
    # The controller may know of the publisher a little later than that of it.
    begun = client.latest("controller_status").ticks
    client.spin_until(lambda: client.latest("controller_status").ticks > begun + 25)
    stop.publish(Bool(data=True))
    return stop


@pytest.mark.verify
def test_external_stop_is_prompt(start_motion: Callable[..., Moving]) -> None:
    """For a quiet machine: a busy one delays what the test hears."""
    client, _ = start_motion(FULL_RATE)
    press(client)
    pressed = time.monotonic()
    assert first_status(client, "EXTERNAL_STOP", pressed) - pressed <= 3 * REPORT_TIME


def test_external_stop_is_latched_and_recorded(held: GraphClient) -> None:
    """Pressed: a fault. Still pressed: no reset. The record, replayed, shows the same."""
    client = held
    client.send(client.pose, goal_down(client, 0.1, 30.0))
    wait_for(client, ControllerStatus.TRACKING)
    stop = press(client)
    assert wait_for(client, ControllerStatus.FAULT, "EXTERNAL_STOP").remedy
    refused = ask(client, "reset")
    assert not refused.success
    assert "release" in refused.message
    stop.publish(Bool(data=False))
    client.spin_for(0.1)
    assert mode(client) == ControllerStatus.FAULT
    assert ask(client, "reset").success
    wait_for(client, ControllerStatus.HOLD)
    dumped = ask(client, "dump_flight")
    assert dumped.success
    fault = next(client.logs.glob("flight/*EXTERNAL_STOP.npz"))
    assert load(fault).ticks[-1].status.name == "EXTERNAL_STOP"
    for file in (fault, Path(dumped.message)):
        ticks = list(replay(load(file)))
        assert len(ticks) > 25
        assert all(tick.agrees(0.0) for tick in ticks)
    client.node.destroy_publisher(stop)


def start_watchdog(
    client: GraphClient, start_process: Callable[..., Any], driver: str, rate: float = RATE
) -> tuple[Any, list[tuple[float, bool]]]:
    """Start the watchdog; return its process, and what it says with the arrival times."""
    alive: list[tuple[float, bool]] = []
    client.node.create_subscription(
        Bool, "controller_alive", lambda m: alive.append((time.monotonic(), m.data)), LATCHED
    )
    words = [word for p in (f"driver:={driver}", f"rate:={rate}") for word in ("-p", p)]
    watchdog = start_process(sys.executable, "-c", MAIN.format("watchdog"), *NAMESPACE, *words)
    client.spin_until(lambda: alive and alive[-1][1])
    return watchdog, alive


@pytest.mark.verify
def test_the_watchdog_is_prompt(
    start_motion: Callable[..., Moving], start_process: Callable[..., Any], driver: str
) -> None:
    """For a quiet machine: a busy one delays what the test hears."""
    client, pids = start_motion(FULL_RATE)
    watchdog, alive = start_watchdog(client, start_process, driver, FULL_RATE)
    os.kill(pids["contact_aware_controller"], signal.SIGKILL)
    client.spin_for(0.02)
    died = last_arrival(client, "controller_status")
    client.spin_until(lambda: not alive[-1][1])
    assert alive[-1][0] - died <= 1.2 * 10 / FULL_RATE + REPORT_TIME
    watchdog.terminate()
    assert watchdog.wait(10.0) == 0


# The other drivers do not report the command, so that a new controller begins at the measured
# position, which the weight of the mug has bent the springs to.
@pytest.mark.parametrize("driver", ["lbr_fri"], indirect=True)
def test_a_dead_controller_is_reported_and_a_new_one_takes_over(
    start_motion: Callable[..., Moving], start_process: Callable[..., Any], driver: str
) -> None:
    """The robot keeps the last command; neither the death nor the restart moves it."""
    client, pids = start_motion()
    states: list[LBRState] = []
    client.node.create_subscription(LBRState, "state", states.append, 1)
    watchdog, alive = start_watchdog(client, start_process, driver)
    os.kill(pids["contact_aware_controller"], signal.SIGKILL)
    client.spin_for(0.02)
    died = last_arrival(client, "controller_status")
    client.spin_until(lambda: not alive[-1][1])
    client.spin_until(
        lambda: "restart the controller" in diagnostic(client, "command_watchdog", died)[0]
    )
    client.spin_for(0.3)
    held = np.array(client.latest("truth/joint_states").position[:7])
    kept = client.spin_until(lambda: states).pop().commanded_joint_position

    # The last words of the dead one may have come late.
    restarted = time.monotonic()
    controller = start_process(
        sys.executable,
        "-c",
        MAIN.format("controller"),
        *NAMESPACE,
        *(word for p in SIMULATED for word in ("-p", p)),
    )
    client.spin_until(lambda: alive[-1][1])
    commands = client.spin_until(lambda: commands_since(client, restarted, 1))
    np.testing.assert_allclose(commands[0], kept, atol=1e-12)
    client.spin_for(0.3)
    since = [
        s.position[:7] for t, s in client.heard["truth/joint_states"] if t > died + 3 * REPORT_TIME
    ]
    assert len(since) > 50
    assert np.abs(np.array(since) - held).max() < 1e-3
    assert mode(client) == ControllerStatus.HOLD
    for process in (watchdog, controller):
        process.terminate()
        assert process.wait(10.0) == 0
