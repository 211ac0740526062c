"""The node that handles the bottle: it streams commands to the arm and commands the gripper."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from control_msgs.action import ParallelGripperCommand
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from contact_aware_control.reference.motion import tool_pose
from contact_core.base.errors import CommunicationError
from contact_core.robot.arm_state import ArmState, CommandMode
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from contact_ros.driver_profile import (
    OVERLAYS,
    CommandWriter,
    MessageError,
    OverlayWriter,
)
from contact_ros.geometry import frame_pose
from contact_stack.demo.bottle_shake.joint_controller import inverse_dynamics
from contact_stack.demo.bottle_shake.procedure import (
    GripperGoal,
    Observation,
    Procedure,
)
from contact_stack.demo.bottle_shake.record import BOTTLE, BottleRecord, BottleSample
from contact_stack.demo.bottle_shake.task import BottleTask, JointSetpoint
from contact_stack.demo.client_node import CLOCK, OBJECTS, ClientNode, Connection, gripper_goal
from contact_stack.demo.setpoint_gate import SetpointGate

GRIPPER = "gripper/joint_states"


class BottleNode(ClientNode[BottleRecord]):
    """Run the procedure once, one decision per state of the arm."""

    def __init__(
        self, scene: Scene, task: BottleTask, feedback: bool, connection: Connection
    ) -> None:
        """Connect to the graph.

        Args:
            scene: For the models of the arm, and how it is commanded.
            task: What to do.
            feedback: Whether forces are used.
            connection: How to take part in the graph.
        """
        profile = connection.profile
        needed = {topic: profile.state_topics[topic] for topic in profile.needed_topics}
        heard: Mapping[str, type] = {
            CLOCK: JointState, OBJECTS: TFMessage, GRIPPER: JointState, **needed,
        }  # fmt: skip
        self._dynamics = inverse_dynamics(scene)
        self._mode = CommandMode.POSITION if self._dynamics is None else CommandMode.TORQUE
        commands = {profile.command_topic: profile.command_type}
        if self._dynamics is not None:
            overlay = OVERLAYS[self._mode]
            commands = {overlay.topic: overlay.message}
        super().__init__(connection, heard, commands)
        self._scene, self._task, self._feedback = scene, task, feedback
        self._profile = profile
        self._arm = Robot.from_description(scene.robot)
        self._procedure: Procedure | None = None
        self._samples: list[BottleSample] = []
        self._wanted = np.zeros(self._arm.n)
        self._gate = SetpointGate(scene)
        self._writer: CommandWriter | OverlayWriter = (
            CommandWriter(self, profile, connection.lockstep)
            if self._dynamics is None
            else OverlayWriter(self, self._mode, connection.lockstep)
        )
        self._use({"gripper": ParallelGripperCommand})

    @property
    def finished(self) -> bool:
        """True when the procedure is over."""
        return self._procedure is not None and self._procedure.finished

    def data(self) -> BottleRecord:
        """Return what happened, after the end."""
        assert self._procedure is not None and self._procedure.verdict is not None
        period = self._scene.config.period
        return BottleRecord(self._samples, period, self._procedure.verdict, self.wall_time)

    def _advance(self) -> None:
        state = self._state()
        gripper, objects = self._latest(GRIPPER), self._latest(OBJECTS)
        # In real time messages of before the servers were found may be missing.
        if state is None or gripper is None or objects is None or not self._servers_found:
            return
        if self._procedure is None:
            self._procedure = self._begin(state)
        seen = Observation(
            state.stamp, state.position, state.external_torque, -gripper.effort[0]
        )  # fmt: skip
        decision = self._procedure.update(seen)
        self.activity = str(self._procedure.stage)
        position = np.array(self._latest(CLOCK).position[: self._arm.n])
        self._samples.append(
            BottleSample(
                stamp=seen.stamp,
                stage=self._procedure.stage,
                position=position,
                tool=tool_pose(self._arm, position),
                wanted=tool_pose(self._arm, self._wanted),
                bottle=frame_pose(objects, BOTTLE),
                grip=seen.grip,
            )
        )
        self._wanted = decision.setpoint.position
        if decision.gripper is not None:
            self._command_gripper(decision.gripper)
        self._command_arm(decision.setpoint, seen)

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
        self.start = state.stamp
        self._wanted = state.position
        own = Robot.from_description(self._scene.robot)
        period = self._scene.config.period
        return Procedure(own, self._task, state.position, period, self._feedback)

    def _command_arm(self, setpoint: JointSetpoint, seen: Observation) -> None:
        command = self._gate.judge(seen.stamp, setpoint.position, seen.position)
        if isinstance(self._writer, CommandWriter):
            self._writer.publish_command(command)
        elif self._dynamics is not None:
            torque = self._dynamics.torque(setpoint, seen.position, seen.stamp)
            self._writer.publish_command(command, torque)

    def _command_gripper(self, command: GripperGoal) -> None:
        joint = self._scene.robot.gripper_joint
        goal = gripper_goal(joint, command.position, command.effort, self.stamp)
        # Whether the fingers arrived is of no interest: the procedure feels what they hold.
        self._send_goal("gripper", goal, lambda result: None)
