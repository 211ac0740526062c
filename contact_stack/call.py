"""``contact-stack call``: send a goal to an action, or call a service, whichever a name is."""

from __future__ import annotations

import argparse
import importlib
import math
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from contact_core.base.config import merged, read_texts, unflatten
from contact_core.base.errors import ConfigError, choices
from contact_core.base.signals import deferred

if TYPE_CHECKING:
    from contact_ros.client import GraphClient

EXIT_FAILED = 1
PATIENCE = 10.0
"""How long a server may take to answer, and a canceled goal to end [s]."""

FEEDBACK_DIGITS = 4
"""Significant digits of numbers of a feedback, which is for a person."""

NAMESPACE = "lbr"

ASSIGNMENT = re.compile(r"([\w.]+)=(.*)", re.DOTALL)

PARAMETERS = "rcl_interfaces/srv/SetParameters"
"""The service that takes names and values of parameters in the place of fields."""

EPILOG = """examples:
  contact-stack call                 (lists what there is)
  contact-stack call hand_guide
  contact-stack call guarded_move direction.z=-1 speed=0.02 distance=0.25 force=10
  contact-stack call wipe '{direction: {z: -1}, path: [{x: 0.05}]}' speed=0.05 distance=0.3 force=10
  contact-stack call contact_estimator/tare
  contact-stack call contact_aware_controller/set_parameters force.limit=25.0

A goal's feedback goes to standard error, its result and status to standard output, as YAML. Ctrl-C
cancels the goal and waits for its end. Exit code: 0 if it succeeded, 1 if it did not."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument(
        "name", metavar="NAME", nargs="?",
        help=f"an action or a service, in /{NAMESPACE} unless it begins with a slash",
    )  # fmt: skip
    parser.add_argument(
        "fields", metavar="FIELD=VALUE", nargs="*",
        help="fields, with dots between levels; or all of them as YAML",
    )  # fmt: skip


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        0, or 1 if it did not succeed.

    Raises:
        ContactStackError: If there is no such name or field, or nobody answers.
    """
    with joined("call") as client:
        if args.name is None:
            print_names(client, client.servers)
            return 0
        messages = importlib.import_module("contact_ros.messages")
        name, type_name = client.find(args.name, client.servers)
        kind = messages.type_named(type_name)
        if hasattr(kind, "Goal"):
            return _send(client, kind, name, messages.fill(kind.Goal(), read_fields(args.fields)))
        if type_name == PARAMETERS:
            request = kind.Request(parameters=_parameters(client, name, args.fields))
        else:
            request = messages.fill(kind.Request(), read_fields(args.fields))
        answer = client.call(kind, name, request, PATIENCE)
        print(messages.as_yaml(messages.as_values(answer)), end="")
        return 0 if _is_success(answer) else EXIT_FAILED


def joined(command: str) -> GraphClient:
    """Join the graph of this machine, or that which the environment says.

    Args:
        command: What joins it.

    Raises:
        ConfigError: If an environment variable of ROS has no valid value.
    """
    network = importlib.import_module("contact_ros.network")
    network.enter(network.LOCALHOST)
    module = importlib.import_module("contact_ros.client")
    client: GraphClient = module.GraphClient(f"{command}_{os.getpid()}", NAMESPACE)
    return client


def print_names(client: GraphClient, known: Callable[[], Mapping[str, str]]) -> None:
    """List what the graph has.

    Args:
        client: Who looks.
        known: What it knows so far: full name -> type.
    """
    for name, kind in client.look_round(known).items():
        print(f"{name}  {kind}")


def read_fields(words: Sequence[str]) -> dict[str, Any]:
    """Read fields of a message.

    Args:
        words: Each ``a.b=value`` or a YAML mapping; later ones override earlier ones.

    Returns:
        Field -> text, or mapping or list of such.

    Raises:
        ConfigError: If a word is neither.
    """
    values: dict[str, Any] = {}
    for word in words:
        found = ASSIGNMENT.fullmatch(word)
        more = unflatten({found[1]: read_texts(found[2])}) if found else read_texts(word)
        if not isinstance(more, Mapping):
            raise ConfigError(f"'{word}' names no field (valid: field=value, or {{field: value}})")
        values = merged(values, more)
    return values


def _parameters(client: GraphClient, service: str, words: Sequence[str]) -> list[Any]:
    """Return parameters of a node, each with the type that its value looks like.

    A whole number is one for a parameter that has decimals, too.
    """
    lists = importlib.import_module("rcl_interfaces.srv").ListParameters
    there = client.call(
        lists, service.replace("/set_", "/list_"), lists.Request(), PATIENCE
    ).result.names
    messages = importlib.import_module("rcl_interfaces.msg")
    types = importlib.import_module("rcl_interfaces.srv").GetParameterTypes
    value_of = importlib.import_module("rclpy.parameter").get_parameter_value
    parameters, given = [], {}
    for word in words:
        name, equals, text = word.partition("=")
        given[name] = text
        if not equals or name not in there:
            raise ConfigError(f"'{word}' sets no parameter ({choices(sorted(there), name)})")
        parameters.append(messages.Parameter(name=name, value=value_of(text)))
    asked = types.Request(names=[parameter.name for parameter in parameters])
    kinds = client.call(types, service.replace("/set_parameters", "/get_parameter_types"), asked,
                        PATIENCE).types  # fmt: skip
    of = messages.ParameterType
    for parameter, kind in zip(parameters, kinds, strict=True):
        if kind == of.PARAMETER_DOUBLE:  # in YAML 1.1 neither 25 nor 2e1 has decimals
            with suppress(ValueError):
                text = given[parameter.name]
                parameter.value = messages.ParameterValue(type=kind, double_value=float(text))
    return parameters


def _is_success(answer: Any) -> bool:
    """Return what a response says, of itself or of each parameter; silence is success."""
    each = getattr(answer, "results", [answer])
    return all(getattr(it, "success", getattr(it, "successful", True)) for it in each)


def _send(client: GraphClient, kind: Any, name: str, goal: Any) -> int:
    """Send a goal, show how it goes and ends, and return the exit code."""
    messages = importlib.import_module("contact_ros.messages")
    status = importlib.import_module("action_msgs.msg").GoalStatus

    def show(feedback: Any) -> None:
        values = messages.as_values(feedback, FEEDBACK_DIGITS)
        print(messages.as_yaml(values, one_line=True), end="", file=sys.stderr)

    def show_end(ended: Any) -> int:
        names = {getattr(status, it): it[7:] for it in dir(status) if it.startswith("STATUS_")}
        values = {"result": messages.as_values(ended.result), "status": names[ended.status]}
        print(messages.as_yaml(values), end="")
        return 0 if ended.status == status.STATUS_SUCCEEDED else EXIT_FAILED

    sent = None
    try:
        # A goal that nobody could cancel any more must not be left behind.
        with deferred():
            sent = client.send(kind, name, goal, show, PATIENCE)
        return show_end(client.end_of(sent, math.inf))
    except KeyboardInterrupt:
        if sent:
            client.cancel(sent, PATIENCE)
            show_end(client.end_of(sent, PATIENCE))
        raise
