"""The node that looks at what is pushed 20 times a second and streams where the tool is to be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from geometry_msgs.msg import PoseStamped

from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_ros.geometry import frame_pose, to_pose
from contact_ros.qos import signal_publisher
from contact_ros.stamps import NANOSECONDS, to_time
from contact_stack.demo.client_node import CLOCK, OBJECTS, ClientNode, Connection, force_on
from contact_stack.demo.push_anything.pusher import UPDATE_PERIOD, PushConditions, Pusher
from contact_stack.demo.push_anything.task import OBJECT, PUSHER, PushTask, seen_from_above


@dataclass(frozen=True)
class PushedData:
    """What a run left, ground truth; times count from the first look.

    Attributes:
        reached: Whether the thing came to rest at its goal.
        time: (n) of poses and tool [s].
        pose: (n, 3) of the thing: x, y [m], angle [rad].
        tool: (n, 2) x and y [m].
        joints: (n, joints) positions of the arm [rad].
        force_time: (m) of the forces [s].
        force: (m) on the pusher [N].
        searches: How often the planner has looked for another place.
        wall_time: Real time the run took [s].
    """

    reached: bool
    time: np.ndarray
    pose: np.ndarray
    tool: np.ndarray
    joints: np.ndarray
    force_time: np.ndarray
    force: np.ndarray
    searches: int
    wall_time: float


class PushAnythingNode(ClientNode[PushedData]):
    """Sees the thing as a camera would, and streams places of the tool until it is at its goal."""

    def __init__(
        self,
        task: PushTask,
        conditions: PushConditions,
        robot: RobotDescription,
        seed: int,
        connection: Connection,
    ) -> None:
        """Connect to the graph.

        Args:
            task: What is to be pushed where.
            conditions: Of the camera.
            robot: The arm.
            seed: Of the camera's noise.
            connection: How to take part in the graph.
        """
        super().__init__(connection)
        self._task, self._conditions, self._seed = task, conditions, seed
        self._robot = Robot.from_description(robot)
        self._base = robot.base_link
        self._pusher: Pusher | None = None
        self._next = 0
        self._over = False
        self._targets = self.create_publisher(
            PoseStamped, "target_pose", signal_publisher(connection.lockstep)
        )

    @property
    def finished(self) -> bool:
        """True when the thing is at rest at its goal, or time is up."""
        return self._over

    def data(self) -> PushedData:
        """Return what was heard since the first look."""
        assert self.start is not None
        assert self._pusher is not None
        truth, contacts = self.heard[CLOCK], self.heard["truth/contacts"]
        stamps = [stamp for stamp in truth.stamps if stamp >= self.start]
        joints = np.array(
            [sample.position[: self._robot.n] for sample in truth.between(stamps[0], stamps[-1])]
        )
        poses = np.array([self._pose(stamp) for stamp in stamps])
        forces = contacts.between(stamps[0], contacts.stamps[-1])
        return PushedData(
            self._task.reached(poses[-1]),
            (np.array(stamps) - self.start) * 1e-9,
            poses,
            np.array([self._tool(q) for q in joints]),
            joints,
            (np.array([s for s in contacts.stamps if s >= self.start]) - self.start) * 1e-9,
            np.array([force_on(PUSHER, message) for message in forces]),
            self._pusher.loop.searches,
            self.wall_time,
        )

    def _advance(self) -> None:
        if self._pusher is None:
            if not self._at_rest():
                return
            self.start, self._next = self.stamp, self.stamp
            self._pusher = Pusher(self._task, self._conditions, self._tool(), self._seed)
        assert self.start is not None
        seen = frame_pose(self.heard[OBJECTS].at(self.stamp), OBJECT)
        self._pusher.see(self.stamp, seen)
        if self.stamp < self._next:
            return
        self._next += round(UPDATE_PERIOD * NANOSECONDS)
        target = PoseStamped(pose=to_pose(self._pusher.update(self._tool())))
        target.header.stamp, target.header.frame_id = to_time(self.stamp), self._base
        self._targets.publish(target)
        pose = seen_from_above(seen)
        distance, angle = self._task.miss(pose)
        left = f"{1e3 * distance:.0f} mm, {np.rad2deg(angle):.0f} deg to go"
        self.activity = f"{self._pusher.loop.phase}, {left}"
        arrived = self._pusher.rests and self._task.reached(pose)
        self._over = arrived or self.progress > self._conditions.timeout

    def _pose(self, stamp: int) -> np.ndarray:
        """Return the pose (3) of the thing at a stamp."""
        return seen_from_above(frame_pose(self.heard[OBJECTS].at(stamp), OBJECT))

    def _tool(self, joints: np.ndarray | None = None) -> np.ndarray:
        """Return where the tool is (2) [m]: now, or at joint positions (n) [rad]."""
        if joints is None:
            joints = np.array(self._latest(CLOCK).position[: self._robot.n])
        self._robot.update(joints)
        return np.array(self._robot.tool_pose().translation[:2])
