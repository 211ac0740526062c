"""The command ``contact-stack launch``."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import importlib.util
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from contact_core.base.errors import LaunchError, choices
from contact_core.base.results import add_json_option, write_json
from contact_stack.launch.guard import MARK, guarded
from contact_stack.launch.parser import (
    LaunchArgument,
    LaunchPlan,
    declared_arguments,
    find_launch_file,
    parse,
)
from contact_stack.launch.runner import NodeGraph, command_line, exit_code, refuse_second_graph
from contact_stack.precompile import compile_once

EPILOG = """examples:
  contact-stack launch sim
  contact-stack launch sim lockstep:=false driver:=ros2_control
  contact-stack launch sim --show-args
  contact-stack launch my/robot.launch.xml --dry-run

Ctrl-C stops all nodes. Nodes with respawn="true" are restarted when they end. Where launch_ros is
installed, it runs the file."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument("file", help="a launch file, or the name of one of ours, e.g. sim")
    parser.add_argument(
        "arguments", nargs="*", metavar="name:=value", help="arguments of the launch file"
    )
    parser.add_argument(
        "-s", "--show-args", action="store_true", help="list the arguments of the launch file"
    )
    parser.add_argument(
        "-n", "--dry-run", action="store_true", help="print the nodes' command lines only"
    )
    add_json_option(parser)


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        0 if all nodes ended well, also after Ctrl-C; else the exit code of the first that
        failed.

    Raises:
        LaunchError: If the launch file or an argument of it is invalid.
    """
    if args.json and not (args.show_args or args.dry_run):
        raise LaunchError("--json needs --show-args or --dry-run")
    file = find_launch_file(args.file)
    if args.show_args:
        _show(declared_arguments(file), args.json)
        return 0
    arguments = dict(_assignment(word) for word in args.arguments)
    if args.dry_run:
        _show_commands(parse(file, arguments), args.json)
        return 0
    if _launch_ros_is_installed():
        return _run_with_launch_ros(file, arguments)
    return _run(parse(file, arguments))


def _assignment(word: str) -> tuple[str, str]:
    name, separator, value = word.partition(":=")
    if not (name and separator):
        raise LaunchError(f"'{word}' is no argument of a launch file (write name:=value)")
    return name, value


def _run(plan: LaunchPlan) -> int:
    # Takes a while to import, and `--dry-run` and `--show-args` do without ROS.
    from contact_ros import network

    _check_scenes(plan)
    graph = NodeGraph(plan)
    try:
        for node in plan.nodes:
            os.environ |= node.environment
        network.enter(network.ENVIRONMENT)
        compile_once()
        refuse_second_graph(plan)
        with graph:
            graph.wait()
    except KeyboardInterrupt:
        pass  # the normal end of a launch
    return graph.exit_code


def _check_scenes(plan: LaunchPlan) -> None:
    """Read the scenes of a launch before kernels are compiled, lest every node refuses them.

    Raises:
        ContactStackError: If one is invalid, or the robot in it.
    """
    scenes: dict[tuple[str, str], None] = {}
    for node in plan.nodes:
        values: dict[str, Any] = {}
        for parameters in node.parameters:
            values |= parameters if isinstance(parameters, dict) else {}
        if values.get("scene"):
            scenes[str(values["scene"]), str(values.get("robot", ""))] = None
    for scene, robot in scenes:
        importlib.import_module("contact_core.robot.scene").Scene.load(scene, robot)


def _launch_ros_is_installed() -> bool:
    spec = importlib.util.find_spec("launch_ros")
    # A mere folder of that name, e.g. its checkout, has no origin.
    return spec is not None and spec.origin is not None


def _run_with_launch_ros(file: Path, arguments: Mapping[str, str]) -> int:
    # As above.
    from contact_ros import environment

    environment.check()
    # Imported by name: our folder of launch files is called like this package.
    launch = importlib.import_module("launch")
    sources = importlib.import_module("launch.launch_description_sources")
    included = launch.actions.IncludeLaunchDescription(
        sources.AnyLaunchDescriptionSource(str(file)), launch_arguments=list(arguments.items())
    )
    codes: list[int] = []

    def note(event: Any, context: Any) -> None:
        if not context.is_shutdown:  # what is ended has not failed
            codes.append(exit_code(event.returncode))

    ends = importlib.import_module("launch.event_handlers").OnProcessExit(on_exit=note)
    watch = launch.actions.RegisterEventHandler(ends)
    service = launch.LaunchService()
    service.include_launch_description(launch.LaunchDescription([watch, included]))
    with guarded() as mark:
        os.environ[MARK] = mark
        return int(service.run()) or next(filter(None, codes), 0)


def _show(arguments: Sequence[LaunchArgument], target: str | None) -> None:
    write_json([dataclasses.asdict(argument) for argument in arguments], target)
    for argument in arguments:
        valid = f" ({choices(argument.choices)})" if argument.choices else ""
        default = "must be given" if argument.default is None else f"default {argument.default}"
        print(f"{argument.name}: {argument.description}{valid} [{default}]")


def _show_commands(plan: LaunchPlan, target: str | None) -> None:
    commands: list[dict[str, Any]] = [
        {"name": node.label, "command": command_line(node)} for node in plan.nodes
    ]
    write_json(commands, target)
    for command in commands:
        print(f"[{command['name']}] {shlex.join(command['command'])}")
