"""The topics ``truth/*`` of the simulator."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from contact_stack_msgs.msg import ContactArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from contact_ros.qos import signal_publisher
from tamsi_sim.node.messages import true_contacts, true_joint_states, true_objects
from tamsi_sim.robot.plant import Plant


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
