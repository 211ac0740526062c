"""Every executable's node in the process of the test, and everything by which it is reached."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any
from unittest import mock

import numpy as np
import rclpy
from contact_stack_msgs.action import (
    CompliantMove,
    FollowPoseTrajectory,
    GuardedMove,
    HandGuide,
    Insert,
    MoveObjects,
    PlanRobustContact,
    PlanThroughContact,
    Wipe,
)
from contact_stack_msgs.msg import Contact, ContactArray, ControllerStatus, PoseTrajectoryPoint
from control_msgs.action import FollowJointTrajectory, ParallelGripperCommand
from control_msgs.action import GripperCommand as OlderGripperCommand
from geometry_msgs.msg import PoseStamped, Vector3
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.action import ActionClient, ActionServer
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from strategies import bytes_of, finite, messages, mutations
from trajectory_msgs.msg import JointTrajectoryPoint

from contact_core.robot.arm_state import ArmState
from contact_ros.driver_profile import DriverConfig, driver_profile
from contact_ros.executor import GuardedExecutor
from contact_ros.guarded_node import GuardedNode
from contact_ros.loop import FixedRateLoop
from contact_ros.stamps import to_duration, to_time

NO_NODE = {"contact-stack"}
"""Executables that are commands."""

SMALL_PLANS = ("limits.horizon:=20", "limits.iterations:=2", "limits.samples:=200")
ROBOT = ("robot:=iiwa14_wsg50",)
PARAMETERS: dict[str, tuple[str, ...]] = {
    "irs_planner": SMALL_PLANS,
    "robust_planner": ("max_knots:=5", "max_samples:=50"),
    "viewer": ("port:=18080", "scene:=mug_placement"),
    "preflight": (*ROBOT, "start_timeout:=3600.0", "push_timeout:=3600.0", "activate:=''"),
    "contact_aware_controller": (*ROBOT, "hardware:=false"),
    "contact_estimator": ROBOT,
    "robot_frames": ROBOT,
    "fri_driver": (*ROBOT, "port:=30209", "real_time.priority:=0", "real_time.lock_memory:=false"),
    "wsg50": (*ROBOT, "host:=127.0.0.1", "port:=9"),
}
"""What makes a goal short, and a node wait for more than the test."""

WATCHES_ON: dict[str, Callable[[Any], None]] = {
    "preflight": lambda node: setattr(node, "_rest_began", 0.0),
}
"""Executable -> what keeps it from its verdict, which would be its end: it is under fire."""

UNKNOWN = {
    "ControllerStatus": frozenset({"position_error", "rotation_error", "state_age"}),
    "LBRState": frozenset({"measured_torque", "commanded_torque", "ipo_joint_position"}),
}
"""Fields that say by NaN that there is no number."""

SLOWEST = 2.0
"""Longest time one thing that enters may take [s], on a busy machine."""

Q = np.array([0.0, 0.6, 0.0, -1.2, 0.0, 1.0, 0.0])
FINALISING = {2, 5, 6, 7}
"""Transitions after which a node is cleaned up or finalised, as was asked for."""


def executables() -> dict[str, str]:
    """Name -> ``module:function`` of every executable that runs a node."""
    scripts = entry_points(group="console_scripts")
    ours = {e.name: e.value for e in scripts if e.dist and e.dist.name == "contact_stack"}
    return {name: value for name, value in ours.items() if name not in NO_NODE}


def node_type(executable: str) -> type[GuardedNode]:
    """The node class of an executable."""
    module = import_module(executables()[executable].partition(":")[0])
    (found,) = [
        item
        for item in vars(module).values()
        if isinstance(item, type)
        and issubclass(item, GuardedNode)
        and item.__module__ == module.__name__
    ]
    return found


@contextmanager
def running(executable: str) -> Iterator[Target]:
    """Build the node of an executable as its process does; its loop ticks when it is told to.

    Planners load what they run with the first goal: plans that do so before take many seconds.
    """
    overrides = [word for p in PARAMETERS.get(executable, ()) for word in ("-p", p)]
    rclpy.init(args=["--ros-args", "-r", "__ns:=/lbr", *overrides])
    try:
        kind = node_type(executable)
        module = import_module(kind.__module__)
        with mock.patch.object(module, "precompile", lambda: None, create=True):
            node = kind()
        try:
            yield Target(node, WATCHES_ON.get(executable, lambda node: None))
        finally:
            if hasattr(node, "close"):
                node.close()
            node.destroy_node()
    finally:
        rclpy.try_shutdown()


@dataclass
class Target:
    """A node under fire, and what it published that is not finite."""

    node: GuardedNode
    watch_on: Callable[[Any], None]
    bad: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")
    clients: dict[str, ActionClient] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.loops = [x for x in vars(self.node).values() if isinstance(x, FixedRateLoop)]
        for loop in self.loops:
            loop.stop()
        for publisher in self.node.publishers:
            publisher.publish = functools.partial(self._published, publisher, publisher.publish)
        self.executor = GuardedExecutor()
        self.executor.add_node(self.node)
        self.helper = rclpy.create_node("helper", namespace="/lbr")
        self.executor.add_node(self.helper)

    def _published(self, publisher: Any, publish: Callable[[Any], None], message: Any) -> None:
        unknown = UNKNOWN.get(type(message).__name__, frozenset())
        if not isinstance(message, bytes) and (bad := finite(message, unknown)):
            self.bad.append(f"{publisher.topic_name}: {bad}")
        publish(message)

    def interfaces(self) -> list[st.SearchStrategy[tuple[str, Callable[[], None]]]]:
        """Everything that can reach the node, as strategies of (where, how)."""
        found = [self._topic(each) for each in self.node.subscriptions]
        found += [self._service(each) for each in self.node.services]
        found += [self._action(w) for w in self.node.waitables if isinstance(w, ActionServer)]
        found.append(self._parameters())
        return found

    def _topic(self, subscription: Any) -> Any:
        kind = subscription.msg_type
        sound = SOUND.get(kind, kind)()
        data = st.one_of(
            mutations(sound).map(serialize_message),
            mutations(sound).map(serialize_message),
            messages(kind).map(serialize_message),
            bytes_of(serialize_message(sound)),
        )
        where = subscription.topic_name
        return data.map(lambda d: (f"{where} {d[:400]!r}", lambda: subscription.callback(d)))

    def _service(self, service: Any) -> Any:
        kind = service.srv_type
        requests = st.one_of(messages(kind.Request), mutations(kind.Request()))
        if kind is ChangeState:
            requests = requests.filter(lambda request: request.transition.id not in FINALISING)

        def call(request: Any) -> None:
            answer = service.callback(request, kind.Response())
            if inspect.iscoroutine(answer):
                self.executor.create_task(answer)

        return requests.map(lambda r: (f"{service.srv_name} {r}"[:400], lambda: call(r)))

    def _parameters(self) -> Any:
        service = next(s for s in self.node.services if s.srv_type is SetParameters)
        names = sorted(self.node._parameters)
        one = st.builds(
            Parameter,
            name=st.sampled_from(names),
            value=mutations(ParameterValue(type=3, double_value=1.0)),
        )

        def set_(parameters: list[Parameter]) -> None:
            answer = service.callback(
                SetParameters.Request(parameters=parameters), SetParameters.Response()
            )
            assert len(answer.results) == len(parameters)

        several = st.lists(one, min_size=1, max_size=3)
        return several.map(lambda p: (f"set_parameters {p}"[:400], lambda: set_(p)))

    def _action(self, server: ActionServer) -> Any:
        kind = server.action_type
        client = self.clients[kind.__name__] = ActionClient(self.helper, kind, ACTIONS[kind])
        sound = SOUND.get(kind.Goal, kind.Goal)()
        goals = st.one_of(mutations(sound), mutations(sound), messages(kind.Goal))

        def send(goal: Any, cancel: bool) -> None:
            answer = client.send_goal_async(goal)
            self.spin_until(answer.done)
            handle = answer.result()
            if cancel and handle.accepted:
                self.spin_until(handle.cancel_goal_async().done)

        return st.tuples(goals, st.booleans()).map(
            lambda pair: (f"{kind.__name__} {pair[0]}"[:400], lambda: send(*pair))
        )

    def spin_until(self, condition: Callable[[], bool]) -> None:
        """Let the executor run; an answer has to come."""
        end = time.monotonic() + 20.0
        while not condition():
            assert time.monotonic() < end, "no answer"
            self.executor.spin_once(timeout_sec=0.02)
            # Some answers are a loop's own work.
            for loop in self.loops:
                loop._tick()

    def wait_for_servers(self) -> None:
        """Wait until the helper has found the node's actions."""
        self.spin_until(lambda: all(c.server_is_ready() for c in self.clients.values()))

    def pass_time(self) -> None:
        """Let everything happen that the clock makes happen."""
        self.watch_on(self.node)
        for timer in self.node.timers:
            timer.callback()
        for loop in self.loops:
            loop._tick()
        for _ in range(3):
            self.executor.spin_once(timeout_sec=0.0)

    def strike(self, where: str, act: Callable[[], None]) -> None:
        """Let something enter: no exception, no internal error, soon over."""
        start = time.perf_counter()
        act()
        taken = time.perf_counter() - start
        self.slowest = max(self.slowest, (taken, where))
        assert taken < SLOWEST, f"{taken:.1f} s: {where}"
        self.check(where)

    def check(self, where: str) -> None:
        """Nothing went wrong in here so far, and nothing absurd went out."""
        errors = self.node.internal_errors
        assert errors.count == 0, f"{errors.latest}\nafter {where}"
        assert not self.bad, f"{self.bad[:3]}\nafter {where}"

    def alive(self) -> None:
        """The node answers a request, over the middleware."""
        name = f"{self.node.get_fully_qualified_name()}/get_parameters"
        client = self.helper.create_client(GetParameters, name)
        self.spin_until(client.service_is_ready)
        answer = client.call_async(GetParameters.Request(names=["use_sim_time"]))
        self.spin_until(answer.done)
        assert len(answer.result().values) == 1
        self.helper.destroy_client(client)

    def close(self) -> None:
        """Leave the graph."""
        self.executor.shutdown()
        for client in self.clients.values():
            client.destroy()
        self.helper.destroy_node()


EVERY = 10
"""Time passes after so many strikes."""


def attack(target: Target, count: int, number: int = 0) -> None:
    """Strike a node so many times by everything that reaches it, and see that it lives."""
    strikes = 0
    interfaces = target.interfaces()
    target.wait_for_servers()

    # Hypothesis shrinks by running again; a node keeps its state, so that only finds are told.
    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.one_of(interfaces))
    def strike(step: tuple[str, Callable[[], None]]) -> None:
        nonlocal strikes
        strikes += 1
        target.strike(*step)
        if strikes % EVERY == 0:
            target.pass_time()
            target.check("time has passed")

    strike()
    target.pass_time()
    target.check("the end")
    target.alive()
    assert strikes >= count


ACTIONS = {
    FollowPoseTrajectory: "follow_pose_trajectory",
    FollowJointTrajectory: "follow_joint_trajectory",
    CompliantMove: "compliant_move",
    GuardedMove: "guarded_move",
    HandGuide: "hand_guide",
    Insert: "insert",
    MoveObjects: "move_objects",
    ParallelGripperCommand: "gripper",
    OlderGripperCommand: "gripper_cmd",
    PlanThroughContact: "plan_through_contact",
    PlanRobustContact: "plan_robust_contact",
    Wipe: "wipe",
}


def _state(topic: str) -> Any:
    profile = driver_profile("lbr_fri", DriverConfig(), 0.005)
    state = ArmState(
        stamp=time.time_ns(),
        position=Q,
        velocity=np.zeros(7),
        commanded_position=Q,
        external_torque=np.zeros(7),
        joint_torque=np.zeros(7),
    )
    return profile.encode_state(state)[topic]


def _joint_states() -> JointState:
    return JointState(name=["finger_left_joint"], position=[0.01], velocity=[0.0], effort=[1.0])


def _contacts() -> ContactArray:
    contact = Contact(link="lbr_link_6", residual=0.3, identifiable=True)
    contact.normal.z = contact.force.z = 1.0
    message = ContactArray(contacts=[contact], state=3, external_torque_free=[0.0] * 7)
    message.header.stamp = to_time(time.time_ns())
    return message


def _joint_goal() -> FollowJointTrajectory.Goal:
    goal = FollowJointTrajectory.Goal()
    goal.trajectory.joint_names = [f"lbr_A{k}" for k in range(1, 8)]
    goal.trajectory.points = [
        JointTrajectoryPoint(positions=Q.tolist(), time_from_start=to_duration(10**9))
    ]
    return goal


def _pose_goal() -> FollowPoseTrajectory.Goal:
    point = PoseTrajectoryPoint(time_from_start=to_duration(10**9))
    point.pose.orientation.w = 1.0
    goal = FollowPoseTrajectory.Goal()
    goal.trajectory.points = [point]
    return goal


def _guarded_goal() -> GuardedMove.Goal:
    goal = GuardedMove.Goal(speed=0.02, distance=0.05, force=10.0)
    goal.direction.z = -1.0
    return goal


def _insert_goal() -> Insert.Goal:
    goal = Insert.Goal(
        diameter=0.02, radius=0.01, depth=0.02, speed=0.05, distance=0.001, force=15.0
    )
    goal.direction.z = -1.0
    return goal


def _wipe_goal() -> Wipe.Goal:
    goal = Wipe.Goal(path=[Vector3(x=0.01)], speed=0.05, distance=0.001, force=10.0)
    goal.direction.z = -1.0
    return goal


def _compliant_goal() -> CompliantMove.Goal:
    goal = CompliantMove.Goal(speed=0.02, duration=0.1)
    goal.compliance.z = goal.travel.x = 0.01
    goal.force.z = -5.0
    return goal


def _pose_target() -> PoseStamped:
    target = PoseStamped()
    target.pose.orientation.w = 1.0
    return target


def _gripper_goal() -> ParallelGripperCommand.Goal:
    goal = ParallelGripperCommand.Goal()
    goal.command.position = [0.02]
    return goal


def _lbr_state() -> Any:
    return _state("state")


SOUND: dict[type, Callable[[], Any]] = {
    JointState: _joint_states,
    ContactArray: _contacts,
    ControllerStatus: lambda: ControllerStatus(mode=1, force_limit=[15.0]),
    type(_lbr_state()): _lbr_state,
    FollowJointTrajectory.Goal: _joint_goal,
    FollowPoseTrajectory.Goal: _pose_goal,
    CompliantMove.Goal: _compliant_goal,
    GuardedMove.Goal: _guarded_goal,
    HandGuide.Goal: lambda: HandGuide.Goal(force=8.0, duration=0.1),
    Insert.Goal: _insert_goal,
    Wipe.Goal: _wipe_goal,
    MoveObjects.Goal: lambda: MoveObjects.Goal(
        scene="push_box", names=["box/x"], goal=[0.6], time_budget=to_duration(10**8)
    ),
    ParallelGripperCommand.Goal: _gripper_goal,
    PoseStamped: _pose_target,
    PlanThroughContact.Goal: lambda: PlanThroughContact.Goal(
        example="pushing", samples=10, iterations=1, horizon=3
    ),
    PlanRobustContact.Goal: lambda: PlanRobustContact.Goal(problem="block", knots=3),
}
"""Type -> a message that a node of ours takes; of the others the empty one."""
