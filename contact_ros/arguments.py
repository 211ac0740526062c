"""What a node is given on its command line and has no use for, which ROS drops without a word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from rclpy import qos
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.parameter import Parameter

from contact_core.base.config import read_mapping
from contact_core.base.errors import ConfigError

OF_EVERY_NODE = ("/clock",)
"""Topics that a node may listen to at any time, by its parameter use_sim_time."""
_rosout = getattr(qos, "qos_profile_rosout_default", None)
ROSOUT_QOS = () if _rosout is None else (_rosout.get_c_qos_profile(),)
"""What a node is made with from Kilted on."""


def check_files(args: Sequence[str]) -> None:
    """Make sure that ROS can read every parameter file, of which it would say less.

    Args:
        args: The arguments of the process.

    Raises:
        ConfigError: If a file is missing, is no YAML, has a value that is no node's, or says
            of a parameter nothing, or twice what it is.
    """
    for file in _files(args):
        values = read_mapping(Path(file))
        for path in _values_of_no_node(values):
            raise ConfigError(
                f"{file}: '{path}' is no parameter of a node (valid: below the node's name and "
                "ros__parameters)"
            )
        for _, parameters in _nodes(values):
            said: set[str] = set()
            for name, value in _flat(parameters):
                if value is None:
                    raise ConfigError(f"{file}: '{name}' has no value (valid: '{name}: VALUE')")
                if name in said:
                    raise ConfigError(
                        f"{file}: '{name}' is there twice, once as a key with dots (valid: once)"
                    )
                said.add(name)


def refuse_useless_files(node: Node, args: Sequence[str]) -> None:
    """Make sure that every parameter file has something for a node.

    Args:
        node: The node.
        args: The arguments of its process.

    Raises:
        ConfigError: If nothing in one of the files is meant for the node.
    """
    for file in _files(args):
        if _parameters(node, file):
            continue
        name = node.get_fully_qualified_name()
        nodes = _nodes(read_mapping(Path(file)))
        keys = ", ".join(key for key, parameters in nodes if parameters) or "none"
        raise ConfigError(
            f"nothing in the parameter file {file} is for the node {name}; nodes it has parameters "
            f"for: {keys} (valid: {name}, /**/{node.get_name()} or /**, above ros__parameters)"
        )


def refuse_disagreement(node: Node, args: Sequence[str], name: str) -> None:
    """Make sure that no parameter file overrides what another one says of a parameter.

    Args:
        node: The node.
        args: The arguments of its process.
        name: Of the parameter.

    Raises:
        ConfigError: If two files differ.
    """
    said: dict[str, str] = {}
    for file in _files(args):
        if name in (found := _parameters(node, file)):
            said.setdefault(str(found[name].value), file)
    if len(said) > 1:
        each = ", ".join(f"{value} in {file}" for value, file in said.items())
        raise ConfigError(
            f"parameter '{name}' is {each} (valid: one value in all parameter files; what a launch "
            "file sets by itself comes in a temporary one)"
        )


def _files(args: Sequence[str]) -> list[str]:
    return [file for flag, file in pairwise(args) if flag == "--params-file"]


def _parameters(node: Node, file: str) -> Mapping[str, Parameter]:
    """Return what ROS takes from a file for a node."""
    # Only ROS itself knows which keys it matches, and tells when a node is made: for a moment there
    # is another handle of the same name, without any topic or service.
    context: Any = node.context.handle
    with context:
        handle = rclpy_implementation.Node(
            node.get_name(),
            node.get_namespace(),
            context,
            ["--ros-args", "--params-file", file],
            False,  # the arguments of the process do not count again
            False,  # no /rosout
            *ROSOUT_QOS,
        )
        try:
            with handle:
                found: Mapping[str, Parameter] = handle.get_parameters(Parameter)
                return found
        finally:
            handle.destroy_when_not_in_use()


def _nodes(values: Mapping[str, Any], parent: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the nodes, or patterns of them, that a file names, each with its parameters."""
    for key, value in values.items():
        if not isinstance(value, Mapping):
            continue
        if key != "ros__parameters":
            yield from _nodes(value, f"{parent}/{key}" if parent else str(key))
        else:
            yield parent, value


def _values_of_no_node(values: Mapping[str, Any], parent: str = "") -> Iterator[str]:
    for key, value in values.items():
        path = f"{parent}.{key}" if parent else str(key)
        if not isinstance(value, Mapping):
            yield path
        elif key != "ros__parameters":
            yield from _values_of_no_node(value, path)
        elif not parent:
            yield path


def _flat(values: Mapping[str, Any], parent: str = "") -> Iterator[tuple[str, Any]]:
    """Name parameters as ROS does: keys of keys joined by dots."""
    for key, value in values.items():
        name = f"{parent}.{key}" if parent else str(key)
        if isinstance(value, Mapping):
            yield from _flat(value, name)
        else:
            yield name, value


def useless_remaps(node: Node, args: Sequence[str]) -> list[str]:
    """Say which remaps change no name of a node.

    Args:
        node: The node, with all its topics and services.
        args: The arguments of its process.

    Returns:
        A line for each.
    """
    return [
        said
        for flag, rule in pairwise(args)
        if flag in ("-r", "--remap") and (said := _useless_remap(node, rule))
    ]


def _useless_remap(node: Node, rule: str) -> str:
    source = rule.partition(":=")[0].rpartition("://")[2]
    # `name:topic:=...` is for the node of that name, and `__node`, `__ns` are for all of it.
    if ":" in source or source.startswith("__") or source in OF_EVERY_NODE:
        return ""
    before = node.resolve_topic_name(source, only_expand=True)
    after, names = node.resolve_topic_name(source), _names(node)
    # From Kilted on an action is remapped by its name as well.
    if after in (before, *names) or _has_action(names, after):
        return ""
    why = f"the node has no topic and no service {before}"
    if _has_action(names, before):
        why = f"{before} is an action, and ROS remaps only topics and services"
    return f"the remap {rule} changes nothing so far: {why}"


def _has_action(names: set[str], name: str) -> bool:
    return any(other.startswith(f"{name}/_action/") for other in names)


def _names(node: Node) -> set[str]:
    """Return the topics and services of a node, as ROS knows them after its remaps."""
    lists = (
        node.get_publisher_names_and_types_by_node,
        node.get_subscriber_names_and_types_by_node,
        node.get_service_names_and_types_by_node,
        node.get_client_names_and_types_by_node,
    )
    where = node.get_name(), node.get_namespace()
    return {name for listed in lists for name, _ in listed(*where)}
