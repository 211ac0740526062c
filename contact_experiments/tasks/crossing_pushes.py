"""Several of pybullet's random objects on one table, with goals whose ways cross.

As where one is pushed alone, each lies as it comes to rest, a camera with the usual noise sees it,
and mass and friction are not quite what the planner takes them for.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from contact_core.base.seeds import generator
from contact_core.robot.scene import Scene
from contact_experiments.control.touch_rig import TouchRig
from contact_experiments.push.clutter import move_things
from contact_experiments.tasks.random_objects import drawn
from contact_experiments.tasks.random_pushes import ANGLE, POSITION, LyingObject, pushable
from contact_stack.demo.push_anything.pusher import PushConditions, write_pushes_scene
from contact_stack.demo.push_anything.task import (
    HOME,
    PUSHER_RADIUS,
    PushTask,
    seen_from_above,
)
from irs_planner.examples import build_problem
from irs_planner.object_mover import MoverConfig, ObjectMover
from irs_planner.scene_problems import scene_problem
from tamsi_sim.robot.camera import Camera

COUNT = 3
"""Objects on the table."""
WITHIN = ((0.45, -0.75), (0.7, 0.75))
"""Least and largest distance [m] and azimuth [rad] of starts and goals."""
BETWEEN = 0.03
"""What is free between the circles around two objects, at the start and at the goals [m]."""
TIMEOUT = 240.0
"""When it is given up [s]."""
AXES = ("x", "y", "yaw")


@dataclass(frozen=True)
class CrossingPushes:
    """Where several objects are, and where they are to be.

    Attributes:
        tasks: Name -> task of every object.
        conditions: What the planner does not know.
    """

    tasks: dict[str, PushTask]
    conditions: PushConditions

    @classmethod
    def draw(cls, seed: int) -> CrossingPushes:
        """Draw objects, starts and goals, so that two of the straight ways cross.

        Args:
            seed: Of the draw.

        Raises:
            ContactStackError: If the objects are not installed.
        """
        draw = generator(seed, "pushes that cross")
        things = [LyingObject.of(n) for n in islice(filter(pushable, drawn(seed)), COUNT)]
        radii = [thing.radius for thing in things]
        while True:
            starts, goals = _poses(draw), _poses(draw)
            away = np.linalg.norm(starts[:, :2] - HOME, axis=1) > np.add(radii, 2.0 * PUSHER_RADIUS)
            ways = np.stack((starts, goals), axis=1)[:, :, :2]
            apart = _are_apart(starts, radii) and _are_apart(goals, radii)
            if away.all() and apart and any(_cross(a, b) for a, b in combinations(ways, 2)):
                break
        poses = zip(things, starts.tolist(), goals.tolist(), strict=True)
        tasks = {
            f"thing{k}": PushTask(thing, tuple(start), tuple(goal), POSITION, ANGLE)
            for k, (thing, start, goal) in enumerate(poses)
        }
        return cls(tasks, PushConditions.draw(draw, whole_arm=True, timeout=TIMEOUT))

    @property
    def goal(self) -> dict[str, float]:
        """State -> goal [m, rad]."""
        return {
            f"{name}/{axis}": value
            for name, task in self.tasks.items()
            for axis, value in zip(AXES, task.goal, strict=True)
        }


def run_crossing(seed: int, timeout: float = TIMEOUT) -> dict[str, Any]:
    """Move drawn objects to their goals.

    Args:
        seed: Of the draw and all noise.
        timeout: When it is given up [s].

    Returns:
        The figures.

    Raises:
        ContactStackError: If the objects are not installed.
    """
    case = CrossingPushes.draw(seed)
    with tempfile.TemporaryDirectory() as folder:
        expected = write_pushes_scene(case.tasks, PushConditions(), Path(folder))
        problem = build_problem(scene_problem(str(expected), case.goal))
        scene = Scene.load(str(write_pushes_scene(case.tasks, case.conditions, Path(folder))))
        rig = TouchRig(scene, seed)
    tolerance, names = problem.tolerance.copy(), problem.dynamics.state_names
    along = POSITION / math.sqrt(2.0)
    for name in case.goal:
        tolerance[names.index(name)] = ANGLE if name.endswith("yaw") else along
    mover = ObjectMover(replace(problem, tolerance=tolerance), MoverConfig(), seed)
    camera = Camera(case.conditions.camera, seed)

    def look() -> dict[str, pin.SE3]:
        truth = rig.plant.truth()
        return {name: truth.pose_of(name) for name in case.tasks}

    def see(now: int) -> None:
        for picture in camera.see(now, look):
            for name, pose in picture.poses.items():
                mover.see(name, picture.stamp, pose)

    figures = move_things(scene, rig, mover, see, timeout)
    poses = look()
    misses = [task.miss(seen_from_above(poses[name])) for name, task in case.tasks.items()]
    there = [distance <= POSITION and angle <= ANGLE for distance, angle in misses]
    return {
        **figures,
        "seed": seed,
        "objects": [task.thing.name for task in case.tasks.values()],
        "reached": figures["reached"] and all(there),
        "there": sum(there),
        "left_mm": 1e3 * max(distance for distance, _ in misses),
        "left_deg": math.degrees(max(angle for _, angle in misses)),
    }


def _poses(draw: np.random.Generator) -> np.ndarray:
    """Return poses (COUNT, 3) x, y [m] and yaw [rad]."""
    distance, azimuth = draw.uniform(*WITHIN, (COUNT, 2)).T
    yaw = draw.uniform(-math.pi, math.pi, COUNT)
    return np.stack((distance * np.cos(azimuth), distance * np.sin(azimuth), yaw), axis=1)


def _are_apart(poses: np.ndarray, radii: Sequence[float]) -> bool:
    return all(
        np.linalg.norm((poses[i] - poses[j])[:2]) >= radii[i] + radii[j] + BETWEEN
        for i, j in combinations(range(len(poses)), 2)
    )


def _cross(first: np.ndarray, second: np.ndarray) -> bool:
    """Return whether two ways (2, 2) from start to goal cross."""

    def parts(way: np.ndarray, points: np.ndarray) -> bool:
        along, to = way[1] - way[0], points - way[0]
        sides = along[0] * to[:, 1] - along[1] * to[:, 0]
        return bool(sides[0] * sides[1] < 0.0)

    return parts(first, second) and parts(second, first)
