"""What is to be pushed where, as the planner sees it: from above.

The pusher has polar coordinates, so that the reach of the arm is a bound of each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from contact_stack.demo.push_anything.shapes import PushedObject
from irs_planner.object_mover import AIM, OVERLAP
from irs_planner.problem import Bounds, IrsProblem, QuadraticCost, VarianceSchedule
from irs_planner.quasi_dynamic import PlanarQuasiDynamics
from irs_planner.scenes.planar_scene import Circle, PlanarLink, PlanarRobot, PlanarScene

OBJECT, PUSHER = "thing", "pusher"
"""Names of what is pushed, and of the link that pushes."""
TABLE = 0.2
"""Height of the table's top [m]."""
PUSHER_RADIUS = 0.03
"""Of the ball that pushes [m]."""
REACH = ((-1.2, 0.39), (1.2, 0.79))
"""Lowest and highest azimuth [rad] and distance from the base [m] of the pusher."""
WITHIN = ((0.4, -0.42), (0.72, 0.42))
"""Lowest and highest x and y of what is pushed: from there the pusher gets around it [m]."""
STARTS = (0.5, 0.66, 0.6)
"""Least and largest distance [m] and largest azimuth [rad] of what is pushed."""
STEP = 0.02
"""Of the pusher in the model, at most [m]."""
HOME = (0.56, -0.26)
"""Where the pusher is at the start, x and y [m]."""
TIME_STEP = 0.1
"""Of the model [s]; pushing slowly, its time has no meaning."""
POSITION, ANGLE = 0.02, math.radians(6.0)
"""What counts as there."""
STIFFNESS = 500.0
"""Of the pusher [N/m]."""


@dataclass(frozen=True)
class PushTask:
    """One thing to be brought from a pose to another one; poses are x, y [m], angle [rad].

    Attributes:
        thing: As the planner knows it.
        start: (3) pose.
        goal: (3) pose.
        position: How far from the goal counts as there [m].
        angle: How far from the goal's counts as there [rad].
    """

    thing: PushedObject
    start: tuple[float, float, float]
    goal: tuple[float, float, float]
    position: float = POSITION
    angle: float = ANGLE

    @classmethod
    def draw(cls, thing: PushedObject, generator: np.random.Generator, **counts: float) -> PushTask:
        """Draw start and goal at most 30 cm apart along each axis, any angle.

        Args:
            thing: What is pushed.
            generator: Source of the draws.
            **counts: ``position`` and ``angle``.
        """
        while True:
            start, goal = _draw_pose(generator), _draw_pose(generator)
            near = np.abs(np.subtract(start, goal)[:2]).max() <= 0.3
            if near and math.dist(start[:2], HOME) > thing.radius + 2.0 * PUSHER_RADIUS:
                turn = float(generator.uniform(-math.pi, math.pi))
                return cls(thing, start, (*goal[:2], start[2] + turn), **counts)

    def miss(self, pose: np.ndarray) -> tuple[float, float]:
        """Return how far a pose is from the goal [m], [rad].

        Args:
            pose: (3) x, y [m], angle [rad].
        """
        error = pose - np.array(self.goal)
        angle = math.remainder(error[2], 2.0 * math.pi)
        return float(np.hypot(*error[:2])), 0.0 if self.thing.is_round else abs(angle)

    def reached(self, pose: np.ndarray) -> bool:
        """Return whether a pose counts as there.

        Args:
            pose: (3) x, y [m], angle [rad].
        """
        distance, angle = self.miss(pose)
        return distance <= self.position and angle <= self.angle

    def problem(self, pusher: np.ndarray) -> IrsProblem:
        """Return the planning problem.

        Args:
            pusher: (2) where it is, azimuth [rad] and distance [m].
        """
        far = REACH[1][1]
        links = (
            PlanarLink("azimuth", "revolute", STIFFNESS * far**2),
            PlanarLink(
                "distance", "prismatic_y", STIFFNESS, "azimuth", shapes=(Circle(PUSHER_RADIUS),)
            ),
        )
        scene = PlanarScene(
            (0.0, 0.0), (self.thing.planar(),), (PlanarRobot("pusher", 0.6, links=links),)
        )
        dynamics = PlanarQuasiDynamics(scene, TIME_STEP)
        step = STEP * np.array([1.0 / far, 1.0])
        goal = np.array([*self.goal, *pusher])
        weight = np.array([100.0, 100.0, 0.0 if self.thing.is_round else 4.0, 0.0, 0.0])
        cost = QuadraticCost(weight, 100.0 * weight, np.full(2, 100.0))
        near = AIM * self.position / math.sqrt(2.0)
        angle = np.inf if self.thing.is_round else AIM * self.angle
        return IrsProblem(
            dynamics,
            np.array([*self.start, *pusher]),
            np.tile(goal, (2, 1)),
            pusher[np.newaxis],
            cost,
            Bounds(
                np.array(REACH[0]),
                np.array(REACH[1]),
                step,
                bounded_states=(0, 1),
                state_low=np.array(WITHIN[0]),
                state_high=np.array(WITHIN[1]),
            ),
            VarianceSchedule(input_std=tuple(step)),
            cost,
            np.array([near, near, angle, np.inf, np.inf]),
            allowed_penetration=OVERLAP,
        )


def seen_from_above(pose: pin.SE3) -> np.ndarray:
    """Return x, y [m] and angle [rad] (3) of a pose in the world.

    Args:
        pose: Of a thing that stands upright.
    """
    turn = math.atan2(pose.rotation[1, 0], pose.rotation[0, 0])
    return np.array([*pose.translation[:2], turn])


def _draw_pose(generator: np.random.Generator) -> tuple[float, float, float]:
    near, far, azimuth = STARTS
    distance, bearing = generator.uniform(near, far), generator.uniform(-azimuth, azimuth)
    return (
        float(distance * math.cos(bearing)),
        float(distance * math.sin(bearing)),
        float(generator.uniform(-math.pi, math.pi)),
    )
