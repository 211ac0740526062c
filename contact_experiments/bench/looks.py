"""``contact-stack bench looks``: how old what ``move_objects`` acts on is when it has decided.

On one processor the simulated arm, estimator and controller run, on another one the node that moves
objects; it brings a box to one place after the other. A target has the stamp of the joint state
that it follows from: its age on arrival is the whole way, from the arm through the look to whoever
listens. A table says what the arm was doing at which looks, and how old these were.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from contact_stack_msgs.action import MoveObjects, PlanRobustContact, PlanThroughContact
from sensor_msgs.msg import JointState

from contact_core.base.results import add_json_option, at_least, lines, write_json
from contact_experiments.bench.graph import enter_graph, launched
from contact_ros import NANOSECONDS, GraphClient, to_duration
from contact_ros.qos import signal_subscription
from contact_ros.stamps import to_nanoseconds

SCENE, STATES = "push_box", ("box/x", "box/y", "box/yaw")
GOALS = ((0.62, 0.06, 0.5), (0.54, -0.06, -0.4), (0.6, -0.1, 1.2), (0.56, 0.08, 0.0))
"""Where the box is to be, one after the other [m, rad]."""
PLANNERS = (
    (MoveObjects, "move_objects"), (PlanThroughContact, "plan_through_contact"),
    (PlanRobustContact, "plan_robust_contact"),
)  # fmt: skip
"""What shares the planner's processor, and loads kernels first."""
SLACK = 30.0
"""Time for a goal to begin or end, beyond its budget [s]."""
ALL = "all"
COLUMNS = (
    ("the arm was", "phase", 1, ""), ("looks", "looks", 1, "d"), ("share", "share", 1, ".0%"),
    ("age p50 [ms]", "p50", 1e3, ".1f"), ("p99", "p99", 1e3, ".1f"),
    ("longest", "longest", 1e3, ".1f"),
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument(
        "--seconds", type=at_least(1.0, 86400.0), default=120.0,
        help="how long (default: %(default)s)",
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
    first, *others = sorted(os.sched_getaffinity(0))
    second = others[0] if others else first
    with (
        launched("sim", "view:=false", f"scene:={SCENE}", processor=first),
        launched("planners", processor=second),
        GraphClient("bench_looks") as client,
    ):
        row = measure(client, args.seconds)
    print("\n".join(lines(row["phases"], COLUMNS)))
    print(
        f"{row['rate']:.1f} looks a second, {row['searches']} searches, "
        f"{row['reached']} of {row['goals']} goals reached"
    )
    print("".join(f"missed, {reason}\n" for reason in row["missed"]), end="")
    print(f"one processor for the simulation, one for the planner; load before: {load:.1f}")
    write_json({"load": load, **row}, args.json)
    return 0


def measure(client: GraphClient, seconds: float) -> dict[str, Any]:
    """Move the box for a while, and measure how old what is acted on is.

    Args:
        client: In the graph.
        seconds: How long.

    Returns:
        ``rate`` of the looks while there is a goal [Hz], ``searches``, ``goals``, those
        ``reached``, why the others were ``missed``, and ``phases``: for all looks, and for those
        of every phase, the figures by the names of COLUMNS.
    """
    ages: dict[str, list[int]] = defaultdict(list)
    sent: list[int] = []
    missed: list[str] = []
    searches = goals = reached = 0
    elapsed = 0.0

    def hear(message: JointState) -> None:
        sent.append(time.time_ns() - to_nanoseconds(message.header.stamp))

    def sort(said: MoveObjects.Feedback) -> None:
        # It follows the target of its look.
        ages[said.phase] += sent
        sent.clear()

    # The simulator is up when it says where the joints are, and a planner when it answers.
    client.wait_for(JointState, "joint_states", timeout=2.0 * SLACK)
    for kind, name in PLANNERS:
        client.run(kind, name, kind.Goal(), timeout=4.0 * SLACK)
    client.node.create_subscription(JointState, "target_joint", hear, signal_subscription(False))
    print(f"the box is moved to and fro: {seconds:g} s", file=sys.stderr)
    end = time.monotonic() + seconds
    for goal in itertools.cycle(GOALS):
        left = end - time.monotonic()
        if left <= 0.0:
            break
        message = MoveObjects.Goal(
            scene=SCENE, names=list(STATES), goal=goal,
            time_budget=to_duration(round(left * NANOSECONDS)),
        )  # fmt: skip
        moving = client.send(MoveObjects, "move_objects", message, sort)
        result = client.end_of(moving, left + SLACK).result
        goals, reached = goals + 1, reached + result.goal_reached
        if not result.goal_reached:
            missed.append(f"{result.status_name}: {result.remedy}")
        searches += result.searches
        elapsed += result.elapsed
    looks = [age for some in ages.values() for age in some]
    return {
        "rate": len(looks) / elapsed,
        "searches": searches, "goals": goals, "reached": reached, "missed": missed,
        "phases": [
            _figures(name, some, len(looks)) for name, some in ((ALL, looks), *ages.items())
        ],
    }  # fmt: skip


def _figures(phase: str, ages: Sequence[int], total: int) -> dict[str, Any]:
    """Return the figures of some looks by the names of COLUMNS, of their ages [ns]."""
    p50, p99, longest = np.percentile(np.array(ages or [0]), (50, 99, 100)) / NANOSECONDS
    return {
        "phase": phase, "looks": len(ages), "share": len(ages) / max(total, 1),
        "p50": float(p50), "p99": float(p99), "longest": float(longest),
    }  # fmt: skip
