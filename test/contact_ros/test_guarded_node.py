"""Whatever enters a guarded node becomes a value or a rejection; only a node itself ends itself."""

from __future__ import annotations

import importlib
import pkgutil
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import rclpy
from action_msgs.msg import GoalStatus
from contact_stack_msgs.action import PlanThroughContact
from control_msgs.action import FollowJointTrajectory, ParallelGripperCommand
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.action import ActionClient, ActionServer, CancelResponse
from rclpy.event_handler import EventHandler, SubscriptionEventCallbacks
from rclpy.executors import ExternalShutdownException
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from contact_core.base.errors import CommunicationError, ConfigError
from contact_ros.diagnostics import Health, Level
from contact_ros.executor import GuardedExecutor
from contact_ros.guarded_node import MAX_MESSAGE, GuardedNode, PolledActionServer
from contact_ros.lifecycle import ManagedNode
from contact_ros.loop import ErrorRelay, MessageThread
from contact_ros.validation import MAX_TEXT, MessageError, ending, number

PACKAGES = (
    "contact_aware_control",
    "contact_ros",
    "contact_stack",
    "irs_planner",
    "robust_planner",
    "tamsi_sim",
)


class Listener(GuardedNode):
    """Takes words; refuses some, and stumbles over others."""

    def __init__(self) -> None:
        super().__init__("listener")
        self.words: list[str] = []
        self.subscription = self.create_subscription(String, "words", self._word, 1)
        self.service = self.create_service(Trigger, "ask", self._ask)
        self.later = self.create_service(Trigger, "ask_later", self._ask_later)
        self.question = "yes"
        self.relay = ErrorRelay(self)
        self.logged: list[str] = []
        self.internal_errors._log = self.logged.append

    def _word(self, message: String) -> None:
        if message.data == "no":
            raise MessageError("no is no word")
        if message.data == "end":
            raise ending(CommunicationError("the last word"))
        self.words.append(message.data)
        {"yes": 1}[message.data]

    def _ask(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._word(String(data=self.question))
        response.success = True
        return response

    async def _ask_later(self, request: Any, response: Any) -> Any:
        return self._ask(request, response)

    def hear(self, word: str) -> None:
        self.subscription.callback(serialize_message(String(data=word)))


@pytest.fixture
def ros(ros_domain: int) -> Iterator[None]:
    rclpy.init()
    yield
    rclpy.shutdown()


@pytest.fixture
def listener(ros: None) -> Iterator[Listener]:
    node = Listener()
    yield node
    node.destroy_node()


@pytest.fixture
def executor(listener: Listener) -> Iterator[GuardedExecutor]:
    executor = GuardedExecutor()
    executor.add_node(listener)
    yield executor
    executor.shutdown()


OK = Health(Level.OK, "listening")


def test_a_refused_message_is_a_rejection(listener: Listener) -> None:
    listener.hear("no")
    report = listener.report(OK)
    assert report.level is Level.WARN
    assert report.values["last_rejection"] == "words: no is no word"
    listener.hear("yes")
    assert listener.words == ["yes"]
    assert listener.report(OK).level is Level.OK


def test_our_own_mistake_is_an_error_that_stays(listener: Listener) -> None:
    for _ in range(3):
        listener.hear("what")
    assert len(listener.logged) == 1
    assert "Traceback" in listener.logged[0]
    assert "KeyError" in listener.logged[0]
    for _ in range(2):
        report = listener.report(OK)
        assert report.level is Level.ERROR
        assert report.values["internal_errors"] == 3
        assert "words: KeyError: 'what'" in report.message


@pytest.mark.parametrize(
    "data",
    [b"", b"\0\1\0\0\xff\xff\xff\xff", b"x" * 100, b"\0\1\0\0" + bytes(MAX_MESSAGE)],
)
def test_what_is_no_message_or_too_large_is_rejected(listener: Listener, data: bytes) -> None:
    listener.subscription.callback(data)
    assert listener.rejections.count == 1
    assert not listener.words
    assert not listener.internal_errors.count


def test_the_rejections_of_an_endpoint_and_of_the_node_add_up(listener: Listener) -> None:
    listener.hear("no")
    assert listener.report(Health(Level.OK, "", {"rejected_messages": 4})).values == {
        "rejected_messages": 5,
        "last_rejection": "words: no is no word",
    }


def test_a_node_ends_itself(listener: Listener) -> None:
    with pytest.raises(CommunicationError, match="the last word"):
        listener.hear("end")


def test_a_service_answers_with_the_reason(listener: Listener) -> None:
    for question, reason in (("no", "no is no word"), ("what", "KeyError")):
        listener.question = question
        answer = listener.service.callback(Trigger.Request(), Trigger.Response())
        assert not answer.success
        assert reason in answer.message
        with pytest.raises(StopIteration) as ended:
            listener.later.callback(Trigger.Request(), Trigger.Response()).send(None)
        assert not ended.value.value.success
        assert reason in ended.value.value.message


@pytest.mark.parametrize("type_", [SetParameters, SetParametersAtomically])
@pytest.mark.parametrize(
    ("name", "kind", "reason"),
    [("gain", 77, "type of parameter 'gain' is 77"), ("", 3, "a parameter without a name")],
)
def test_a_parameter_that_rclpy_stumbles_over_is_refused_before_any_is_set(
    listener: Listener, type_: Any, name: str, kind: int, reason: str
) -> None:
    listener.declare_parameter("gain", 1.0)
    request = type_.Request(
        parameters=[
            Parameter(name="gain", value=ParameterValue(type=3, double_value=2.0)),
            Parameter(name=name, value=ParameterValue(type=kind, double_value=float("nan"))),
        ]
    )
    service = next(s for s in listener.services if s.srv_type is type_)
    answer = service.callback(request, type_.Response())
    results = answer.results if type_ is SetParameters else [answer.result]
    assert results
    assert not any(result.successful for result in results)
    assert reason in results[0].reason
    assert listener.get_parameter("gain").value == 1.0


def test_a_parameter_callback_that_fails_refuses(listener: Listener) -> None:
    listener.declare_parameter("gain", 1.0)

    def judge(parameters: Any) -> Any:
        raise ConfigError("not today")

    listener.add_on_set_parameters_callback(judge)
    result = listener.set_parameters([rclpy.Parameter("gain", value=2.0)])[0]
    assert not result.successful
    assert result.reason == "not today"


def test_a_request_is_measured_before_it_is_read(listener: Listener) -> None:
    service = next(s for s in listener.services if s.srv_type is SetParameters)
    name = "x" * (MAX_TEXT + 1)
    answer = service.callback(
        SetParameters.Request(parameters=[Parameter(name=name)]), SetParameters.Response()
    )
    assert "name has 4097 entries (valid: at most 4096)" in answer.results[0].reason


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 1e308])
def test_a_number_has_to_be_plausible(value: float) -> None:
    with pytest.raises(MessageError, match=r"mass is .* \(valid: 0 .. 20\)"):
        number(value, "mass", 0.0, 20.0)


def spin_until(executor: GuardedExecutor, condition: Any) -> None:
    for _ in range(2000):
        if condition():
            return
        executor.spin_once(timeout_sec=0.01)
    raise AssertionError("never")


def test_an_action_answers_whatever_its_callbacks_do(
    listener: Listener, executor: GuardedExecutor
) -> None:
    def judge(goal: FollowJointTrajectory.Goal) -> Any:
        raise KeyError("goal")

    def follow(handle: Any) -> Any:
        raise MessageError("not that way")

    servers = [
        ActionServer(listener, FollowJointTrajectory, "judged", follow, goal_callback=judge),
        ActionServer(listener, FollowJointTrajectory, "followed", follow),
    ]
    clients = [ActionClient(listener, FollowJointTrajectory, n) for n in ("judged", "followed")]
    handles = []
    for client in clients:
        spin_until(executor, client.server_is_ready)
        future = client.send_goal_async(FollowJointTrajectory.Goal())
        spin_until(executor, future.done)
        handles.append(future.result())
    assert "KeyError" in listener.internal_errors.latest
    for handle, reason in zip(handles, ("KeyError: 'goal'", "not that way"), strict=True):
        # One that is rejected would have no words for the reason.
        assert handle.accepted
        answer = handle.get_result_async()
        spin_until(executor, answer.done)
        assert answer.result().status == GoalStatus.STATUS_ABORTED
        assert answer.result().result.error_code == FollowJointTrajectory.Result.INVALID_GOAL
        assert reason in answer.result().result.error_string
    for entity in (*servers, *clients):
        entity.destroy()


def trajectory_of(points: int) -> FollowJointTrajectory.Goal:
    goal = FollowJointTrajectory.Goal()
    goal.trajectory.joint_names = [f"lbr_A{i}" for i in range(1, 8)]
    values = [0.0] * 7
    point = JointTrajectoryPoint(
        positions=values, velocities=values, accelerations=values, effort=values
    )
    goal.trajectory.points = [point] * points
    return goal


@pytest.mark.parametrize(
    ("goal", "reason"),
    [
        (trajectory_of(5000), "read"),
        (trajectory_of(11_000), "more than 20000 items"),
        (trajectory_of(25_000), "points has 25000 entries (valid: at most 20000)"),
        (
            FollowJointTrajectory.Goal(trajectory=JointTrajectory(joint_names=["x" * 5000])),
            "joint_names has 5000 entries (valid: at most 4096)",
        ),
    ],
)
def test_a_goal_that_is_too_large_is_answered_with_the_reason(
    listener: Listener, executor: GuardedExecutor, goal: Any, reason: str
) -> None:
    def follow(handle: Any) -> Any:
        handle.abort()
        return FollowJointTrajectory.Result(error_string="read")

    server = ActionServer(listener, FollowJointTrajectory, "followed", follow)
    client = ActionClient(listener, FollowJointTrajectory, "followed")
    spin_until(executor, client.server_is_ready)
    future = client.send_goal_async(goal)
    spin_until(executor, future.done)
    answer = future.result().get_result_async()
    spin_until(executor, answer.done)
    assert reason in answer.result().result.error_string
    # rclpy keeps goals for a quarter of an hour.
    assert not next(iter(server._goal_handles.values())).request.trajectory.points
    for entity in (server, client):
        entity.destroy()


def test_a_plan_that_is_refused_says_why_and_a_gripper_without_words_rejects(
    listener: Listener, executor: GuardedExecutor
) -> None:
    goals = [PlanThroughContact.Goal(scene="x" * 5000), ParallelGripperCommand.Goal()]
    goals[1].command.name = ["x" * 5000]
    handles = []
    entities: list[Any] = []
    for kind, goal in zip((PlanThroughContact, ParallelGripperCommand), goals, strict=True):
        server = ActionServer(listener, kind, kind.__name__, lambda handle: None)
        client = ActionClient(listener, kind, kind.__name__)
        entities += [server, client]
        spin_until(executor, client.server_is_ready)
        future = client.send_goal_async(goal)
        spin_until(executor, future.done)
        handles.append(future.result())
    assert [handle.accepted for handle in handles] == [True, False]
    answer = handles[0].get_result_async()
    spin_until(executor, answer.done)
    result = answer.result().result
    assert result.status == result.INVALID_GOAL
    assert result.status_name == "INVALID_GOAL"
    assert result.remedy == "scene has 5000 entries (valid: at most 4096)"
    for entity in entities:
        entity.destroy()


def test_requests_and_cancels_that_wait_are_taken_past_the_executor(
    listener: Listener, executor: GuardedExecutor
) -> None:
    ended = Future(executor=executor)

    async def follow(handle: Any) -> Any:
        await ended
        handle.canceled()
        return FollowJointTrajectory.Result()

    server = PolledActionServer(
        listener,
        FollowJointTrajectory,
        "followed",
        follow,
        cancel_callback=lambda handle: CancelResponse.ACCEPT,
    )
    follower = ActionClient(listener, FollowJointTrajectory, "followed")
    asker = listener.create_client(Trigger, "ask")
    listener.leave_waiting(listener.service)
    spin_until(executor, lambda: follower.server_is_ready() and asker.service_is_ready())
    sent = follower.send_goal_async(FollowJointTrajectory.Goal())
    spin_until(executor, sent.done)
    canceled, answer = sent.result().cancel_goal_async(), asker.call_async(Trigger.Request())
    for _ in range(50):
        executor.spin_once(timeout_sec=0.01)
    assert not canceled.done()
    assert not answer.done()
    listener.answer(listener.service)
    server.take_cancels()
    spin_until(executor, lambda: canceled.done() and answer.done())
    assert answer.result().success
    assert len(canceled.result().goals_canceling) == 1
    ended.set_result(None)
    result = sent.result().get_result_async()
    spin_until(executor, result.done)
    assert result.result().status == GoalStatus.STATUS_CANCELED
    for entity in (server, follower):
        entity.destroy()


def test_the_executor_contains_what_is_raised_around_callbacks(
    listener: Listener, executor: GuardedExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message that cannot be taken; its group goes on. The callback of a future."""
    publisher = listener.create_publisher(String, "words", 1)
    spin_until(executor, publisher.get_subscription_count)
    take = type(executor).__mro__[1]._take_subscription
    failures = iter((True,))

    def fail_once(self: Any, subscription: Any) -> Any:
        if subscription is listener.subscription and next(failures, False):
            raise ValueError("cannot be taken")
        return take(self, subscription)

    monkeypatch.setattr(type(executor).__mro__[1], "_take_subscription", fail_once)
    publisher.publish(String(data="yes"))
    spin_until(executor, lambda: listener.internal_errors.count)
    publisher.publish(String(data="yes"))
    spin_until(executor, lambda: listener.words)

    future = Future(executor=executor)
    future.add_done_callback(lambda future: 1 / 0)
    future.set_result(None)
    spin_until(executor, lambda: "ZeroDivision" in listener.internal_errors.latest)


def test_partners_that_do_not_fit_are_told_without_waiting_for_that_all_the_time(
    listener: Listener, executor: GuardedExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[object] = []
    events = SubscriptionEventCallbacks(incompatible_qos=told.append)
    heard = listener.create_subscription(String, "/talk", print, 10, event_callbacks=events)
    looks: list[object] = []
    add = EventHandler.add_to_wait_set
    monkeypatch.setattr(
        EventHandler, "add_to_wait_set", lambda *args: (looks.append(args[0]), add(*args))
    )
    other = rclpy.create_node("other")
    other.create_publisher(
        String, "/talk", QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    )
    waits, ends = 0, time.monotonic() + 10.0
    while (not told or waits < 100) and time.monotonic() < ends:
        executor.spin_once(timeout_sec=0.01)
        waits += 1
    other.destroy_node()
    assert told
    assert looks.count(heard.event_handlers[0]) <= waits / 10


def test_what_a_node_has_is_gathered_when_it_changes_not_for_each_message(
    listener: Listener, executor: GuardedExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher = listener.create_publisher(String, "words", 10)
    spin_until(executor, publisher.get_subscription_count)
    looks: list[object] = []
    can_execute = GuardedExecutor.can_execute
    monkeypatch.setattr(
        GuardedExecutor,
        "can_execute",
        lambda self, entity: looks.append(entity) or can_execute(self, entity),
    )
    for _ in range(100):
        listener.words.clear()
        publisher.publish(String(data="yes"))
        spin_until(executor, lambda: listener.words)
    entities = list(listener.subscriptions) + list(listener.services) + list(listener.waitables)
    assert len(looks) < 20 * len(entities), "100 times the whole node"
    heard: list[String] = []
    later = listener.create_subscription(String, "words", heard.append, 10)
    spin_until(executor, lambda: publisher.get_subscription_count() == 2)
    publisher.publish(String(data="yes"))
    spin_until(executor, lambda: heard)
    listener.destroy_subscription(later)
    listener.leave_waiting(listener.subscription)
    listener.words.clear()
    publisher.publish(String(data="yes"))
    for _ in range(10):
        executor.spin_once(timeout_sec=0.02)
    assert (len(heard), listener.words) == (1, [])


def test_a_shutdown_of_ros_ends_waiting_as_in_rclpy(ros: None) -> None:
    context = rclpy.Context()
    rclpy.init(context=context)
    node = GuardedNode("node", context=context)
    executor = GuardedExecutor(context=context)
    executor.add_node(node)
    timer = threading.Timer(0.2, lambda: rclpy.shutdown(context=context))
    timer.start()
    with pytest.raises(ExternalShutdownException):
        while True:
            executor.spin_once(timeout_sec=5.0)
    timer.join()
    executor.shutdown()
    node.destroy_node()


def test_the_error_of_a_thread_still_ends_the_node(
    listener: Listener, executor: GuardedExecutor
) -> None:
    listener.relay(ValueError("in the tick"))
    with pytest.raises(ValueError, match="in the tick"):
        spin_until(executor, lambda: False)


def test_an_impossible_transition_is_a_rejection(ros: None) -> None:
    node = ManagedNode("lamp")
    request = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_ACTIVATE))
    service = next(s for s in node.services if s.srv_type is ChangeState)
    assert not service.callback(request, ChangeState.Response()).success
    reason = f"transition '{request.transition.id}' is not possible (valid: "
    assert reason in node.rejections.reason
    assert_guarded(node)
    node.destroy_node()


def assert_guarded(node: Node) -> None:
    """Every callback that something from outside may call is guarded."""
    callbacks = [entity.callback for entity in (*node.subscriptions, *node.services, *node.timers)]
    for waitable in node.waitables:
        if isinstance(waitable, ActionServer):
            callbacks += [waitable._goal_callback, waitable._cancel_callback]
            callbacks += [waitable._handle_accepted_callback, waitable._execute_callback]
    callbacks += node._on_set_parameters_callbacks
    assert callbacks
    assert [each for each in callbacks if not getattr(each, "guarded", False)] == []


def node_types() -> list[type[Node]]:
    """Every node class that the packages define."""
    found = set()
    for package in map(importlib.import_module, PACKAGES):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                for item in vars(importlib.import_module(module.name)).values():
                    if isinstance(item, type) and issubclass(item, Node):
                        found.add(item)
    return sorted(found - {Node, LifecycleNode}, key=str)


def test_every_node_of_the_packages_is_guarded() -> None:
    types = node_types()
    assert len(types) > 8
    assert [each for each in types if not issubclass(each, GuardedNode)] == []


def test_a_joint_state_of_200_000_names_is_not_even_taken_apart(listener: Listener) -> None:
    heard: list[Any] = []
    subscription = listener.create_subscription(JointState, "joint_states", heard.append, 1)
    subscription.callback(serialize_message(JointState(name=["x"] * 200_000)))
    assert not heard
    assert "bytes (valid: at most 65536)" in listener.rejections.reason


def say(listener: Listener, word: str) -> None:
    """Publish a word, and wait until it has arrived."""
    publisher = listener.create_publisher(String, listener.subscription.topic_name, 1)
    while publisher.get_subscription_count() == 0:
        time.sleep(0.01)
    publisher.publish(String(data=word))
    time.sleep(0.2)


@pytest.mark.graph
def test_messages_that_wait_wake_nobody_and_are_guarded(
    listener: Listener, executor: GuardedExecutor
) -> None:
    listener.leave_waiting(listener.subscription)
    say(listener, "nonsense")
    for _ in range(10):
        executor.spin_once(timeout_sec=0.02)
    assert listener.words == []
    listener.wait_for(5.0, listener.subscription)
    listener.take(listener.subscription)
    assert listener.words == ["nonsense"]
    assert listener.internal_errors.count == 1
    before = time.monotonic()
    listener.wait_for(0.05, listener.subscription)
    assert time.monotonic() - before >= 0.04


@pytest.mark.graph
def test_a_thread_hands_messages_over_until_it_is_stopped_or_ended(listener: Listener) -> None:
    errors: list[BaseException] = []
    thread = MessageThread(listener, errors.append, listener.subscription)
    say(listener, "yes")
    thread.stop()
    assert (listener.words, errors) == (["yes"], [])
    thread = MessageThread(listener, errors.append, listener.subscription)
    say(listener, "end")
    thread.stop()
    assert [str(error) for error in errors] == ["the last word"]
    other = listener.create_subscription(String, "of_others", print, 1)
    thread = MessageThread(listener, errors.append, other, beside=[listener.subscription])
    say(listener, "beside")
    thread.stop()
    assert listener.words[1:] == ["beside"]


@pytest.mark.graph
def test_polled_messages_come_at_the_rate_of_the_node(
    listener: Listener, executor: GuardedExecutor
) -> None:
    listener.poll(20.0, listener.subscription)
    say(listener, "yes")
    for _ in range(100):
        executor.spin_once(timeout_sec=0.05)
        if listener.words:
            break
    assert listener.words == ["yes"]
