"""What a visitor of a page is shown."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pinocchio as pin
import viser
import zstandard
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

PATIENCE = 10.0
"""How long a page may be empty [s]."""

DURATION = 0.5
"""How long a visit takes [s]: what moves is sent again at each of the page's 30 Hz."""

CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": (1.0, 0.0, 0.0, 0.0),
    "position": (1.0, 1.0, 1.0),
    "fov": 1.0,
    "near": 0.01,
    "far": 100.0,
    "image_height": 600,
    "image_width": 800,
    "look_at": (0.0, 0.0, 0.0),
    "up_direction": (0.0, 0.0, 1.0),
}
"""What a browser says first; only then it counts as one that looks."""

HEADER = 16
"""Two lengths of 8 bytes: of the messages before and after compression."""


@dataclass(frozen=True)
class Shown:
    """What is on the page.

    Attributes:
        poses: Node of the scene, e.g. ``"/robot/lbr_A1"`` -> its pose in its parent.
        words: What is written over the scene, as :class:`Card` sends it.
        nodes: Node of the scene -> what the page made it, e.g. ``"BoxMessage"``.
        arrows: Node of the scene -> (n, 2, 3) starts and ends of its arrows that are seen.
    """

    poses: dict[str, pin.SE3]
    words: dict[str, Any]
    nodes: dict[str, str]
    arrows: dict[str, np.ndarray]


def visit(address: str, duration: float = DURATION) -> Shown:
    """Open the page as a browser does, look at it for a moment, and leave.

    Args:
        address: The page's, e.g. ``"http://127.0.0.1:8080"``.
        duration: How long after the last new thing has come [s]: a busy machine sends slowly.

    Returns:
        What was on it in the end.
    """
    positions: dict[str, np.ndarray] = {}
    quaternions: dict[str, np.ndarray] = {}
    nodes: dict[str, str] = {}
    arrows: dict[str, np.ndarray] = {}
    visible: dict[str, bool] = {}
    words: dict[str, Any] = {}
    with line_to(address) as server:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                messages = messages_of(server.recv(timeout=max(end - time.monotonic(), 0.0)))
            except TimeoutError:  # nothing moves
                break
            for message in messages:
                if "props" in message and "name" in message:
                    if message["name"] not in nodes:
                        end = time.monotonic() + duration
                    nodes[message["name"]] = message["type"]
                match message["type"]:
                    case "ArrowMessage":
                        arrows[message["name"]] = message["props"]["points"]
                    case "SetSceneNodeVisibilityMessage":
                        visible[message["name"]] = message["visible"]
                    case "SetPositionMessage":
                        positions[message["name"]] = np.array(message["position"])
                    case "SetOrientationMessage":
                        quaternions[message["name"]] = np.array(message["wxyz"])
                    case "RunJavascriptMessage":
                        words = words_of(message) or words
    # What stands where a new node is put anyway is not sent at all.
    poses = {
        name: pin.SE3(
            pin.Quaternion(*quaternions.get(name, (1.0, 0.0, 0.0, 0.0))),
            positions.get(name, np.zeros(3)),
        )
        for name in positions.keys() | quaternions.keys()
    }
    seen = {name: array for name, array in arrows.items() if visible.get(name, True)}
    return Shown(poses, words, nodes, seen)


@contextmanager
def line_to(address: str, **options: Any) -> Iterator[ClientConnection]:
    """Open the page as a browser does.

    Args:
        address: The page's.
        options: Of the connection.
    """
    with connect(
        address.replace("http", "ws", 1),
        subprotocols=[Subprotocol(f"viser-v{viser.__version__}")],
        max_size=None,
        **options,
    ) as server:
        server.send(msgspec.msgpack.encode(CAMERA))
        yield server


def words_of(message: dict[str, Any]) -> dict[str, Any]:
    """Return what a message writes over the scene, empty if it does not."""
    found = re.fullmatch(r"window.contactStack\?.show\((.*)\)", message.get("source", ""))
    return json.loads(found[1]) if found else {}


def messages_of(frame: str | bytes) -> list[dict[str, Any]]:
    """Unpack one frame, with the points of its arrows among the arrays behind its messages."""
    assert isinstance(frame, bytes)
    size = int.from_bytes(frame[8:HEADER], "little")
    window = zstandard.ZstdDecompressor().decompress(frame[HEADER : HEADER + size])
    content = msgspec.msgpack.decode(window)
    arrays, start = [], HEADER + size
    for length in content["binaryBufferLengths"]:
        start += -start % 8
        arrays.append(frame[start : start + length])
        start += length
    for message in content["messages"]:
        if message["type"] == "ArrowMessage":
            points = message["props"]["points"]
            data = np.frombuffer(arrays[points["__binary_index"]], points["dtype"])
            message["props"]["points"] = data.reshape(-1, 2, 3)
    return list(content["messages"])
