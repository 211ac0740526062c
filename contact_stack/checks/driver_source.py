"""Whether a driver is as we know it: its source against ``config/drivers/facts.yaml``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from contact_core.base.errors import ConfigError, choices
from contact_core.base.files import share
from contact_stack.checks import Check

COMPUTED = "computed"
"""The default of a launch argument that is no literal."""


@dataclass(frozen=True)
class Fact:
    """Something that a file of a driver says.

    Attributes:
        name: What it is about.
        file: Path below the checkout.
        reader: How the file is read, one of READERS.
        key: What of the file is meant, for the reader.
        value: What is there.
        means: What depends on it.
    """

    name: str
    file: str
    reader: str
    key: Any
    value: Any
    means: str

    def found(self, folder: Path) -> Any:
        """Read what a checkout says.

        Args:
            folder: The checkout.

        Returns:
            What is in the place of ``value``; a text that says why if nothing is.
        """
        path = folder / self.file
        if not path.is_file():
            return "no such file"
        try:
            return READERS[self.reader](path.read_text(), self)
        except (KeyError, TypeError, SyntaxError, yaml.YAMLError):
            return "not found in the file"


@dataclass(frozen=True)
class DriverVersion:
    """A version of a driver that was read.

    Attributes:
        repository: Name of its repository.
        version: Its commit, or what else it is.
        date: Its day.
        distribution: The ROS distribution it is for.
        unfit: Why the stack cannot work with it; empty if it can.
        facts: What its files say.
    """

    repository: str
    version: str
    date: str
    distribution: str
    unfit: str
    facts: tuple[Fact, ...]

    def differences(self, folder: Path) -> list[tuple[Fact, Any]]:
        """Return the facts that do not hold in a checkout, and what it says instead."""
        found = ((fact, fact.found(folder)) for fact in self.facts)
        return [(fact, value) for fact, value in found if value != fact.value]


def driver_versions() -> list[DriverVersion]:
    """Read the table of facts.

    Returns:
        All versions of all drivers.
    """
    table = yaml.safe_load(share("config", "drivers", "facts.yaml").read_text())
    return [
        DriverVersion(
            repository,
            item["version"],
            str(item["date"]),
            item["distribution"],
            item.get("unfit", ""),
            tuple(_fact(name, fact, driver["means"][name]) for name, fact in item["facts"].items()),
        )
        for repository, driver in table.items()
        for item in driver["versions"]
    ]


def driver_source(folder: Path) -> Iterator[Check]:
    """Compare checkouts of drivers with the table.

    Args:
        folder: A checkout, or a folder with some under the names of their repositories.

    Yields:
        One check for each difference from the nearest version, or one that says there is none.

    Raises:
        ConfigError: If no driver is there.
    """
    versions = driver_versions()
    any_found = False
    for repository in dict.fromkeys(version.repository for version in versions):
        known = [version for version in versions if version.repository == repository]
        for place in (folder / repository, folder):
            if any((place / fact.file).is_file() for version in known for fact in version.facts):
                any_found = True
                yield from _compared(known, place)
                break
    if not any_found:
        names = choices(dict.fromkeys(version.repository for version in versions))
        raise ConfigError(f"no driver is in {folder} ({names})")


def _compared(known: list[DriverVersion], folder: Path) -> Iterator[Check]:
    nearest = min(known, key=lambda item: len(item.differences(folder)) / len(item.facts))
    differences = nearest.differences(folder)
    name = nearest.repository
    version = f"{nearest.version[:12]} ({nearest.date}, {nearest.distribution})"
    if nearest.unfit:
        remedy = "install a version of config/drivers"
        yield Check.fail(name, f"{version}: {nearest.unfit}", remedy)
    elif not differences:
        found = f"as version {version}: {len(nearest.facts)} facts"
        yield Check.ok(name, found)
    for fact, value in differences:
        found = f"{fact.file} has {value!r} instead of {fact.value!r}, as in {version}"
        yield Check.fail(f"{name}, {fact.name}", found, fact.means)


def _fact(name: str, item: dict[str, Any], means: str) -> Fact:
    (reader,) = READERS.keys() & item.keys()
    return Fact(name, item["file"], reader, item[reader], item["value"], means)


def _yaml_value(text: str, fact: Fact) -> Any:
    value = yaml.safe_load(text)
    for key in fact.key:
        value = value[key]
    return value


def _argument_default(text: str, fact: Fact) -> Any:
    """Return the default of a launch argument that a Python file declares."""
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for scope in (*functions, tree):
        for node in ast.walk(scope):
            if not (isinstance(node, ast.Call) and ast.unparse(node.func) == _DECLARATION):
                continue
            given = {word.arg: word.value for word in node.keywords}
            name = node.args[0] if node.args else given["name"]
            if isinstance(name, ast.Constant) and name.value == fact.key:
                default = given["default_value"]
                if isinstance(default, ast.Name) and isinstance(scope, ast.FunctionDef):
                    default = _parameters(scope).get(default.id, default)
                return default.value if isinstance(default, ast.Constant) else COMPUTED
    raise KeyError(fact.key)


_DECLARATION = "DeclareLaunchArgument"


def _parameters(function: ast.FunctionDef) -> dict[str, ast.expr]:
    """Return the parameters of a function that have a default, with it."""
    arguments, defaults = function.args.args, function.args.defaults
    named = arguments[len(arguments) - len(defaults) :]
    return {argument.arg: value for argument, value in zip(named, defaults, strict=True)}


def _message_fields(text: str, fact: Fact) -> list[str]:
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    return [" ".join(words) for words in lines if words]


def _mentioned(text: str, fact: Fact) -> list[str]:
    return [word for word in fact.value if word in text]


READERS = {
    "yaml": _yaml_value,
    "argument": _argument_default,
    "fields": _message_fields,
    "mentions": _mentioned,
}
