"""Read a launch file: the subset of the ROS 2 XML format that the stack uses.

The meaning of every element is that of ``ros2 launch``: arguments and ``let`` share one
set of names, an included file sees and changes them, and a ``group`` keeps its changes
to itself. Whatever is not in the subset is an error that names the file and the line.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from contact_core.errors import LaunchError, choices
from contact_stack.launch.plan import Argument, LaunchPlan, NodeAction
from contact_stack.launch.schema import CONDITIONS, validate
from contact_stack.launch.substitutions import Substitutions
from contact_stack.launch.xml_element import XmlElement, read_xml

INCLUDE_DEPTH = 20


def parse(file: Path, arguments: Mapping[str, str]) -> LaunchPlan:
    """Read a launch file and everything it includes.

    Args:
        file: The launch file.
        arguments: Values for its arguments, by name.

    Returns:
        The plan.

    Raises:
        LaunchError: If a file asks for anything outside the subset, or an argument is
            unknown, missing, or not one of its choices.
    """
    parser = _Parser(arguments)
    parser.file(file, depth=0)
    declared: dict[str, Argument] = {}
    for argument in parser.arguments:
        declared.setdefault(argument.name, argument)
    for name in arguments:
        if name not in declared:
            raise LaunchError(f"{file}: unknown argument '{name}' ({choices(declared)})")
    return LaunchPlan(file, tuple(declared.values()), tuple(parser.nodes))


def declared_arguments(file: Path) -> tuple[Argument, ...]:
    """List the arguments of a launch file itself, without evaluating anything.

    Args:
        file: The launch file.

    Returns:
        The arguments in their order.

    Raises:
        LaunchError: If the file is not valid.
    """
    return tuple(_argument(child) for child in _root(file).children if child.tag == "arg")


def _root(file: Path) -> XmlElement:
    root = read_xml(file)
    validate(root)
    return root


def _argument(element: XmlElement) -> Argument:
    return Argument(
        element.attributes["name"],
        element.attributes.get("default"),
        element.attributes.get("description", ""),
        tuple(child.attributes["value"] for child in element.children),
    )


class _Parser:
    """Walk through the elements in order, as ``ros2 launch`` does."""

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self.arguments: list[Argument] = []
        self.nodes: list[NodeAction] = []
        self._substitutions = Substitutions(dict(arguments))

    def file(self, file: Path, depth: int) -> None:
        """Do what a file says."""
        if depth > INCLUDE_DEPTH:
            raise LaunchError(f"{file} includes itself")
        self._actions(_root(file), depth)

    def _actions(self, parent: XmlElement, depth: int) -> None:
        for element in parent.children:
            if not self._holds(element):
                continue
            match element.tag:
                case "arg":
                    self._declare(element)
                case "let":
                    self._set(element)
                case "node":
                    self.nodes.append(self._node(element))
                case "group":
                    self._group(element, depth)
                case "include":
                    self._include(element, depth)

    def _text(self, element: XmlElement, attribute: str) -> str:
        """Return an attribute with its substitutions done."""
        try:
            return self._substitutions.perform(element.attributes[attribute])
        except LaunchError as error:
            raise element.error(str(error)) from error

    def _optional(self, element: XmlElement, attribute: str) -> str | None:
        return self._text(element, attribute) if attribute in element.attributes else None

    def _holds(self, element: XmlElement) -> bool:
        """Evaluate the ``if`` or ``unless`` of an element."""
        for condition in CONDITIONS:
            if condition in element.attributes:
                value = self._text(element, condition)
                if value.strip().lower() not in ("true", "1", "false", "0"):
                    raise element.error(
                        f'{condition}="{value}" is no truth value (valid: true, false, 1, 0)'
                    )
                return (value.strip().lower() in ("true", "1")) == (condition == "if")
        return True

    def _set(self, element: XmlElement) -> None:
        name = self._text(element, "name")
        self._substitutions.configurations[name] = self._text(element, "value")

    def _declare(self, element: XmlElement) -> None:
        argument = _argument(element)
        self.arguments.append(argument)
        configurations = self._substitutions.configurations
        if argument.name not in configurations:
            if argument.default is None:
                raise element.error(
                    f"argument '{argument.name}' must be given: {argument.description}"
                )
            configurations[argument.name] = self._text(element, "default")
        value = configurations[argument.name]
        if argument.choices and value not in argument.choices:
            raise element.error(
                f"argument '{argument.name}' is '{value}' ({choices(argument.choices)})"
            )

    def _group(self, element: XmlElement, depth: int) -> None:
        outside = dict(self._substitutions.configurations)
        self._actions(element, depth)
        self._substitutions.configurations = outside

    def _include(self, element: XmlElement, depth: int) -> None:
        file = Path(self._text(element, "file"))
        for child in element.children:
            self._set(child)
        if not file.is_file():
            raise element.error(f"there is no launch file {file}")
        if file.suffix != ".xml":
            raise element.error(f"{file.name} needs launch_ros: use the `ros2 launch` of ROS 2")
        self.file(file, depth + 1)

    def _node(self, element: XmlElement) -> NodeAction:
        namespace = self._optional(element, "namespace")
        return NodeAction(
            package=self._text(element, "pkg"),
            executable=self._text(element, "exec"),
            name=self._optional(element, "name"),
            namespace=f"/{namespace.strip('/')}" if namespace else None,
            arguments=tuple(shlex.split(self._optional(element, "args") or "")),
            parameters=tuple(self._param(c) for c in element.children if c.tag == "param"),
            remappings=tuple(self._remap(c) for c in element.children if c.tag == "remap"),
            ends_launch="on_exit" in element.attributes,
        )

    def _remap(self, element: XmlElement) -> tuple[str, str]:
        return self._text(element, "from"), self._text(element, "to")

    def _param(self, element: XmlElement) -> Path | dict[str, Any]:
        if "from" in element.attributes:
            file = Path(self._text(element, "from"))
            if not file.is_file():
                raise element.error(f"there is no parameter file {file}")
            return file
        text = self._text(element, "value")
        try:
            return {self._text(element, "name"): typed_value(text)}
        except LaunchError as error:
            raise element.error(str(error)) from error


def typed_value(text: str) -> Any:
    """Give a parameter the type that ``ros2 launch`` gives it: that of YAML.

    Args:
        text: The value with its substitutions done.

    Returns:
        A boolean, a number, a text, or a list of one of these.

    Raises:
        LaunchError: If the value is a mapping, an empty list, or a list of several types.
    """
    try:
        value = yaml.safe_load(text) if text else text
    except yaml.YAMLError as error:
        raise LaunchError(f"'{text}' is no parameter value: not valid YAML") from error
    if isinstance(value, bool | int | float | str):
        return value
    if (
        isinstance(value, list)
        and len({type(item) for item in value}) == 1
        and isinstance(value[0], bool | int | float | str)
    ):
        return value
    raise LaunchError(
        f"'{text}' is no parameter value (valid: boolean, number, text, list of one type)"
    )
