"""Plans that the arm executes on the graph: the real nodes in lock-step, for each run anew."""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from domain_coordinator import domain_id

from contact_core.base.errors import SecondGraphError
from contact_core.robot.scene import Scene
from contact_experiments.robust.arm_course import Following
from contact_experiments.robust.arm_runs import ArmCase, ArmTask, Execution, SlideExecution
from contact_ros import network
from contact_stack.demo.client_node import NAME
from contact_stack.demo.contact_tracking.node import ContactTrackingNode
from contact_stack.demo.runner import run_client
from contact_stack.demo.sled.node import SledNode

COMMON = {"driver": "lbr_fri", "lockstep": "true", "view": "false"}
"""Arguments of every graph."""


def run_on_graph(task: ArmTask, case: ArmCase) -> np.ndarray:
    """Let the arm execute a plan in a graph of its own, in a ROS domain that nobody else has.

    Args:
        task: What is executed.
        case: Which plan, in which world.

    Returns:
        What was measured, see :meth:`Execution.simulate`.

    Raises:
        ContactStackError: If the graph does not start, falls silent, or a node of it ends.
    """
    network.enter(network.LOCALHOST)
    with domain_id() as domain, tempfile.TemporaryDirectory() as folder:
        os.environ["ROS_DOMAIN_ID"] = str(domain)
        scene = task.execution.write_scene(case.world, Path(folder))
        try:
            return _execute(task.execution, case, scene)
        except SecondGraphError:
            # Nobody holds the domain, but nodes that were killed there are not forgotten yet. It
            # stays held, so that the next one is another.
            return run_on_graph(task, case)


def _execute(execution: Execution, case: ArmCase, scene: Path) -> np.ndarray:
    if isinstance(execution, SlideExecution):
        return _slide(case, scene)
    assert isinstance(execution, Following)
    return _follow(execution, case, scene)


def _slide(case: ArmCase, scene: Path) -> np.ndarray:
    """Stream the wrenches of the sled's plan; nobody controls."""
    plan = np.array(case.time), np.array(case.course)
    client = partial(SledNode, Scene.load(str(scene)), *plan)
    arguments = {**COMMON, "scene": str(scene)}
    return run_client("client", arguments, client, scene.with_suffix(".mcap")).distance


def _follow(execution: Following, case: ArmCase, scene: Path) -> np.ndarray:
    """Send the plan to the contact-aware controller as a trajectory of the joints."""
    client = partial(ContactTrackingNode, execution.course(case, scene))
    arguments = {**COMMON, "scene": str(scene), "client": NAME, "held_mass": "0.0"}
    data = run_client("demo", arguments, client, scene.with_suffix(".mcap"))
    return execution.measure(case, data)
