"""The demo push_anything: look, push, look again, until a shape is where it should be."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped

from contact_core.base.figures import ROLES, draw_limit, new_view, save
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_ros.geometry import frame_pose, to_pose
from contact_ros.qos import signal_publisher
from contact_ros.stamps import NANOSECONDS, to_time
from contact_stack.demo.client_node import CLOCK, NAME, OBJECTS, ClientNode, Connection, force_on
from contact_stack.demo.contact_tracking.statistics import trajectory_hash
from contact_stack.demo.push_anything.drawing import draw_push
from contact_stack.demo.push_anything.pusher import (
    UPDATE_PERIOD,
    PushCase,
    PushConditions,
    Pusher,
    write_push_scene,
)
from contact_stack.demo.push_anything.shapes import SHAPES
from contact_stack.demo.push_anything.task import (
    ANGLE,
    OBJECT,
    POSITION,
    PUSHER,
    PushTask,
    seen_from_above,
)
from contact_stack.demo.runner import DRIVER, REALTIME, Demo, Option


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


ROBOT = "iiwa14_pusher"
SHAPE = Option(
    "--shape", "tee", f"what is pushed: {', '.join(SHAPES)} (default tee)",
    {"choices": tuple(SHAPES), "metavar": "NAME"},
)  # fmt: skip


class PushAnything(Demo[PushedData]):
    """One shape, start, goal, mass and friction, drawn from the seed."""

    options = (DRIVER, REALTIME, SHAPE)

    def __init__(self, args: argparse.Namespace) -> None:
        """Draw what is to be done, see :meth:`Demo.__init__`."""
        super().__init__(args)
        self._task, self._conditions = PushCase(args.shape, self.seed).draw()

    @property
    def runs(self) -> Sequence[str]:
        """The one run, called as the demo."""
        return (self.name,)

    def launch(self, run: str, folder: Path) -> tuple[str, Mapping[str, str]]:
        """Return the graph with simulator and controller, see :meth:`Demo.launch`."""
        return "demo", {
            "scene": str(write_push_scene(self._task, self._conditions, folder)),
            "robot": ROBOT,
            "client": NAME if self.lockstep else "",
            "held_mass": "0.0",
        }

    def client(self, run: str, connection: Connection) -> PushAnythingNode:
        """Make the node that looks and pushes."""
        robot = RobotDescription.load(ROBOT)
        return PushAnythingNode(self._task, self._conditions, robot, self.seed, connection)

    def summarise(self, runs: Mapping[str, PushedData]) -> dict[str, Any]:
        """Compute the figures of the run; forces are ground truth, impacts included."""
        return {name: self._figures(data) for name, data in runs.items()}

    def report(self, summary: Mapping[str, Any]) -> list[str]:
        """Return where the thing is."""
        figures = summary[self.name]
        where = "at the goal" if figures["reached"] else "NOT at the goal"
        return [
            f"the {figures['shape']} is {where} after {figures['sim_time_s']:.1f} s: "
            f"{1e3 * figures['end_distance_m']:.1f} mm and {figures['end_angle_deg']:.1f} deg off, "
            f"from {1e3 * figures['start_distance_m']:.0f} mm and "
            f"{figures['start_angle_deg']:.0f} deg",
            f"pushed from {figures['places']} places, mass {figures['mass']:.2f} and friction "
            f"{figures['friction']:.2f} times what the planner takes them for; force p99 "
            f"{figures['force_p99_N']:.1f} N, peak {figures['force_peak_N']:.1f} N",
        ]

    def draw(self, runs: Mapping[str, PushedData], folder: Path) -> list[Path]:
        """Draw the push from above and over time."""
        (data,) = runs.values()
        figure, above, beside = new_view(3, (11.0, 5.2))
        draw_push(above, self._task, data.pose, data.tool)
        above.set(xlabel="x [m]", ylabel="y [m]", title="goal dashed, at the end green, tool red")
        misses = np.array([self._task.miss(pose) for pose in data.pose])
        force = data.force_time, data.force, "pusher force [N]"
        curves = (
            (data.time, 1e3 * misses[:, 0], "distance [mm]"),
            (data.time, np.rad2deg(misses[:, 1]), "angle [deg]"),
        )
        limits = 1e3 * POSITION, np.rad2deg(ANGLE), None
        for axes, (time, values, label), limit in zip(
            beside, (*curves, force), limits, strict=True
        ):
            axes.plot(time, values, color=ROLES["robot" if limit is None else "object"], lw=1)
            if limit is not None:
                draw_limit(axes, limit, "good enough" if axes is beside[0] else "")
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0.0)
        axes.set_xlabel("time [s]")
        return [save(figure, folder / "push.png")]

    def verdict(self, summary: Mapping[str, Any]) -> tuple[list[str], bool]:
        """Return that the demo fails if the thing is not at its goal in the end."""
        return [], not summary[self.name]["reached"]

    def _figures(self, data: PushedData) -> dict[str, Any]:
        (first, first_angle), (last, last_angle) = map(self._task.miss, data.pose[[0, -1]])
        return {
            **self.envelope(float(data.time[-1]), data.wall_time),
            "shape": self._task.thing.name,
            "mass": self._conditions.mass,
            "friction": self._conditions.friction,
            "reached": data.reached,
            "start_distance_m": first,
            "start_angle_deg": float(np.rad2deg(first_angle)),
            "end_distance_m": last,
            "end_angle_deg": float(np.rad2deg(last_angle)),
            "places": data.searches,
            "force_p99_N": float(np.percentile(data.force[data.force > 0.0], 99.0)),
            "force_peak_N": float(data.force.max()),
            "trajectory_sha256": trajectory_hash(data.joints),
        }
