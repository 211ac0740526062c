"""A thousand objects of random shape that come with pybullet, dropped and held.

Their files give mass, friction of pybullet's own law, and an inertia that no body has: here each
weighs what its file says, evenly over its convex hull, as which it collides, too.

:func:`drop` lets one fall on the ground and says whether it comes to rest, and whether it ever had
more energy than it began with. :func:`lift` holds one at its narrowest place by the gripper WSG 50
on a KUKA iiwa, lifts it, shakes it and holds it, and says how it moved in the hand meanwhile.
"""

from __future__ import annotations

import re
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
import pinocchio as pin
from scipy.spatial import ConvexHull, Delaunay
from scipy.spatial.transform import Rotation

from contact_core.base.errors import ContactStackError, ModelWarning
from contact_core.base.lazy import pip_install
from contact_core.model.density import weigh_links
from contact_core.robot.inverse_kinematics import InverseKinematics
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.robot.plant import Plant
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.world import World

EXTRA = "tasks"
"""Extra with the objects."""
COUNT = 1000
NAME = "thing"

URDF = """<robot name="{name}"><link name="{name}"><collision><geometry>
  <mesh filename="{mesh}" scale="{scale} {scale} {scale}"/></geometry></collision></link></robot>"""

HEIGHT, FALL = 0.05, 3.0
"""How high above the ground an object starts [m], and how long it may take to come to rest [s]."""
DROP_STEP = 5e-3
"""Of the simulator, where it is only to be found how an object lies [s]."""
LAST, FINE, FINER = 1.0, 1e-4, 5e-5
"""Whether it would be at rest is told by the end of this time with short steps [s].

With them from the beginning it would fall on another face, for it bounces.
"""
STILL = np.array([1e-3] * 3 + [1e-2] * 3)
"""What moves no faster than that is at rest [m/s, rad/s]."""

WIDEST, DEEPEST = 0.1, 0.06
"""What fits: width between the fingers, and length towards the palm from the pads' centre [m]."""
FLAT = 5e-4
"""Corners no further inside than that are of the side that a pad touches [m]."""
TURNS = np.linspace(0.0, np.pi, 12, endpoint=False)
"""About the line between the pads, of which that is taken which brings it least to the palm."""
GRIP = 40.0
"""Force of a finger [N]."""
LIFT, LIFT_TIME = 0.15, 1.5
"""How far it is lifted [m], and how long that takes [s]."""
SHAKE, SHAKE_RATE, SHAKE_TIME = 0.03, 2.0, 5.0
"""How far it is shaken, along all axes in turn [m], how often [Hz], and how long [s]."""
SETTLE, HOLD = 1.0, 60.0
"""How long it rests before it is looked at, and how long it is held [s]."""


@dataclass(frozen=True)
class RandomObject:
    """One of the objects.

    Attributes:
        number: From 0 to 999.
        mesh: Its file.
        scale: What its file multiplies it with.
        mass: [kg].
    """

    number: int
    mesh: Path
    scale: float
    mass: float

    @classmethod
    def read(cls, number: int) -> RandomObject:
        """Read an object.

        Args:
            number: From 0 to 999.

        Raises:
            ContactStackError: If the objects are not installed.
        """
        spec = find_spec("pybullet_data")
        if spec is None or spec.origin is None:
            raise ContactStackError(f"'pybullet_data' is not installed: {pip_install(EXTRA)}")
        folder = Path(spec.origin).parent / "random_urdfs" / f"{number:03d}"
        text = (folder / f"{folder.name}.urdf").read_text()
        scale = re.search(r'<collision>.*scale="(\S+)', text, re.DOTALL)
        mass = re.search(r'mass value="([^"]+)', text)
        if scale is None or mass is None:
            raise ContactStackError(f"{folder} is no object of pybullet_data 3.2")
        return cls(number, folder / f"{folder.name}.obj", float(scale[1]), float(mass[1]))

    @cached_property
    def hull(self) -> ConvexHull:
        """Its convex hull, in its own frame [m]."""
        lines = self.mesh.read_text().splitlines()
        corners = [line.split()[1:4] for line in lines if line.startswith("v ")]
        points = self.scale * np.array(corners, dtype=float)
        return ConvexHull(points[np.isfinite(points).all(1)])

    @property
    def corners(self) -> np.ndarray:
        """(n, 3) of its hull, in its own frame [m]."""
        corners: np.ndarray = self.hull.points[self.hull.vertices]
        return corners

    @cached_property
    def urdf(self) -> str:
        """Its URDF, with the inertia of its hull."""
        text = URDF.format(name=NAME, mesh=self.mesh, scale=self.scale)
        root = ElementTree.fromstring(text)
        weigh_links(root, self.mass / self.hull.volume)
        return ElementTree.tostring(root, encoding="unicode")


def drawn(seed: int) -> Iterator[int]:
    """Draw numbers of objects, each once.

    Args:
        seed: Of the draw.
    """
    yield from np.random.default_rng(seed).permutation(COUNT).tolist()


def drop(number: int, time_step: float) -> dict[str, Any]:
    """Drop an object in an orientation drawn from its number.

    Args:
        number: Of the object.
        time_step: [s].

    Returns:
        ``number``, ``step`` [ms], ``rest``: whether it is at rest in the end, ``fine``: whether it
        is with short steps in the last second, looked at only where it is not without, ``gain``:
        largest energy beyond the first [mJ], ``status``: name of the first that was not OK.

    Raises:
        ContactStackError: If the objects are not installed.
    """
    item = RandomObject.read(number)
    engine = _above_ground(item, time_step)
    first, gain, status = engine.observer.energy().total, 0.0, StepStatus.OK
    state, steps, last = (engine.q, engine.v), round(FALL / time_step), round(LAST / time_step)
    for k in range(steps):
        if k == steps - last:
            state = engine.q.copy(), engine.v.copy()
        status = engine.step() if status is StepStatus.OK else status
        gain = max(gain, engine.observer.energy().total - first)
    rest = _at_rest(engine)
    fine = rest or all(_rests(item, step, *state) for step in (FINE, FINER))
    return {
        "number": number, "step": 1e3 * time_step, "rest": rest, "fine": fine, "gain": 1e3 * gain,
        "status": status.name,
    }  # fmt: skip


def at_rest(item: RandomObject) -> np.ndarray | None:
    """Drop an object, and return the rotation (3, 3) in which it comes to rest; None if it rolls.

    Args:
        item: The object.
    """
    engine = _above_ground(item, DROP_STEP)
    engine.step(round(FALL / DROP_STEP))
    if not _at_rest(engine):
        return None
    turn: np.ndarray = pin.XYZQUATToSE3(engine.q[:7]).rotation
    return turn


def _above_ground(item: RandomObject, time_step: float) -> Engine:
    turn = Rotation.random(random_state=item.number)
    lowest = turn.apply(item.corners)[:, 2].min()
    world, rpy = World().add_ground(), tuple(turn.as_euler("xyz"))
    world.add(NAME, item.urdf, (0.0, 0.0, HEIGHT - lowest), rpy, free=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return world.build(time_step)


def _rests(item: RandomObject, time_step: float, q: np.ndarray, v: np.ndarray) -> bool:
    engine = _above_ground(item, time_step)
    engine.set_state(q, v)
    engine.step(round(LAST / time_step))
    return _at_rest(engine)


def _at_rest(engine: Engine) -> bool:
    return bool((np.abs(engine.v) < STILL).all())


def grasp(item: RandomObject) -> pin.SE3 | None:
    """Return where the object is in the frame of the pads if they hold it at its narrowest place.

    Across the narrowest place of a convex body lies a side opposite a corner, an edge or another
    side, and the line between the two is perpendicular to that side.

    Args:
        item: The object.

    Returns:
        Its pose in the tool's frame: fingers move along y, z is away from the palm. None if it
        does not fit.
    """
    corners, sides = item.corners, item.hull.equations[:, :3]
    normal = sides[np.argmin(np.ptp(corners @ sides.T, axis=0))]
    height = corners @ normal
    if np.ptp(height) > WIDEST:
        return None
    far = corners[height < height.min() + FLAT]
    center = _over(corners[height > height.max() - FLAT], far.mean(0), normal)
    center += 0.5 * (height.max() + height.min() - 2.0 * center @ normal) * normal
    upright = Rotation.align_vectors([[0.0, 1.0, 0.0]], [normal])[0]
    turns = [Rotation.from_rotvec([0.0, turn, 0.0]) * upright for turn in TURNS]
    deep = [-turn.apply(corners - center)[:, 2].min() for turn in turns]
    if min(deep) > DEEPEST:
        return None
    turn = turns[int(np.argmin(deep))]
    return pin.SE3(turn.as_matrix(), -turn.apply(center))


def _over(side: np.ndarray, point: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Return the point itself, or the middle of a side (m, 3) if the point is not over it."""
    across = np.linalg.svd(normal[None])[2][1:]
    inside = Delaunay((side - point) @ across.T).find_simplex(np.zeros(2)) >= 0
    return point if inside else side.mean(0)


def lift(number: int) -> dict[str, Any]:
    """Hold an object, lift it, shake it and hold it.

    Args:
        number: Of the object.

    Returns:
        ``number``, ``slip`` and ``turn``: how far it moved in the hand from before the shaking to
        after it [mm, degrees], ``creep`` and ``twist``: while it was then held, ``status``: name of
        the first that was not OK.

    Raises:
        ContactStackError: If the objects are not installed, or it does not fit.
    """
    item = RandomObject.read(number)
    pose = grasp(item)
    if pose is None:
        raise ContactStackError(f"object {number} does not fit (valid: those that grasp() holds)")
    hand = Hand(item, pose)
    hand.follow(_lifting(hand.period))
    start = hand.held()
    hand.follow(_shaking(hand.period))
    shaken = hand.held()
    hand.follow(np.tile([0.0, 0.0, LIFT], (round(HOLD / hand.period), 1)))
    slip, turn = _motion(start, shaken)
    creep, twist = _motion(shaken, hand.held())
    return {
        "number": number, "slip": slip, "turn": turn, "creep": creep, "twist": twist,
        "status": hand.status.name,
    }  # fmt: skip


class Hand:
    """The gripper on the arm with an object between its pads, which starts held.

    Attributes:
        period: Of commands [s].
        status: The first of the simulator that was not OK.
    """

    def __init__(self, item: RandomObject, pose: pin.SE3) -> None:
        """Build the scene.

        Args:
            item: The object.
            pose: Of the object in the tool's frame.
        """
        width = float(np.ptp((pose.rotation @ item.corners.T)[1]))
        with NamedTemporaryFile("w", suffix=".urdf") as file:
            file.write(item.urdf)
            file.flush()
            xyz, rpy = pose.translation.tolist(), pin.rpy.matrixToRpy(pose.rotation).tolist()
            held = {"urdf": file.name, "free": True, "frame": "tool", "xyz": xyz, "rpy": rpy}
            gripper = {"initial_position": 0.5 * width, "initial_effort": GRIP}
            scene = Scene.from_mapping(
                {
                    "name": "lift",
                    "robot": {"description": "iiwa14_wsg50", "gripper": gripper},
                    "objects": {NAME: held},
                }
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ModelWarning)
                self._plant = Plant(scene)
        self._robot = Robot.from_description(scene.robot)
        self._command = np.array(scene.config.robot.initial_positions)
        self._robot.update(self._command)
        self._start = self._robot.tool_pose()
        self._search = InverseKinematics(self._robot)
        self.period = scene.config.period
        self.status = StepStatus.OK

    def follow(self, way: np.ndarray) -> None:
        """Move the tool, as far as the simulator goes.

        Args:
            way: (m, 3) where it is beside its start at each tick, world axes [m].
        """
        last = None
        for offset in way:
            if self.status is StepStatus.OK:
                if last is None or (offset != last).any():
                    goal = pin.SE3(self._start.rotation, self._start.translation + offset)
                    self._command = self._search.solve(goal, self._command).q
                self.status, last = self._plant.tick(self._command).status, offset

    def held(self) -> pin.SE3:
        """Return the object's true pose in the frame of the tool."""
        truth = self._plant.truth()
        self._robot.update(truth.joint_position[: self._plant.n])
        thing = truth.objects[0]
        pose = pin.XYZQUATToSE3(np.r_[thing.position, thing.quaternion])
        return self._robot.tool_pose().actInv(pose)


def _lifting(period: float) -> np.ndarray:
    share = np.linspace(0.0, 1.0, round(LIFT_TIME / period))
    up = np.r_[share**3 * (10.0 - 15.0 * share + 6.0 * share**2), np.ones(round(SETTLE / period))]
    return np.outer(LIFT * up, [0.0, 0.0, 1.0])


def _shaking(period: float) -> np.ndarray:
    """Along x, y and z in turn, from rest to rest, and then what it takes to settle."""
    ticks = round(SHAKE_TIME / 3.0 / period)
    time = period * np.arange(1, ticks + 1)
    wave = np.sin(np.pi * time / time[-1]) ** 2 * np.sin(2.0 * np.pi * SHAKE_RATE * time)
    way = np.zeros((3 * ticks + round(SETTLE / period), 3))
    for axis in range(3):
        way[axis * ticks : (axis + 1) * ticks, axis] = SHAKE * wave
    way[:, 2] += LIFT
    return way


def _motion(first: pin.SE3, then: pin.SE3) -> tuple[float, float]:
    """How far [mm] and by what angle [degrees] an object has moved."""
    motion = first.actInv(then)
    angle = np.linalg.norm(pin.log3(motion.rotation))
    return 1e3 * float(np.linalg.norm(motion.translation)), float(np.degrees(angle))
