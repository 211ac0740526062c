"""A recording reads back as what was written, with its own message definitions."""

import pytest
from geometry_msgs.msg import WrenchStamped
from mcap_ros2.reader import read_ros2_messages
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from contact_core.errors import CommunicationError
from contact_stack.recording import McapRecorder, message_definition


def test_round_trip(tmp_path):
    path = tmp_path / "run.mcap"
    with McapRecorder(path) as recorder:
        for k in range(3):
            state = JointState(name=["A1"], position=[0.1 * k])
            recorder.write("/lbr/joint_states", JointState, serialize_message(state), 5_000_000 * k)
        wrench = WrenchStamped()
        wrench.wrench.force.z = 15.0
        recorder.write("/lbr/wrench", WrenchStamped, serialize_message(wrench), 20_000_000)
    messages = list(read_ros2_messages(str(path)))
    assert [m.channel.topic for m in messages] == 3 * ["/lbr/joint_states"] + ["/lbr/wrench"]
    assert [m.ros_msg.position[0] for m in messages[:3]] == [0.0, 0.1, 0.2]
    assert messages[3].ros_msg.wrench.force.z == 15.0
    assert messages[2].log_time_ns == 10_000_000


def test_definition_contains_every_nested_type_once():
    text = message_definition("geometry_msgs/msg/WrenchStamped")
    for name in ("std_msgs/Header", "builtin_interfaces/Time", "geometry_msgs/Vector3"):
        assert text.count(f"MSG: {name}") == 1


def test_unknown_type_is_named():
    with pytest.raises(CommunicationError, match="nowhere_msgs/Nothing"):
        message_definition("nowhere_msgs/msg/Nothing")
