"""``contact-stack bench stops``: how soon the controller acts when it is to stop.

The arm follows a slow motion while everything else is asked of its node: goals of ten minutes that
are refused only at their end, goals of as many points as may be, other parameters, records of the
incident log. Two processes besides keep two processors busy. From when a stop is sent to when the
controller reports a tick that obeys it, by the times at which both were sent.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from contact_stack_msgs.msg import ControllerStatus
from control_msgs.action import FollowJointTrajectory
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectoryPoint

from contact_core.base.errors import CommunicationError
from contact_core.base.results import add_json_option, at_least, lines, write_json
from contact_experiments.bench.graph import PERIOD, PROCESSORS, enter_graph, launched
from contact_ros import NANOSECONDS, GraphClient, to_duration
from contact_ros.client import SentGoal
from contact_ros.identity import CONTROLLER
from contact_ros.real_time import RealTimeConfig, enter_real_time

FOLLOW = "follow_joint_trajectory"
JOINTS = [f"lbr_A{i}" for i in range(1, 8)]
MOVING = ControllerStatus.TRACKING, ControllerStatus.CONSERVATIVE
START_TIME = 60.0
"""Time for the graph to start, and for a busy one to answer [s]."""
LONG, SWING = 590.0, 0.2
"""Duration of the goals [s], and how far joint 1 moves in them [rad]."""
MAX_POINTS = 5000
"""Points of the largest goal."""
ASKERS = 2
"""Processes that ask the controller for much."""
ALLOWED = 2.0 * PERIOD
"""What counts as late [s]."""
COLUMNS = (
    ("", "kind", 1.0, ""), ("samples", "samples", 1, "d"), ("p50 [ms]", "p50", 1e3, ".1f"),
    ("p99 [ms]", "p99", 1e3, ".1f"), ("longest [ms]", "longest", 1e3, ".1f"),
    ("later than two periods", "late", 1, "d"),
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument(
        "--samples", type=at_least(1), default=50, help="stops of each kind (default: %(default)s)"
    )
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
    context = multiprocessing.get_context("spawn")
    with (
        launched("sim", "view:=false", "scene:=free_space"),
        GraphClient("bench_stops") as client,
        context.Manager() as manager,
        ProcessPoolExecutor(ASKERS + PROCESSORS, context) as helpers,
    ):
        ended, answered = manager.Event(), manager.Semaphore(0)
        # Not how long a busy machine keeps the sender from sending.
        enter_real_time(RealTimeConfig())
        stops = Stops(client)
        others = [helpers.submit(keep_busy, ended) for _ in range(PROCESSORS)]
        others += [helpers.submit(ask, ended, answered, f"asker_{i}") for i in range(ASKERS)]
        try:
            for _ in range(ASKERS):
                answered.acquire()
            rows = stops.measure(args.samples)
        finally:
            ended.set()
        asked = sum(other.result() for other in others)
    print("\n".join(lines(rows, COLUMNS)))
    print(f"{asked} goals and requests were answered meanwhile; load before: {load:.1f}")
    write_json({"load": load, "asked": asked, "kinds": rows}, args.json)
    return 0


class Stops:
    """Lets the arm move, stops it, and measures how long that took."""

    def __init__(self, client: GraphClient) -> None:
        """Wait until the arm is held.

        Args:
            client: In the graph.

        Raises:
            CommunicationError: If it is not held in time.
        """
        self._client = client
        self._heard: list[tuple[int, ControllerStatus]] = []

        # rclpy gives a callback with two arguments what is known of the message, too.
        def hear(message: ControllerStatus, information: Any) -> None:
            self._heard.append((information["source_timestamp"], message))

        callback: Any = hear
        client.node.create_subscription(
            ControllerStatus, "controller_status", callback, QoSProfile(depth=100)
        )
        self._button = client.node.create_publisher(Bool, "external_stop", 1)
        self._asks = {
            name: client.node.create_client(Trigger, f"{CONTROLLER}/{name}")
            for name in ("stop", "hold")
        }
        for asks in self._asks.values():
            client.wait_until(asks.service_is_ready, START_TIME, "the controller does not start")
        self._wait_for_mode("the controller does not hold the arm", ControllerStatus.HOLD)
        self._goal: SentGoal | None = None

    def measure(self, samples: int) -> list[dict[str, Any]]:
        """Stop the arm in every way, so many times.

        Args:
            samples: How many times each.

        Returns:
            The figures of each way, by the names of COLUMNS.
        """
        ways: dict[str, tuple[int, Callable[[], object], tuple[str, ...]]] = {
            "stop": (ControllerStatus.FAULT, self._ask("stop"), ("reset",)),
            "external_stop": (ControllerStatus.FAULT, lambda: self._press(True), ("reset",)),
            "hold": (ControllerStatus.HOLD, self._ask("hold"), ("resume",)),
            "cancel": (ControllerStatus.HOLD, self._cancel, ()),
        }
        latencies: dict[str, list[float]] = {kind: [] for kind in ways}
        random = np.random.default_rng(0)
        for k, (kind, (mode, act, undo)) in itertools.product(range(samples), ways.items()):
            if kind == "stop":
                print(f"stop {k + 1} of {samples} of each kind", file=sys.stderr)
            self._move()
            self._pause(random.uniform(0.1, 0.3))
            del self._heard[:-1]
            sent = time.time_ns()
            act()
            self._wait_for_mode(f"'{kind}' has no effect", mode)
            obeyed = next(stamp for stamp, status in self._heard if status.mode == mode)
            latencies[kind].append((obeyed - sent) / NANOSECONDS)
            self._press(False)
            for name in undo:
                self._client.call(Trigger, f"{CONTROLLER}/{name}", Trigger.Request(), START_TIME)
            self._end()
        return [_figures(kind, np.array(some)) for kind, some in latencies.items()]

    def _move(self) -> None:
        """Let the arm follow a slow motion."""
        self._wait_for_mode("the arm is not held", ControllerStatus.HOLD)
        patience = time.monotonic() + START_TIME
        while not self._heard or self._heard[-1][1].mode not in MOVING:
            if time.monotonic() > patience:
                raise CommunicationError("the arm does not move")
            goal = motion(np.array(self._heard[-1][1].joint_command), 2)
            self._goal = self._client.send(FollowJointTrajectory, FOLLOW, goal, timeout=START_TIME)
            self._wait_for_start(self._goal)

    def _wait_for_start(self, goal: SentGoal) -> None:
        """Wait until the arm moves, or the goal has ended: as many goals may be waiting."""
        ended = goal.handle.get_result_async()
        self._client.wait_until(
            lambda: ended.done() or self._heard[-1][1].mode in MOVING, START_TIME
        )

    def _end(self) -> None:
        """End the goal, which goes on after a hold."""
        assert self._goal is not None
        self._client.cancel(self._goal, START_TIME)
        self._client.end_of(self._goal, START_TIME)
        self._heard.clear()

    def _ask(self, name: str) -> Callable[[], object]:
        return lambda: self._asks[name].call_async(Trigger.Request())

    def _press(self, pressed: bool) -> None:
        self._button.publish(Bool(data=pressed))

    def _cancel(self) -> None:
        assert self._goal is not None
        self._goal.handle.cancel_goal_async()

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self._client.wait_until(lambda: time.monotonic() > end, seconds + 1.0)

    def _wait_for_mode(self, problem: str, *modes: int) -> None:
        self._client.wait_until(
            lambda: self._heard and self._heard[-1][1].mode in modes, START_TIME, problem
        )


def motion(start: np.ndarray, points: int, end: float = SWING) -> FollowJointTrajectory.Goal:
    """Return a goal of ten minutes that moves joint 1.

    Args:
        start: (7) where it begins [rad].
        points: Number of points.
        end: How far joint 1 is at the end from where it was [rad].
    """
    goal = FollowJointTrajectory.Goal()
    goal.trajectory.joint_names = JOINTS
    zero = [0.0] * len(JOINTS)
    for share in np.linspace(0.0, 1.0, points):
        moved = SWING * np.sin(2.0 * share)
        place = start + np.eye(len(JOINTS))[0] * (end if share == 1.0 else moved)
        point = JointTrajectoryPoint(
            positions=place.tolist(), velocities=zero, accelerations=zero, effort=zero,
            time_from_start=to_duration(round(share * LONG * NANOSECONDS)),
        )  # fmt: skip
        goal.trajectory.points.append(point)
    return goal


def keep_busy(ended: Any) -> int:
    """Keep a processor busy.

    Args:
        ended: An event: until when.

    Returns:
        0.
    """
    while not ended.is_set():
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            pass
    return 0


def ask(ended: Any, answered: Any, name: str) -> int:
    """Ask the controller for whatever takes it long, again and again.

    Args:
        ended: An event: until when.
        answered: A semaphore that is released with the first answer.
        name: Of the node that asks.

    Returns:
        How many answers came.
    """
    answers = 0
    force = Parameter(name="force.limit")
    force.value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=15.0)
    with GraphClient(name) as client:
        joints = client.wait_for(JointState, "joint_states", timeout=START_TIME)
        names = list(joints.name)
        q = np.array([joints.position[names.index(joint)] for joint in JOINTS])
        # Only after everything else it turns out to be beyond a limit.
        goals = [motion(q, points, 4.0) for points in (2, 1000, MAX_POINTS)]
        for k, goal in enumerate(itertools.cycle(goals)):
            if ended.is_set():
                break
            result = client.run(FollowJointTrajectory, FOLLOW, goal, START_TIME)
            answers += 1
            if k == 0:
                answered.release()
            if "outside its limits" not in result.error_string:
                continue  # the arm was not to move, so it was not checked
            if k % 4 == 0:
                request = SetParameters.Request(parameters=[force])
                client.call(SetParameters, f"{CONTROLLER}/set_parameters", request, START_TIME)
            elif k % 10 == 1:
                client.call(Trigger, f"{CONTROLLER}/dump_flight", Trigger.Request(), START_TIME)
    return answers


def _figures(kind: str, latencies: np.ndarray) -> dict[str, Any]:
    """Return the figures of one way to stop from its latencies (n) [s]."""
    p50, p99, longest = np.percentile(latencies, (50, 99, 100)).tolist()
    return {
        "kind": kind, "samples": len(latencies), "p50": p50, "p99": p99, "longest": longest,
        "late": int(np.sum(latencies > ALLOWED)),
    }  # fmt: skip
