"""The client that asks for an experiment's motion, and the arrays made of what it has heard."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from contact_stack_msgs.action import FollowPoseTrajectory
from contact_stack_msgs.msg import ContactArray
from contact_stack_msgs.srv import SetPayload
from control_msgs.action import FollowJointTrajectory, ParallelGripperCommand

from contact_aware_control.reference import PoseTrajectory
from contact_aware_control.reference.motion import Motion, tool_at
from contact_core.base.errors import CommunicationError, TrajectoryError
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from contact_ros.geometry import frame_pose, to_array
from contact_ros.stamps import NANOSECONDS, to_time
from contact_stack.demo.client_node import (
    CLOCK,
    LEAD_TIME,
    OBJECTS,
    ClientNode,
    Connection,
    gripper_goal,
    joint_goal,
    pose_goal,
)
from contact_stack.demo.contact_tracking.experiments import Experiment, Release
from contact_stack.demo.contact_tracking.statistics import ContactSample, ExperimentData


class ContactTrackingNode(ClientNode[ExperimentData]):
    """Run the experiment once: wait for the graph, send the goals, listen to the end."""

    def __init__(self, experiment: Experiment, connection: Connection) -> None:
        """Connect to the graph.

        Args:
            experiment: What to do.
            connection: How to take part in the graph.
        """
        profile = connection.profile
        recorded = {**profile.state_topics, profile.command_topic: profile.command_type}
        super().__init__(connection, recorded=recorded)
        self._experiment, self._profile = experiment, profile
        self._description = Scene.load(experiment.scene).robot
        self._robot = Robot.from_description(self._description)
        self.duration = self._duration = experiment.duration + experiment.settling
        self._motion: Motion | None = None
        self._use(
            {
                "follow_pose_trajectory": FollowPoseTrajectory,
                "follow_joint_trajectory": FollowJointTrajectory,
            }
        )
        if experiment.release is not None:
            self._use({"gripper": ParallelGripperCommand}, {"set_payload": SetPayload})

    @property
    def finished(self) -> bool:
        """True when the motion and its settling time are over."""
        return self.progress >= self._duration

    def _advance(self) -> None:
        """Send everything at once, each with the simulated time at which it counts."""
        if self.start is None and self._at_rest():
            self.start = self.stamp + round(LEAD_TIME * NANOSECONDS)
            self._ask_for_motion(self.start)
            if self._experiment.release is not None:
                self._ask_for_release(self.start, self._experiment.release)

    def _ask_for_motion(self, start: int) -> None:
        """Send the motion, from where the arm is, to the action that it is meant for."""
        position = np.array(self._latest(CLOCK).position[: self._robot.n])
        self._motion = motion = self._experiment.motion(self._robot, position)
        if isinstance(motion, PoseTrajectory):
            self._ask("follow_pose_trajectory", pose_goal(motion, start))
        else:
            goal = joint_goal(motion, start, self._profile.joint_names)
            self._ask("follow_joint_trajectory", goal)

    def _ask_for_release(self, start: int, release: Release) -> None:
        """Open the gripper at a time, and tell the estimator that nothing is held then."""
        moment = start + round(release.time * NANOSECONDS)
        joint = self._description.gripper_joint
        self._ask("gripper", gripper_goal(joint, release.opening, release.effort, moment))
        nothing_held = SetPayload.Request(start=to_time(moment), mass=0.0)
        self._call("set_payload", nothing_held, _check_payload)

    def _ask(self, name: str, goal: Any) -> None:
        """Send a goal that must not fail."""

        def ended(result: Any) -> None:
            if getattr(result, "error_code", 0) != 0:
                raise TrajectoryError(f"{name}: {result.error_string}")

        self._send_goal(name, goal, ended)

    def data(self) -> ExperimentData:
        """Bring everything that was heard to the ticks of the simulator, after the end."""
        assert self.start is not None and self._motion is not None
        start, end = self.start, self.start + round(self._duration * NANOSECONDS)
        truth = self.heard[CLOCK]
        stamps = [stamp for stamp in truth.stamps if start <= stamp <= end]
        states = truth.between(start, end)
        time = 1e-9 * (np.array(stamps) - start)
        position = np.array([state.position for state in states])
        statuses = self.heard["controller_status"].between(start, end)
        shift, turn = self._tracking_errors(position[:, : self._robot.n], time, self._motion)
        objects = self.heard[OBJECTS].samples[-1]
        return ExperimentData(
            time=time,
            period=float(np.median(np.diff(time))),
            joint_position=position,
            joint_velocity=np.array([state.velocity[: self._robot.n] for state in states]),
            contacts=tuple(self._contacts("truth/contacts", stamp) for stamp in stamps),
            estimates=tuple(self._contacts("contacts", stamp) for stamp in stamps),
            position_error=shift,
            rotation_error=turn,
            tick_time=np.array([status.tick_time for status in statuses]),
            deadline_misses=statuses[-1].deadline_misses - statuses[0].deadline_misses,
            control_rate=len(statuses) / self._duration,
            estimator_rate=len(self.heard["contacts"].between(start, end)) / self._duration,
            wall_time=self.wall_time,
            outcome=self._experiment.outcome(lambda name: frame_pose(objects, name)),
        )

    def _tracking_errors(
        self, position: np.ndarray, time: np.ndarray, motion: Motion
    ) -> np.ndarray:
        """Return the true tool's distance [m] and angle [rad] from the reference, (2, n)."""
        errors = np.zeros((2, len(time)))
        for tick, (q, t) in enumerate(zip(position, time, strict=True)):
            wanted = tool_at(motion, self._robot, float(t))
            self._robot.update(q)
            difference = self._robot.tool_pose().actInv(wanted)
            errors[0, tick] = np.linalg.norm(difference.translation)
            errors[1, tick] = np.linalg.norm(pin.log3(difference.rotation))
        return errors

    def _contacts(self, topic: str, stamp: int) -> tuple[ContactSample, ...]:
        """Return the robot's contacts at a time with anything but the held object."""
        message: ContactArray | None = self.heard[topic].at(stamp)
        held = self._experiment.held.name if self._experiment.held is not None else None
        return tuple(
            ContactSample(c.link, to_array(c.point), to_array(c.force), c.identifiable)
            for c in (message.contacts if message is not None else ())
            if c.link in self._robot.link_names and c.other != held
        )


def _check_payload(response: SetPayload.Response) -> None:
    if not response.success:
        raise CommunicationError(f"set_payload: {response.message}")
