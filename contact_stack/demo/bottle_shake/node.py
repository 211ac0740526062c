"""The node that handles the bottle: it streams commands to the arm and commands the gripper.

The arm follows its setpoint by its own springs, or by inverse dynamics: computed torques.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import pinocchio as pin
from control_msgs.action import ParallelGripperCommand
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from contact_aware_control.reference.motion import tool_pose
from contact_core.base.errors import CommunicationError
from contact_core.robot.arm_state import ArmState, CommandMode
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from contact_core.robot.scene_config import JOINT_IMPEDANCE, JOINT_TORQUE
from contact_ros.driver_profile import OVERLAYS, CommandWriter, MessageError, OverlayWriter
from contact_ros.geometry import frame_pose
from contact_stack.demo.bottle_shake.procedure import GripperGoal, Observation, Procedure
from contact_stack.demo.bottle_shake.record import BOTTLE, BottleRecord, BottleSample
from contact_stack.demo.bottle_shake.task import BottleTask, JointSetpoint
from contact_stack.demo.client_node import CLOCK, OBJECTS, ClientNode, Connection, gripper_goal
from contact_stack.demo.setpoint_gate import SetpointGate

SCENE = "bottle_shake"
INVERSE_DYNAMICS = "inverse_dynamics"
CONTROLLERS = {"impedance": JOINT_IMPEDANCE, INVERSE_DYNAMICS: JOINT_TORQUE}
"""Name of a joint controller -> the control mode the arm has to be in.

In impedance control the arm's factory controller does it all: springs whose rest positions are
commanded.
"""


BANDWIDTH, DAMPING_RATIO = 20.0, 1.0
"""Natural frequency of a joint's error [rad/s], and its damping."""


class InverseDynamics:
    """Computed torques, tau = M (qdd_ref + k_d e' + k_p e) + C v with e = q_ref - q.

    The arm balances its weight itself. Velocities are differences of positions, which is all
    that the driver reports.
    """

    def __init__(self, model: pin.Model, armature: np.ndarray) -> None:
        """Set the controller up.

        Args:
            model: The arm with all that is bolted to it, n joints.
            armature: (n) rotor inertia felt at the joints [kg m^2].
        """
        self._model = model.copy()
        self._model.gravity.setZero()
        self._model.armature = np.asarray(armature, dtype=float)
        self._data = self._model.createData()
        self._stiffness = BANDWIDTH**2
        self._damping = 2.0 * DAMPING_RATIO * BANDWIDTH
        self._last: tuple[int, np.ndarray] | None = None

    def torque(self, setpoint: JointSetpoint, q: np.ndarray, stamp: int) -> np.ndarray:
        """Return the joint torques besides gravity's (n) [Nm]; called once per period.

        Args:
            setpoint: Where the joints should be at the end of the coming period.
            q: (n) measured joint positions [rad].
            stamp: When they were measured [ns].
        """
        velocity = np.zeros_like(q)
        if self._last is not None:
            before, position = self._last
            velocity = (q - position) / (1e-9 * (stamp - before))
        self._last = stamp, q.copy()
        acceleration = (
            setpoint.acceleration
            + self._damping * (setpoint.velocity - velocity)
            + self._stiffness * (setpoint.position - q)
        )
        torque = pin.rnea(self._model, self._data, q, velocity, acceleration)
        limit = self._model.effortLimit
        return np.clip(torque, -limit, limit)


def inverse_dynamics(scene: Scene) -> InverseDynamics | None:
    """Return the controller of a scene's arm, None if that is not in torque mode."""
    config = scene.config.robot
    if config.control_mode != JOINT_TORQUE:
        return None
    model = scene.robot.arm_model(config.gripper.initial_position)
    return InverseDynamics(model, np.array(config.effective_armature))


def scene_for(controller: str) -> Scene:
    """Return the demo's scene with the arm in the mode that a joint controller commands."""
    scene = Scene.load(SCENE)
    robot = dataclasses.replace(scene.config.robot, control_mode=CONTROLLERS[controller])
    return dataclasses.replace(scene, config=dataclasses.replace(scene.config, robot=robot))


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
