"""``contact-stack bench graph``: the whole graph in real time, beside what the machine allows.

The simulated arm, estimator, controller and frames run on two processors: at rest, in contact,
and while a long goal is checked and followed. At the same time a loop that does nothing counts the
ticks that any loop would miss here, and a node that only listens measures how old a joint state is
when it arrives, and, by the times at which they were sent, how long after a state its command left.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from contact_stack_msgs.action import FollowPoseTrajectory
from contact_stack_msgs.msg import ControllerStatus, PoseTrajectoryPoint
from geometry_msgs.msg import Vector3
from lbr_fri_idl.msg import LBRJointPositionCommand, LBRState
from sensor_msgs.msg import JointState

from contact_core.base.results import add_json_option, at_least, lines, write_json
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_ros import NANOSECONDS, GraphClient, network, to_duration, to_pose
from contact_ros.loop import FixedRateLoop
from contact_ros.qos import signal_subscription

ROBOT = "iiwa14_wsg50"
PERIOD = 5e-3
PROCESSORS = 2
PUSH = (0.0, 12.0, 0.0)
"""Force of the hand in contact [N], below the controller's limit: the arm leans on it."""
POSES, RADIUS, PACE = 100, 0.03, 0.15
"""The long goal: poses on a circle [m], one after the other [s]."""
SETTLE = 2.0
"""Time before figures count [s]."""
DOMAIN = "101"
"""ROS_DOMAIN_ID of the graph, unless the environment has one; tests draw theirs from 1 to 100."""
DISCOVERY = 10.0
"""Time for a node to find the graph [s]."""
STOP_TIME = 20.0
"""Time for the graph to end [s]."""


@dataclass(frozen=True)
class GraphPhase:
    """What was measured at the same time.

    Attributes:
        name: What the arm was doing.
        ticks: Ticks of the controller.
        missed: Share of them that began half a period late, or took longer than a period.
        idle: Share that a loop missed which does nothing.
        age_p50: Age of the joint state at a tick of the controller, median [s].
        age_p99: Its 99th percentile [s].
        listener_p50: Age of the joint state when a node that only listens gets it, median [s].
        listener_p99: Its 99th percentile [s].
        command_p50: From a state that is sent to the command that is sent after it, median [s].
        command_p99: Its 99th percentile [s].
        command_max: The longest [s].
        jitter_p99: How far the time between two commands is from a period, 99th percentile [s].
        processors: Name of a process -> what it used, in processors.
    """

    name: str
    ticks: int
    missed: float
    idle: float
    age_p50: float
    age_p99: float
    listener_p50: float
    listener_p99: float
    command_p50: float
    command_p99: float
    command_max: float
    jitter_p99: float
    processors: dict[str, float]

    @property
    def used(self) -> float:
        """What the whole graph used, in processors."""
        return sum(self.processors.values())


COLUMNS = (
    ("", "name", 1.0, ""), ("ticks", "ticks", 1, "d"),
    ("missed", "missed", 1.0, ".2%"), ("idle loop", "idle", 1.0, ".2%"),
    ("state's age p50 [ms]", "age_p50", 1e3, ".2f"), ("p99", "age_p99", 1e3, ".2f"),
    ("listener p50 [ms]", "listener_p50", 1e3, ".2f"), ("p99", "listener_p99", 1e3, ".2f"),
    ("graph, of a core", "used", 1.0, ".0%"),
)  # fmt: skip
COMMAND_COLUMNS = (
    ("", "name", 1.0, ""), ("state to command p50 [ms]", "command_p50", 1e3, ".2f"),
    ("p99", "command_p99", 1e3, ".2f"), ("max", "command_max", 1e3, ".2f"),
    ("jitter of commands p99 [ms]", "jitter_p99", 1e3, ".2f"),
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument(
        "--seconds", type=at_least(1.0, 86400.0), default=60.0,
        help="of each phase (default: %(default)s)",
    )  # fmt: skip
    add_json_option(parser)


def main(args: argparse.Namespace) -> int:
    """Run the benchmark.

    Args:
        args: The parsed command line.

    Returns:
        0.

    Raises:
        CommunicationError: If the graph does not start or does not answer.
    """
    load = enter_graph()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:PROCESSORS])
    with (
        launched("sim", "view:=false") as graph,
        GraphClient("bench_graph") as client,
        ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as helpers,
    ):
        meter = Meter(client, graph, helpers)
        phases = [meter.measure("at rest", args.seconds)]
        meter.push(*PUSH)
        phases.append(meter.measure("in contact", args.seconds))
        meter.push(0.0, 0.0, 0.0)
        seconds = min(args.seconds, POSES * PACE)
        phases.append(meter.measure(f"a goal of {POSES} poses", seconds, meter.send_goal))
    rows = [asdict(phase) | {"used": phase.used} for phase in phases]
    print("\n".join((*lines(rows, COLUMNS), "", *lines(rows, COMMAND_COLUMNS), "")))
    for name, share in sorted(phases[1].processors.items(), key=lambda item: -item[1]):
        print(f"{name:>28} {share:6.1%} of a core, in contact")
    print(f"the goal was accepted after {meter.accepted_after:.2f} s")
    print(f"{PROCESSORS} processors; load before: {load:.1f}")
    write_json({"load": load, "phases": rows, "accepted_after": meter.accepted_after}, args.json)
    return 0


class Meter:
    """Listens to the controller while helpers in other processes measure the machine.

    Attributes:
        accepted_after: How long the controller took to check the goal [s].
    """

    def __init__(self, client: GraphClient, graph: int, helpers: ProcessPoolExecutor) -> None:
        """Wait until the arm is held.

        Args:
            client: In the graph.
            graph: Process id of what started the graph.
            helpers: Two processes.

        Raises:
            CommunicationError: If it is not held in time.
        """
        self._client, self._graph, self._helpers = client, graph, helpers
        self._heard: list[ControllerStatus] = []
        client.node.create_subscription(
            ControllerStatus, "controller_status", self._heard.append, signal_subscription(False)
        )
        self._hand = client.node.create_publisher(Vector3, "tamsi_sim/push", 1)
        self.accepted_after = math.nan
        client.wait_until(
            lambda: self._heard and self._heard[-1].mode == ControllerStatus.HOLD,
            problem="the controller does not hold the arm",
        )

    def push(self, x: float, y: float, z: float) -> None:
        """Push the tool from now on with a force [N], world frame."""
        self._hand.publish(Vector3(x=x, y=y, z=z))

    def measure(
        self, name: str, seconds: float, act: Callable[[], None] = lambda: None
    ) -> GraphPhase:
        """Measure for a while.

        Args:
            name: What the arm is doing.
            seconds: How long.
            act: What to do once the measurement has begun.

        Returns:
            The figures.
        """
        print(f"{name}: {SETTLE + seconds:.0f} s", file=sys.stderr)
        self._wait(SETTLE)
        idle = self._helpers.submit(idle_share, seconds)
        listener = self._helpers.submit(times_of_messages, seconds)
        before, start = _processor_times(self._graph), time.monotonic()
        del self._heard[:-1]
        act()
        self._wait(seconds + start - time.monotonic())
        passed, after = time.monotonic() - start, _processor_times(self._graph)
        heard = list(self._heard)
        ticks = heard[-1].ticks - heard[0].ticks
        ages = np.array([status.state_age for status in heard])
        return GraphPhase(
            name=name,
            ticks=ticks,
            missed=(heard[-1].deadline_misses - heard[0].deadline_misses) / ticks,
            idle=idle.result(),
            age_p50=float(np.nanpercentile(ages, 50)),
            age_p99=float(np.nanpercentile(ages, 99)),
            **listener.result(),
            processors={key: (after[key] - before[key]) / passed for key in before},
        )

    def send_goal(self) -> None:
        """Let the tool go round a small circle in many poses."""
        robot = Robot.from_description(RobotDescription.load(ROBOT))
        robot.update(np.array(self._client.wait_for(JointState, "joint_states").position))
        home = robot.tool_pose()
        goal = FollowPoseTrajectory.Goal(position_tolerance=0.1, rotation_tolerance=0.5)
        for k in range(1, POSES + 1):
            angle = 2.0 * math.pi * k / POSES
            place = RADIUS * np.array([0.0, math.sin(angle), math.cos(angle) - 1.0])
            point = PoseTrajectoryPoint(
                pose=to_pose(pin.SE3(home.rotation, home.translation + place)),
                time_from_start=to_duration(round(k * PACE * NANOSECONDS)),
            )
            goal.trajectory.points.append(point)
        start = time.monotonic()
        self._client.send(FollowPoseTrajectory, "follow_pose_trajectory", goal)
        self.accepted_after = time.monotonic() - start

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self._client.wait_until(lambda: time.monotonic() > end, seconds + 1.0)


def idle_share(seconds: float) -> float:
    """Return the share of ticks that a loop misses which does nothing.

    Args:
        seconds: How long it runs.
    """
    loop = FixedRateLoop(PERIOD, lambda: None, print)
    loop.start()
    time.sleep(seconds)
    loop.stop()
    return loop.deadline_misses / loop.statistics().ticks


def times_of_messages(seconds: float) -> dict[str, float]:
    """Return what a node finds that only listens to states and commands.

    Args:
        seconds: How long to listen.

    Returns:
        The fields of GraphPhase that begin with ``listener``, ``command`` and ``jitter`` [s].

    Raises:
        CommunicationError: If nobody sends a state or a command.
    """
    ages: list[int] = []
    states: list[int] = []
    commands: list[int] = []

    # rclpy gives a callback with two arguments what is known of the message, too.
    def hear_state(message: LBRState, information: Any) -> None:
        states.append(information["source_timestamp"])
        ages.append(time.time_ns() - states[-1])

    def hear_command(message: LBRJointPositionCommand, information: Any) -> None:
        commands.append(information["source_timestamp"])

    with GraphClient("listener") as client:
        callbacks: list[Any] = [hear_state, hear_command]
        types = (("state", LBRState), ("command/joint_position", LBRJointPositionCommand))
        for (topic, kind), callback in zip(types, callbacks, strict=True):
            client.node.create_subscription(kind, topic, callback, signal_subscription(False))
        client.wait_until(lambda: ages and commands, DISCOVERY, "no states or no commands")
        end = time.monotonic() + seconds
        client.wait_until(lambda: time.monotonic() > end, seconds + DISCOVERY)
    listener = np.percentile(ages, (50, 99)) / NANOSECONDS
    after = commands_after(np.array(states), np.array(commands)) / NANOSECONDS
    command = np.percentile(after, (50, 99, 100))
    jitter = np.abs(np.diff(commands) / NANOSECONDS - PERIOD)
    names = ("listener_p50", "listener_p99", "command_p50", "command_p99", "command_max")
    figures = dict(zip(names, map(float, (*listener, *command)), strict=True))
    return {**figures, "jitter_p99": float(np.percentile(jitter, 99))}


def commands_after(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
    """Return how long after the last state before it each command was sent.

    Args:
        states: (m) times, rising.
        commands: (n) times, rising; those before the first state are left out.

    Returns:
        (<= n) durations.
    """
    commands = commands[commands >= states[0]]
    return np.asarray(commands - states[np.searchsorted(states, commands, side="right") - 1])


def enter_graph() -> float:
    """Let nodes be heard on this machine alone; return its load."""
    os.environ.setdefault("ROS_DOMAIN_ID", DOMAIN)
    network.enter(network.LOCALHOST)
    return os.getloadavg()[0]


@contextmanager
def launched(*words: str, processor: int | None = None) -> Iterator[int]:
    """Run a launch file; yield the process id of what started it.

    Args:
        words: Its name and arguments.
        processor: Where its nodes run; None: where this process does.
    """
    command = [sys.executable, "-m", "contact_stack.cli", "launch", *words]
    if processor is not None:
        command = ["taskset", "--cpu-list", str(processor), *command]
    graph = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield graph.pid
    finally:
        graph.send_signal(signal.SIGINT)
        graph.wait(STOP_TIME)


def _processor_times(parent: int) -> dict[str, float]:
    """Return what the children of a process have used, by the name of their script [s]."""
    times = {}
    for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        name = Path(Path(f"/proc/{child}/cmdline").read_text().split("\0")[1]).name
        figures = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        times[name] = sum(map(int, figures[11:13])) / os.sysconf("SC_CLK_TCK")
    return times
