"""Read a launch file with launch_ros, without starting anything: an oracle for our own runner."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml


def read(
    file: Path, arguments: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> list[dict[str, Any]]:
    """Return what launch_ros would start, in the words of the expectation files.

    Raises:
        ImportError: If launch_ros is not installed.
    """
    # Its front end is an extension that the one of launch finds.
    import launch_ros.actions  # noqa: F401
    from launch.actions import ExecuteProcess
    from launch.frontend import Parser

    from launch import LaunchContext

    commands: list[list[str]] = []

    def note(process: Any, context: Any) -> None:
        process.prepare(context)
        commands.append(list(process.process_details["cmd"]))

    def visit(entity: Any) -> None:
        for child in entity.visit(context) or []:
            visit(child)

    monkeypatch.setattr(ExecuteProcess, "execute", note)
    context = LaunchContext()
    context.launch_configurations.update(arguments)
    root, parser = Parser.load(str(file))
    visit(parser.parse_description(root))
    return [_described(command) for command in commands]


def _described(command: list[str]) -> dict[str, Any]:
    """Describe a command line."""
    node: dict[str, Any] = {"executable": Path(command[0]).name}
    files: list[str] = []
    parameters: dict[str, Any] = {}
    remaps: dict[str, str] = {}
    words = iter(command[1:])
    for word in words:
        if word == "--ros-args":
            continue
        value = next(words)
        if word == "--params-file":
            file = Path(value)
            if file.name.startswith("launch_params_"):  # what it wrote values of parameters to
                (section,) = yaml.safe_load(file.read_text()).values()
                parameters |= section["ros__parameters"]
            else:
                files.append(file.name)
            continue
        name, _, text = value.partition(":=")
        if word == "-p":
            parameters[name] = yaml.safe_load(text)
        elif name == "__ns":
            node["namespace"] = text
        elif name == "__node":
            assert text == node["executable"]
        else:
            remaps[name] = text
    node |= {"files": files, "parameters": parameters, "remaps": remaps}
    return {key: value for key, value in node.items() if value}
