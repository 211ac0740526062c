"""``contact-stack echo``: print the messages of a topic."""

from __future__ import annotations

import argparse
import importlib
import math
from typing import TYPE_CHECKING, Any

from contact_core.base.errors import ConfigError, choices
from contact_core.base.waiting import waiting_for
from contact_stack.call import NAMESPACE, joined, print_names

if TYPE_CHECKING:
    from contact_ros.client import GraphClient

EPILOG = """examples:
  contact-stack echo                 (lists what there is)
  contact-stack echo controller_status --once
  contact-stack echo joint_states --field position
  contact-stack echo /diagnostics

Messages are YAML documents. Ctrl-C ends it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument(
        "topic", metavar="TOPIC", nargs="?",
        help=f"the topic, in /{NAMESPACE} unless it begins with a slash",
    )  # fmt: skip
    parser.add_argument("--once", action="store_true", help="end after a message")
    parser.add_argument("--field", metavar="A.B", default="", help="only this field")


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        0.

    Raises:
        ContactStackError: If there is no such topic or field.
    """
    with joined("echo") as client:
        if args.topic is None:
            print_names(client, client.topics)
            return 0
        messages = importlib.import_module("contact_ros.messages")
        topic, type_name = client.find(args.topic, client.topics)
        kind = messages.type_named(type_name)
        path = args.field.split(".") if args.field else []
        _look_up(kind(), path)
        count = 0

        def show(message: Any) -> None:
            nonlocal count
            if not (args.once and count):
                print("---\n" * (count > 0), end="")
                found = messages.as_values(_look_up(message, path))
                # A text alone is for whoever reads it, such as a robot's description.
                text = found if isinstance(found, str) else messages.as_yaml(found)
                print(text.rstrip("\n"), flush=True)
            count += 1

        client.node.create_subscription(kind, topic, show, _qos(client, topic))
        with waiting_for(f"wait for a message on {topic}"):
            client.wait_until(lambda: count, math.inf)
        client.wait_until(lambda: args.once, math.inf)
    return 0


def _look_up(message: Any, path: list[str]) -> Any:
    """Return a field of a message."""
    for name in path:
        fields: dict[str, str] = getattr(message, "get_fields_and_field_types", dict)()
        if name not in fields:
            valid = choices(fields, name) if fields else "nothing is below it"
            raise ConfigError(f"unknown field '{name}' in '{'.'.join(path)}' ({valid})")
        message = getattr(message, name)
    return message


def _qos(client: GraphClient, topic: str) -> Any:
    """Return what all publishers of a topic offer: also what is latched, and nothing resent."""
    qos = importlib.import_module("rclpy.qos")
    profile = qos.QoSProfile(depth=10)
    offers = [info.qos_profile for info in client.node.get_publishers_info_by_topic(topic)]
    if not offers or any(it.reliability != profile.reliability for it in offers):
        profile.reliability = qos.ReliabilityPolicy.BEST_EFFORT
    if offers and all(it.durability == qos.DurabilityPolicy.TRANSIENT_LOCAL for it in offers):
        profile.durability = qos.DurabilityPolicy.TRANSIENT_LOCAL
    return profile
