"""The motions of the demo push_box: to a place beside the box, and the push itself.

A plan through contact is found from beside the box, on the side that has to be pushed; from
elsewhere hardly a sample touches it. The side is chosen by what the simplest of all pushes,
straight against a face, would leave to be done.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
import scipy

from contact_aware_control.config import StartTolerance
from contact_aware_control.reference import PoseTrajectory
from contact_aware_control.reference.motion import tool_pose
from contact_core.base.errors import TrajectoryError
from contact_core.robot.robot import Robot
from contact_stack.demo.push_box.task import BoxTask

CLEARANCE = 0.03
"""Between pusher and box, beside and above it [m]."""
SPEED = 0.05
"""Of the tool on its way [m/s]; a stretched arm needs fast joints for little of it."""
SPACING = 0.1
"""Between the poses of a push [s]. At this speed 0.05 s leave the box within 0.2 mm of the same
place, and the controller checks twice as many poses."""
OFFSETS = (-0.75, -0.375, 0.0, 0.375, 0.75)
"""Places on a face, in halves of its width from the middle."""
DOWN = pin.rpy.rpyToMatrix(0.0, np.pi, 0.0)
"""Orientation of a rod that hangs down from an arm that stretches along x."""


@dataclass(frozen=True)
class PushPlace:
    """A place to push a box at.

    Attributes:
        point: (3) on a face, at half the height of the box, box frame [m].
        direction: (3) unit vector into the box, box frame.
        left: What the best straight push there leaves, in units of the tolerances, squared.
    """

    point: np.ndarray
    direction: np.ndarray
    left: float


def push_places(task: BoxTask, box: pin.SE3) -> list[PushPlace]:
    """Return the places around the box, the most promising one first.

    With an ellipsoidal limit surface a slow push v along n with the lever l turns the box by
    v l / c^2, where c is the distance of its supporting corners from its centre.

    Args:
        task: Where the box has to go.
        box: Its pose, world.
    """
    width, depth, _ = task.half_extents
    radius_squared = width**2 + depth**2
    missing = box.actInv(task.goal)
    shift = missing.translation[:2] / task.position_tolerance
    turn = pin.log3(missing.rotation)[2] / task.rotation_tolerance
    places = []
    for point, direction in _faces(width, depth):
        lever = point[0] * direction[1] - point[1] * direction[0]
        effect = np.array(
            [
                *(direction[:2] / task.position_tolerance),
                lever / radius_squared / task.rotation_tolerance,
            ]
        )
        wanted = np.array([*shift, turn])
        distance = max(0.0, float(effect @ wanted) / float(effect @ effect))
        places.append(PushPlace(point, direction, float(np.sum((wanted - distance * effect) ** 2))))
    return sorted(places, key=lambda place: place.left)


def tool_pose_before(task: BoxTask, box: pin.SE3, place: PushPlace) -> pin.SE3:
    """Return the pose of the tool, world frame, from which a push at a place of the box begins."""
    position = box.act(place.point - (task.pusher_radius + CLEARANCE) * place.direction)
    yaw = np.arctan2(position[1], position[0])
    return pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, yaw) @ DOWN, position)


def approach(
    task: BoxTask,
    robot: Robot,
    joints: np.ndarray,
    command: np.ndarray,
    box: pin.SE3,
    places: Iterator[PushPlace],
) -> PoseTrajectory | None:
    """Return the motion to the next place that the arm gets to: away, up, over the box, down.

    Near the inner or the outer border of its reach the arm may be unable to get away from the
    box at the height it is pushed at, or to get down beside it; then it goes away and up at
    once, or to the next place.

    Args:
        task: Where the box has to go.
        robot: The arm; it is updated.
        joints: (7) its joint positions [rad].
        command: (7) its commanded joint positions [rad].
        box: Pose of the box, world.
        places: Where to go, in this order; what is left are the places not tried yet.

    Returns:
        The motion, None if the arm cannot follow one to any place.
    """
    robot.update(joints)
    start = robot.tool_pose()
    retreats = [way for way in _retreats(task, start, box) if can_follow(robot, command, way)]
    for place in places:
        target = tool_pose_before(task, box, place)
        for retreat in retreats:
            motion = _over_the_box(retreat, target)
            if can_follow(robot, command, motion):
                return motion
    return None


def can_follow(robot: Robot, command: np.ndarray, motion: PoseTrajectory) -> bool:
    """Tell whether the controller would accept a motion from its command (7) [rad]."""
    try:
        motion.check(robot, command, StartTolerance())
    except TrajectoryError:
        return False
    return True


def push_motion(robot: Robot, commands: np.ndarray, time_step: float) -> PoseTrajectory:
    """Return the motion of the tool that a plan's commands ask for, smooth and slow.

    The plan knows no momentum: its box stops as soon as nothing pushes it, and its pusher
    touches it without impact, however fast. Of a real arm that holds only if it is slow: at
    the 0.2 m/s of a plan in half its pace the impact is 19 N, at 0.05 m/s it is 5 N, hardly
    more than it takes to slide the box.

    Args:
        robot: The arm; it is updated.
        commands: (T + 1, n) commanded joint positions [rad].
        time_step: Planned time between them [s]; where the tool would be faster than
            :data:`SPEED`, it takes longer.
    """
    points = np.array([tool_pose(robot, joints).translation for joints in commands])
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
    stamps = np.append(0.0, np.cumsum(np.maximum(time_step, lengths / SPEED)))
    times = np.linspace(0.0, stamps[-1], math.ceil(stamps[-1] / SPACING) + 1)
    smooth = scipy.interpolate.PchipInterpolator(stamps, commands)
    return PoseTrajectory(times.tolist(), [tool_pose(robot, joints) for joints in smooth(times)])


def _faces(width: float, depth: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield places on the four sides of a box and the directions into it, box frame."""
    for offset in OFFSETS:
        for side in (-1.0, 1.0):
            yield np.array([side * width, offset * depth, 0.0]), np.array([-side, 0.0, 0.0])
            yield np.array([offset * width, side * depth, 0.0]), np.array([0.0, -side, 0.0])


def _retreats(task: BoxTask, start: pin.SE3, box: pin.SE3) -> Iterator[PoseTrajectory]:
    """Yield ways from beside the box to above its height: away and then up, or both at once."""
    height = box.translation[2] + task.half_extents[2] + task.pusher_radius + CLEARANCE
    outwards = (start.translation - box.translation) * np.array([1.0, 1.0, 0.0])
    away = start.translation + CLEARANCE * outwards / max(float(np.linalg.norm(outwards)), 1e-6)
    above = np.array([*away[:2], max(height, away[2])])
    beside, end = pin.SE3(start.rotation, away), pin.SE3(start.rotation, above)
    yield _motion_through(start, beside, end)
    yield _motion_through(start, end)


def _over_the_box(retreat: PoseTrajectory, target: pin.SE3) -> PoseTrajectory:
    """Return a retreat, then the way over the box and down to a pose beside it."""
    height = retreat.poses[-1].translation[2]
    above = pin.SE3(target.rotation, np.array([*target.translation[:2], height]))
    return _motion_through(*retreat.poses, above, target)


def _motion_through(*poses: pin.SE3) -> PoseTrajectory:
    times = [0.0]
    for before, after in itertools.pairwise(poses):
        length = float(np.linalg.norm(after.translation - before.translation))
        turn = float(np.linalg.norm(pin.log3(before.rotation.T @ after.rotation)))
        times.append(times[-1] + max(length / SPEED, turn, 0.1))
    return PoseTrajectory(times, poses)
