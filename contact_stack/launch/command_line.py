"""The command lines of the nodes: those that ``ros2 launch`` would run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from contact_core.errors import LaunchError
from contact_stack.launch.plan import NodeAction
from contact_stack.launch.substitutions import ament_prefixes

OWN_PACKAGE = "contact_stack"


def find_executable(package: str, executable: str) -> Path:
    """Find a node's executable.

    Args:
        package: The package it belongs to.
        executable: Its name.

    Returns:
        Its path: where ament installs executables, or, for our own, beside the Python
        interpreter, where pip does.

    Raises:
        LaunchError: If it is in none of these places.
    """
    places = [prefix / "lib" / package for prefix in ament_prefixes()]
    if package == OWN_PACKAGE:
        places.append(Path(sys.executable).parent)
    for place in places:
        path = place / executable
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise LaunchError(
        f"package '{package}' has no executable '{executable}' in any of: "
        f"{', '.join(map(str, places))}"
    )


def command_line(
    node: NodeAction, values_as_arguments: Callable[[NodeAction, dict[str, Any]], list[str]]
) -> list[str]:
    """Build the command line of one node.

    Args:
        node: The node.
        values_as_arguments: Turns parameter values of the node into arguments.

    Returns:
        The command line.

    Raises:
        LaunchError: If the executable is not installed.
    """
    command = [str(find_executable(node.package, node.executable)), *node.arguments]
    command.append("--ros-args")
    if node.name:
        command += ["-r", f"__node:={node.name}"]
    if node.namespace:
        command += ["-r", f"__ns:={node.namespace}"]
    for parameters in node.parameters:
        if isinstance(parameters, Path):
            command += ["--params-file", str(parameters)]
        else:
            command += values_as_arguments(node, parameters)
    for source, target in node.remappings:
        command += ["-r", f"{source}:={target}"]
    return command


def values_for_reading(node: NodeAction, values: dict[str, Any]) -> list[str]:
    """Show parameter values to a person.

    Args:
        node: The node they are for.
        values: Values by name.

    Returns:
        ``-p name:=value`` for each.
    """
    arguments = []
    for name, value in values.items():
        text = yaml.safe_dump(value, default_flow_style=True).removesuffix("\n...\n").strip()
        arguments += ["-p", f"{name}:={text}"]
    return arguments


class ValueFiles:
    """Pass parameter values in files, which keep their types exactly."""

    def __init__(self, folder: Path) -> None:
        """Prepare to write files.

        Args:
            folder: Where they go.
        """
        self._folder = folder
        self._count = 0

    def __call__(self, node: NodeAction, values: dict[str, Any]) -> list[str]:
        """Write one file.

        Args:
            node: The node they are for.
            values: Values by name.

        Returns:
            The arguments that make a node read it.
        """
        self._count += 1
        file = self._folder / f"parameters_{self._count}.yaml"
        # As specific as ``ros2 launch`` writes them, which decides what overrides what.
        specific = node.name and node.namespace
        key = f"{node.namespace}/{node.name}" if specific else "/**"
        file.write_text(yaml.safe_dump({key: {"ros__parameters": values}}))
        return ["--params-file", str(file)]
