"""The experiments with the contact-aware controller: a scene, a motion in it, and what is judged.

Two are those of contact_aware_control, Sec. VI-A and VI-B; two_contacts is our own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pinocchio as pin
import scipy

from contact_aware_control.reference import JointTrajectory, PoseTrajectory
from contact_aware_control.reference.motion import Motion, joints_along, tilt
from contact_core.multibody.collision.shapes import ShapeKind
from contact_core.robot.description import collision_shapes, read_urdf
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene

SETTLING = 0.5
"""Time that is watched after the end of a motion [s]."""

STANDING_GAP = 0.01
"""Largest distance between the mug's bottom and the cart's top if it stands there [m]."""


@dataclass(frozen=True)
class HeldObject:
    """What the gripper holds at the start.

    Attributes:
        name: Its name in the scene.
        mass: Declared to the estimator [kg].
    """

    name: str
    mass: float


@dataclass(frozen=True)
class Release:
    """The gripper lets go of what it holds.

    Attributes:
        time: When, from the start of the motion [s].
        onto: Name of the object that the released one should stand on.
        opening: Position of each finger when the gripper is open [m].
        effort: Largest force of the gripper [N].
    """

    time: float
    onto: str
    opening: float = 0.055
    effort: float = 30.0


class Experiment(ABC):
    """A scene, a motion in it, and what is judged.

    Attributes:
        scene: The scene it takes place in, a file of config/scenes.
        duration: Of the motion [s].
        settling: Time recorded after the end of the motion [s].
        phases: Name -> (start, end) [s] of what the motion consists of.
        passes: Name -> (start, end) [s] of the times in which there has to be contact.
        held: What the gripper holds at the start, if anything.
        release: When it is released, if it is.
    """

    scene: str
    duration: ClassVar[float]
    settling: ClassVar[float] = SETTLING
    phases: ClassVar[Mapping[str, tuple[float, float]]]
    passes: ClassVar[Mapping[str, tuple[float, float]]]
    held: ClassVar[HeldObject | None] = None
    release: ClassVar[Release | None] = None

    def __init__(self, scene: str = "") -> None:
        """Choose where it takes place.

        Args:
            scene: Another scene than its own, e.g. with another arm; empty for its own.

        Raises:
            ConfigError: If there is no such scene.
        """
        self.scene = scene or type(self).scene
        if scene:
            Scene.load(scene)

    @abstractmethod
    def motion(self, robot: Robot, q: np.ndarray) -> Motion:
        """Return the motion, from time 0.

        Args:
            robot: The arm; may be updated.
            q: (n) where it starts [rad].
        """

    @abstractmethod
    def outcome(self, pose_of: Callable[[str], pin.SE3]) -> dict[str, Any]:
        """Return what is to be said of the objects at the end, by key of the summary.

        Args:
            pose_of: Returns an object's pose, world frame.
        """


class MugPlacement(Experiment):
    """The tool goes down, drops the mug on the cart, and goes back up.

    Its orientation stays constant. On the way link 6 meets the edge of the table, by the
    interference that the scene states. The mug's release, in the middle of the dwell at the
    bottom, divides the two times that link 6 passes the edge.
    """

    DESCENT = 0.25
    """How far the tool goes down [m]."""
    DOWN, LEAVE, OPEN = 4.0, 6.0, 4.75
    """When the tool is at the bottom, when it leaves, and when the gripper opens [s]."""

    scene = "mug_placement"
    duration = 10.0
    phases: ClassVar = {
        "down": (0.0, DOWN), "drop the mug": (DOWN, LEAVE), "up": (LEAVE, duration),
    }  # fmt: skip
    passes: ClassVar = {"down": (0.0, OPEN), "up": (OPEN, duration + SETTLING)}
    held = HeldObject("mug", 0.1)
    release: ClassVar[Release] = Release(OPEN, "cart")

    def motion(self, robot: Robot, q: np.ndarray) -> PoseTrajectory:
        """Return the motion of the tool, see :meth:`Experiment.motion`."""
        robot.update(q)
        start = robot.tool_pose()
        bottom = _moved(start, 0.0, 0.0, -self.DESCENT)
        times = (0.0, self.DOWN, self.LEAVE, self.duration)
        return PoseTrajectory(times, (start, bottom, bottom, start))

    def outcome(self, pose_of: Callable[[str], pin.SE3]) -> dict[str, Any]:
        """Return whether the mug stands upright on the cart, see :meth:`Experiment.outcome`."""
        objects, mug, cart = Scene.load(self.scene).objects, self.held.name, self.release.onto
        on_cart = stands_on(
            pose_of(mug), objects[mug].urdf, pose_of(cart), objects[cart].urdf
        )  # fmt: skip
        return {"mug": {"tilt_rad": tilt(pose_of(mug)), "on_cart": on_cart}}


class MugMoving(Experiment):
    """The arm carries a mug along a straight line, with constant orientation.

    The line leads sideways and a little down. On the way link 6 meets the top face of the
    table, by the interference that the scene states, slides along it and leaves it over
    its side. The reference is one of the joints, interpolated between knots from inverse
    kinematics.
    """

    LINE = (0.0, -0.45, -0.12)
    """From the start of the tool to its end, world frame [m]."""
    KNOTS = 9
    """Number of joint positions that are interpolated, with the first and the last."""

    scene = "mug_moving"
    duration = 16.0
    phases: ClassVar = {"move the mug over the table's side": (0.0, duration)}
    passes: ClassVar = {"table": (0.0, duration + SETTLING)}
    held = HeldObject("mug", 0.1)

    def motion(self, robot: Robot, q: np.ndarray) -> JointTrajectory:
        """Return the motion of the joints, see :meth:`Experiment.motion`.

        Raises:
            TrajectoryError: If a knot is out of reach.
        """
        robot.update(q)
        start = robot.tool_pose()
        times = np.linspace(0.0, self.duration, self.KNOTS)

        def tool(time: float) -> pin.SE3:
            s = time / self.duration
            share = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
            return _moved(start, *(share * np.array(self.LINE)))

        positions = joints_along(robot, q, times, tool)
        spline = scipy.interpolate.CubicSpline(times, np.array(positions), bc_type="clamped")
        return JointTrajectory(times.tolist(), np.array(positions), spline(times, 1))

    def outcome(self, pose_of: Callable[[str], pin.SE3]) -> dict[str, Any]:
        """Return how upright the mug is in the hand, see :meth:`Experiment.outcome`."""
        return {"mug": {"tilt_rad": tilt(pose_of(self.held.name)), "on_cart": None}}


class TwoContacts(Experiment):
    """The tool goes down and back up, then sideways and back; its orientation is constant.

    On the way down the wrist (link 6) meets the edge of a table, on the way sideways the
    forearm (link 5) a post, by the interferences that the scene states.
    """

    DESCENT, SWING = 0.23, 0.16
    """How far the tool goes down onto the edge, and sideways against the post [m]."""
    LEG, DWELL, HALF = 4.0, 1.0, 9.0
    """Duration of each way, of the time at its end, and of both ways and that time [s]."""

    scene = "two_contacts"
    duration = 2 * HALF
    phases: ClassVar = {
        "down": (0.0, LEG),
        "up": (LEG + DWELL, HALF),
        "sideways": (HALF, HALF + LEG),
        "back": (HALF + LEG + DWELL, duration),
    }
    passes: ClassVar = {"wrist": (0.0, HALF), "forearm": (HALF, duration + SETTLING)}

    def motion(self, robot: Robot, q: np.ndarray) -> PoseTrajectory:
        """Return the motion of the tool, see :meth:`Experiment.motion`."""
        robot.update(q)
        start = robot.tool_pose()
        low, aside = _moved(start, 0.0, 0.0, -self.DESCENT), _moved(start, 0.0, self.SWING, 0.0)
        there = self.LEG, self.LEG + self.DWELL, self.HALF
        times = (0.0, *there, *(self.HALF + time for time in there))
        return PoseTrajectory(times, (start, low, low, start, aside, aside, start))

    def outcome(self, pose_of: Callable[[str], pin.SE3]) -> dict[str, Any]:
        """Return that there is no mug; the keys stay for those who read all summaries alike."""
        return {"mug": {"tilt_rad": None, "on_cart": None}}


EXPERIMENTS: dict[str, type[Experiment]] = {
    "mug_placement": MugPlacement,
    "mug_moving": MugMoving,
    "two_contacts": TwoContacts,
}


def stands_on(mug: pin.SE3, mug_urdf: str, support: pin.SE3, support_urdf: str) -> bool:
    """Tell whether the bottom of a cylinder is on the highest box of a piece of furniture."""
    (cylinder,) = (
        shape
        for shape in collision_shapes(read_urdf(mug_urdf))
        if shape.shape.kind is ShapeKind.CYLINDER
    )
    bottom = (mug * cylinder.placement).act(np.array([0.0, 0.0, -cylinder.shape.size[1]]))
    shapes = collision_shapes(read_urdf(support_urdf))
    boxes = [shape for shape in shapes if shape.shape.kind is ShapeKind.BOX]
    top = max(boxes, key=lambda s: s.placement.translation[2] + s.shape.size[2])
    inside = (support * top.placement).actInv(bottom)
    x, y, z = np.abs(inside - np.array([0.0, 0.0, top.shape.size[2]]))
    return bool(x <= top.shape.size[0] and y <= top.shape.size[1] and z <= STANDING_GAP)


def _moved(pose: pin.SE3, *shift: float) -> pin.SE3:
    return pin.SE3(pose.rotation, pose.translation + np.array(shift))
