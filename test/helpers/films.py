"""A recording of an arm that bends at its second joint, and is pushed on the way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from contact_stack_msgs.msg import Contact, ContactArray, ControllerStatus
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from contact_core.robot.description import RobotDescription
from contact_ros.geometry import to_point, to_vector
from contact_ros.stamps import NANOSECONDS
from contact_stack.recording import McapRecorder
from contact_stack.viewer.scene_model import CAST, scene_model_of

DURATION, PERIOD = 4.0, 0.01
PUSHED = (2.0, 3.0)
"""When it is pushed [s]."""
FORCE = (0.0, 0.0, 12.0)
KNOCK = 2.52
"""When it is pushed three times as hard, for one sample that is in no picture [s]."""


def angle(time: float) -> float:
    """Return where the second joint is [rad]."""
    return 0.3 * time


def write_recording(path: Path, namespace: str = "/lbr/", start: float = 1e9) -> None:
    """Write it, with stamps from ``start`` [s] on."""
    joints = RobotDescription.load("iiwa14_wsg50").arm_joints
    with McapRecorder(path) as recorder:
        recorder.describe(CAST, scene_model_of("", "iiwa14_wsg50").as_metadata())
        for time in np.arange(0.0, DURATION, PERIOD):
            contact = Contact(
                link="lbr_link_4",
                identifiable=True,
                point=to_point([0.3, 0.0, 0.8]),
                force=to_vector(FORCE),
            )
            if abs(time - KNOCK) < 0.5 * PERIOD:
                contact.force = to_vector(np.multiply(FORCE, 3.0))
            contacts = [contact] if PUSHED[0] <= time < PUSHED[1] else []
            messages = {
                "truth/joint_states": JointState(
                    name=list(joints), position=[0.0, angle(time), 0.0, -0.8, 0.0, 0.0, 0.0]
                ),
                "contacts": ContactArray(contacts=contacts),
                "truth/contacts": ContactArray(contacts=contacts),
                "controller_status": ControllerStatus(mode=ControllerStatus.TRACKING),
            }
            for topic, message in messages.items():
                stamp = round((start + time) * NANOSECONDS)
                data = serialize_message(message)
                recorder.write(f"{namespace}{topic}", type(message), data, stamp)
