"""Read a launch file: the subset of the ROS 2 XML format that the stack uses.

The meaning of every element is that of ``ros2 launch``: arguments and ``let`` share one
set of names, an included file sees and changes them, and a ``group`` keeps its changes
to itself. Whatever is not in the subset is an error that names the file and the line.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from xml.parsers import expat

import yaml

from contact_core.base.errors import ConfigError, LaunchError, choices
from contact_core.base.files import share
from contact_ros.environment import check_name
from contact_stack.launch.substitutions import SUBSTITUTIONS, substitute

SUFFIX = ".launch.xml"
INCLUDE_DEPTH = 20


@dataclass(frozen=True)
class LaunchArgument:
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
        environment: Environment variables besides those of the launcher.
        ends_launch: True if everything stops when this node ends, also without an error.
        respawn_delay: How long after its end it is restarted [s]; None if the launch cannot do
            without it: then it stops when this node fails.
    """

    package: str
    executable: str
    name: str | None
    namespace: str | None
    arguments: tuple[str, ...]
    parameters: tuple[Path | dict[str, Any], ...]
    remappings: tuple[tuple[str, str], ...]
    environment: Mapping[str, str]
    ends_launch: bool
    respawn_delay: float | None

    @property
    def label(self) -> str:
        """What its output lines are prefixed with."""
        return self.name or self.executable


@dataclass(frozen=True)
class LaunchPlan:
    """What a launch file and the files it includes ask for, all substitutions done.

    Attributes:
        nodes: The nodes, in the order of their start.
    """

    nodes: tuple[NodeAction, ...]


def find_launch_file(name: str) -> Path:
    """Find a launch file.

    Args:
        name: Its path, or the name of one of ours without ``.launch.xml``.

    Returns:
        Its absolute path.

    Raises:
        LaunchError: If there is none.
    """
    if Path(name).is_file():
        return Path(name).resolve()
    try:
        return share("launch", name + SUFFIX)
    except ConfigError as error:
        ours = sorted(f.name.removesuffix(SUFFIX) for f in share("launch").glob(f"*{SUFFIX}"))
        raise LaunchError(f"there is no launch file '{name}' ({choices(ours, name)})") from error


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
    parser.read(file, depth=0)
    for name in arguments:
        if name not in parser.declared:
            raise LaunchError(
                f"{file}: unknown argument '{name}' ({choices(parser.declared, name)})"
            )
    return LaunchPlan(tuple(parser.nodes))


def declared_arguments(file: Path) -> tuple[LaunchArgument, ...]:
    """List the arguments of a launch file itself, without evaluating anything.

    Args:
        file: The launch file.

    Returns:
        The arguments in their order.

    Raises:
        LaunchError: If the file is not valid.
    """
    return tuple(_argument(child) for child in _read_xml(file).children if child.tag == "arg")


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
    items = value if isinstance(value, list) else [value]
    if len({type(item) for item in items}) == 1 and isinstance(items[0], bool | int | float | str):
        return value
    raise LaunchError(
        f"'{text}' is no parameter value (valid: boolean, number, text, list of one type)"
    )


class _Parser:
    """Walk through the elements in order, as ``ros2 launch`` does.

    Attributes:
        declared: Names of the arguments that were met, in their order.
        nodes: The nodes that were met.
    """

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self.declared: dict[str, None] = {}
        self.nodes: list[NodeAction] = []
        self._values = dict(arguments)
        self._environment: dict[str, str] = {}

    def read(self, file: Path, depth: int) -> None:
        """Do what a file says."""
        if depth > INCLUDE_DEPTH:
            raise LaunchError(f"{file} includes itself")
        self._perform(_read_xml(file), depth)

    def _perform(self, parent: _Element, depth: int) -> None:
        for element in parent.children:
            if not self._condition(element):
                continue
            match element.tag:
                case "arg":
                    self._declare(element)
                case "let":
                    self._set(element)
                case "set_env":
                    name = self._text(element, "name")
                    self._environment[name] = self._text(element, "value")
                case "node":
                    self.nodes.append(self._node(element))
                case "group":
                    outside = dict(self._values), dict(self._environment)
                    self._perform(element, depth)
                    self._values, self._environment = outside
                case "include":
                    self._include(element, depth)

    def _text(self, element: _Element, attribute: str) -> str:
        """Return an attribute with its substitutions done, empty if it is missing."""
        try:
            return substitute(element.attributes.get(attribute, ""), self._values)
        except LaunchError as error:
            raise element.error(str(error)) from error

    def _condition(self, element: _Element) -> bool:
        """Evaluate the ``if`` or ``unless`` of an element."""
        for condition in _CONDITIONS:
            if condition in element.attributes:
                value = self._text(element, condition)
                if value.strip().lower() not in ("true", "1", "false", "0"):
                    raise element.error(
                        f'{condition}="{value}" is no truth value (valid: true, false, 1, 0)'
                    )
                return (value.strip().lower() in ("true", "1")) == (condition == "if")
        return True

    def _set(self, element: _Element) -> None:
        self._values[self._text(element, "name")] = self._text(element, "value")

    def _declare(self, element: _Element) -> None:
        argument = _argument(element)
        name = argument.name
        self.declared[name] = None
        if name not in self._values:
            if argument.default is None:
                raise element.error(f"argument '{name}' must be given: {argument.description}")
            self._values[name] = self._text(element, "default")
        value = self._values[name]
        if argument.choices and value not in argument.choices:
            raise element.error(
                f"argument '{name}' is '{value}' ({choices(argument.choices, value)})"
            )

    def _include(self, element: _Element, depth: int) -> None:
        file = Path(self._text(element, "file"))
        for child in element.children:
            self._set(child)
        if not file.is_file():
            raise element.error(f"there is no launch file {file}")
        if file.suffix != ".xml":
            raise element.error(f"{file.name} needs launch_ros: use the `ros2 launch` of ROS 2")
        self.read(file, depth + 1)

    def _node(self, element: _Element) -> NodeAction:
        namespace = self._text(element, "namespace").strip("/")
        remaps = [child for child in element.children if child.tag == "remap"]
        names = (self._text(element, "name"), namespace, *(self._text(c, "to") for c in remaps))
        for name in filter(None, names):
            try:
                check_name(name, element.tag)
            except ConfigError as error:
                raise element.error(str(error)) from error
        return NodeAction(
            package=self._text(element, "pkg"),
            executable=self._text(element, "exec"),
            name=names[0] or None,
            namespace=f"/{namespace}" if namespace else None,
            arguments=tuple(shlex.split(self._text(element, "args"))),
            parameters=tuple(self._parameters(c) for c in element.children if c.tag == "param"),
            remappings=tuple((self._text(c, "from"), self._text(c, "to")) for c in remaps),
            environment=dict(self._environment),
            ends_launch="on_exit" in element.attributes,
            respawn_delay=_respawn_delay(element),
        )

    def _parameters(self, element: _Element) -> Path | dict[str, Any]:
        if "from" in element.attributes:
            file = Path(self._text(element, "from"))
            if not file.is_file():
                raise element.error(f"there is no parameter file {file}")
            return file
        try:
            return {self._text(element, "name"): typed_value(self._text(element, "value"))}
        except LaunchError as error:
            raise element.error(str(error)) from error


@dataclass
class _Element:
    """An XML element that knows where it is, so that an error can say so."""

    tag: str
    attributes: Mapping[str, str]
    file: Path
    line: int
    children: list[_Element] = field(default_factory=list)

    def error(self, message: str) -> LaunchError:
        """Make an error that names the file and the line."""
        return LaunchError(f"{self.file}:{self.line}: {message}")


def _read_xml(file: Path) -> _Element:
    """Read a launch file, and check it whole, also what its conditions leave out."""
    parser = expat.ParserCreate()
    # All elements end up in this one, which stands for the file.
    open_elements = [_Element("", {}, file, 0)]

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = _Element(tag, attributes, file, parser.CurrentLineNumber)
        open_elements[-1].children.append(element)
        open_elements.append(element)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: open_elements.pop()
    try:
        parser.Parse(file.read_bytes(), True)
    except OSError as error:
        raise LaunchError(f"cannot read {file}: {error.strerror}") from error
    except expat.ExpatError as error:
        raise LaunchError(f"{file}:{error.lineno}: not valid XML: {error}") from error
    (root,) = open_elements[0].children
    if root.tag != "launch":
        raise root.error(f"the root element is <{root.tag}> instead of <launch>")
    _validate(root, _RULES["launch"])
    return root


def _argument(element: _Element) -> LaunchArgument:
    return LaunchArgument(
        element.attributes["name"],
        element.attributes.get("default"),
        element.attributes.get("description", ""),
        tuple(child.attributes["value"] for child in element.children),
    )


def _respawn_delay(element: _Element) -> float | None:
    # No substitutions: `ros2 launch` makes none in these two.
    if element.attributes.get("respawn") != "true":
        return None
    text = element.attributes.get("respawn_delay", "0.0")
    with suppress(ValueError):
        if 0.0 <= (delay := float(text)) < math.inf:
            return delay
    raise element.error(f'respawn_delay="{text}" is no time in seconds')


class _Rule(NamedTuple):
    """Which attributes an element must and may have, and which elements it may contain."""

    mandatory: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    children: tuple[str, ...] = ()


_CONDITIONS = ("if", "unless")
_ACTIONS = ("arg", "let", "set_env", "node", "group", "include")
_RULES = {
    "launch": _Rule(children=_ACTIONS),
    "group": _Rule((), _CONDITIONS, _ACTIONS),
    "arg": _Rule(("name",), ("default", "description", *_CONDITIONS), ("choice",)),
    "choice": _Rule(("value",)),
    "let": _Rule(("name", "value"), _CONDITIONS),
    "set_env": _Rule(("name", "value"), _CONDITIONS),
    "include": _Rule(("file",), _CONDITIONS, ("arg",)),
    "arg of include": _Rule(("name", "value")),
    "node": _Rule(
        ("pkg", "exec"),
        (
            *("name", "namespace", "args", "output", "on_exit", "respawn", "respawn_delay"),
            *_CONDITIONS,
        ),
        ("param", "remap"),
    ),
    "param": _Rule(("name", "value")),
    "param from a file": _Rule(("from",)),
    "remap": _Rule(("from", "to")),
}
_OPTIONS = {
    "output": ("screen", "log", "both", "own_log", "full"),
    "on_exit": ("shutdown",),
    "respawn": ("true", "false"),
}
"""The valid values of attributes that have few."""


def _validate(element: _Element, rule: _Rule) -> None:
    """Raise at the first element, attribute or substitution outside the subset."""
    valid = (*rule.mandatory, *rule.optional)
    for name, value in element.attributes.items():
        if name not in valid:
            raise element.error(f"unknown attribute '{name}' of <{element.tag}> ({choices(valid)})")
        if value not in _OPTIONS.get(name, (value,)):
            raise element.error(f'{name}="{value}" is unknown ({choices(_OPTIONS[name])})')
        for word in re.findall(r"(?<!\\)\$\(([^ )]*)", value):
            if word not in SUBSTITUTIONS:
                raise element.error(
                    f"unknown substitution '$({word} ...)' ({choices(SUBSTITUTIONS)})"
                )
    for name in rule.mandatory:
        if name not in element.attributes:
            raise element.error(f"<{element.tag}> needs the attribute '{name}'")
    if all(condition in element.attributes for condition in _CONDITIONS):
        raise element.error("'if' and 'unless' exclude each other")
    for child in element.children:
        if child.tag not in rule.children:
            known = choices(rule.children) if rule.children else "it contains no elements"
            raise child.error(f"unknown element <{child.tag}> in <{element.tag}> ({known})")
        key = child.tag
        if element.tag == "include":
            key = "arg of include"
        elif child.tag == "param" and "from" in child.attributes:
            key = "param from a file"
        _validate(child, _RULES[key])
