"""Bad input is refused with one clear line, and nothing moves."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from client import RATE, GraphClient
from contact_stack_msgs.action import FollowPoseTrajectory
from contact_stack_msgs.msg import (
    Contact,
    ContactArray,
    ControllerStatus,
    PoseTrajectoryPoint,
)
from contact_stack_msgs.srv import SetPayload
from control_msgs.action import FollowJointTrajectory, ParallelGripperCommand
from faults import ask, ask_until_granted, at_rest
from geometry_msgs.msg import Vector3
from own_domain import own_domain
from rclpy.duration import Duration
from trajectory_msgs.msg import JointTrajectoryPoint

from contact_ros.driver_profile import PROFILES, DriverConfig, driver_profile

pytestmark = pytest.mark.graph

NODES = {
    "tamsi_sim": "tamsi_sim.node.simulator",
    "contact_estimator": "contact_aware_control.node.estimator",
    "contact_aware_controller": "contact_aware_control.node.controller",
}

REFUSED = (
    ("tamsi_sim", "speed:=1.0", "unknown parameter 'speed'"),
    ("tamsi_sim", "scene:=moon", "moon"),
    ("tamsi_sim", "driver:=fanuc", f"unknown driver 'fanuc' (valid: {', '.join(PROFILES)})"),
    ("contact_estimator", "particles.count:=1", "'particles.count' is 1"),
    ("contact_aware_controller", "force.limt:=3.0", "unknown parameter 'force.limt'"),
    ("contact_aware_controller", "force.limit:=.nan", "'force.limit' is nan"),
    ("contact_aware_controller", "robot:=moon", "moon"),
    ("contact_aware_controller", "robot:=''", "which robot?"),
    ("contact_aware_controller", "robot:=ur5e", "driver 'lbr_fri' has 7 joints, the robot 6"),
    ("contact_aware_controller", "arm.joint_names:=[a, b]", "has 7 joints"),
)
"""Node, parameter, and what the node says of it."""

EACH = f"""
import json, os, sys, tempfile
from importlib import import_module

mains = {{node: import_module(module).main for node, module in {NODES}.items()}}
ends = []
for node, parameter, _ in {REFUSED}:
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if not child:
            os.dup2(said.fileno(), 2)
            sys.argv[1:] = ["--ros-args", "-p", "robot:=iiwa14_wsg50", "-p", parameter]
            sys.exit(mains[node]())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        ends.append((code, said.read().decode()))
print(json.dumps(ends))
"""
"""Starts each node in a process of its own, which needs not import everything again."""


@pytest.fixture(scope="module")
def ends() -> dict[str, tuple[int, str]]:
    """Exit code and standard error of a node, by its parameter."""
    with own_domain() as environment:
        done = subprocess.run(
            [sys.executable, "-c", EACH],
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            text=True,
            timeout=120,
            check=True,
        )
    parameters = (parameter for _, parameter, _ in REFUSED)
    return dict(zip(parameters, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize(("node", "parameter", "message"), REFUSED)
def test_a_bad_parameter_is_one_line(
    ends: dict[str, tuple[int, str]], node: str, parameter: str, message: str
) -> None:
    code, said = ends[parameter]
    assert code == 2
    assert message in said
    assert len(said.strip().splitlines()) == 1


def joint_goal(
    client: GraphClient, driver: str, duration: float = 3.0
) -> FollowJointTrajectory.Goal:
    """A goal at which the arm already is; the joints have the driver's names."""
    position = np.array(client.latest("truth/joint_states").position[:7])
    goal = FollowJointTrajectory.Goal()
    profile = driver_profile(driver, DriverConfig(), namespace=client.node.get_namespace())
    goal.trajectory.joint_names = list(profile.joint_names)
    goal.trajectory.points = [
        JointTrajectoryPoint(
            positions=position.tolist(), time_from_start=Duration(seconds=duration).to_msg()
        )
    ]
    return goal


def wrong_names(goal: FollowJointTrajectory.Goal) -> None:
    goal.trajectory.joint_names[0] = "elbow"


def wrong_length(goal: FollowJointTrajectory.Goal) -> None:
    goal.trajectory.points[0].positions = [0.0] * 6


def not_finite(goal: FollowJointTrajectory.Goal) -> None:
    goal.trajectory.points[0].positions[3] = float("nan")


def beyond_limits(goal: FollowJointTrajectory.Goal) -> None:
    goal.trajectory.points[0].positions[1] = 3.0


def too_fast(goal: FollowJointTrajectory.Goal) -> None:
    goal.trajectory.points[0].positions[0] += 1.0
    goal.trajectory.points[0].time_from_start = Duration(seconds=0.1).to_msg()


def starts_far_away(goal: FollowJointTrajectory.Goal) -> None:
    first = JointTrajectoryPoint(positions=(np.array(goal.trajectory.points[0].positions) + 0.3))
    goal.trajectory.points.insert(0, first)


def no_points(goal: FollowJointTrajectory.Goal) -> None:
    goal.trajectory.points = []


def old_stamp(goal: FollowJointTrajectory.Goal) -> None:
    goal.trajectory.header.stamp.sec = 1


def test_a_command_that_is_not_finite_never_reaches_the_arm(held: GraphClient, driver: str) -> None:
    client = held
    client.spin_until(lambda: at_rest(client))
    start = np.array(client.latest("truth/joint_states").position)
    profile = driver_profile(
        driver, DriverConfig(), 1.0 / RATE, namespace=client.node.get_namespace()
    )
    publisher = client.node.create_publisher(profile.command_type, profile.command_topic, 1)
    bad = profile.encode_command(np.full(7, np.nan))

    def refused() -> bool:  # some may be lost: the simulator may not know of the publisher yet
        publisher.publish(bad)
        return "not finite" in _diagnostic(client, "tamsi_sim", "last_rejection")

    client.spin_until(refused)
    assert np.abs(np.array(client.latest("truth/joint_states").position) - start).max() < 1e-4
    # Whoever else commands makes the controller wait until it is asked to go on.
    client.spin_until(lambda: client.latest("controller_status").status_name == "FOREIGN_COMMAND")
    client.node.destroy_publisher(publisher)
    client.spin_until(lambda: client.latest("controller_status").status_name == "NOT_ARMED")
    ask_until_granted(client, "resume")


def test_goals_and_messages_that_are_refused(held: GraphClient, driver: str) -> None:
    """One graph for all of them: afterwards the arm is where it was."""
    client = held
    result = FollowJointTrajectory.Result
    client.spin_until(lambda: at_rest(client))
    start = np.array(client.latest("truth/joint_states").position)
    for spoil, code, text in (
        (wrong_names, result.INVALID_JOINTS, "elbow"),
        (wrong_length, result.INVALID_GOAL, "has 6 positions instead of 7"),
        (not_finite, result.INVALID_GOAL, "not finite"),
        (beyond_limits, result.INVALID_GOAL, "lbr_A2 would be outside its limits"),
        (too_fast, result.INVALID_GOAL, "lbr_A1 would move at"),
        (starts_far_away, result.INVALID_GOAL, "rad away from the arm"),
        (no_points, result.INVALID_GOAL, "no points"),
        (old_stamp, result.OLD_HEADER_TIMESTAMP, "in the past"),
    ):
        goal = joint_goal(client, driver)
        spoil(goal)
        answer = client.result(client.joints, goal)
        assert answer.error_code == code, answer.error_string
        assert text in answer.error_string
        assert "\n" not in answer.error_string

    far = FollowPoseTrajectory.Goal()
    point = PoseTrajectoryPoint()
    point.pose.orientation.w = 1.0
    far.trajectory.points = [point]
    answer = client.result(client.pose, far)
    assert answer.error_code == FollowPoseTrajectory.Result.INVALID_GOAL
    assert "away from the tool" in answer.error_string

    for opening in (float("nan"), -0.01, 0.06):  # a finger of the WSG-50 moves by 55 mm
        gripper = ParallelGripperCommand.Goal()
        gripper.command.position = [opening]
        future = client.gripper.send_goal_async(gripper)
        client.spin_until(future.done)
        assert not future.result().accepted

    payload = client.call(SetPayload, "set_payload", SetPayload.Request(mass=-1.0))
    assert not payload.success
    assert "mass [kg] is -1 (valid: 0 .. 20)" in payload.message

    late = SetPayload.Request(mass=0.1)
    late.start.sec = 2**31 - 1
    payload = client.call(SetPayload, "set_payload", late)
    assert not payload.success
    assert "s ahead (valid: at most 3600 s)" in payload.message

    client.spin_for(0.3)
    assert np.abs(np.array(client.latest("truth/joint_states").position) - start).max() < 1e-4


def test_a_goal_that_waits_for_its_start_is_refused_by_a_hold(
    held: GraphClient, driver: str
) -> None:
    client = held
    client.spin_until(lambda: at_rest(client))
    goal = joint_goal(client, driver)
    goal.trajectory.points[0].positions[0] += 0.3
    goal.trajectory.header.stamp = (client.node.get_clock().now() + Duration(seconds=60.0)).to_msg()
    future = client.send(client.joints, goal).get_result_async()
    client.spin_for(0.3)
    assert not future.done()
    assert ask(client, "hold").success
    client.spin_until(future.done)
    assert future.result().result.error_code == FollowJointTrajectory.Result.INVALID_GOAL
    assert "it is held on request" in future.result().result.error_string
    ask_until_granted(client, "resume")


def test_a_goal_that_waits_is_refused_where_the_arm_is_elsewhere_by_then(
    held: GraphClient, driver: str
) -> None:
    client = held
    client.spin_until(lambda: at_rest(client))
    late = joint_goal(client, driver)
    begin = np.array(late.trajectory.points[0].positions)
    late.trajectory.points.insert(0, JointTrajectoryPoint(positions=begin.tolist()))
    late.trajectory.header.stamp = (client.node.get_clock().now() + Duration(seconds=8.0)).to_msg()
    hand = client.node.create_publisher(Vector3, "tamsi_sim/push", 1)
    future = client.send(client.joints, late).get_result_async()

    def led_away() -> bool:
        hand.publish(Vector3(y=40.0))
        command = client.latest("controller_status").joint_command
        return bool(future.done() or np.abs(np.array(command) - begin).max() > 0.1)

    client.spin_until(led_away)
    hand.publish(Vector3())
    client.spin_until(future.done)
    client.node.destroy_publisher(hand)
    result = future.result().result
    assert result.error_code == FollowJointTrajectory.Result.INVALID_GOAL
    assert "rad away from the arm" in result.error_string


def test_contacts_of_another_node_stop_the_arm(held: GraphClient) -> None:
    client = held
    client.spin_until(lambda: at_rest(client))
    publisher = client.node.create_publisher(ContactArray, "contacts", 1)
    client.spin_until(lambda: client.latest("controller_status").status_name == "FOREIGN_STATE")
    old = ContactArray()
    old.header.stamp.sec = 1

    def refused() -> bool:
        publisher.publish(old)
        return "before the joint states" in _diagnostic(
            client, "contact_aware_controller", "last_rejection"
        )

    client.spin_until(refused)
    client.node.destroy_publisher(publisher)
    client.spin_until(lambda: client.latest("controller_status").status_name != "FOREIGN_STATE")
    ask_until_granted(client, "reset")  # so many of them are a fault of their own
    ask_until_granted(client, "resume")


def test_a_burst_of_phantom_contacts_moves_nothing(held: GraphClient) -> None:
    """Between two looks at the graph they were followed, by 0.2 m."""
    client = held
    client.spin_until(lambda: at_rest(client))
    publisher = client.node.create_publisher(ContactArray, "contacts", 1)
    before = np.array(client.latest("controller_status").joint_command)
    phantom = Contact(link="lbr_link_6", identifiable=True)
    phantom.point.z, phantom.normal.z, phantom.force.z = 0.6, 1.0, 100.0

    def told() -> bool:
        publisher.publish(ContactArray(header=client.latest("contacts").header, contacts=[phantom]))
        return bool(client.latest("controller_status").status_name == "FOREIGN_STATE")

    client.spin_until(told)
    client.node.destroy_publisher(publisher)
    assert np.abs(np.array(client.latest("controller_status").joint_command) - before).max() < 1e-3
    client.spin_until(lambda: client.latest("controller_status").status_name != "FOREIGN_STATE")
    ask_until_granted(client, "resume")


def test_contacts_on_unknown_links_are_a_latched_fault(held: GraphClient) -> None:
    """Several bad messages in a row stop the controller until it is reset."""
    client = held
    publisher = client.node.create_publisher(ContactArray, "contacts", 1)
    client.spin_until(publisher.get_subscription_count)
    bad = ContactArray()
    bad.contacts.append(Contact(link="elbow"))

    def refused() -> bool:
        # Sound states arrive every 5 ms in between: too many bad messages between two of them.
        for _ in range(50):
            publisher.publish(bad)
        return _mode(client) == ControllerStatus.FAULT

    client.spin_until(refused)
    assert client.latest("controller_status").status_name == "BAD_INPUT"
    assert client.latest("controller_status").remedy
    client.node.destroy_publisher(publisher)


def _mode(client: GraphClient) -> int:
    return int(client.latest("controller_status").mode)


def _diagnostic(client: GraphClient, node: str, key: str) -> str:
    """Return a value of a node's latest report, empty if it has none."""
    for _, message in reversed(client.heard["/diagnostics"]):
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            if status.name.endswith(node) and key in values:
                return str(values[key])
    return ""
