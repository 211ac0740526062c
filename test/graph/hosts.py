"""Two hosts on one machine: Linux network namespaces, joined by a cable that can be cut.

For processes that `unshare --user --map-root-user --net` has put into a namespace of their own.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Collection
from pathlib import Path
from types import TracebackType
from typing import Self

from contact_stack.launch import NodeAction, find_launch_file, parse
from contact_stack.launch.runner import command_line

PRIVATE = ("unshare", "--user", "--map-root-user", "--net")
"""Runs a command in a network of its own."""

NEAR, FAR = "10.17.0.1", "10.17.0.2"

# Hosts share no memory.
TRANSPORT = {"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}

PATIENCE = 5.0
"""How long a node may take to end [s]."""

LIFETIME = 900
"""After this time the far host ends in any case [s]."""


def why_not() -> str:
    """Return why there can be no two hosts here; empty if there can."""
    try:
        subprocess.run([*PRIVATE, "ip", "link"], check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        return f"{error.filename} is not installed"
    except subprocess.CalledProcessError as error:
        return f"network namespaces are not permitted: {error.stderr.strip()}"
    return ""


class TwoHosts:
    """This process is on the near host; nodes run on either.

    Attributes:
        nodes: The process of each node.
    """

    def __init__(self, **environment: str) -> None:
        """Prepare.

        Args:
            environment: Variables of every process, also of this one.
        """
        os.environ.update(TRANSPORT | environment)
        self._folder = tempfile.TemporaryDirectory()
        self.nodes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        """Build the far host and the cable."""
        self._far = subprocess.Popen(["unshare", "--net", "sleep", str(LIFETIME)])
        while os.readlink(f"/proc/{self._far.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            os.sched_yield()
        _ip("link", "add", "name", "near0", "type", "veth", "peer", "name", "far0")
        _ip("link", "set", "far0", "netns", str(self._far.pid))
        for prefix, device, address in (((), "near0", NEAR), (self._on_far(), "far0", FAR)):
            _ip("address", "add", f"{address}/24", "dev", device, prefix=prefix)
            for name in (device, "lo"):
                _ip("link", "set", name, "up", prefix=prefix)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the nodes and the far host."""
        for node in self.nodes.values():
            node.send_signal(signal.SIGINT)
        for node in self.nodes.values():
            try:
                node.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                node.kill()
                node.wait()
        self._far.kill()
        self._far.wait()
        self._folder.cleanup()

    def launch(self, name: str, far: Collection[str] = (), **arguments: str) -> None:
        """Start the nodes of a launch file, which talk as far as the environment says.

        Args:
            name: The launch file.
            far: Names of the nodes on the far host; the others are near.
            arguments: Of the launch file.
        """
        arguments = {"network": "environment", **arguments}
        for node in parse(find_launch_file(name), arguments).nodes:
            self.start(node, far=node.name in far)

    def start(self, node: NodeAction, *words: str, far: bool = False) -> None:
        """Start a node.

        Args:
            node: The node.
            words: More words of its command line.
            far: Whether it runs on the far host.
        """
        prefix = self._on_far() if far else ()
        command = [*prefix, *command_line(node, Path(self._folder.name)), *words]
        environment = {**os.environ, **node.environment}
        self.nodes[node.label] = subprocess.Popen(command, env=environment, start_new_session=True)

    def cut(self) -> None:
        """Cut the cable."""
        _ip("link", "set", "near0", "down")

    def mend(self) -> None:
        """Mend it."""
        _ip("link", "set", "near0", "up")

    def _on_far(self) -> tuple[str, ...]:
        return ("nsenter", "--target", str(self._far.pid), "--net")


def _ip(*words: str, prefix: tuple[str, ...] = ()) -> None:
    subprocess.run([*prefix, "ip", *words], check=True)
