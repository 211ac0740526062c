"""Who pushes: a camera, and a planner that looks at what it sees and says where the tool is to be.

The camera sees the thing with noise, delay and dropouts; the planner looks 20 times a second at
where the thing is believed to be and where the tool is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from contact_core.base.config import nested, parameter
from contact_core.base.seeds import generator
from contact_core.robot.scene import write_scene
from contact_core.robot.scene_config import CameraConfig
from contact_stack.demo.push_anything.shapes import HEIGHT, PushedObject
from contact_stack.demo.push_anything.task import OBJECT, TABLE, PushTask, seen_from_above
from irs_planner.closed_loop import ClosedLoop, Phase
from irs_planner.object_tracker import ObjectTracker, TrackerConfig
from tamsi_sim.robot.camera import Camera

DOWN = pin.rpy.rpyToMatrix(0.0, math.pi, 0.0)
"""Orientation of a rod that hangs down from an arm that stretches along x."""
UPDATE_PERIOD = 0.05
"""Between two looks [s]."""
TOOL_SPEED = 0.1
"""Of the tool on its way [m/s]."""
REST = 10
"""Looks at rest after which it counts."""

SPREAD = 0.3
"""Mass and friction are off by so much at most."""
KICK, KICK_TURN = 0.1, math.radians(45.0)
"""How far an object is kicked away [m], and by what angle it is turned then [rad]."""


@dataclass(frozen=True)
class PushConditions:
    """What the planner does not know."""

    camera: CameraConfig = nested(CameraConfig)
    mass: float = parameter(1.0, "true mass of the object, relative to the planner's", above=0.0)
    friction: float = parameter(1.0, "true friction, relative to the usual one", above=0.0)
    kick: float = parameter(
        0.0,
        "how far the object is kicked away halfway, and turned by 45 degrees",
        unit="m",
        low=0.0,
    )
    engine: str = parameter("tamsi", "simulation engine")
    whole_arm: bool = parameter(
        False, "whether the planner knows the whole arm in 3-D, else a disc in the plane"
    )
    timeout: float = parameter(180.0, "time after which the run has failed", unit="s", above=0.0)

    @classmethod
    def draw(cls, generator: np.random.Generator, **values: Any) -> PushConditions:
        """Draw mass and friction.

        Args:
            generator: Source of the draws.
            **values: Of the other fields.
        """
        mass, friction = generator.uniform(1.0 - SPREAD, 1.0 + SPREAD, size=2)
        return cls(mass=float(mass), friction=float(friction), **values)


@dataclass(frozen=True)
class PushCase:
    """One push.

    Attributes:
        shape: What is pushed.
        seed: Of start, goal, conditions and noise.
        kicked: Whether it is kicked away in the middle.
        engine: What simulates it.
        whole_arm: Whether the planner knows the whole arm.
    """

    shape: str
    seed: int
    kicked: bool = False
    engine: str = "tamsi"
    whole_arm: bool = False

    def draw(self) -> tuple[PushTask, PushConditions]:
        """Return what is to be pushed where, and what the planner does not know."""
        draw = generator(self.seed, f"push {self.shape}")
        task = PushTask.draw(PushedObject.make(self.shape), draw)
        return task, PushConditions.draw(
            draw, kick=KICK if self.kicked else 0.0, engine=self.engine, whole_arm=self.whole_arm
        )


class Pusher:
    """Looks, and says where the tool is to be.

    Attributes:
        tracker: Where the thing is believed to be.
        loop: The planner.
    """

    def __init__(
        self, task: PushTask, conditions: PushConditions, tool: np.ndarray, seed: int
    ) -> None:
        """Begin.

        Args:
            task: What is to be pushed where.
            conditions: Noise of the camera.
            tool: (2) where it is, x and y [m].
            seed: Of the noise.
        """
        self._camera = Camera(conditions.camera, seed)
        x, y, self._angle = task.start
        place = np.array([x, y, TABLE + task.thing.height])
        start = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, self._angle), place)
        self.tracker = ObjectTracker(TrackerConfig(), 0, start)
        self._command = _polar(tool)
        self.loop = ClosedLoop(task.problem(self._command))
        self._step = TOOL_SPEED * UPDATE_PERIOD
        self._rested = 0

    @property
    def rests(self) -> bool:
        """Whether the thing has been seen at its goal for some time."""
        return self._rested >= REST

    def see(self, now: int, pose: pin.SE3) -> None:
        """Take a picture if it is time, and follow those that have arrived.

        Args:
            now: The time [ns], from 1.
            pose: Where the thing truly is.
        """
        for picture in self._camera.see(now, lambda: {OBJECT: pose}):
            self.tracker.see(picture.stamp, picture.poses[OBJECT])

    def update(self, tool: np.ndarray) -> pin.SE3:
        """Return where the tool is to be at the next look, world frame.

        Args:
            tool: (2) where it is, x and y [m].
        """
        x, y, angle = seen_from_above(self.tracker.pose)
        self._angle += math.remainder(angle - self._angle, 2.0 * math.pi)
        state = np.array([x, y, self._angle, *_polar(tool)])
        change = self.loop.step(state, self._command) - self._command
        self._rested = self._rested + 1 if self.loop.phase is Phase.REST else 0
        length = math.hypot(change[0] * self._command[1], change[1])
        self._command = self._command + change * min(1.0, self._step / max(length, 1e-9))
        azimuth, distance = self._command
        turn = pin.rpy.rpyToMatrix(0.0, 0.0, azimuth)
        return pin.SE3(turn @ DOWN, turn @ np.array([distance, 0.0, TABLE + HEIGHT / 2.0]))


def _polar(place: np.ndarray) -> np.ndarray:
    """Return azimuth [rad] and distance [m] of a place (2)."""
    return np.array([math.atan2(place[1], place[0]), math.hypot(*place)])


def write_push_scene(task: PushTask, conditions: PushConditions, folder: Path) -> Path:
    """Write a scene, and the description of what is pushed.

    Args:
        task: What is to be pushed where.
        conditions: How mass and friction differ from what the planner takes them for.
        folder: Where the files are written.

    Returns:
        The scene's file, as an absolute path.
    """
    return write_pushes_scene({OBJECT: task}, conditions, folder)


def write_pushes_scene(
    tasks: Mapping[str, PushTask], conditions: PushConditions, folder: Path
) -> Path:
    """Write a scene, and the descriptions of several things that are pushed.

    Args:
        tasks: Name -> what is to be pushed where.
        conditions: As :func:`write_push_scene` takes them.
        folder: Where the files are written.

    Returns:
        The scene's file, as an absolute path.
    """

    def change(values: dict[str, Any]) -> None:
        values["engine"] = conditions.engine
        values["surfaces"]["smooth"]["friction"] *= conditions.friction
        del values["objects"]["box"]
        for name, task in tasks.items():
            thing = task.thing.weighing(task.thing.mass * conditions.mass)
            x, y, turn = task.start
            values["objects"][name] = {
                "urdf": str(thing.urdf(folder).resolve()),
                "free": True,
                "xyz": [x, y, TABLE + thing.height],
                "rpy": [0.0, 0.0, turn],
            }

    names = "_".join(task.thing.name for task in tasks.values())
    return write_scene("push_box", folder / f"push_{names}.yaml", change)
