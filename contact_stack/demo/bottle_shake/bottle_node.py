"""The node that handles the bottle: it streams commands to the arm and commands the gripper."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
import pinocchio as pin
from control_msgs.action import ParallelGripperCommand
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from contact_core.arm_state import ArmState, CommandMode
from contact_core.errors import CommunicationError
from contact_core.robot import Robot
from contact_core.scene import Scene
from contact_ros.driver_profile import (
    OVERLAYS,
    CommandWriter,
    DriverProfile,
    MessageError,
    OverlayWriter,
)
from contact_ros.geometry import frame_pose
from contact_ros.stamps import to_time
from contact_stack.demo.bottle_shake.grip import GripConfig
from contact_stack.demo.bottle_shake.joint_controller import JointCommand, joint_controller
from contact_stack.demo.bottle_shake.joint_path import tool_pose
from contact_stack.demo.bottle_shake.procedure import GripperGoal, Observation, Procedure
from contact_stack.demo.bottle_shake.summary import BOTTLE
from contact_stack.demo.bottle_shake.task import BottleTask
from contact_stack.demo.bottle_shake.trial import Sample, Trial
from contact_stack.demo.client_node import CLOCK, ClientNode
from contact_stack.recording import McapRecorder

NAME = "demo"
GRIPPER = "gripper/joint_states"
OBJECTS = "truth/objects"


class BottleNode(ClientNode):
    """Run the procedure once, one decision per state of the arm."""

    def __init__(
        self,
        scene: Scene,
        task: BottleTask,
        controller: str,
        feedback: bool,
        profile: DriverProfile,
        recorder: McapRecorder,
        namespace: str,
        lockstep: bool,
    ) -> None:
        """Connect to the graph.

        Args:
            scene: For the models of the arm.
            task: What to do.
            controller: Name of the joint controller.
            feedback: Whether forces are used.
            profile: The driver.
            recorder: Where every message heard is written.
            namespace: The namespace of the graph.
            lockstep: True if this node takes part in lock-step.
        """
        needed = {topic: profile.state_topics[topic] for topic in profile.needed_topics}
        heard: Mapping[str, type] = {
            CLOCK: JointState, OBJECTS: TFMessage, GRIPPER: JointState, **needed,
        }  # fmt: skip
        self._joints = joint_controller(controller, scene)
        self._mode = self._joints.mode
        commands = {profile.command_topic: profile.command_type}
        if self._mode is CommandMode.TORQUE:
            overlay = OVERLAYS[self._mode]
            commands = {overlay.topic: overlay.message}
        super().__init__(NAME, namespace, recorder, lockstep, heard, commands)
        self._scene, self._task, self._feedback = scene, task, feedback
        self._profile = profile
        self._arm = Robot.from_description(scene.robot)
        self._procedure: Procedure | None = None
        self._samples: list[Sample] = []
        self._wanted = np.zeros(self._arm.n)
        self._wall_start, self._wall_time = 0.0, 0.0
        self._positions: CommandWriter | None = None
        self._overlays: OverlayWriter | None = None
        if self._mode is CommandMode.TORQUE:
            self._overlays = OverlayWriter(self, self._mode, lockstep)
        else:
            self._positions = CommandWriter(self, profile, lockstep)
        self._use_actions({"gripper": ParallelGripperCommand})

    @property
    def finished(self) -> bool:
        """True when the procedure is over."""
        return self._procedure is not None and self._procedure.finished

    @property
    def progress(self) -> str:
        """What is being done, for a progress bar."""
        return str(self._procedure.stage) if self._procedure is not None else "start"

    @property
    def time(self) -> float:
        """Time since the first decision [s]."""
        return 1e-9 * (self._samples[-1].stamp - self._samples[0].stamp) if self._samples else 0.0

    @property
    def trial(self) -> Trial:
        """What happened; only once it is over."""
        assert self._procedure is not None and self._procedure.verdict is not None
        period = self._scene.config.period
        return Trial(self._samples, period, self._procedure.verdict, self._wall_time)

    def _advance(self) -> None:
        state = self._state()
        gripper, objects = self._latest(GRIPPER), self._latest(OBJECTS)
        # In real time messages of before the servers were found may be missing.
        if state is None or gripper is None or objects is None or not self._servers_found:
            return
        if self._procedure is None:
            self._procedure = self._begin(state)
        seen = Observation(
            state.stamp, state.position, state.external_torque,
            gripper.position[0], -gripper.effort[0],
        )  # fmt: skip
        decision = self._procedure.update(seen)
        self._keep(seen, self._procedure, frame_pose(objects, BOTTLE))
        self._wanted = decision.reference.position
        if decision.gripper is not None:
            self._command_gripper(decision.gripper)
        self._command_arm(self._joints.command(decision.reference, seen.position, seen.stamp))
        self._wall_time = time.monotonic() - self._wall_start

    def _state(self) -> ArmState | None:
        """Return the state of this period; None if a part of it is missing, in real time."""
        state = None
        for topic in self._profile.needed_topics:
            message = self._latest(topic)
            try:
                state = None if message is None else self._profile.decode_state(topic, message)
            except MessageError as error:
                self.get_logger().warning(f"{topic}: {error}")
                return None
        return state

    def _begin(self, state: ArmState) -> Procedure:
        """Plan from where the arm is."""
        if state.command_mode is not self._mode:
            raise CommunicationError(
                f"the arm takes {state.command_mode.value}; set it to take {self._mode.value}"
            )
        self._wall_start = time.monotonic()
        self._wanted = state.position
        own = Robot.from_description(self._scene.robot)
        period = self._scene.config.period
        return Procedure(own, self._task, GripConfig(), state.position, period, self._feedback)

    def _keep(self, seen: Observation, procedure: Procedure, bottle: pin.SE3) -> None:
        """Keep what the figures are computed from."""
        position = np.array(self._latest(CLOCK).position[: self._arm.n])
        self._samples.append(
            Sample(
                stamp=seen.stamp,
                stage=procedure.stage,
                position=position,
                tool=tool_pose(self._arm, position),
                wanted=tool_pose(self._arm, self._wanted),
                bottle=bottle,
                grip=seen.grip,
                command=procedure.grip,
                load=procedure.load,
            )
        )

    def _command_arm(self, command: JointCommand) -> None:
        if command.torque is not None and self._overlays is not None:
            self._overlays.publish_command(command.position, command.torque)
        elif self._positions is not None:
            self._positions.publish_command(command.position)

    def _command_gripper(self, command: GripperGoal) -> None:
        goal = ParallelGripperCommand.Goal()
        goal.command.header.stamp = to_time(self.stamp)
        goal.command.name = [self._scene.robot.gripper_joint]
        goal.command.position = [command.position]
        goal.command.effort = [command.effort]
        # Whether the fingers arrived is of no interest: the procedure feels what they hold.
        self._send_goal("gripper", goal, lambda result: None)
