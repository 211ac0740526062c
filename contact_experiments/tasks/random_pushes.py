"""The random objects of pybullet, pushed over a table by the whole arm, in closed loop.

Each lies as it comes to rest when it is dropped. A camera with the usual noise sees it; mass and
friction are not quite what the planner takes them for. It is there within a centimetre and five
degrees.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pinocchio as pin
from scipy.spatial import ConvexHull

from contact_core.base.errors import ContactStackError
from contact_core.base.seeds import generator
from contact_experiments.tasks.random_objects import NAME, RandomObject, at_rest
from contact_stack.demo.push_anything.pusher import PushConditions
from contact_stack.demo.push_anything.shapes import PushedObject
from contact_stack.demo.push_anything.task import PushTask
from irs_planner.scenes.planar_scene import Polygon

POSITION, ANGLE = 0.01, math.radians(5.0)
"""What counts as there."""
LOWEST = 0.025
"""Height of an object that the arm's ball of 3 cm can push, and does not climb [m]."""

URDF = """<robot name="{name}"><link name="{name}">
  <inertial><mass value="{mass}"/><inertia ixx="{i[0]}" ixy="{i[1]}" ixz="{i[2]}" iyy="{i[3]}"
    iyz="{i[4]}" izz="{i[5]}"/></inertial>
  <visual><geometry><mesh filename="{mesh}"/></geometry></visual>
  <collision><geometry><mesh filename="{mesh}"/></geometry></collision></link></robot>"""


@dataclass(frozen=True)
class LyingObject(PushedObject):
    """A convex body as it lies: its origin at the centre of mass, z up.

    Attributes:
        corners: (n, 3) of it [m].
        moments: (3, 3) inertia [kg m^2].
    """

    corners: np.ndarray
    moments: np.ndarray

    @classmethod
    def of(cls, number: int) -> LyingObject:
        """Let one of the thousand come to rest.

        Args:
            number: Of the object, from 0 to 999.

        Raises:
            ContactStackError: If the objects are not installed, or it does not come to rest.
        """
        item = RandomObject.read(number)
        turn = at_rest(item)
        if turn is None:
            raise ContactStackError(f"object {number} rolls (valid: those that come to rest)")
        body = pin.buildModelFromXML(item.urdf, pin.JointModelFreeFlyer()).inertias[1]
        corners = (item.corners - body.lever) @ turn.T
        moments = turn @ body.inertia @ turn.T
        outline = corners[ConvexHull(corners[:, :2]).vertices, :2]
        radius = float(np.linalg.norm(outline, axis=1).max())
        parts = (Polygon(tuple(outline.ravel().tolist())),)
        name = f"object {number}"
        return cls(name, item.mass, parts, float(moments[2, 2]), radius, corners, moments)

    @property
    def height(self) -> float:
        """Of its origin over what it lies on [m]."""
        return -float(self.corners[:, 2].min())

    def weighing(self, mass: float) -> LyingObject:
        """Return it with another mass [kg]."""
        share = mass / self.mass
        inertia = share * self.inertia
        return replace(self, mass=mass, inertia=inertia, moments=share * self.moments)

    def urdf(self, folder: Path) -> Path:
        """Write it with its hull as a mesh.

        Args:
            folder: Where both files are written.

        Returns:
            The URDF, origin at the centre of mass.
        """
        hull = ConvexHull(self.corners)
        faces = hull.simplices.copy()
        first, second, third = (self.corners[faces[:, k]] for k in range(3))
        inward = (np.cross(second - first, third - first) * hull.equations[:, :3]).sum(1) < 0.0
        faces[inward] = faces[inward][:, ::-1]
        lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in self.corners.tolist()]
        lines += [f"f {a} {b} {c}" for a, b, c in (faces + 1).tolist()]
        mesh = folder / f"{self.name.replace(' ', '_')}.obj"
        mesh.write_text("\n".join((*lines, "")))
        path = mesh.with_suffix(".urdf")
        i = self.moments[np.triu_indices(3)].tolist()
        path.write_text(URDF.format(name=NAME, mass=self.mass, i=i, mesh=mesh))
        return path


def pushable(number: int) -> bool:
    """Tell whether an object lies still, and high enough to be pushed.

    Args:
        number: Of the object.

    Raises:
        ContactStackError: If the objects are not installed.
    """
    item = RandomObject.read(number)
    turn = at_rest(item)
    return turn is not None and float(np.ptp(item.corners @ turn[2])) >= LOWEST


@dataclass(frozen=True)
class RandomPush:
    """One push.

    Attributes:
        number: Of the object, and seed of start, goal, conditions and noise.
    """

    number: int

    @property
    def shape(self) -> str:
        """What is pushed."""
        return f"object {self.number}"

    @property
    def seed(self) -> int:
        """Of all noise."""
        return self.number

    def draw(self) -> tuple[PushTask, PushConditions]:
        """Return what is to be pushed where, and what the planner does not know.

        Raises:
            ContactStackError: If the objects are not installed, or it does not come to rest.
        """
        draw, thing = generator(self.number, "push a random object"), LyingObject.of(self.number)
        task = PushTask.draw(thing, draw, position=POSITION, angle=ANGLE)
        return task, PushConditions.draw(draw, whole_arm=True)
