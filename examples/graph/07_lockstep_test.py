"""A test in lock-step: it starts the graph itself, and gives the same figure on any machine."""

import io

import rclpy
from sensor_msgs.msg import JointState

from contact_ros import LOCKSTEP, Participant, TickInputs, to_nanoseconds
from contact_stack.launch import NodeGraph, find_launch_file, parse

ARGUMENTS = {"lockstep": "true", "client": "observer", "view": "false", "frames": "false"}

rclpy.init()
node = rclpy.create_node("observer", namespace="lbr")
elbow = []


def heard(message: JointState) -> None:
    """Match a message to its tick."""
    inputs.put("joints", to_nanoseconds(message.header.stamp), message)


def handle(k: int, samples: dict) -> None:
    """Look at the arm; the simulator advances when all are done with tick k."""
    elbow.append(samples["joints"].position[3])
    participant.done(k)


inputs = TickInputs(["joints"], handle)
participant = Participant(node, "observer", inputs.tick)
node.create_subscription(JointState, "truth/joint_states", heard, LOCKSTEP)
with NodeGraph(parse(find_launch_file("sim"), ARGUMENTS), io.StringIO()) as graph:
    participant.announce()
    while len(elbow) < 100:
        rclpy.spin_once(node, timeout_sec=1.0)
print(f"after {len(elbow)} ticks of 5 ms the elbow is at {elbow[-1]!r} rad")
