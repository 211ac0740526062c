"""How far the arm is from the limits around it: its workspace, and itself."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pinocchio as pin

from contact_aware_control.config import SelfCollisionConfig, WorkspaceConfig
from contact_core.base.errors import ConfigError, choices
from contact_core.multibody.collision.shapes import shape_to_coal
from contact_core.robot.robot import Robot

MIN_JOINTS_BETWEEN = 3
"""Links with fewer joints between them are not checked: the joint limits keep those apart."""


class WorkspaceLimits:
    """Measures how far inside its box the tool is."""

    def __init__(self, config: WorkspaceConfig) -> None:
        """Take the box.

        Args:
            config: The box.
        """
        self._sides = tuple(zip(config.lowest, config.highest, strict=True))

    def clearance_at(self, point: np.ndarray) -> float:
        """Return the distance of a point to the closest face.

        Args:
            point: (3) world frame [m].

        Returns:
            The distance [m], negative outside.
        """
        sides = zip(point.tolist(), self._sides, strict=True)
        return min(min(at - low, high - at) for at, (low, high) in sides)


class SelfCollision:
    """Measures, with Coal, how much further two links may approach each other.

    Attributes:
        pairs: The pairs of links that are watched, each once.
        reach: (n) how far, at most, each joint moves any point of a link [m/rad].
    """

    def __init__(self, robot: Robot, config: SelfCollisionConfig) -> None:
        """Collect the pairs.

        Args:
            robot: The arm; it is not changed.
            config: The distance to keep, and which links are watched.

        Raises:
            ConfigError: If a pair names an unknown link.
        """
        self.pairs = _watched(robot, config)
        self._kept = config.distance
        self._model = robot.model
        self._data = robot.model.createData()
        self._geometry = _geometry(robot)
        shapes = self._geometry.geometryObjects
        links = [shape.body for shape in robot.collision_shapes]
        for i, j in combinations(range(len(shapes)), 2):
            if (links[i], links[j]) in self.pairs or (links[j], links[i]) in self.pairs:
                self._geometry.addCollisionPair(pin.CollisionPair(i, j))
        self._distances = self._geometry.createData()
        self.reach = _reach(robot)
        self._known = np.zeros(robot.n), self.clearance(np.zeros(robot.n))

    def clearance(self, q: np.ndarray) -> float:
        """Return the distance of the closest pair, less the distance to keep.

        Args:
            q: (n) joint positions [rad].

        Returns:
            The clearance [m]; negative if two links are too close; infinite without pairs.
        """
        if not self.pairs:
            return np.inf
        closest = pin.computeDistances(self._model, self._data, self._geometry, self._distances, q)
        return float(self._distances.distanceResults[closest].min_distance) - self._kept

    def approach(self, start: np.ndarray, end: np.ndarray, share: float) -> tuple[float, float]:
        """Return the clearance, and by how much a motion reduces it.

        Both are bounds, of how far joints can move links, where these already tell that less
        than a share of the clearance is lost: to measure takes a tenth of a tick.

        Args:
            start: (n) joint positions [rad].
            end: (n) joint positions, close to ``start`` [rad].
            share: Of the clearance that may be lost.

        Returns:
            (clearance at the start [m]; how much of it is lost [m], negative if it grows).
        """
        where, clearance = self._known
        most = float(self.reach @ np.abs(end - start))
        now = clearance - float(self.reach @ np.abs(start - where))
        if most <= share * now:
            return now, most
        if now != clearance:
            now = self.clearance(start)
            self._known = start, now
            if most <= share * now:
                return now, most
        then = self.clearance(end)
        self._known = end, then
        return now, now - then


def _watched(robot: Robot, config: SelfCollisionConfig) -> tuple[tuple[str, str], ...]:
    """Return the pairs of links with collision shapes that a configuration asks for."""
    if not config.enabled:
        return ()
    links = list(dict.fromkeys(shape.body for shape in robot.collision_shapes))
    pairs = config.named_pairs
    if not pairs:
        return tuple(
            (a, b)
            for a, b in combinations(links, 2)
            if abs(robot.joints_moving(a) - robot.joints_moving(b)) >= MIN_JOINTS_BETWEEN
        )
    for name in (name for pair in pairs for name in pair):
        if name not in links:
            raise ConfigError(f"self_collision.pairs: unknown link '{name}' ({choices(links)})")
    return pairs


def _geometry(robot: Robot) -> pin.GeometryModel:
    """Return the collision shapes in the order of ``robot.collision_shapes``."""
    geometry = pin.GeometryModel()
    for shape in robot.collision_shapes:
        frame = robot.model.getFrameId(shape.body, pin.FrameType.BODY)
        link = robot.model.frames[frame]
        geometry.addGeometryObject(
            pin.GeometryObject(
                f"{shape.body} {shape.name}",
                link.parentJoint,
                frame,
                link.placement * shape.placement,
                shape_to_coal(shape.shape),
            )
        )
    return geometry


def _reach(robot: Robot) -> np.ndarray:
    """Return (n) how far, at most, each joint moves any point of a link [m/rad]."""
    model = robot.model
    reach = np.zeros(robot.n)
    for shape in robot.collision_shapes:
        link = model.frames[model.getFrameId(shape.body, pin.FrameType.BODY)]
        center = (link.placement * shape.placement).translation
        farthest = float(np.linalg.norm(center)) + shape.shape.bounding_radius
        reach = np.maximum(reach, reach_of(robot, link.parentJoint, farthest))
    return reach


def reach_of(robot: Robot, joint: int, distance: float) -> np.ndarray:
    """Return how far, at most, each joint moves a point.

    Args:
        robot: The arm.
        joint: Pinocchio's index of the last joint that moves it.
        distance: How far from that joint's origin it is [m].

    Returns:
        (n) [m/rad].
    """
    reach = np.zeros(robot.n)
    for moving in range(joint, 0, -1):
        reach[moving - 1] = distance
        distance += float(np.linalg.norm(robot.model.jointPlacements[moving].translation))
    return reach
