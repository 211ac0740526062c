"""The simulator's own services, and the gripper's action, in real time."""

from __future__ import annotations

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from client import RATE, GraphClient
from contact_stack_msgs.msg import ContactArray, ControllerStatus
from contact_stack_msgs.srv import Pause, Reset, SetPayload, Step
from control_msgs.action import FollowJointTrajectory, GripperCommand, ParallelGripperCommand
from faults import ask_until_granted, change, diagnostic
from lifecycle_msgs.msg import Transition
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectoryPoint

from contact_core.robot.description import RobotDescription
from contact_core.robot.scene import Scene
from contact_ros.stamps import NANOSECONDS, to_nanoseconds
from contact_stack.moveit_config import move_group_parameters

pytestmark = pytest.mark.graph

PERIOD_NS = round(NANOSECONDS / RATE)


@pytest.fixture
def running(held: GraphClient) -> GraphClient:
    """The graph that all these tests share, put back to its start."""
    assert held.call(Reset, "tamsi_sim/reset", Reset.Request()).success
    ask_until_granted(held, "resume")
    held.wait_until_ready()
    return held


def turn_away(start: np.ndarray, angle: float) -> FollowJointTrajectory.Goal:
    """Return the goal to turn the first joint from a start (7) by an angle [rad] within 3 s."""
    goal = FollowJointTrajectory.Goal()
    goal.trajectory.joint_names = list(RobotDescription.load("iiwa14_wsg50").arm_joints)
    away = start + np.eye(7)[0] * angle
    goal.trajectory.points = [JointTrajectoryPoint(positions=away, time_from_start=Duration(sec=3))]
    return goal


def pause(client: GraphClient, value: bool) -> None:
    assert client.call(Pause, "tamsi_sim/pause", Pause.Request(pause=value)).success


def armed(client: GraphClient) -> bool:
    """Tell whether the arm is commanded; on a busy machine a state may be late in between."""
    status = client.latest("controller_status")
    commanded = (ControllerStatus.TRACKING, ControllerStatus.HOLD)
    return status.mode in commanded and bool(status.link == ControllerStatus.ARMED)


@pytest.mark.parametrize("driver", ["lbr_fri"], indirect=True)
def test_a_pause_stops_time_and_not_the_arm(held: GraphClient) -> None:
    """The goal goes on where it was, with the link still armed; a step is one of its own."""
    client = held
    start = np.array(client.latest("controller_status").joint_command)
    goal = turn_away(start, 0.2)
    away = start[0] + 0.2
    result = client.send(client.joints, goal).get_result_async()
    client.wait_simulated(1.0)
    pause(client, True)
    client.spin_for(0.2)
    held = client.latest("truth/joint_states").position[0]
    client.spin_for(1.5)
    assert client.latest("truth/joint_states").position[0] == held
    client.spin_until(lambda: armed(client))
    answer = client.call(Step, "tamsi_sim/step", Step.Request(ticks=10))
    assert answer.success
    client.spin_until(lambda: client.stamp() == to_nanoseconds(answer.stamp))
    stepped = client.latest("truth/joint_states").position[0]
    assert stepped - held == pytest.approx(0.2 * 0.2 / 3.0, rel=0.6)
    pause(client, False)
    client.spin_until(result.done)
    assert result.result().result.error_code == FollowJointTrajectory.Result.SUCCESSFUL
    # What a busy machine hears of it comes later.
    client.spin_until(lambda: abs(client.latest("truth/joint_states").position[0] - away) < 0.01)
    client.spin_until(lambda: armed(client))


@pytest.mark.parametrize("driver", ["lbr_fri"], indirect=True)
@pytest.mark.parametrize(
    ("asked", "said"),
    [("stop", "STOPPED"), ("deactivate", "the controller was deactivated"), ("cancel", "")],
)
def test_a_goal_ends_at_once_also_while_simulated_time_is_paused(
    held: GraphClient, asked: str, said: str
) -> None:
    """What is asked next, in the same tick maybe, must not let it go on."""
    client = held
    start = np.array(client.latest("controller_status").joint_command)
    handle = client.send(client.joints, turn_away(start, 0.3))
    result = handle.get_result_async()
    client.wait_simulated(0.5)
    pause(client, True)
    client.spin_for(0.1)
    if asked == "cancel":
        client.spin_until(handle.cancel_goal_async().done)
    elif asked == "stop":
        both = [
            client.node.create_client(Trigger, f"contact_aware_controller/{name}")
            for name in ("stop", "reset")
        ]
        client.spin_until(lambda: all(one.service_is_ready() for one in both))
        answers = [one.call_async(Trigger.Request()) for one in both]
        client.spin_until(lambda: all(answer.done() for answer in answers))
    else:
        assert change(client, "contact_aware_controller", Transition.TRANSITION_DEACTIVATE)
        assert change(client, "contact_aware_controller", Transition.TRANSITION_ACTIVATE)
    client.spin_until(result.done, 10.0)
    pause(client, False)
    ended = result.result()
    assert said in ended.result.error_string
    canceled = asked == "cancel"
    expected = GoalStatus.STATUS_CANCELED if canceled else GoalStatus.STATUS_ABORTED
    assert ended.status == expected
    ask_until_granted(client, "resume")
    client.wait_until_ready()
    client.wait_simulated(0.5)
    assert abs(client.latest("truth/joint_states").position[0] - start[0]) < 0.2


def test_pause_step_and_go_on(held: GraphClient) -> None:
    client = held
    refused = client.call(Step, "tamsi_sim/step", Step.Request(ticks=1))
    assert not refused.success
    assert "pause first" in refused.message

    pause(client, True)
    client.spin_for(0.1)
    paused_at = client.stamp()
    client.spin_for(0.1)
    assert client.stamp() == paused_at

    answer = client.call(Step, "tamsi_sim/step", Step.Request(ticks=7))
    assert answer.success
    assert to_nanoseconds(answer.stamp) == paused_at + 7 * PERIOD_NS

    pause(client, False)
    client.spin_until(lambda: client.stamp() > paused_at + 5 * PERIOD_NS)


def test_moveit_s_controller_is_on_the_graph(held: GraphClient) -> None:
    client = held
    description = RobotDescription.load("iiwa14_wsg50")
    manager = move_group_parameters(description)["moveit_simple_controller_manager"]
    (name,) = manager["controller_names"]
    controller = manager[name]
    arm = ActionClient(client.node, FollowJointTrajectory, f"{name}/{controller['action_ns']}")
    client.spin_until(arm.server_is_ready)
    goal = FollowJointTrajectory.Goal()
    goal.trajectory.joint_names = controller["joints"]
    command = client.latest("controller_status").joint_command
    goal.trajectory.points = [
        JointTrajectoryPoint(positions=command, time_from_start=Duration(sec=1))
    ]
    result = client.result(arm, goal)
    assert result.error_code == FollowJointTrajectory.Result.SUCCESSFUL, result.error_string


def test_tare_and_payload(held: GraphClient) -> None:
    client = held
    answer = client.call(Trigger, "contact_estimator/tare", Trigger.Request())
    assert answer.success
    client.spin_until(lambda: client.latest("contacts").state == ContactArray.UNTARED)
    # The mug hangs there, whatever is declared: what the torque does not show does not count.
    client.wait_until_ready()
    for mass in (2.0, 0.1):
        client.call(SetPayload, "set_payload", SetPayload.Request(mass=mass))
        client.wait_simulated(0.5)
        smooth = np.mean(
            [message.external_torque_free for _, message in client.heard["contacts"][-10:]], axis=0
        )
        assert np.abs(smooth).max() < 0.2
        assert client.latest("contacts").undeclared_load == pytest.approx(0.1 - mass)


def test_reset_returns_to_the_start_of_the_scene(running: GraphClient) -> None:
    """At once: then it sags, and the controller yields to what the jump looks like."""
    client = running
    start = Scene.load("mug_placement").config.robot.initial_positions
    opening = ParallelGripperCommand.Goal()
    opening.command.position = [0.055]
    client.result(client.gripper, opening)
    before = client.latest("truth/joint_states")
    client.heard["truth/joint_states"].clear()
    assert client.call(Reset, "tamsi_sim/reset", Reset.Request(seed=3)).success

    def closed() -> JointState | None:
        """Return the first state whose fingers are not where the goal has put them."""
        states = (state for _, state in client.heard["truth/joint_states"])
        return next((s for s in states if abs(s.position[7] - before.position[7]) > 5e-3), None)

    reset = client.spin_until(closed)
    assert to_nanoseconds(reset.header.stamp) > to_nanoseconds(before.header.stamp)
    assert np.abs(np.array(reset.position[:7]) - start).max() < 2e-3


def test_a_new_start_far_away_does_not_end_the_driver(running: GraphClient) -> None:
    """Commands to the arm where it was are under way, and would throw it there."""
    client = running
    start = np.array(client.latest("controller_status").joint_command)
    goal = turn_away(start, 0.5)
    client.result(client.joints, goal)
    assert client.call(Reset, "tamsi_sim/reset", Reset.Request()).success
    client.spin_for(1.0)
    ask_until_granted(client, "resume")
    client.spin_for(2.0)
    speeds = [message.velocity for _, message in client.heard["truth/joint_states"][-125:]]
    assert np.abs(speeds).max() < 0.3
    assert "the command guard" not in diagnostic(client, "tamsi_sim")[0]
    command = client.latest("controller_status").joint_command
    assert np.abs(np.array(command) - start).max() < 0.05


def test_gripper_opens_and_then_stalls_on_nothing_less_than_its_goal(
    running: GraphClient,
) -> None:
    client = running
    joint = client.spin_until(lambda: client.latest("gripper/joint_states")).name[0]
    closing = ParallelGripperCommand.Goal()
    closing.command.name = [joint]
    closing.command.position = [0.0]
    closing.command.effort = [20.0]
    held = client.result(client.gripper, closing)
    assert held.stalled and not held.reached_goal
    assert held.state.position[0] == pytest.approx(0.0395, abs=2e-3)

    opening = ParallelGripperCommand.Goal()
    opening.command.position = [0.055]
    opened = client.result(client.gripper, opening)
    assert opened.reached_goal
    assert opened.state.position[0] == pytest.approx(0.055, abs=2e-3)


def test_older_clients_command_the_same_gripper(running: GraphClient) -> None:
    """Their goals and the newer ones replace each other; 0 stands for the default effort."""
    client = running
    older = ActionClient(client.node, GripperCommand, "gripper_cmd")
    client.spin_until(older.server_is_ready)
    closing = GripperCommand.Goal()
    held = client.result(older, closing)
    assert held.stalled and not held.reached_goal
    assert held.position == pytest.approx(0.0395, abs=2e-3)
    assert held.effort < -10.0

    slow = ParallelGripperCommand.Goal()
    slow.command.position, slow.command.velocity = [0.055], [0.002]
    replaced = client.send(client.gripper, slow).get_result_async()
    opening = GripperCommand.Goal()
    opening.command.position = 0.05
    opened = client.result(older, opening)
    assert opened.reached_goal and not opened.stalled
    assert opened.position == pytest.approx(0.05, abs=2e-3)
    client.spin_until(replaced.done)
    assert replaced.result().status == GoalStatus.STATUS_ABORTED

    opening.command.position = 0.2
    refused = older.send_goal_async(opening)
    client.spin_until(refused.done)
    assert not refused.result().accepted
