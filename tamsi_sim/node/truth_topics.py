"""Topics ``truth/*`` of the simulator, things as they are, and ``camera/objects``, as they look."""

from __future__ import annotations

import pinocchio as pin
from builtin_interfaces.msg import Time
from contact_stack_msgs.msg import Contact, ContactArray
from geometry_msgs.msg import Transform
from rclpy.node import Node
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from contact_core.robot.scene import Scene
from contact_ros.geometry import to_frame, to_point, to_quaternion, to_transform, to_vector
from contact_ros.qos import signal_publisher
from contact_ros.stamps import to_time
from tamsi_sim.robot.camera import Camera
from tamsi_sim.robot.plant import Plant
from tamsi_sim.robot.report import TrueContact, Truth


class TruthTopics:
    """Publishes the ground truth: in lock-step always, in real time to those who listen.

    Its messages cost more than all the rest of a period.
    """

    def __init__(self, node: Node, frame: str, lockstep: bool) -> None:
        """Create the publishers.

        Args:
            node: The simulator's node.
            frame: Name of the world frame.
            lockstep: True in lock-step, False in real time.
        """
        self._frame = frame
        self._lockstep = lockstep
        signal = signal_publisher(lockstep)
        self._joints = node.create_publisher(JointState, "truth/joint_states", signal)
        self._contacts = node.create_publisher(ContactArray, "truth/contacts", signal)
        self._objects = node.create_publisher(TFMessage, "truth/objects", signal)

    def publish(self, plant: Plant, time: Time) -> None:
        """Publish what is true now.

        Args:
            plant: The plant.
            time: Its time.
        """
        publishers = (self._joints, self._contacts, self._objects)
        if not self._lockstep and not any(p.get_subscription_count() for p in publishers):
            return
        truth = plant.truth()
        self._joints.publish(true_joint_states(truth, time))
        self._contacts.publish(true_contacts(truth, self._frame, time))
        self._objects.publish(true_objects(truth, self._frame, time))


class CameraTopic:
    """Publishes where the free objects are seen, likewise."""

    def __init__(self, node: Node, scene: Scene, lockstep: bool, seed: int) -> None:
        """Create the publisher.

        Args:
            node: The simulator's node.
            scene: What there is to see, and how well.
            lockstep: True in lock-step, False in real time.
            seed: Of the noise.
        """
        self._frame, self._config, self._lockstep = (
            scene.robot.base_link, scene.config.camera, lockstep,
        )  # fmt: skip
        self._names = tuple(name for name, item in scene.objects.items() if item.free)
        self._pictures = node.create_publisher(
            TFMessage, "camera/objects", signal_publisher(lockstep)
        )
        self.reset(seed)

    def reset(self, seed: int) -> None:
        """Begin anew.

        Args:
            seed: Of the noise.
        """
        self._camera = Camera(self._config, seed)

    def publish(self, plant: Plant, stamp: int) -> None:
        """Publish the pictures that have arrived.

        Args:
            plant: The plant.
            stamp: Its time [ns].
        """
        if not self._lockstep and not self._pictures.get_subscription_count():
            return

        def look() -> dict[str, pin.SE3]:
            truth = plant.truth()
            return {name: truth.pose_of(name) for name in self._names}

        for picture in self._camera.see(stamp, look):
            time = to_time(picture.stamp)
            frames = [
                to_frame(name, to_transform(pose), self._frame, time)
                for name, pose in picture.poses.items()
            ]
            self._pictures.publish(TFMessage(transforms=frames))


def true_joint_states(truth: Truth, stamp: Time) -> JointState:
    """Return the true positions and velocities of the robot's joints, the arm's first.

    Args:
        truth: The ground truth.
        stamp: Its time.

    Returns:
        The message.
    """
    message = JointState(
        name=list(truth.joint_names), position=truth.joint_position, velocity=truth.joint_velocity
    )
    message.header.stamp = stamp
    return message


def true_contacts(truth: Truth, frame: str, stamp: Time) -> ContactArray:
    """Return the true contacts of the robot.

    Args:
        truth: The ground truth.
        frame: Name of the world frame.
        stamp: Its time.

    Returns:
        The message.
    """
    contacts = [_contact(index, contact) for index, contact in enumerate(truth.contacts)]
    state = ContactArray.CONVERGED if contacts else ContactArray.FREE
    message = ContactArray(contacts=contacts, state=state)
    message.header.stamp = stamp
    message.header.frame_id = frame
    return message


def true_objects(truth: Truth, frame: str, stamp: Time) -> TFMessage:
    """Return the poses of the objects, the fixed ones included.

    Args:
        truth: The ground truth.
        frame: Name of the world frame.
        stamp: Its time.

    Returns:
        The message; the child frames are the names of the objects.
    """
    frames = []
    for item in truth.objects:
        position, turn = to_vector(item.position), to_quaternion(item.quaternion)
        place = Transform(translation=position, rotation=turn)
        frames.append(to_frame(item.name, place, frame, stamp))
    return TFMessage(transforms=frames)


def _contact(index: int, contact: TrueContact) -> Contact:
    return Contact(
        id=index,
        link=contact.link,
        other=contact.body,
        point=to_point(contact.point),
        normal=to_vector(contact.normal),
        force=to_vector(contact.force),
        identifiable=True,
    )
