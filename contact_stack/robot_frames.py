"""The robot's description and frames for RViz and others: robot_description, tf, tf_static.

A small stand-in for robot_state_publisher, which is not on PyPI; unlike that one it reads the
state through the driver profile, so that it works with any driver's joint names.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pinocchio as pin
from builtin_interfaces.msg import Time
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from contact_core.base.config import nested, parameter
from contact_core.robot.arm_state import ArmState
from contact_core.robot.description import RobotDescription
from contact_ros.diagnostics import Diagnostics
from contact_ros.driver_profile import DriverConfig, StateReader, driver_profile
from contact_ros.entry_point import run
from contact_ros.geometry import to_frame, to_transform
from contact_ros.guarded_node import GuardedNode
from contact_ros.identity import RobotNodeConfig, announce_robot
from contact_ros.parameters import read
from contact_ros.qos import LATCHED, signal_subscription
from contact_ros.rivals import PERIOD, RivalReport, publishers
from contact_ros.stamps import steady_timer, to_time
from contact_ros.validation import MAX_POSITION, named_numbers


@dataclass(frozen=True)
class RobotFramesConfig(RobotNodeConfig):
    """The publisher of the robot's frames."""

    driver: str = parameter("lbr_fri", "driver profile the robot or simulator speaks")
    arm: DriverConfig = nested(DriverConfig)
    frame_prefix: str = parameter("", "text put before every frame's name, e.g. left/")
    rate: float = parameter(30.0, "rate of the transforms", unit="Hz", above=0.0, high=200.0)


class RobotTree:
    """The links of a robot and their poses relative to their parents.

    Attributes:
        fixed: (parent, child) of the links that never move relative to their parents.
        moving: (parent, child) of the others.
    """

    def __init__(self, description: RobotDescription) -> None:
        """Build the tree, all joints at zero.

        Args:
            description: The robot.
        """
        self._model = description.model()
        self._data = self._model.createData()
        self._q = pin.neutral(self._model)
        joints = ElementTree.fromstring(description.urdf).findall("joint")
        links = [(_link(joint, "parent"), _link(joint, "child")) for joint in joints]
        fixed = [joint.get("type") == "fixed" for joint in joints]
        self.fixed = tuple(pair for pair, rigid in zip(links, fixed, strict=True) if rigid)
        self.moving = tuple(pair for pair, rigid in zip(links, fixed, strict=True) if not rigid)

    def move(self, positions: Mapping[str, float]) -> None:
        """Set joint positions.

        Args:
            positions: Joint -> position [rad or m]; joints the robot does not have are ignored.
        """
        for name, position in positions.items():
            if self._model.existJointName(name):
                self._q[self._model.joints[self._model.getJointId(name)].idx_q] = position

    def update(self) -> None:
        """Compute all poses."""
        pin.framesForwardKinematics(self._model, self._data, self._q)

    def pose(self, parent: str, child: str) -> pin.SE3:
        """Return the pose of a link in its parent, after :meth:`update`.

        Args:
            parent: The parent link.
            child: The link.
        """
        return self._placement(parent).actInv(self._placement(child))

    def _placement(self, link: str) -> pin.SE3:
        return self._data.oMf[self._model.getFrameId(link, pin.FrameType.BODY)]


TF_TOPIC = "/tf"
TF = QoSProfile(depth=100)

MAX_TF = 1_000_000
"""Size of a message of other nodes' frames that is still looked at [bytes]."""

LOOKS = 4
"""Frames are counted over so many looks at the graph."""

UNDER_WAY = 3
"""So many more of our own may be heard than were sent in that time."""


class RivalFrames(RivalReport):
    """Says so where another node publishes the same frames, which then are in two places.

    It listens only while another node publishes frames at all. Messages do not say whose they are,
    so they are counted.

    Attributes:
        sent: How often the frames were published since the count began.
    """

    def __init__(self, node: GuardedNode, frames: Iterable[str]) -> None:
        """Look again and again, in the executor's thread.

        Args:
            node: The node that publishes the frames.
            frames: Their names; each is in every message once.
        """
        super().__init__(node)
        self.sent = 0
        self._node = node
        self._frames = frozenset(frames)
        self._heard: Counter[str] = Counter()
        self._looks = 0
        self._subscription: Subscription | None = None
        self._timer = steady_timer(node, PERIOD, self._update)

    def _listen(self, message: TFMessage) -> None:
        names = (transform.child_frame_id for transform in message.transforms)
        self._heard.update(name for name in names if name in self._frames)

    def _update(self) -> None:
        others = publishers(self._node, TF_TOPIC)
        ours = self._node.get_fully_qualified_name()
        if ours in others:
            others.remove(ours)
        if others and self._subscription is None:
            self._subscription = self._node.create_subscription(
                TFMessage, TF_TOPIC, self._listen, TF, largest=MAX_TF
            )
        elif not others and self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None
        shared = sorted(f for f, count in self._heard.items() if count > self.sent + UNDER_WAY)
        self._looks = (self._looks + 1) % LOOKS
        if shared or self._looks == 0:
            self.change(self._problem(shared, others))
            self._looks = self.sent = 0
            self._heard.clear()

    def _problem(self, shared: list[str], others: list[str]) -> str:
        if not shared or not others:
            return ""
        frames = f"{shared[0]} and {len(shared) - 1} more frames" if shared[1:] else shared[0]
        topic = self._node.resolve_topic_name(TF_TOPIC)
        return (
            f"{frames} on {topic} are also published by {' or '.join(others)}: launch with tf:=tf "
            "for frames in the robot's namespace, or set frame_prefix"
        )


class RobotFramesNode(GuardedNode):
    """Publish description and fixed frames once, and the moving frames at a fixed rate."""

    def __init__(self) -> None:
        """Build the tree and start.

        Raises:
            ContactStackError: If a parameter, the robot or the driver profile is wrong.
        """
        super().__init__("robot_frames")
        config = read(self, RobotFramesConfig)
        description = config.description()
        self._prefix = config.frame_prefix
        self._tree = RobotTree(description)
        self._announcement = announce_robot(self, description)
        self._arm_joints = description.arm_joints
        self._stamp: int | None = None
        self._description = self.create_publisher(String, "robot_description", LATCHED)
        self._description.publish(String(data=description.urdf))
        static = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._tf_static = self.create_publisher(TFMessage, "/tf_static", static)
        self._tf = self.create_publisher(TFMessage, TF_TOPIC, TF)
        moving = [self._prefix + child for _, child in self._tree.moving]
        self._rivals = RivalFrames(self, moving)
        self._tree.update()
        self._tf_static.publish(self._message(self._tree.fixed, Time()))
        profile = driver_profile(
            config.driver, config.arm, None, description.arm_joints, self.get_namespace()
        )
        self._reader = StateReader(self, profile, lockstep=False, on_state=self._arm)
        self._diagnostics = Diagnostics(self, lambda: self._rivals.report(self._reader.health()))
        gripper = self.create_subscription(
            JointState, "gripper/joint_states", self._gripper, signal_subscription(lockstep=False)
        )
        self.poll(config.rate, gripper, *self._reader.pollable, then=self._publish)

    def _arm(self, state: ArmState) -> None:
        self._stamp = state.stamp
        self._tree.move(dict(zip(self._arm_joints, state.position.tolist(), strict=True)))

    def _gripper(self, message: JointState) -> None:
        self._tree.move(named_numbers(message.name, message.position, "position", MAX_POSITION))

    def _publish(self) -> None:
        if self._stamp is not None:
            self._tree.update()
            self._tf.publish(self._message(self._tree.moving, to_time(self._stamp)))
            self._rivals.sent += 1

    def _message(self, links: Iterable[tuple[str, str]], stamp: Time) -> TFMessage:
        frames = []
        for parent, child in links:
            place = to_transform(self._tree.pose(parent, child))
            frames.append(to_frame(self._prefix + child, place, self._prefix + parent, stamp))
        return TFMessage(transforms=frames)


def main() -> int:
    """Run the publisher of the robot's frames.

    Returns:
        The exit code.
    """
    return run(RobotFramesNode)


def _link(joint: ElementTree.Element, role: str) -> str:
    element = joint.find(role)
    return "" if element is None else element.get("link", "")
