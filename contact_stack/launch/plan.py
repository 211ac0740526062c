"""What a launch file asks for, with all substitutions done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Argument:
    """One argument a launch file takes.

    Attributes:
        name: Its name.
        default: Its default; None if it must be given.
        description: What it is for.
        choices: The valid values; empty if any is valid.
    """

    name: str
    default: str | None
    description: str
    choices: tuple[str, ...]


@dataclass(frozen=True)
class NodeAction:
    """One node to start.

    Attributes:
        package: Its package.
        executable: Its executable in that package.
        name: Its name in the graph; None for the executable's own choice.
        namespace: Its absolute namespace; None for the root.
        arguments: Command line arguments besides those of ROS.
        parameters: Parameter files, and mappings of values by name; later ones override.
        remappings: (from, to) of topics, services and actions.
        ends_launch: True if everything stops when this node ends, also without an error.
    """

    package: str
    executable: str
    name: str | None
    namespace: str | None
    arguments: tuple[str, ...]
    parameters: tuple[Path | dict[str, Any], ...]
    remappings: tuple[tuple[str, str], ...]
    ends_launch: bool

    @property
    def label(self) -> str:
        """What its output lines are prefixed with."""
        return self.name or self.executable


@dataclass(frozen=True)
class LaunchPlan:
    """All nodes of a launch file and of the files it includes.

    Attributes:
        file: The launch file.
        arguments: The arguments it and its included files declare, in their order.
        nodes: The nodes, in the order of their start.
    """

    file: Path
    arguments: tuple[Argument, ...]
    nodes: tuple[NodeAction, ...]
