"""A robot whose gripper turns its fingers, as many do, and does not push them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from contact_core.base.files import share

STROKE = 0.85
"""How far the fingers turn [rad]."""


def turning_gripper(folder: Path, speed: float = 2.0) -> dict[str, Any]:
    """Write the files of a robot, an iiwa 14 with the fingers of a WSG 50 on hinges.

    Args:
        folder: Where to.
        speed: Velocity limit of the hinges [rad/s].

    Returns:
        A scene of nothing but this robot.
    """
    text = share("description", "urdf", "wsg50.urdf").read_text()
    for old, new in (
        ('type="prismatic"', 'type="revolute"'),
        ('upper="0.055"', f'upper="{STROKE}"'),
        ('velocity="0.42"', f'velocity="{speed}"'),
    ):
        assert old in text
        text = text.replace(old, new)
    (folder / "gripper.urdf").write_text(text)
    robot = folder / "robot.yaml"
    gripper = {"urdf": str(folder / "gripper.urdf"), "mount_link": "lbr_link_ee"}
    values = {"extends": "iiwa14_wsg50", "name": "turning", "gripper": gripper}
    robot.write_text(yaml.safe_dump(values))
    return {"name": "turning", "robot": {"description": str(robot)}}
