"""The node behind the live page: it listens, remembers a while, and asks what a person wants."""

from __future__ import annotations

import copy
import math
import secrets
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from contact_stack_msgs.action import FollowPoseTrajectory
from contact_stack_msgs.msg import ContactArray, ControllerStatus
from control_msgs.action import FollowJointTrajectory
from sensor_msgs.msg import JointState, PointCloud2
from std_msgs.msg import Bool, String
from tf2_msgs.msg import TFMessage

from contact_aware_control.config import ControllerConfig
from contact_core.base.config import nested, parameter
from contact_core.model.serving import LOCAL
from contact_core.robot.arm_state import ArmState
from contact_core.robot.robot import HELD_OBJECT, Robot
from contact_core.robot.scene import Scene
from contact_ros.diagnostics import Diagnostics
from contact_ros.driver_profile import DriverConfig, StateReader, driver_profile
from contact_ros.entry_point import run
from contact_ros.guarded_node import GuardedNode
from contact_ros.identity import (
    PAUSED_TOPIC,
    SIMULATED_TOPIC,
    RobotNodeConfig,
    announce_robot,
)
from contact_ros.parameters import read
from contact_ros.qos import LATCHED, signal_subscription
from contact_ros.stamps import steady_timer
from contact_stack.viewer.browser import ADDRESS, VISITED
from contact_stack.viewer.commands import GraphCommands
from contact_stack.viewer.controls import Permissions
from contact_stack.viewer.listener import Listener, ShownReference
from contact_stack.viewer.page import Page
from contact_stack.viewer.recording import OtherRun, load_recording
from contact_stack.viewer.scene_model import SceneModel, urdfs_of
from contact_stack.viewer.snapshot import PageState

STEP = 0.1
"""Of the slider [s]."""


class LookBack:
    """Remembers what a page could have shown, and shows it where a person looks back."""

    def __init__(self, page: Page, seconds: float) -> None:
        """Add the slider.

        Args:
            page: The page.
            seconds: How far back it leads [s].
        """
        self._page, self._seconds = page, seconds
        self._pictures: deque[PageState] = deque()
        self._back, self._at = 0.0, 0.0
        gui = page.server.gui
        with page.look:
            self._slider = gui.add_slider("look back [s]", -seconds, 0.0, STEP, 0.0, order=0.0)
            live = gui.add_button("live", hint="Show what is happening now.", order=0.0)
        live.on_click(lambda event: self.go_live())

    def go_live(self) -> None:
        """Show the present again."""
        self._slider.value = 0.0  # type: ignore[misc]

    def show(self, now: PageState) -> None:
        """Remember the present, and show it or the moment that somebody has chosen.

        Args:
            now: The present; a time before the last one is a new start.
        """
        pictures = self._pictures
        if pictures and now.time < pictures[-1].time:
            pictures.clear()
            self.go_live()
        if not pictures or now.time > pictures[-1].time:
            pictures.append(copy.copy(now))
        while pictures[0].time < now.time - self._seconds:
            pictures.popleft()
        if not self._page.watched:
            self._page.note(now)
            return
        back = float(self._slider.value)
        if back != self._back:
            # The moment stays while the robot goes on.
            self._back, self._at = back, now.time + back
        past = None if back == 0.0 else self._picture(self._at)
        self._page.draw(past or now, live=now)

    def _picture(self, time: float) -> PageState:
        """Return the picture of a time [s], or the nearest that is left."""
        index = bisect_left(self._pictures, time, key=attrgetter("time"))
        return self._pictures[min(index, len(self._pictures) - 1)]


HEARD = {
    "gripper/joint_states": JointState,
    "truth/objects": TFMessage,
    "truth/contacts": ContactArray,
    "contacts": ContactArray,
    "controller_status": ControllerStatus,
}
"""What is heard besides the arm, which speaks as its driver does."""

FOLLOWED = {
    "follow_pose_trajectory/_action/feedback": FollowPoseTrajectory.Impl.FeedbackMessage,
    "follow_joint_trajectory/_action/feedback": FollowJointTrajectory.Impl.FeedbackMessage,
}
"""What tells where the reference is, heard only while somebody wants to see it."""

PARTICLES = {"contact_particles": PointCloud2}
"""What is heard only while somebody wants to see the particles."""

TOKEN_BYTES = 16
"""Random ones in the token."""

UNWATCHED_RATE = 5.0
"""How often news are taken while nobody looks at the page [Hz]."""


@dataclass(frozen=True)
class ViewerConfig(RobotNodeConfig):
    """The live page in the browser."""

    driver: str = parameter("lbr_fri", "driver profile the robot or simulator speaks")
    arm: DriverConfig = nested(DriverConfig)
    host: str = parameter("127.0.0.1", "address the page listens on")
    port: int = parameter(
        8080, "port of the page; the next free one if it is taken", low=1024, high=65535
    )
    rate: float = parameter(30.0, "how often the page is updated", unit="Hz",
                            low=1.0, high=60.0)  # fmt: skip
    history: float = parameter(
        15.0, "length of the time axis of the plots", unit="s", low=1.0, high=120.0
    )
    memory: float = parameter(60.0, "how far the page looks back", unit="s", low=1.0, high=600.0)
    beside: str = parameter(
        "",
        "recording whose arm is shown as well, as an outline, aligned to the moment at which "
        "each begins to move",
    )
    commands: bool = parameter(
        True,
            "offer buttons, and links to drag, where there is a simulator; where the host is "
            "not local, to whoever enters the token that the terminal shows"
    )  # fmt: skip
    robot_commands: bool = parameter(
        False, "offer to command a real robot, to whoever enters the token that the terminal shows"
    )


class Pace:
    """How fast simulated time passes, over the last second."""

    def __init__(self) -> None:
        """Begin with nothing known."""
        self._samples: deque[tuple[float, float]] = deque()

    def measure(self, simulated: float, real: float) -> float:
        """Take both times [s].

        Returns:
            Simulated seconds per real one; NaN until that is known, and after a new start.
        """
        samples = self._samples
        if samples and simulated < samples[-1][0]:
            samples.clear()
        samples.append((simulated, real))
        while real - samples[0][1] > 1.0:
            samples.popleft()
        elapsed = real - samples[0][1]
        return (simulated - samples[0][0]) / elapsed if elapsed > 0.5 else math.nan


class ViewerNode(GuardedNode):
    """Keep the latest of every topic and draw it at the page's rate."""

    def __init__(self) -> None:
        """Open the page and print its address.

        Raises:
            ContactStackError: If a parameter, the robot or the scene is wrong.
        """
        super().__init__("viewer")
        config = read(self, ViewerConfig)
        self._first: int | None = None
        scene = Scene.load(config.scene) if config.scene else None
        objects = scene.objects if scene is not None else {}
        robot = config.description()
        arm = Robot.from_description(robot)
        self._links = (*arm.link_names, HELD_OBJECT)
        # What can be held is part of the robot's load, not of its environment.
        movable = tuple(name for name, item in objects.items() if item.free)
        # What the arm stands on stays.
        self._obstacles = [
            name
            for name in objects
            if name not in movable
            and scene is not None
            and scene.object_placement(name).translation[:2].any()
        ]
        fingers, limit = arm.finger_links, ControllerConfig().force.limit
        self._listener = Listener(self._links, fingers, movable, limit)
        self._announcement = announce_robot(self, robot)
        urdfs = urdfs_of(objects)
        drawn = tuple(name for name in movable if name in urdfs)
        name = scene.config.name if scene is not None else robot.name
        model = SceneModel(robot.urdf, robot.arm_joints, urdfs, drawn, name)
        self._page = Page(model, config.host, config.port, config.history, robot=arm)
        self._past = LookBack(self._page, config.memory)
        self._reference = ShownReference(robot)
        self._other = (
            OtherRun(load_recording(Path(config.beside), model)) if config.beside else None
        )
        self._extra: dict[str, Any] = {}
        self._commands: GraphCommands | None = None
        # In any mode the latest sample is enough: the page is no participant.
        latest = signal_subscription(lockstep=False)
        heard = [
            self.create_subscription(kind, topic, partial(self._listener.hear, topic), latest)
            for topic, kind in HEARD.items()
        ]
        # The driver's names of the joints need not be those of our description.
        self._arm_joints = robot.arm_joints
        profile = driver_profile(
            config.driver, config.arm, None, robot.arm_joints, self.get_namespace()
        )
        self._reader = StateReader(self, profile, lockstep=False, on_state=self._arm)
        self._heard = (*heard, *self._reader.pollable)
        self.leave_waiting(*self._heard)
        self._robot, self._scene = robot, config.scene
        self._pace: Pace | None = None
        self._offered = not config.commands
        self._local = config.host in LOCAL
        self._simulator = self.create_subscription(
            String, profile.topic(SIMULATED_TOPIC), self._simulated, LATCHED
        )
        self._pauses = self.create_subscription(
            Bool, profile.topic(PAUSED_TOPIC), self._paused, LATCHED
        )
        self._diagnostics = Diagnostics(self, self._reader.health)
        self._rate = config.rate
        self._timer = steady_timer(self, 1.0 / config.rate, self._draw)
        if config.commands and config.robot_commands:
            self._offer(simulated=False)
        self._page.server.on_client_connect(lambda client: self.get_logger().info(VISITED))
        self.get_logger().info(ADDRESS.format(self._page.address))

    def close(self) -> None:
        """Close the page."""
        self._page.close()

    def _simulated(self, message: String) -> None:
        """Offer commands: what moves is no robot."""
        self._pace = self._pace or Pace()
        self._page.card.kind = "simulation"
        if not self._offered:
            self._offer(simulated=True)

    def _paused(self, message: Bool) -> None:
        self._page.card.kind = "paused simulation" if message.data else "simulation"

    def _offer(self, simulated: bool) -> None:
        self._offered = True
        robot, page = self._robot, self._page
        self._commands = commands = GraphCommands(
            self, self._scene, robot.base_link, robot.open_position, page.say
        )
        limit = ControllerConfig().force.limit
        token = "" if simulated and self._local else secrets.token_urlsafe(TOKEN_BYTES)
        page.offer(
            Permissions(
                commands,
                robot.tool_link,
                self._links,
                limit,
                self._obstacles,
                simulated,
                gripper=bool(robot.gripper_joint),
            ),
            token,
        )
        if token:
            # Printed and not logged, for all nodes hear the log, and files keep it.
            print(f"token of the live page: {token}", flush=True)

    def _draw(self) -> None:
        self.take(*self._heard)
        now = self._listener.now
        if self._pace is not None:
            now.pace = self._pace.measure(now.time, time.monotonic())
        if self._commands is not None and self._commands.actual is not None:
            now.name = self._commands.actual.controller
            self._listener.limit = self._commands.actual.limit
        watched = self._page.watched
        rate = self._rate if watched else min(UNWATCHED_RATE, self._rate)
        self._timer.timer_period_ns = round(1e9 / rate)
        self._hear(PARTICLES, self._listener.hear, watched and self._page.shows_particles)
        self._hear(FOLLOWED, self._reference.hear, watched and self._page.shows_reference)
        now.reference = self._reference.arm(now.joints)
        if self._other is not None:
            self._other.accompany(now)
        self._past.show(now)

    def _hear(self, topics: Mapping[str, type], hear: Callable[..., None], wanted: bool) -> None:
        """Subscribe to topics, or leave them, as they are wanted."""
        for topic, kind in topics.items():
            if wanted and topic not in self._extra:
                self._extra[topic] = self.create_subscription(
                    kind, topic, partial(hear, topic), signal_subscription(lockstep=False)
                )
            elif not wanted and topic in self._extra:
                self.destroy_subscription(self._extra.pop(topic))

    def _arm(self, state: ArmState) -> None:
        # The driver's clock may count from 1970, which nobody can read off an axis.
        if self._first is None or state.stamp < self._first:
            self._first = state.stamp
        self._listener.now.time = 1e-9 * (state.stamp - self._first)
        arm = zip(self._arm_joints, state.position.tolist(), strict=True)
        self._listener.move(dict(arm))


def main() -> int:
    """Run the viewer.

    Returns:
        The exit code.
    """
    return run(ViewerNode)
