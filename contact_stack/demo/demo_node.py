"""The node that asks the graph for an experiment and keeps what the graph says."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from contact_stack_msgs.action import FollowPoseTrajectory
from contact_stack_msgs.srv import SetPayload
from control_msgs.action import FollowJointTrajectory, ParallelGripperCommand

from contact_core.errors import CommunicationError, TrajectoryError
from contact_core.robot import Robot
from contact_ros.driver_profile import DriverProfile
from contact_ros.stamps import NANOSECONDS, to_time
from contact_stack.demo.client_node import CLOCK, ClientNode
from contact_stack.demo.experiment import Experiment, Release
from contact_stack.demo.goals import joint_goal, pose_goal
from contact_stack.demo.motion import JointMotion, Motion, PoseMotion
from contact_stack.recording import McapRecorder

NAME = "demo"

LEAD_TIME = 1.0
"""Between the requests and the start of the motion [s].

Long enough for a graph in real time that has just discovered this node.
"""


class DemoNode(ClientNode):
    """Run the experiment once: wait for the graph, send the goals, listen to the end.

    Attributes:
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
        recorded = {**profile.state_topics, profile.command_topic: profile.command_type}
        super().__init__(NAME, namespace, recorder, lockstep, recorded=recorded)
        self.start: int | None = None
        self.motion: Motion | None = None
        self.wall_time = 0.0
        self._experiment = experiment
        self._robot = robot
        self._arm_joints = arm_joints
        self._gripper_joint = gripper_joint
        self._wall_start = 0.0
        self._use_actions(
            {
                "follow_pose_trajectory": FollowPoseTrajectory,
                "follow_joint_trajectory": FollowJointTrajectory,
                "gripper": ParallelGripperCommand,
            }
        )
        self._use_services({"set_payload": SetPayload})

    @property
    def progress(self) -> float:
        """Simulated time since the start of the motion [s]; 0 before."""
        return 0.0 if self.start is None else max(0.0, 1e-9 * (self.stamp - self.start))

    @property
    def finished(self) -> bool:
        """True when the motion and its settling time are over."""
        return self.progress >= self._experiment.duration + self._experiment.settling

    def _advance(self) -> None:
        if self.start is None:
            if self._at_rest():
                self._send_requests()
        elif self._wall_start == 0.0 and self.stamp >= self.start:
            self._wall_start = time.monotonic()
        elif self._wall_start:
            self.wall_time = time.monotonic() - self._wall_start

    def _send_requests(self) -> None:
        """Send everything at once, each with the simulated time at which it counts."""
        self.start = self.stamp + round(LEAD_TIME * NANOSECONDS)
        self._ask_for_motion(self.start)
        if self._experiment.release is not None:
            self._ask_for_release(self.start, self._experiment.release)

    def _ask_for_motion(self, start: int) -> None:
        """Send the motion, from where the arm is, to the action that it is meant for."""
        position = np.array(self._latest(CLOCK).position[: self._robot.n])
        self.motion = self._experiment.motion(self._robot, position)
        match self.motion:
            case PoseMotion():
                self._ask("follow_pose_trajectory", pose_goal(self.motion, start))
            case JointMotion():
                joints = joint_goal(self.motion, start, self._arm_joints)
                self._ask("follow_joint_trajectory", joints)

    def _ask_for_release(self, start: int, release: Release) -> None:
        """Open the gripper at a time, and tell the estimator that nothing is held then."""
        moment = to_time(start + round(release.time * NANOSECONDS))
        opening = ParallelGripperCommand.Goal()
        opening.command.header.stamp = moment
        opening.command.name = [self._gripper_joint]
        opening.command.position = [release.opening]
        opening.command.effort = [release.effort]
        self._ask("gripper", opening)
        nothing_held = SetPayload.Request(start=moment, mass=0.0)
        self._call("set_payload", nothing_held, _check_payload)

    def _ask(self, name: str, goal: Any) -> None:
        """Send a goal that must not fail."""

        def ended(result: Any) -> None:
            if getattr(result, "error_code", 0) != 0:
                raise TrajectoryError(f"{name}: {result.error_string}")

        self._send_goal(name, goal, ended)


def _check_payload(response: SetPayload.Response) -> None:
    if not response.success:
        raise CommunicationError(f"set_payload: {response.message}")
