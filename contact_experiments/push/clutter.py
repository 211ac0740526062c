"""Things among walls, corners, slots, edges and other things, moved as ``move_objects`` does.

The camera is perfect: what is measured is the planner. Scenes are written as a user would.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contact_aware_control.targets import JointTarget, StreamConfig, StreamedTargets
from contact_core.base.errors import ConfigError, choices
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene, write_scene
from contact_experiments.control.touch_rig import TouchRig
from contact_stack.demo.push_anything.task import TABLE
from irs_planner.closed_loop import Phase
from irs_planner.examples import build_problem
from irs_planner.object_mover import MoverConfig, ObjectMover
from irs_planner.scene_problems import scene_problem

TIMEOUT = 180.0
"""Of a case, the budget of ``contact-stack move`` [s]."""
MASS = 0.8
"""Of a cube or a book [kg]."""
CUBE, BOOK = (0.12, 0.12, 0.12), (0.16, 0.12, 0.03)
URDF = """<robot name="{name}"><link name="{name}">{inertial}
<visual><geometry><box size="{size}"/></geometry></visual>
<collision><geometry><box size="{size}"/></geometry></collision></link></robot>
"""


@dataclass(frozen=True)
class Clutter:
    """A scene on the table and where things are to go.

    Attributes:
        things: Name -> size (3) and place (x, y) of what moves [m].
        walls: Name -> likewise of what is fixed.
        goal: State -> goal [m, rad].
        table: Size (x, y) and middle (x, y) of the table [m], None for the usual one.
    """

    things: Mapping[str, tuple[tuple[float, float, float], tuple[float, float]]]
    walls: Mapping[str, tuple[tuple[float, float, float], tuple[float, float]]]
    goal: Mapping[str, float]
    table: tuple[tuple[float, float], tuple[float, float]] | None = None

    def write(self, folder: Path) -> Path:
        """Write the scene, and the descriptions of all things.

        Args:
            folder: Where the files are written.

        Returns:
            The scene's file, as an absolute path.
        """

        def change(values: dict[str, Any]) -> None:
            objects = values["objects"]
            del objects["box"]
            if self.table is not None:
                size, middle = (*self.table[0], 0.04), (*self.table[1], TABLE - 0.02)
                objects["table"] = {"urdf": _urdf(folder, "table", size), "xyz": [*middle]}
            for name, (size, place) in {**self.walls, **self.things}.items():
                free = name in self.things
                objects[name] = {
                    "urdf": _urdf(folder, name, size, MASS if free else 0.0),
                    "free": free,
                    "xyz": [*place, TABLE + 0.5 * size[2]],
                }

        return write_scene("push_box", folder / "clutter.yaml", change)


def _urdf(folder: Path, name: str, size: tuple[float, ...], mass: float = 0.0) -> str:
    """Write the description of a box; return its path."""
    inertial = ""
    if mass:
        x, y, z = (mass * (sum(s**2 for s in size) - side**2) / 12.0 for side in size)
        inertial = (
            f'<inertial><mass value="{mass}"/><inertia ixx="{x}" iyy="{y}" izz="{z}" ixy="0" '
            'ixz="0" iyz="0"/></inertial>'
        )
    path = folder / f"{name}.urdf"
    text = URDF.format(name=name, inertial=inertial, size=" ".join(map(str, size)))
    path.write_text(text)
    return str(path.resolve())


CLUTTER = {
    "wall": Clutter(
        {"cube": (CUBE, (0.56, -0.15))},
        {"wall": ((0.24, 0.01, 0.15), (0.56, 0.0))},
        {"cube/x": 0.56, "cube/y": 0.15},
    ),
    "along a wall": Clutter(
        {"cube": (CUBE, (0.62, 0.06))},
        {"back": ((0.02, 0.5, 0.12), (0.691, 0.0))},
        {"cube/x": 0.62, "cube/y": -0.12},
    ),
    "into a corner": Clutter(
        {"cube": (CUBE, (0.5, -0.08))},
        {"back": ((0.02, 0.4, 0.12), (0.691, 0.1)), "side": ((0.4, 0.02, 0.12), (0.56, 0.171))},
        {"cube/x": 0.615, "cube/y": 0.095},
    ),
    "slot": Clutter(
        {"book": (BOOK, (0.56, -0.12))},
        {"left": ((0.2, 0.1, 0.1), (0.455, 0.2)), "right": ((0.2, 0.1, 0.1), (0.855, 0.2))},
        {"book/x": 0.655, "book/y": 0.2},
    ),
    "another box": Clutter(
        {"cube": (CUBE, (0.56, -0.12)), "other": (CUBE, (0.56, 0.06))},
        {},
        {"cube/x": 0.56, "cube/y": 0.15},
    ),
    "edge": Clutter(
        {"cube": (CUBE, (0.56, -0.12))},
        {},
        {"cube/x": 0.56, "cube/y": 0.12},
        ((0.2, 0.4), (0.56, 0.0)),
    ),
    "first": Clutter(
        {"cube": (CUBE, (0.56, -0.12)), "other": (CUBE, (0.56, 0.06))},
        {},
        {"cube/x": 0.56, "cube/y": 0.08, "other/x": 0.44, "other/y": 0.2},
    ),
    "side by side": Clutter(
        {"cube": (CUBE, (0.56, -0.06)), "other": (CUBE, (0.56, 0.06))},
        {},
        {"cube/x": 0.5, "cube/y": -0.15, "other/x": 0.62, "other/y": 0.15},
    ),
    "change places": Clutter(
        {"cube": (CUBE, (0.56, -0.12)), "other": (CUBE, (0.56, 0.1))},
        {},
        {"cube/x": 0.56, "cube/y": 0.1, "other/x": 0.56, "other/y": -0.12},
    ),
    "tip": Clutter({"box": ((0.06, 0.06, 0.2), (0.56, -0.1))}, {}, {"box/pitch": 0.5 * math.pi}),
}
"""What is in the way, things that make room for each other, and one that lies down."""


def run_clutter(name: str, seed: int = 0, timeout: float = TIMEOUT) -> dict[str, Any]:
    """Move the things of a scene to their goals.

    Args:
        name: One of CLUTTER.
        seed: Of the searches.
        timeout: When it is given up [s].

    Returns:
        Its figures.

    Raises:
        ConfigError: If there is no such scene.
    """
    if name not in CLUTTER:
        raise ConfigError(f"unknown scene '{name}' ({choices(CLUTTER, name)})")
    case = CLUTTER[name]
    with tempfile.TemporaryDirectory() as folder:
        path = str(case.write(Path(folder)))
        scene = Scene.load(path)
        rig = TouchRig(scene, seed)
        mover = ObjectMover(build_problem(scene_problem(path, case.goal)), MoverConfig(), seed)

    def see(now: int) -> None:
        truth = rig.plant.truth()
        for thing in mover.object_names:
            mover.see(thing, now, truth.pose_of(thing))

    figures = move_things(scene, rig, mover, see, timeout)
    return {"scene": name, "seed": seed, **figures}


def move_things(
    scene: Scene, rig: TouchRig, mover: ObjectMover, see: Callable[[int], None], timeout: float
) -> dict[str, Any]:
    """Let a mover lead the arm until its things are seen at rest at their goals.

    Args:
        scene: The scene.
        rig: Its simulator, estimator and control loop.
        mover: The planner.
        see: Shows the mover what a camera sees at a time [ns], after every tick.
        timeout: When it is given up [s].

    Returns:
        The figures.
    """
    stream = StreamedTargets(Robot.from_description(scene.robot), rig.config, StreamConfig())
    looks: dict[Phase, list[float]] = {phase: [] for phase in Phase}
    period, between, forces = rig.config.period, MoverConfig().period, [0.0]
    for k in range(round(timeout / period)):
        now = rig.report.time_ns
        see(now)
        if k % round(between / period) == 0 and mover.trackers:
            begin = time.process_time()
            stream.put(JointTarget(1e-9 * now, mover.update(rig.report.position, now)), now)
            if mover.rests:
                break
            mover.search()
            looks[mover.loop.phase].append(time.process_time() - begin)
        rig.tick(stream.goal(rig.loop_state, now))
        forces.append(float(np.linalg.norm(rig.truly_pressing())))
    return {
        "reached": bool(mover.rests and mover.goal_error <= 1.0),
        "seconds": k * period,
        "left_tolerances": mover.goal_error,
        "searches": mover.loop.searches,
        "searching_s": between * len(looks[Phase.SEARCH]),
        "force_peak_N": float(np.max(forces)),
        "look_ms": 1e3 * float(np.percentile(sum(looks.values(), [0.0]), 99)),
    }
