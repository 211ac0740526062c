"""The limits in space of a command: its workspace, its own links, the speed of tool and elbow.

An arm that floats with what presses on it, or relaxes its springs, is not limited in space, unless
a hand leads it.

Where a clearance shrinks, the whole change of the command is shortened: between no change
and the one the controller asked for, every linear force bound that holds at both ends
holds as well. A correction of single joints could press the arm into a contact instead.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pinocchio as pin

from contact_aware_control.chain import ArmPlace, chain_of, place
from contact_aware_control.config import ControllerConfig, SelfCollisionConfig, WorkspaceConfig
from contact_aware_control.safety.joint_bounds import BRAKING_RATE
from contact_aware_control.safety.status import Status
from contact_core.base.errors import ConfigError, choices
from contact_core.base.kernel import kernel
from contact_core.multibody.collision.shapes import shape_to_coal
from contact_core.robot.robot import Robot

MIN_JOINTS_BETWEEN = 3
"""Links with fewer joints between them are not checked: the joint limits keep those apart."""


REASONS = (Status.OK, Status.LIMIT_REACHED, Status.WORKSPACE)
"""What the kernel answers: nothing, the speed of tool or elbow, the workspace."""


class WorkspaceLimits:
    """Measures how far inside its box the tool is.

    Attributes:
        box: (2, 3) corners of the box with the smallest and the largest x, y, z [m].
    """

    def __init__(self, config: WorkspaceConfig) -> None:
        """Take the box.

        Args:
            config: The box.
        """
        self.box = np.array([config.lowest, config.highest])

    def clearance_at(self, point: np.ndarray) -> float:
        """Return the distance of a point to the closest face.

        Args:
            point: (3) world frame [m].

        Returns:
            The distance [m], negative outside.
        """
        return float(np.minimum(point - self.box[0], self.box[1] - point).min())


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
        most, moved = _moved(self.reach, where, start, end)
        now = clearance - moved
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


class CommandGuard:
    """Slows the command down in front of a limit, and stops it there."""

    def __init__(self, robot: Robot, config: ControllerConfig, bounds_speed: bool = True) -> None:
        """Take the limits.

        Args:
            robot: The arm; it is updated.
            config: Workspace, self-collision and speed of tool and elbow.
            bounds_speed: False where the abrupt motion of a baseline is to be seen.

        Raises:
            ConfigError: If a parameter does not fit the arm.
        """
        self._workspace = WorkspaceLimits(config.workspace)
        self._self_collision = SelfCollision(robot, config.self_collision)
        self._braking = min(1.0, BRAKING_RATE * config.period)
        self._farthest = config.limits.tool_speed * config.period if bounds_speed else math.inf
        self._known: tuple[bytes, ArmPlace] | None = None
        self._chain = chain_of(robot)
        self._elbow = (robot.n - 1) // 2

    def limit(
        self, command: np.ndarray, wanted: np.ndarray, yields: bool = False
    ) -> tuple[np.ndarray, Status]:
        """Shorten a change of the command as far as needed.

        A clearance may shrink by a share per tick, as towards a joint limit; one that is
        negative must not shrink at all.

        Args:
            command: (n) present command q_cmd [rad].
            wanted: (n) q_cmd+ [rad].
            yields: Whether it gives way to a contact: then tool and elbow may be faster.

        Returns:
            (q_cmd+ (n) [rad]; WORKSPACE, SELF_COLLISION, or LIMIT_REACHED for the speed of tool
            or elbow if it was shortened, else OK).
        """
        here, there = self.place_of(command), place(self._chain, wanted)
        share, reason = _shortened(
            here.origins,
            there.origins,
            self._elbow,
            math.inf if yields else self._farthest,
            self._workspace.box,
            self._braking,
        )
        status = REASONS[reason]
        clearance, lost = self._self_collision.approach(command, wanted, self._braking)
        allowed = self._braking * max(clearance, 0.0)
        if lost > allowed and allowed < share * lost:
            share, status = allowed / lost, Status.SELF_COLLISION
        if status is Status.OK:
            self._known = wanted.tobytes(), there
            return wanted, status
        return command + share * (wanted - command), status

    def place_of(self, command: np.ndarray) -> ArmPlace:
        """Return where a command has the arm; that of the present one is known.

        Args:
            command: (n) q_cmd [rad].
        """
        key = command.tobytes()
        if self._known is None or self._known[0] != key:
            self._known = key, place(self._chain, command)
        return self._known[1]


@kernel
def _moved(
    reach: np.ndarray, before: np.ndarray, start: np.ndarray, end: np.ndarray
) -> tuple[float, float]:
    """Return how far, at most, two motions move any point of a link [m], the later one first."""
    later, earlier = 0.0, 0.0
    for i in range(reach.size):
        later += reach[i] * abs(end[i] - start[i])
        earlier += reach[i] * abs(start[i] - before[i])
    return later, earlier


@kernel
def _shortened(
    here: np.ndarray,
    there: np.ndarray,
    elbow: int,
    farthest: float,
    box: np.ndarray,
    braking: float,
) -> tuple[float, int]:
    """Return the share of a change that speed and workspace leave, and an index of REASONS.

    Args:
        here: (n + 1, 3) origins of joints and tool before the change [m].
        there: (n + 1, 3) the same after it.
        elbow: Index of the elbow.
        farthest: How far tool and elbow may move [m].
        box: (2, 3) corners of the workspace [m].
        braking: Share of a clearance that may be lost.
    """
    share, reason, tool = 1.0, 0, len(here) - 1
    for point in (tool, elbow):
        square = 0.0
        for i in range(3):
            square += (there[point, i] - here[point, i]) ** 2
        distance = math.sqrt(square)
        if share * distance > farthest:
            share, reason = farthest / distance, 1
    now, then = np.inf, np.inf
    for i in range(3):
        now = min(now, here[tool, i] - box[0, i], box[1, i] - here[tool, i])
        then = min(then, there[tool, i] - box[0, i], box[1, i] - there[tool, i])
    allowed, lost = braking * max(now, 0.0), now - then
    if lost > allowed and allowed < share * lost:
        share, reason = allowed / lost, 2
    return share, reason


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
