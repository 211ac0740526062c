"""What a visitor of the live page is shown."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pinocchio as pin
import viser
import zstandard
from websockets.sync.client import connect
from websockets.typing import Subprotocol

DURATION = 0.5
"""How long a visit takes [s]: what moves is sent again at each of the page's 30 Hz."""

HEADER = 16
"""Two lengths of 8 bytes: of the messages before and after compression."""


@dataclass(frozen=True)
class Shown:
    """What is on the page.

    Attributes:
        poses: Node of the scene, e.g. ``"/robot/lbr_A1"`` -> its pose in its parent.
        status: The text beside the scene.
    """

    poses: dict[str, pin.SE3]
    status: str


def visit(address: str) -> Shown:
    """Open the page as a browser does, look at it for a moment, and leave.

    Args:
        address: The page's, e.g. ``"http://127.0.0.1:8080"``.

    Returns:
        What was on it in the end.
    """
    positions: dict[str, np.ndarray] = {}
    quaternions: dict[str, np.ndarray] = {}
    status = ""
    end = time.monotonic() + DURATION
    with connect(
        address.replace("http", "ws", 1),
        subprotocols=[Subprotocol(f"viser-v{viser.__version__}")],
        max_size=None,
    ) as server:
        while time.monotonic() < end:
            try:
                messages = _messages(server.recv(timeout=end - time.monotonic()))
            except TimeoutError:  # nothing moves
                break
            for message in messages:
                match message["type"]:
                    case "SetPositionMessage":
                        positions[message["name"]] = np.array(message["position"])
                    case "SetOrientationMessage":
                        quaternions[message["name"]] = np.array(message["wxyz"])
                    case "GuiUpdateMessage":
                        status = message["updates"].get("_markdown", status)
    # What stands where a new node is put anyway is not sent at all.
    poses = {
        name: pin.SE3(
            pin.Quaternion(*quaternions.get(name, (1.0, 0.0, 0.0, 0.0))),
            positions.get(name, np.zeros(3)),
        )
        for name in positions.keys() | quaternions.keys()
    }
    return Shown(poses, status)


def _messages(frame: str | bytes) -> list[dict[str, Any]]:
    """Unpack one frame; the arrays behind its messages are left out."""
    assert isinstance(frame, bytes)
    size = int.from_bytes(frame[8:HEADER], "little")
    window = zstandard.ZstdDecompressor().decompress(frame[HEADER : HEADER + size])
    return list(msgspec.msgpack.decode(window)["messages"])
