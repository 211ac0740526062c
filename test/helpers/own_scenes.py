"""Scenes as a user writes them: a robot, a table, and a thing on it, of any shape."""

from pathlib import Path

import numpy as np
import yaml

SOLIDS = {
    "can": '<cylinder radius="0.06" length="0.12"/>',
    "carton": '<box size="0.1 0.16 0.12"/>',
    "wedge": '<mesh filename="wedge.obj"/>',
    "log": '<mesh filename="log.obj"/>',
    "roll": '<capsule radius="0.06" length="0.1"/>',
}
"""What stands on the table; a roll and a log of eight sides lie along the arm's x axis."""
TOP = 0.2
"""Height of the table [m]."""
HEIGHT = 0.12
PLACE = (0.56, -0.09)
WEDGE = np.array([[-0.08, -0.06], [0.1, -0.06], [-0.02, 0.12]])


def write_scene(folder: Path, solid: str, robot: str = "iiwa14_pusher") -> Path:
    """Write a scene with one thing of 0.8 kg on a table, in a folder of its own."""
    corners = "".join(f"v {x} {y} {z}\n" for z in (-0.06, 0.06) for x, y in WEDGE)
    faces = "f 1 3 2\nf 4 5 6\nf 1 2 5 4\nf 2 3 6 5\nf 3 1 4 6\n"
    (folder / "wedge.obj").write_text(corners + faces)
    (folder / "log.obj").write_text(_log())
    shape = f"<geometry>{SOLIDS[solid]}</geometry>"
    turned = '<origin rpy="0 1.5707963267948966 0"/>' if solid == "roll" else ""
    (folder / "thing.urdf").write_text(
        f'<robot name="thing" version="1.2"><link name="thing"><inertial><mass value="0.8"/>'
        f'<inertia ixx="0.0017" iyy="0.0017" izz="0.0017" ixy="0" ixz="0" iyz="0"/></inertial>'
        f"<visual>{turned}{shape}</visual><collision>{turned}{shape}</collision></link></robot>"
    )
    scene = {
        "name": "my_scene",
        "robot": {"description": robot},
        "objects": {
            "table": {"urdf": "urdf/slab.urdf", "xyz": [0.65, 0.0, TOP]},
            "thing": {"urdf": "thing.urdf", "free": True, "xyz": [*PLACE, TOP + HEIGHT / 2.0]},
        },
    }
    if robot == "iiwa14_pusher":
        home = [-0.43467022, 0.65086392, 0.0, -1.35375098, 0.0, 1.13697776, 0.0]
        scene["robot"]["initial_positions"] = home
    path = folder / "my_scene.yaml"
    path.write_text(yaml.safe_dump(scene))
    return path


def _log() -> str:
    angle = np.pi / 8.0 + np.pi / 4.0 * np.arange(8)
    y, z = 0.06 / np.cos(np.pi / 8.0) * np.array([np.cos(angle), np.sin(angle)])
    corners = [(x, *side) for x in (-0.08, 0.08) for side in zip(y, z, strict=True)]
    sides = [(k, (k + 1) % 8, (k + 1) % 8 + 8, k + 8) for k in range(8)]
    faces = [tuple(range(7, -1, -1)), tuple(range(8, 16)), *sides]
    lines = [f"v {a} {b} {c}" for a, b, c in corners]
    lines += ["f " + " ".join(str(i + 1) for i in face) for face in faces]
    return "\n".join((*lines, ""))
