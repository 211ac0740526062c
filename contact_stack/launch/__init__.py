"""A small launch runner for machines without ``ros2 launch``, for the same XML files.

:func:`parse` reads a launch file into a :class:`LaunchPlan`, :class:`NodeGraph` runs it.
"""

from contact_stack.launch.parser import (
    LaunchArgument,
    LaunchPlan,
    NodeAction,
    declared_arguments,
    find_launch_file,
    parse,
)
from contact_stack.launch.runner import NodeGraph, refuse_second_graph

__all__ = [
    "LaunchArgument",
    "LaunchPlan",
    "NodeAction",
    "NodeGraph",
    "declared_arguments",
    "find_launch_file",
    "parse",
    "refuse_second_graph",
]
