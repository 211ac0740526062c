"""What the tests of failures have in common."""

from __future__ import annotations

import numpy as np
from client import GraphClient
from contact_stack_msgs.action import FollowPoseTrajectory
from contact_stack_msgs.msg import ControllerStatus, PoseTrajectoryPoint
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.duration import Duration
from std_srvs.srv import Trigger

from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_ros.geometry import to_pose

REPORT_TIME = 0.1
"""What a busy machine may add until a status has been received [s]."""


def goal_down(client: GraphClient, distance: float, duration: float) -> FollowPoseTrajectory.Goal:
    """A goal that moves the tool straight down."""
    robot = Robot.from_description(RobotDescription.load("iiwa14_wsg50"))
    robot.update(np.array(client.latest("truth/joint_states").position[:7]))
    point = PoseTrajectoryPoint(time_from_start=Duration(seconds=duration).to_msg())
    point.pose = to_pose(robot.tool_pose())
    point.pose.position.z -= distance
    goal = FollowPoseTrajectory.Goal()
    goal.trajectory.points = [point]
    return goal


def mode(client: GraphClient) -> int:
    return int(client.latest("controller_status").mode)


def at_rest(client: GraphClient) -> bool:
    """Where the driver does not report the command, the arm sags a little at first."""
    recent = [message.position for _, message in client.heard["truth/joint_states"][-25:]]
    return len(recent) == 25 and float(np.ptp(recent, axis=0).max()) < 1e-5


def first_status(client: GraphClient, name: str, after: float) -> float:
    """Return the arrival time of the first status of a name after a time."""

    def find() -> float:
        arrivals = client.heard["controller_status"]
        return next((t for t, s in arrivals if t > after and s.status_name == name), 0.0)

    return client.spin_until(find)


def last_arrival(client: GraphClient, topic: str) -> float:
    return client.heard[topic][-1][0]


def ask(client: GraphClient, service: str) -> Trigger.Response:
    """Call one of the controller's services."""
    return client.call(Trigger, f"contact_aware_controller/{service}", Trigger.Request())


def change(client: GraphClient, node: str, transition: int) -> bool:
    """Ask a node for a transition of its life cycle; return whether it was made."""
    request = ChangeState.Request(transition=Transition(id=transition))
    return bool(client.call(ChangeState, f"{node}/change_state", request).success)


def ask_until_granted(client: GraphClient, service: str) -> None:
    """Ask again while it is refused: a busy machine delays states, and no resume works then."""
    refusals: list[str] = []

    def granted() -> bool:
        answer = ask(client, service)
        if not answer.success:
            refusals.append(answer.message)
        return bool(answer.success)

    try:
        client.spin_until(granted)
    except TimeoutError:
        raise AssertionError(f"{service} was refused: {refusals[-1:]}") from None


def settle(client: GraphClient) -> None:
    """Have the arm held and the controller ready, whatever an earlier test has left."""
    if mode(client) != ControllerStatus.HOLD:
        ask_until_granted(client, "stop")
        ask_until_granted(client, "reset")
    ask_until_granted(client, "resume")
    client.wait_until_ready()


def diagnostic(client: GraphClient, node: str, after: float = 0.0) -> tuple[str, dict[str, str]]:
    """Return message and values of a node's latest report after a time, empty if none."""
    for arrival, message in reversed(client.heard["/diagnostics"]):
        for status in message.status:
            if arrival > after and status.name.endswith(node):
                return status.message, {pair.key: pair.value for pair in status.values}
    return "", {}
