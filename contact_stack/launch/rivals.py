"""Refuses to start a graph beside another one with the same names."""

from __future__ import annotations

import os
import time

from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from contact_core.errors import LaunchError
from contact_stack.launch.plan import LaunchPlan

DISCOVERY_TIME = 1.0
"""How long other nodes have to show themselves [s]."""

FORGOTTEN_AFTER = 20
"""How long a killed node is still seen by others, Fast DDS's lease of a participant [s]."""


def refuse_rivals(plan: LaunchPlan) -> None:
    """Make sure that no node of a plan runs already.

    Two simulators, or two controllers, on the same topics would corrupt each other without
    a word: every node would hear both.

    Args:
        plan: What is about to be started.

    Raises:
        LaunchError: If a node of the same name runs in the same namespace.
    """
    names = {f"{(node.namespace or '').rstrip('/')}/{node.label}" for node in plan.nodes}
    running = sorted(names & _running_nodes())
    if running:
        domain = os.environ.get("ROS_DOMAIN_ID", "0")
        raise LaunchError(
            f"'{running[0]}' already runs in ROS domain {domain}: stop that graph, or give this "
            "one another ROS_DOMAIN_ID or robot_name (a node that was killed is forgotten after "
            f"{FORGOTTEN_AFTER} s)"
        )


def _running_nodes() -> set[str]:
    """Return the full names of the nodes others run."""
    context = Context()
    context.init(args=[])
    node = Node("launch", context=context, start_parameter_services=False, enable_rosout=False)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    try:
        end = time.monotonic() + DISCOVERY_TIME
        while (left := end - time.monotonic()) > 0.0:
            executor.spin_once(timeout_sec=left)
        return {
            f"{namespace.rstrip('/')}/{name}"
            for name, namespace in node.get_node_names_and_namespaces()
        }
    finally:
        executor.shutdown()
        node.destroy_node()
        context.try_shutdown()
