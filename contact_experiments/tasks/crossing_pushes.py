"""Several of pybullet's random objects on one table, with goals whose ways cross.

As where one is pushed alone, each lies as it comes to rest, a camera with the usual noise sees it,
and mass and friction are not quite what the planner takes them for.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from contact_core.base.seeds import generator
from contact_core.robot.scene import Scene, write_scene
from contact_experiments.control.touch_rig import TouchRig
from contact_experiments.push.clutter import move_things
from contact_experiments.tasks.random_objects import drawn
from contact_experiments.tasks.random_pushes import ANGLE, POSITION, LyingObject, pushable
from contact_stack.demo.push_anything.pusher import PushConditions
from contact_stack.demo.push_anything.task import (
    HOME,
    PUSHER_RADIUS,
    TABLE,
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
        tasks: Of every object.
        conditions: What the planner does not know.
    """

    tasks: tuple[PushTask, ...]
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
            apart = all(_are_apart(poses, radii) for poses in (starts, goals))
            if (
                away.all()
                and apart
                and any(itertools.starmap(_cross, itertools.combinations(ways, 2)))
            ):
                break
        poses = zip(things, starts.tolist(), goals.tolist(), strict=True)
        tasks = tuple(PushTask(t, tuple(s), tuple(g), POSITION, ANGLE) for t, s, g in poses)
        return cls(tasks, PushConditions.draw(draw, whole_arm=True, timeout=TIMEOUT))

    @property
    def goal(self) -> dict[str, float]:
        """State -> goal [m, rad]."""
        return {
            f"{_name(k)}/{axis}": value
            for k, task in enumerate(self.tasks)
            for axis, value in zip(AXES, task.goal, strict=True)
        }

    def write(self, folder: Path, conditions: PushConditions) -> str:
        """Write the scene, and the descriptions of all objects.

        Args:
            folder: Where the files are written.
            conditions: How mass and friction differ from the usual.

        Returns:
            The scene's file.
        """

        def change(values: dict[str, Any]) -> None:
            values["surfaces"]["smooth"]["friction"] *= conditions.friction
            del values["objects"]["box"]
            for k, task in enumerate(self.tasks):
                thing, (x, y, yaw) = task.thing, task.start
                values["objects"][_name(k)] = {
                    "urdf": str(
                        thing.weighing(thing.mass * conditions.mass).urdf(folder).resolve()
                    ),
                    "free": True,
                    "xyz": [x, y, TABLE + task.thing.height],
                    "rpy": [0.0, 0.0, yaw],
                }

        return str(write_scene("push_box", folder / "crossing.yaml", change))

    def misses(self, poses: Sequence[np.ndarray]) -> list[tuple[float, float]]:
        """Return how far every object is from its goal [m], [rad].

        Args:
            poses: (3) x, y [m] and yaw [rad] of each.
        """
        return [task.miss(pose) for task, pose in zip(self.tasks, poses, strict=True)]


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
    case, config = CrossingPushes.draw(seed), MoverConfig()
    with tempfile.TemporaryDirectory() as expected, tempfile.TemporaryDirectory() as true:
        problem = build_problem(
            scene_problem(case.write(Path(expected), PushConditions()), case.goal)
        )
        scene = Scene.load(case.write(Path(true), case.conditions))
        rig = TouchRig(scene, seed)
    tolerance, names = problem.tolerance.copy(), problem.dynamics.state_names
    along = POSITION / math.sqrt(2.0)
    for name in case.goal:
        tolerance[names.index(name)] = ANGLE if name.endswith("yaw") else along
    mover = ObjectMover(replace(problem, tolerance=tolerance), config, seed)
    camera = Camera(case.conditions.camera, seed)
    objects = [_name(k) for k in range(len(case.tasks))]

    def see(now: int) -> None:
        truth = rig.plant.truth()
        for picture in camera.see(now, lambda: {name: truth.pose_of(name) for name in objects}):
            for name, pose in picture.poses.items():
                mover.see(name, picture.stamp, pose)

    figures = move_things(scene, rig, mover, see, timeout)
    truth = rig.plant.truth()
    misses = case.misses([seen_from_above(truth.pose_of(name)) for name in objects])
    there = [distance <= POSITION and angle <= ANGLE for distance, angle in misses]
    return {
        **figures,
        "seed": seed,
        "objects": [task.thing.name for task in case.tasks],
        "reached": figures["reached"] and all(there),
        "there": sum(there),
        "left_mm": 1e3 * max(distance for distance, _ in misses),
        "left_deg": math.degrees(max(angle for _, angle in misses)),
    }


def _name(number: int) -> str:
    return f"thing{number}"


def _poses(draw: np.random.Generator) -> np.ndarray:
    """Return poses (COUNT, 3) x, y [m] and yaw [rad]."""
    distance, azimuth = draw.uniform(*WITHIN, (COUNT, 2)).T
    yaw = draw.uniform(-math.pi, math.pi, COUNT)
    return np.stack((distance * np.cos(azimuth), distance * np.sin(azimuth), yaw), axis=1)


def _are_apart(poses: np.ndarray, radii: Sequence[float]) -> bool:
    return all(
        np.linalg.norm((poses[i] - poses[j])[:2]) >= radii[i] + radii[j] + BETWEEN
        for i, j in itertools.combinations(range(len(poses)), 2)
    )


def _cross(first: np.ndarray, second: np.ndarray) -> bool:
    """Return whether two ways (2, 2) from start to goal cross."""

    def parts(way: np.ndarray, points: np.ndarray) -> bool:
        along, to = way[1] - way[0], points - way[0]
        sides = along[0] * to[:, 1] - along[1] * to[:, 0]
        return bool(sides[0] * sides[1] < 0.0)

    return parts(first, second) and parts(second, first)
