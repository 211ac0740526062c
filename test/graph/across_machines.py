"""What happens between two hosts; each scenario runs in a network of its own.

unshare --user --map-root-user --net python across_machines.py SCENARIO
"""

from __future__ import annotations

import os
import signal
import sys

from client import GraphClient
from contact_stack_msgs.action import PlanThroughContact
from contact_stack_msgs.msg import ControllerStatus
from faults import ask_until_granted, diagnostic, first_status, goal_down, last_arrival, mode
from hosts import FAR, NEAR, TwoHosts
from rclpy.action import ActionClient
from rosgraph_msgs.msg import Clock

from contact_ros.stamps import to_time
from contact_stack.launch import find_launch_file, parse

ARGUMENTS = {"view": "false", "frames": "false", "held_mass": "0.1"}
SUBNET = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}
LOCALHOST = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
PEERS = {**LOCALHOST, "ROS_STATIC_PEERS": f"{NEAR};{FAR}"}


def moving(client: GraphClient) -> None:
    """Wait until the arm follows a slow goal."""
    client.wait_until_ready()
    client.send(client.pose, goal_down(client, 0.1, 120.0))
    client.spin_until(lambda: mode(client) == ControllerStatus.TRACKING)


def the_hosts_find_each_other(environment: dict[str, str]) -> None:
    """The arm's driver is far, everything else is near; the arm follows a goal."""
    with TwoHosts(**environment) as hosts:
        client = GraphClient()
        hosts.launch("sim", far=["tamsi_sim"], **ARGUMENTS)
        moving(client)
        client.close()


def two_graphs_keep_to_themselves(environment: dict[str, str], **arguments: str) -> None:
    """A robot is far. Near, a graph without one is started: it never hears the other's states."""
    with TwoHosts(**environment) as hosts:
        client = GraphClient()
        robot, *_ = parse(find_launch_file("sim"), {**ARGUMENTS, "network": "environment"}).nodes
        hosts.start(robot, far=True)
        reachable = environment != LOCALHOST
        if reachable:
            client.spin_until(lambda: client.latest("truth/joint_states"), 60.0)
        for node in parse(find_launch_file("sim"), {**ARGUMENTS, **arguments}).nodes:
            if node.name != "tamsi_sim":
                hosts.start(node)
        client.spin_until(lambda: client.latest("controller_status"), 60.0)
        client.spin_for(5.0)
        assert "contact_estimator" in client.node.get_node_names()
        assert ("tamsi_sim" in client.node.get_node_names()) == reachable
        assert {s.mode for _, s in client.heard["controller_status"]} == {ControllerStatus.INACTIVE}
        client.close()


def a_cut_link_to_the_arm_means_hold() -> None:
    """After a short cut the controller goes on by itself, after a long one when told to."""
    with TwoHosts(**SUBNET) as hosts:
        client = GraphClient()
        hosts.launch("sim", far=["tamsi_sim"], **ARGUMENTS)
        moving(client)
        for duration in (0.3, 2.0):
            hosts.cut()
            cut = last_arrival(client, "controller_status")
            first_status(client, "STATE_STALE", cut)
            client.spin_for(duration)
            assert mode(client) == ControllerStatus.HOLD
            held = [
                tuple(status.joint_command)
                for arrival, status in client.heard["controller_status"]
                if arrival > cut and status.status_name == "STATE_STALE"
            ]
            assert len(set(held[5:])) == 1
            hosts.mend()
            if duration > 1.0:
                client.spin_for(1.0)
                assert mode(client) == ControllerStatus.HOLD
                ask_until_granted(client, "resume")
            client.spin_until(lambda: mode(client) == ControllerStatus.TRACKING)
        client.close()


def a_cut_link_to_the_estimator_means_caution() -> None:
    with TwoHosts(**SUBNET) as hosts:
        client = GraphClient()
        hosts.launch("sim", far=["contact_estimator"], **ARGUMENTS)
        moving(client)
        hosts.cut()
        first_status(client, "CONTACTS_STALE", last_arrival(client, "controller_status"))
        client.spin_until(lambda: mode(client) == ControllerStatus.CONSERVATIVE)
        hosts.mend()
        client.spin_until(lambda: mode(client) == ControllerStatus.TRACKING)
        client.close()


def a_slow_planner_slows_nothing_else() -> None:
    """The planner's host stops for 3 s while it plans: the arm goes on, and the plan comes.

    In lock-step, where a busy machine makes nothing late.
    """
    with TwoHosts(**SUBNET) as hosts:
        client = GraphClient()
        hosts.launch("sim", lockstep="true", **ARGUMENTS)
        hosts.launch("planners", far=["irs_planner", "robust_planner"])
        planner = ActionClient(client.node, PlanThroughContact, "plan_through_contact")
        client.spin_until(planner.server_is_ready, 60.0)
        moving(client)
        goal = PlanThroughContact.Goal(example="pushing", mode="first", samples=50, iterations=3)
        answer = client.send(planner, goal).get_result_async()
        hosts.nodes["irs_planner"].send_signal(signal.SIGSTOP)
        stopped = last_arrival(client, "controller_status")
        client.spin_for(3.0)
        assert not answer.done()
        modes = [s.mode for t, s in client.heard["controller_status"] if t > stopped]
        assert len(modes) > 20
        assert set(modes) == {ControllerStatus.TRACKING}
        hosts.nodes["irs_planner"].send_signal(signal.SIGCONT)
        client.spin_until(answer.done, 120.0)
        assert answer.result().result.contacts
        client.close()


def a_clock_that_differs_is_named() -> None:
    """The planner's host lives 5 s in the past."""
    with TwoHosts(**SUBNET) as hosts:
        client = GraphClient()
        clock = client.node.create_publisher(Clock, "/late_clock", 1)

        def tick() -> None:
            late = client.node.get_clock().now().nanoseconds - 5 * 10**9
            clock.publish(Clock(clock=to_time(late)))

        client.node.create_timer(0.1, tick)
        hosts.launch("sim", **ARGUMENTS)
        for node in parse(find_launch_file("planners"), {"network": "environment"}).nodes:
            late = ("-p", "use_sim_time:=true", "-r", "/clock:=/late_clock")
            hosts.start(node, *(late if node.name == "irs_planner" else ()), far=True)
        client.wait_until_ready()

        def warning() -> str:
            return diagnostic(client, "contact_aware_controller")[1].get("clocks", "")

        found = client.spin_until(warning, 60.0)
        assert found.startswith("the clock of /lbr/irs_planner is ")
        assert "behind ours" in found
        seconds = float(found.split()[5])
        assert abs(seconds - 5.0) < 0.5
        client.close()


SCENARIOS = {
    "subnet": lambda: the_hosts_find_each_other(SUBNET),
    "static_peers": lambda: the_hosts_find_each_other(PEERS),
    "localhost": lambda: two_graphs_keep_to_themselves(LOCALHOST, network="environment"),
    "default": lambda: two_graphs_keep_to_themselves(SUBNET),
    "default_with_peers": lambda: two_graphs_keep_to_themselves(PEERS),
    "cut_link": a_cut_link_to_the_arm_means_hold,
    "cut_estimator": a_cut_link_to_the_estimator_means_caution,
    "slow_planner": a_slow_planner_slows_nothing_else,
    "clock_offset": a_clock_that_differs_is_named,
}

if __name__ == "__main__":
    os.environ.pop("ROS_STATIC_PEERS", None)
    SCENARIOS[sys.argv[1]]()
