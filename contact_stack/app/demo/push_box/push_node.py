"""The node that has pushes planned and executed until the box is where it should be.

It sees the box as a camera would (truth/objects) and the arm by its encoders. Planning takes
no simulated time in lock-step: the tick in which the plan is asked for ends when it has come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pinocchio as pin
from contact_stack_msgs.action import FollowPoseTrajectory, PlanThroughContact
from contact_stack_msgs.msg import ContactArray, ControllerStatus
from rclpy.action import ActionClient
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.serialization import deserialize_message
from rclpy.task import Future
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from contact_stack.app.demo.client_node import SILENCE_LIMIT, ClientNode
from contact_stack.app.demo.goals import pose_goal
from contact_stack.app.demo.motion import PoseMotion
from contact_stack.app.demo.push_box.task import BOX, EXAMPLE, Miss, PushTask
from contact_stack.app.demo.series import Series
from contact_stack.app.recording.mcap_recorder import McapRecorder
from contact_stack.core.errors import CommunicationError, TrajectoryError
from contact_stack.core.robot import Robot
from contact_stack.ros.geometry import to_se3
from contact_stack.ros.lockstep import Participant, TickInputs
from contact_stack.ros.qos import signal_subscription
from contact_stack.ros.stamps import NANOSECONDS, to_nanoseconds
from irs_planner.examples import load_example
from irs_planner.smoothing import GradientMode

NAME = "push_box"

HEARD: Mapping[str, type] = {
    "truth/joint_states": JointState,
    "truth/contacts": ContactArray,
    "truth/objects": TFMessage,
    "contacts": ContactArray,
    "controller_status": ControllerStatus,
}
DISCOVERY_PERIOD = 0.05
"""How often the servers are looked for [s]."""
LEAD_TIME = 0.2
"""Between a plan and the start of its motion [s]."""
SETTLING = 0.5
"""Between the end of a motion and the look at the box [s]."""
PLANNING_LIMIT = 600.0
"""A planner that has not answered for this long has failed [s]."""
SAMPLES = 100
STARTS = 3
"""Independent plans for the first push, the best is taken: it decides what comes after."""
SAMPLED = (GradientMode.FIRST, GradientMode.ZERO)
EXECUTED = 2.0
"""How much of a plan is executed before the next one is made [s]."""


@dataclass
class Push:
    """One plan and what became of it.

    Attributes:
        start: Stamp of the start of the motion [ns].
        end: Stamp of the look at the box afterwards [ns].
        plan: The action's result.
        before: How far the box was from its goal.
        after: How far it is at the end, None before.
    """

    start: int
    end: int
    plan: Any
    before: Miss
    after: Miss | None = field(default=None)


class PushNode(ClientNode):
    """Plan, push, look, until the box is at its goal or the attempts are used up.

    Attributes:
        heard: Topic -> the messages of it, by stamp.
        pushes: What has been done.
    """

    def __init__(
        self,
        task: PushTask,
        attempts: int,
        mode: str,
        seed: int,
        recorder: McapRecorder,
        namespace: str,
        lockstep: bool,
    ) -> None:
        """Connect to the graph.

        Args:
            task: Where the box has to go.
            attempts: Largest number of plans.
            mode: How gradients are made.
            seed: Of the samples; every plan has its own.
            recorder: Where every message heard is written.
            namespace: The namespace of the graph.
            lockstep: True if this node takes part in lock-step.
        """
        super().__init__(NAME, namespace=namespace)
        self.heard: dict[str, Series[Any]] = {topic: Series() for topic in HEARD}
        self.pushes: list[Push] = []
        self._finished = False
        self._task, self._attempts, self._seed = task, attempts, seed
        self._robot = Robot.from_description(task.model.scene.scene.robot)
        self._recorder = recorder
        self._first_mode = self._mode = mode
        self._plans = 0
        self._awaited = 0
        self._when_answered: Callable[[], None] = lambda: None
        self._servers_found = False
        self._participant = Participant(self, NAME, self._tick) if lockstep else None
        self._inputs = TickInputs(list(HEARD), self._handle_tick)
        for topic, kind in HEARD.items():
            receive = partial(self._receive, topic, kind)
            self.create_subscription(kind, topic, receive, signal_subscription(lockstep), raw=True)
        self._plan = ActionClient(self, PlanThroughContact, "plan_through_contact")
        self._follow = ActionClient(self, FollowPoseTrajectory, "follow_pose_trajectory")
        self._discovery = self.create_timer(
            DISCOVERY_PERIOD, self._discover, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    @property
    def waiting_for(self) -> str:
        """What a graph that has fallen silent has not sent, for an error message."""
        if not self._servers_found:
            return "the servers of planner and controller were not found"
        if self._awaited:
            return "waiting for a plan"
        return f"waiting for {', '.join(self._inputs.missing) or 'the simulator'}"

    @property
    def finished(self) -> bool:
        """True when the box is at its goal, or the attempts are used up."""
        return self._finished

    def box(self) -> pin.SE3:
        """Return the pose of the box now."""
        return box_pose(self.heard["truth/objects"].at(self.stamp))

    def _discover(self) -> None:
        """Look for the servers; only with both of them found may lock-step begin."""
        self._servers_found = self._plan.server_is_ready() and self._follow.server_is_ready()
        if self._servers_found:
            self._discovery.cancel()
            if self._participant is not None:
                self._participant.announce()

    def _receive(self, topic: str, kind: type, data: bytes) -> None:
        message = deserialize_message(data, kind)
        header = message.transforms[0].header if kind is TFMessage else message.header
        stamp = to_nanoseconds(header.stamp)
        self._recorder.write(self.resolve_topic_name(topic), kind, data, stamp)
        self.heard[topic].append(stamp, message)
        self._inputs.put(topic, stamp, message)
        if self._participant is None and topic == "truth/joint_states":
            self._advance(stamp)

    def _tick(self, k: int, stamp: int) -> None:
        self._inputs.tick(k, stamp)

    def _handle_tick(self, k: int, samples: Mapping[str, Any]) -> None:
        """In lock-step: a tick ends only when all our requests of it are answered."""
        assert self._participant is not None
        self._advance(to_nanoseconds(samples["truth/joint_states"].header.stamp))
        if self.finished:
            return
        if self._awaited == 0:
            self._participant.done(k)
        else:
            self._when_answered = partial(self._participant.done, k)

    def _advance(self, stamp: int) -> None:
        self.stamp = stamp
        if self._awaited or self.finished:
            return
        if not self.pushes:
            if self._ready():
                self._ask_for_plan()
        elif stamp >= self.pushes[-1].end:
            self.pushes[-1].after = miss = self._task.miss(self.box())
            self._finished = self._task.reached(miss) or self._plans == self._attempts
            if not self.finished:
                self._ask_for_plan()

    def _ready(self) -> bool:
        """Return True once the arm is held and the torques are tared."""
        contacts = self.heard["contacts"].at(self.stamp)
        status = self.heard["controller_status"].at(self.stamp)
        if contacts is None or status is None or not self._servers_found:
            return False
        tared = contacts.state != ContactArray.UNTARED
        return bool(tared and status.mode == ControllerStatus.HOLD)

    def _ask_for_plan(self) -> None:
        """Ask for a push from where arm and box are."""
        measured = self.heard["truth/joint_states"].at(self.stamp)
        assert measured is not None
        joints = np.array(measured.position[: self._robot.n])
        goal = PlanThroughContact.Goal(
            example=EXAMPLE,
            initial_state=self._task.state(self.box(), joints),
            mode=self._mode,
            starts=STARTS if self._mode in SAMPLED and not self.pushes else 1,
            samples=SAMPLES,
            iterations=load_example(EXAMPLE).iterations,
            seed=self._seed * self._attempts + self._plans,
        )
        self.silence_limit = PLANNING_LIMIT
        self._await(self._plan.send_goal_async(goal), self._plan_accepted)

    def _plan_accepted(self, handle: Any) -> None:
        if not handle.accepted:
            raise CommunicationError("the planner rejected the goal")
        self._await(handle.get_result_async(), self._execute)

    def _execute(self, answer: Any) -> None:
        """Send the COMMANDED positions of a plan: the predicted ones would press on nothing."""
        self.silence_limit = SILENCE_LIMIT
        plan = answer.result
        self._plans += 1
        if not plan.commanded.points or plan.status > PlanThroughContact.Result.CANCELED:
            self._without_plan(plan)
            return
        self._mode = self._first_mode
        start = self.stamp + round(LEAD_TIME * NANOSECONDS)
        motion = self._motion(plan)
        end = start + round((motion.times[-1] + SETTLING) * NANOSECONDS)
        self.pushes.append(Push(start, end, plan, self._task.miss(self.box())))
        goal = pose_goal(motion, start)
        goal.planned_contact = plan.planned_contact
        self._await(self._follow.send_goal_async(goal), self._motion_accepted)

    def _without_plan(self, plan: Any) -> None:
        """Try again with samples, which may find what the last plan has not, or give up."""
        if self._plans < self._attempts:
            self._mode = str(GradientMode.FIRST)
            self._ask_for_plan()
        elif self.pushes:
            self._finished = True
        else:
            raise TrajectoryError(f"no plan: {plan.status_name}: {plan.remedy}")

    def _motion(self, plan: Any) -> PoseMotion:
        times, poses = [], []
        for point in plan.commanded.points:
            time = 1e-9 * to_nanoseconds(point.time_from_start)
            if time > EXECUTED:
                break
            self._robot.update(np.array(point.positions))
            times.append(time)
            poses.append(self._robot.tool_pose())
        return PoseMotion(tuple(times), tuple(poses))

    def _motion_accepted(self, handle: Any) -> None:
        if not handle.accepted:
            raise CommunicationError("the controller rejected the motion")
        handle.get_result_async().add_done_callback(self._motion_ended)

    def _motion_ended(self, future: Future) -> None:
        result = future.result().result
        if result.error_code != FollowPoseTrajectory.Result.SUCCESSFUL:
            raise TrajectoryError(f"follow_pose_trajectory: {result.error_string}")

    def _await(self, future: Future, answered: Callable[[Any], None]) -> None:
        """Call ``answered`` with the future's result, then end the tick if it was the last."""
        self._awaited += 1

        def arrived(future: Future) -> None:
            answered(future.result())
            self._awaited -= 1
            if self._awaited == 0 and self._participant is not None:
                self._when_answered()

        future.add_done_callback(arrived)


def box_pose(objects: TFMessage) -> pin.SE3:
    """Return the pose of the box.

    Args:
        objects: Poses of all objects.
    """
    poses = {item.child_frame_id: item.transform for item in objects.transforms}
    return to_se3(poses[BOX])
