"""The judge of plans: the simulator with arm and objects, set as a planning problem begins.

It is what ``contact_stack.judges`` names ``tamsi_sim``; see :mod:`irs_planner.trial`.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ContactStackError
from contact_core.robot.gripper import GripperCommand
from contact_core.robot.scene import Scene
from contact_core.robot.scene_config import JOINT_TORQUE, WORLD
from irs_planner.problem import IrsProblem
from irs_planner.quasi_dynamic import SpatialQuasiDynamics
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.robot.plant import Plant

MOVED = 1e-3
"""A gripper is commanded anew where its command differs by more [m]: every command starts anew."""


class JudgeError(ContactStackError):
    """A step of the simulator did not converge.

    Look at the scene: masses, stiffnesses and overlaps.
    """


class SimulatedWorld:
    """The scene of a problem in ``tamsi_sim``, the arm under its joint impedance control.

    Attributes:
        state: (n) x now, of the problem's dynamics.
        force: Hardest force of the robot on anything in the last step [N].
        time: That has passed [s].
    """

    def __init__(self, problem: IrsProblem) -> None:
        """Put everything where the problem begins.

        Args:
            problem: A problem in 3-D.

        Raises:
            ContactStackError: If its scene cannot be simulated.
        """
        dynamics = problem.dynamics
        assert isinstance(dynamics, SpatialQuasiDynamics)
        self._dynamics = dynamics
        self.state, self.force, self.time = problem.initial_state, 0.0, 0.0
        mode = dynamics.scene.scene.config.robot.control_mode
        if mode == JOINT_TORQUE:
            raise JudgeError(f"the arm has no springs in control_mode {mode}, so nothing leads it")
        self._plant = Plant(_scene_at(dynamics, problem.initial_state))
        self._arm = self._plant.n
        self._command = problem.initial_state[list(dynamics.commanded_states)]
        self._gripper = self._command[self._arm :]

    def step(self, command: np.ndarray) -> np.ndarray:
        """Lead the robot to a command; see :class:`irs_planner.trial.JudgeWorld`."""
        plant, before = self._plant, self._command
        ticks = round(self._dynamics.time_step / plant.scene.config.period)
        self.force = 0.0
        for k in range(1, ticks + 1):
            target = before + k / ticks * (command - before)
            report = plant.tick(target[: self._arm], self._grip(command))
            if report.status is not StepStatus.OK:
                raise JudgeError(f"{report.status.name} after {1e-9 * report.time_ns:.2f} s")
            self.force = max(self.force, self._hardest())
        self.time = 1e-9 * report.time_ns
        self._command = command
        self.state = self._seen()
        return self.state

    def _hardest(self) -> float:
        """Return the largest force on a link of the robot [N]."""
        total: dict[str, np.ndarray] = {}
        for contact in self._plant.truth().contacts:
            total[contact.link] = total.get(contact.link, np.zeros(3)) + contact.force
        return max((float(np.linalg.norm(force)) for force in total.values()), default=0.0)

    def _grip(self, command: np.ndarray) -> GripperCommand | None:
        """Return the command of the gripper where it has changed."""
        wanted = command[self._arm :]
        if not len(wanted) or np.abs(wanted - self._gripper).max() <= MOVED:
            return None
        self._gripper = wanted
        config = self._plant.scene.config.robot.gripper
        return GripperCommand(float(wanted[0]), config.initial_effort)

    def _seen(self) -> np.ndarray:
        """Return the state (n); angles go on from the last one."""
        truth, dynamics = self._plant.truth(), self._dynamics
        poses = {
            item.name: pin.XYZQUATToSE3(np.concatenate((item.position, item.quaternion)))
            for item in truth.objects
        }
        joints = dict(zip(truth.joint_names, truth.joint_position, strict=True))
        positions = np.array([joints[name] for name in dynamics.joint_names])
        return dynamics.nearest_turns(dynamics.state_of(poses, positions), self.state)


def _scene_at(dynamics: SpatialQuasiDynamics, state: np.ndarray) -> Scene:
    """Return the scene with objects and joints where a state has them."""
    scene = dynamics.scene.scene
    # What is fixed stays where the scene has it, on whatever link of the robot that may be.
    poses = {name: scene.object_placement(name) for name in scene.objects}
    poses |= dynamics.object_poses(state)
    objects = {
        name: replace(
            item,
            frame=WORLD,
            xyz=tuple(poses[name].translation.tolist()),
            rpy=tuple(pin.rpy.matrixToRpy(poses[name].rotation).tolist()),
        )
        for name, item in scene.objects.items()
    }
    joints = dict(zip(dynamics.joint_names, state[list(dynamics.commanded_states)], strict=True))
    robot = scene.config.robot
    arm = tuple(float(joints[name]) for name in scene.robot.arm_joints)
    gripper = robot.gripper
    if scene.robot.gripper_joint in joints:
        opening = float(joints[scene.robot.gripper_joint])
        gripper = replace(gripper, initial_position=opening, initial_target=opening)
    # A whole number of ticks makes a step of the plan.
    period = dynamics.time_step / math.ceil(dynamics.time_step / scene.config.period - 1e-6)
    robot = replace(robot, initial_positions=arm, gripper=gripper)
    config = replace(scene.config, robot=robot)
    return replace(scene, config=config, objects=objects).every(period)
