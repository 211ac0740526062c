"""Every service of the simulator is answered, in every state, in any order, in both modes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import rclpy
from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from contact_stack_msgs.srv import Pause, Reset, Step
from control_msgs.action import GripperCommand, ParallelGripperCommand
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.task import Future
from std_srvs.srv import SetBool, Trigger

from contact_core.robot.arm_state import SoundCommand
from contact_ros.driver_profile import CommandWriter, DriverConfig, driver_profile
from contact_ros.executor import GuardedExecutor
from contact_ros.lockstep import Participant
from tamsi_sim.node.simulator import SimulatorNode

pytestmark = pytest.mark.graph

HANGING = """
name: hanging
robot: {description: iiwa14_pusher}
gravity: [0.0, 0.0, 9.81]
"""

MANY = 1_000_000
"""Ticks that nobody waits for."""

BOUND = 2000
"""Ticks, or turns of the executor, within which an answer has to come."""


class Bench:
    """The simulator's node, who takes part in its lock-step, and who asks it."""

    def __init__(self, lockstep: bool) -> None:
        words = ["scene:=two_contacts", f"lockstep:={lockstep}", "participants:=[peer]"]
        rclpy.init(args=["--ros-args", *(word for p in words for word in ("-p", p))])
        self.node = SimulatorNode()
        # In real time a tick is when the test says so.
        self._loop = self.node._loop
        if self._loop is not None:
            self._loop.stop()
        self.executor = GuardedExecutor()
        self.executor.add_node(self.node)
        self.peer = rclpy.create_node("peer")
        self.executor.add_node(self.peer)
        profile = driver_profile("lbr_fri", DriverConfig(), 0.005)
        self._writer = CommandWriter(self.peer, profile, lockstep)
        self.participant = Participant(self.peer, "peer", self._tick) if lockstep else None
        self._clients: dict[str, Any] = {}
        self.actions = {
            name: ActionClient(self.peer, action, name)
            for name, action in (
                ("gripper", ParallelGripperCommand),
                ("gripper_cmd", GripperCommand),
            )
        }
        for action in self.actions.values():
            self.until(action.server_is_ready)
        if self.participant is not None:
            self.participant.announce()
        self.advance(2)

    def _tick(self, k: int, stamp: int) -> None:
        assert self.participant is not None
        self._writer.publish_command(SoundCommand(self.node._measurement.commanded_position))
        self.participant.done(k)

    def close(self) -> None:
        self.executor.shutdown()
        self.node.close()
        self.node.destroy_node()
        self.peer.destroy_node()
        rclpy.shutdown()

    @property
    def ticks(self) -> int:
        """Simulated time, in ticks since the start or the last reset."""
        return self.node._measurement.time_ns // self.node._plant.period_ns

    def turn(self) -> None:
        if self._loop is not None:
            self._loop._tick()
        self.executor.spin_once(timeout_sec=0.01)

    def until(self, condition: Callable[[], Any]) -> None:
        """Let time pass until the condition holds."""
        for _ in range(BOUND):
            if condition():
                return
            self.turn()
        raise AssertionError("it never came true")

    def advance(self, ticks: int) -> None:
        """Let the simulation make so many ticks."""
        start = self.ticks
        self.until(lambda: self.ticks >= start + ticks)

    def stands_still(self) -> bool:
        before = self.ticks
        for _ in range(30):
            self.turn()
        return self.ticks == before

    def ask(self, service: type, name: str, **request: Any) -> Future:
        if name not in self._clients:
            self._clients[name] = self.peer.create_client(service, f"tamsi_sim/{name}")
            self.until(self._clients[name].service_is_ready)
        return self._clients[name].call_async(service.Request(**request))

    def answer(self, future: Future) -> Any:
        self.until(future.done)
        return future.result()

    def call(self, service: type, name: str, **request: Any) -> Any:
        return self.answer(self.ask(service, name, **request))

    def pause(self, pause: bool = True) -> None:
        assert self.call(Pause, "pause", pause=pause).success

    def step(self, ticks: int) -> Future:
        return self.ask(Step, "step", ticks=ticks)

    def steps_under_way(self, ticks: int = MANY) -> Future:
        """Pause, ask for many ticks, and wait for the first of them."""
        self.pause()
        answer = self.step(ticks)
        self.advance(3)
        return answer

    def change(self, transition: int) -> bool:
        request = Transition(id=transition)
        return bool(self.call(ChangeState, "change_state", transition=request).success)

    def set(self, name: str, value: float) -> Any:
        item = Parameter(name=name, value=ParameterValue(type=3, double_value=value))
        return self.call(SetParameters, "set_parameters", parameters=[item]).results[0]

    def grip(self, name: str, position: float) -> Any:
        """Send a goal, and return its handle."""
        if name == "gripper":
            goal: Any = ParallelGripperCommand.Goal()
            goal.command.position, goal.command.velocity = [position], [0.001]
        else:
            goal = GripperCommand.Goal()
            goal.command.position = position
        return self.answer(self.actions[name].send_goal_async(goal))


@pytest.fixture(params=[False, True], ids=["real time", "lock-step"])
def bench(request: pytest.FixtureRequest, ros_domain: int) -> Iterator[Bench]:
    bench = Bench(request.param)
    yield bench
    assert bench.node.internal_errors.count == 0, bench.node.internal_errors.latest
    bench.close()


GRIPPERS = ("gripper", "gripper_cmd")


def test_many_ticks_are_stepped(bench: Bench) -> None:
    bench.pause()
    bench.stands_still()  # what is under way arrives
    before, stamp = bench.ticks, bench.node._stamp
    answer = bench.answer(bench.step(120))
    assert answer.success, answer.message
    assert bench.ticks == before + 120
    assert 1_000_000_000 * answer.stamp.sec + answer.stamp.nanosec == stamp + 120 * 5_000_000
    assert bench.stands_still()


def test_a_pause_ends_steps_at_once(bench: Bench) -> None:
    steps = bench.steps_under_way()
    bench.pause()
    made = bench.ticks
    answer = bench.answer(steps)
    assert not answer.success
    assert "paused after" in answer.message
    assert "of 1000000 ticks" in answer.message
    assert bench.ticks == made
    assert bench.stands_still()
    assert bench.answer(bench.step(1)).success


def test_who_ends_steps_is_said(bench: Bench) -> None:
    steps = bench.steps_under_way()
    assert bench.call(Reset, "reset", seed=1).success
    assert "reset after" in bench.answer(steps).message
    steps = bench.steps_under_way()
    bench.pause(False)
    assert "resumed after" in bench.answer(steps).message
    steps = bench.steps_under_way()
    assert bench.change(Transition.TRANSITION_DEACTIVATE)
    assert "deactivated after" in bench.answer(steps).message


def test_of_two_who_step_the_second_is_refused(bench: Bench) -> None:
    first = bench.steps_under_way()
    second = bench.answer(bench.step(2))
    assert not second.success
    assert "ticks of another request" in second.message
    assert not first.done()
    bench.pause()
    bench.answer(first)


@pytest.mark.parametrize(
    "transitions",
    [
        (Transition.TRANSITION_DEACTIVATE,),
        (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP),
        (Transition.TRANSITION_ACTIVE_SHUTDOWN,),
    ],
    ids=["inactive", "unconfigured", "finalized"],
)
def test_one_that_is_not_active_answers(bench: Bench, transitions: tuple[int, ...]) -> None:
    for transition in transitions:
        assert bench.change(transition)
    for paused in (True, False):
        bench.pause(paused)
        answer = bench.answer(bench.step(1))
        assert not answer.success
        assert "not active" in answer.message
    assert bench.call(Reset, "reset", seed=0).success
    assert bench.set("surroundings.friction", 0.9).successful
    for name in GRIPPERS:
        assert not bench.grip(name, 0.05).accepted
    assert "not active" in bench.node.rejections.reason
    assert bench.stands_still()


def test_a_client_that_is_gone_when_its_steps_end_does_no_harm(bench: Bench) -> None:
    bench.pause()
    context = Context()
    rclpy.init(context=context)
    other = rclpy.create_node("other", context=context)
    client = other.create_client(Step, "tamsi_sim/step")
    bench.until(client.service_is_ready)
    client.call_async(Step.Request(ticks=MANY))
    bench.advance(3)
    other.destroy_node()
    rclpy.shutdown(context=context)
    bench.pause(False)
    bench.advance(10)


@pytest.mark.parametrize("name", GRIPPERS)
def test_a_gripper_goal_can_be_cancelled_while_time_stands_still(bench: Bench, name: str) -> None:
    bench.pause()
    handle = bench.grip(name, 0.05)
    assert handle.accepted
    result = handle.get_result_async()
    assert bench.stands_still()
    assert not result.done(), "it has not stalled: no time has passed"
    cancelled = bench.answer(handle.cancel_goal_async())
    assert cancelled.return_code == CancelGoal.Response.ERROR_NONE
    assert bench.answer(result).status == GoalStatus.STATUS_CANCELED


@pytest.mark.parametrize("name", GRIPPERS)
def test_a_gripper_goal_ends_when_the_simulator_is_deactivated(bench: Bench, name: str) -> None:
    handle = bench.grip(name, 0.05)
    assert handle.accepted
    assert bench.change(Transition.TRANSITION_DEACTIVATE)
    result = bench.answer(handle.get_result_async())
    assert result.status == GoalStatus.STATUS_ABORTED
    assert not result.result.reached_goal


def test_a_gripper_goal_moves_on_after_a_pause(bench: Bench) -> None:
    bench.pause()
    handle = bench.grip("gripper_cmd", 0.05)
    result = handle.get_result_async()
    assert bench.stands_still()
    bench.pause(False)
    assert bench.answer(result).result.reached_goal


def test_a_pace_that_is_too_slow_can_be_changed(ros_domain: int) -> None:
    bench = Bench(lockstep=True)
    assert bench.set("pace", 1e-9).successful
    assert bench.stands_still()
    bench.pause()
    bench.pause(False)
    assert bench.stands_still()
    assert bench.set("pace", 0.0).successful
    bench.advance(10)
    bench.close()


@pytest.mark.parametrize("seed", range(3))
def test_any_sequence_of_calls_is_answered(bench: Bench, seed: int) -> None:
    """The answer of steps may take as long as nobody ends them, all others come at once."""
    draw = random.Random(seed)
    lockstep = bench.participant is not None
    steps: list[Future] = []
    results: list[tuple[Any, Future]] = []

    def grip() -> None:
        handle = bench.grip(draw.choice(GRIPPERS), draw.choice((0.0, 0.03, 0.05)))
        if handle.accepted:
            results.append((handle, handle.get_result_async()))

    def cancel() -> None:
        if results:
            handle, result = results.pop(draw.randrange(len(results)))
            bench.answer(handle.cancel_goal_async())
            bench.answer(result)

    calls: list[Callable[[], Any]] = [
        lambda: bench.call(Pause, "pause", pause=draw.random() < 0.6),
        lambda: steps.append(bench.step(draw.choice((0, 1, 7, MANY)))),
        lambda: bench.call(Reset, "reset", seed=draw.randrange(9)),
        lambda: bench.change(draw.choice((1, 2, 3, 4))),
        lambda: bench.change(Transition.TRANSITION_ACTIVATE),
        lambda: bench.call(GetState, "get_state"),
        lambda: bench.set("surroundings.friction", draw.uniform(0.5, 1.5)),
        lambda: bench.set("pace", draw.choice((0.0, 1e-6, 10.0)) if lockstep else 0.5),
        lambda: bench.call(SetBool, "driver/silence", data=draw.random() < 0.5),
        lambda: bench.call(SetBool, "driver/leave_commanding", data=draw.random() < 0.5),
        lambda: bench.call(Trigger, f"driver/{draw.choice(('delay', 'restart'))}"),
        grip,
        cancel,
        bench.turn,
    ]
    for _ in range(150):
        draw.choice(calls)()
    bench.pause()
    for answer in steps:
        bench.answer(answer)
    bench.set("pace", 0.0)
    bench.change(Transition.TRANSITION_CONFIGURE)
    bench.change(Transition.TRANSITION_ACTIVATE)
    bench.pause(False)
    bench.advance(10)
    assert bench.change(Transition.TRANSITION_DEACTIVATE)
    for _, result in results:
        bench.answer(result)


def test_an_arm_that_hangs_is_warned_of(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "hanging.yaml"
    path.write_text(HANGING)
    rclpy.init(args=["--ros-args", "-p", f"scene:={path}"])
    node = SimulatorNode()
    node.close()
    node.destroy_node()
    rclpy.shutdown()
    assert "take it to be (0, 0, -9.81): they take weights for contacts" in capfd.readouterr().err
