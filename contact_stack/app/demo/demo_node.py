"""The node that asks the graph for an experiment and keeps what the graph says."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from contact_stack_msgs.action import FollowPoseTrajectory
from contact_stack_msgs.msg import ContactArray, ControllerStatus
from contact_stack_msgs.srv import SetPayload
from control_msgs.action import FollowJointTrajectory, ParallelGripperCommand
from rclpy.action import ActionClient
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.serialization import deserialize_message
from rclpy.task import Future
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from contact_stack.app.demo.client_node import ClientNode
from contact_stack.app.demo.experiment import Experiment, Release
from contact_stack.app.demo.goals import joint_goal, pose_goal
from contact_stack.app.demo.motion import JointMotion, Motion, PoseMotion
from contact_stack.app.demo.series import Series
from contact_stack.app.recording.mcap_recorder import McapRecorder
from contact_stack.core.errors import CommunicationError, TrajectoryError
from contact_stack.core.robot import Robot
from contact_stack.ros.driver_profile import DriverProfile
from contact_stack.ros.lockstep import Participant, TickInputs
from contact_stack.ros.qos import signal_subscription
from contact_stack.ros.stamps import NANOSECONDS, to_nanoseconds, to_time

NAME = "demo"

HEARD: Mapping[str, type] = {
    "truth/joint_states": JointState,
    "truth/contacts": ContactArray,
    "truth/objects": TFMessage,
    "contacts": ContactArray,
    "controller_status": ControllerStatus,
}
"""What the figures are computed from; in lock-step every tick has all of it."""

DISCOVERY_PERIOD = 0.05
"""How often the servers are looked for [s]."""

LEAD_TIME = 1.0
"""Between the requests and the start of the motion [s].

Long enough for a graph in real time that has just discovered this node.
"""


class DemoNode(ClientNode):
    """Run the experiment once: wait for the graph, send the goals, listen to the end.

    Attributes:
        heard: Topic -> the messages of it, by stamp.
        start: Stamp of the start of the motion [ns], None before.
        motion: The motion, None before.
        wall_time: How long the motion has taken in real time [s].
    """

    def __init__(
        self,
        experiment: Experiment,
        robot: Robot,
        arm_joints: tuple[str, ...],
        gripper_joint: str,
        profile: DriverProfile,
        recorder: McapRecorder,
        namespace: str,
        lockstep: bool,
    ) -> None:
        """Connect to the graph.

        Args:
            experiment: What to do.
            robot: The arm, for the motion from where it starts.
            arm_joints: The driver's names of the arm's joints, base to wrist.
            gripper_joint: Name of the joint that opens the gripper.
            profile: The driver, for the topics to record.
            recorder: Where every message heard is written.
            namespace: The namespace of the graph.
            lockstep: True if this node takes part in lock-step.
        """
        super().__init__(NAME, namespace=namespace)
        self.heard: dict[str, Series[Any]] = {topic: Series() for topic in HEARD}
        self.start: int | None = None
        self.motion: Motion | None = None
        self.wall_time = 0.0
        self._experiment = experiment
        self._robot = robot
        self._gripper_joint = gripper_joint
        self._recorder = recorder
        self._wall_start = 0.0
        self._awaited = 0
        self._when_answered: Callable[[], None] = lambda: None
        self._servers_found = False
        self._participant = Participant(self, NAME, self._tick) if lockstep else None
        self._inputs = TickInputs(list(HEARD), self._handle_tick)
        topics = {**profile.state_topics, profile.command_topic: profile.command_type, **HEARD}
        for topic, message_type in topics.items():
            self.create_subscription(
                message_type,
                topic,
                partial(self._receive, topic, message_type),
                signal_subscription(lockstep),
                raw=True,
            )
        self._arm_joints = arm_joints
        self._follow_pose = ActionClient(self, FollowPoseTrajectory, "follow_pose_trajectory")
        self._follow_joints = ActionClient(
            self, FollowJointTrajectory, "follow_joint_trajectory"
        )
        self._gripper = ActionClient(self, ParallelGripperCommand, "gripper")
        self._payload = self.create_client(SetPayload, "set_payload")
        self._discovery = self.create_timer(
            DISCOVERY_PERIOD, self._discover, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    @property
    def progress(self) -> float:
        """Simulated time since the start of the motion [s]; 0 before."""
        return 0.0 if self.start is None else max(0.0, 1e-9 * (self.stamp - self.start))

    @property
    def waiting_for(self) -> str:
        """What a graph that has fallen silent has not sent, for an error message."""
        if not self._servers_found:
            return "the servers of the controller, gripper and estimator were not found"
        missing = self._inputs.missing or [t for t in HEARD if self.heard[t].at(1 << 62) is None]
        return f"waiting for {', '.join(missing) or 'the simulator'}"

    @property
    def finished(self) -> bool:
        """True when the motion and its settling time are over."""
        return self.progress >= self._experiment.duration + self._experiment.settling

    def _discover(self) -> None:
        """Look for the servers; only with all of them found may lock-step begin.

        Discovery takes real time: beginning without them would make the run depend on it.
        """
        self._servers_found = (
            self._follow_pose.server_is_ready()
            and self._follow_joints.server_is_ready()
            and self._gripper.server_is_ready()
            and self._payload.service_is_ready()
        )
        if self._servers_found:
            self._discovery.cancel()
            if self._participant is not None:
                self._participant.announce()

    def _receive(self, topic: str, message_type: type, data: bytes) -> None:
        """Record a message and, if it is one the figures need, keep it."""
        if self.finished:
            return
        message = deserialize_message(data, message_type)
        stamp = _stamp(message, default=self.stamp)
        self._recorder.write(self.resolve_topic_name(topic), message_type, data, stamp)
        if topic in HEARD:
            self.heard[topic].append(stamp, message)
            self._inputs.put(topic, stamp, message)
        if self._participant is None and topic == "truth/joint_states":
            self._advance(stamp)

    def _tick(self, k: int, stamp: int) -> None:
        self._inputs.tick(k, stamp)

    def _handle_tick(self, k: int, samples: Mapping[str, Any]) -> None:
        """In lock-step: a tick ends only when all our requests of it are answered."""
        assert self._participant is not None
        self._advance(_stamp(samples["truth/joint_states"], default=0))
        if self.finished:
            return
        if self._awaited == 0:
            self._participant.done(k)
        else:
            self._when_answered = partial(self._participant.done, k)

    def _advance(self, stamp: int) -> None:
        self.stamp = stamp
        if self.start is None:
            if self._ready():
                self._send_requests()
        elif self._wall_start == 0.0 and stamp >= self.start:
            self._wall_start = time.monotonic()
        elif self._wall_start:
            self.wall_time = time.monotonic() - self._wall_start

    def _ready(self) -> bool:
        """Return True once the arm is held and the torques are tared."""
        contacts = self.heard["contacts"].at(self.stamp)
        status = self.heard["controller_status"].at(self.stamp)
        if contacts is None or status is None or not self._servers_found:
            return False
        tared = contacts.state != ContactArray.UNTARED
        return tared and status.mode == ControllerStatus.HOLD

    def _send_requests(self) -> None:
        """Send everything at once, each with the simulated time at which it counts."""
        self.start = self.stamp + round(LEAD_TIME * NANOSECONDS)
        self._ask_for_motion(self.start)
        if self._experiment.release is not None:
            self._ask_for_release(self.start, self._experiment.release)

    def _ask_for_motion(self, start: int) -> None:
        """Send the motion, from where the arm is, to the action that it is meant for."""
        truth = self.heard["truth/joint_states"].at(self.stamp)
        assert truth is not None
        position = np.array(truth.position[: self._robot.n])
        self.motion = self._experiment.motion(self._robot, position)
        match self.motion:
            case PoseMotion():
                name, pose = "follow_pose_trajectory", pose_goal(self.motion, start)
                self._await(self._follow_pose.send_goal_async(pose), self._goal_answered(name))
            case JointMotion():
                name, joints = (
                    "follow_joint_trajectory",
                    joint_goal(self.motion, start, self._arm_joints),
                )
                self._await(
                    self._follow_joints.send_goal_async(joints), self._goal_answered(name)
                )

    def _ask_for_release(self, start: int, release: Release) -> None:
        """Open the gripper at a time, and tell the estimator that nothing is held then."""
        moment = to_time(start + round(release.time * NANOSECONDS))
        opening = ParallelGripperCommand.Goal()
        opening.command.header.stamp = moment
        opening.command.name = [self._gripper_joint]
        opening.command.position = [release.opening]
        opening.command.effort = [release.effort]
        self._await(self._gripper.send_goal_async(opening), self._goal_answered("gripper"))
        nothing_held = SetPayload.Request(start=moment, mass=0.0)
        self._await(self._payload.call_async(nothing_held), self._payload_answered)

    def _await(self, future: Future, answered: Callable[[Any], None]) -> None:
        """Call ``answered`` with the future's result, then end the tick if it was the last."""
        self._awaited += 1

        def arrived(future: Future) -> None:
            answered(future.result())
            self._awaited -= 1
            if self._awaited == 0 and self._participant is not None:
                self._when_answered()

        future.add_done_callback(arrived)

    def _goal_answered(self, name: str) -> Callable[[Any], None]:
        def answered(handle: Any) -> None:
            if not handle.accepted:
                raise CommunicationError(f"the goal of '{name}' was rejected")
            handle.get_result_async().add_done_callback(partial(self._goal_ended, name))

        return answered

    def _goal_ended(self, name: str, future: Future) -> None:
        result = future.result().result
        if getattr(result, "error_code", 0) != 0:
            raise TrajectoryError(f"{name}: {result.error_string}")

    def _payload_answered(self, response: SetPayload.Response) -> None:
        if not response.success:
            raise CommunicationError(f"set_payload: {response.message}")


def _stamp(message: Any, default: int) -> int:
    """Return the stamp of a message [ns], or the default if it carries none."""
    if hasattr(message, "header"):
        return to_nanoseconds(message.header.stamp)
    if getattr(message, "transforms", None):
        return to_nanoseconds(message.transforms[0].header.stamp)
    return default
