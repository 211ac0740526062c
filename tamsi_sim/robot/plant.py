"""The simulated robot as its driver sees it: one tick per command period."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ConfigError, ContactStackError
from contact_core.robot.arm_state import CommandMode
from contact_core.robot.gripper import GripperCommand
from contact_core.robot.scene import ROBOT, Scene
from contact_core.robot.scene_config import AXES
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.robot.arm_errors import ArmErrors, JointTorqueSensor, external_torque_channel
from tamsi_sim.robot.cartesian_impedance import CartesianImpedance
from tamsi_sim.robot.physics import Physics, build_physics
from tamsi_sim.robot.report import DriverReport, TrueContact, TrueObject, Truth
from tamsi_sim.robot.surroundings import Surroundings


class CommandError(ContactStackError):
    """A command was rejected before anything moved.

    Correct its size, or the value that is not finite or out of range.
    """


class Plant:
    """Arm, gripper, objects and sensors of a scene; deterministic for a seed.

    Attributes:
        surroundings: What can be changed about them while it runs.
    """

    def __init__(self, scene: Scene, seed: int = 0) -> None:
        """Build the scene and put it at its start.

        Args:
            scene: The scene.
            seed: Seed of the sensor noise.

        Raises:
            ConfigError: If the period is no multiple of the time step.
            ModelError: If a body of the scene cannot be simulated.
        """
        self.n = len(scene.robot.arm_joints)
        config = scene.config
        self._steps = round(config.period / config.time_step)
        if abs(self._steps * config.time_step - config.period) > 1e-9:
            raise ConfigError(
                f"period {config.period:g} s is no multiple of time_step {config.time_step:g} s"
            )
        self.scene = scene
        self.engine: Physics = build_physics(scene)
        self.surroundings = Surroundings(self.engine, scene)
        built = self.engine.built
        self._arm = np.array([built.joints[name] for name in scene.robot.arm_joints])
        self._arm_q = built.arrays.joints.q[self._arm]
        self._finger = built.joints.get(scene.robot.gripper_joint)
        fingers = [scene.robot.gripper_joint] if self._finger is not None else []
        self._joint_names = (*scene.robot.arm_joints, *fingers)
        self._joints = np.array([built.joints[name] for name in self._joint_names])
        # The drive moves all mimicking fingers, so its force is the sum over them.
        self._fingers = float(np.sum(built.arrays.bodies.column_dof == self._finger))
        self._start = self.engine.q.copy()
        self._errors = ArmErrors(scene)
        self._impedance: CartesianImpedance | None = None
        self._mode = scene.config.robot.command_mode
        if self._mode is CommandMode.WRENCH:
            self._impedance = cartesian_impedance(scene)
        self._set_gains()
        self.reset(seed)

    @property
    def period_ns(self) -> int:
        """Length of a tick [ns]."""
        return round(self.scene.config.period * 1e9)

    def _set_gains(self) -> None:
        config, drives = self.scene.config.robot, self.engine.drives
        armature = self.engine.built.arrays.joints.armature
        if self._mode is CommandMode.POSITION:
            drives.stiffness[self._arm] = config.stiffness
            drives.damping_ratio[self._arm] = config.damping_ratio
        armature[self._arm] = config.effective_armature
        if self._finger is not None:
            drives.stiffness[self._finger] = config.gripper.stiffness
            drives.damping_ratio[self._finger] = config.gripper.damping_ratio
            armature[self._finger] = config.gripper.armature

    def reset(self, seed: int) -> DriverReport:
        """Return to the start of the scene.

        Args:
            seed: Seed of the sensor noise.

        Returns:
            The first measurement, at time zero.
        """
        config, engine = self.scene.config, self.engine
        drives = engine.drives
        self._sensor = external_torque_channel(self.scene, seed)
        self._joint_sensor = JointTorqueSensor(self.scene, seed)
        self._ticks = 0
        self._status = StepStatus.OK
        self._push = np.zeros(self.n)
        self._unknown, self._twist = np.zeros(self.n), np.zeros(self.n)
        self._acceleration = np.zeros(self.n)
        engine.q[:] = self._start
        for array in (
            engine.v, drives.target, drives.target_rate, engine.counters,
            engine.contact_impulse, drives.applied,
        ):  # fmt: skip
            array[:] = 0
        engine.relax()
        drives.target[self._arm] = config.robot.initial_positions
        gripper = config.robot.gripper
        self._gripper = GripperCommand(gripper.initial_target, gripper.initial_effort)
        if self._finger is not None:
            drives.target[self._finger] = gripper.initial_target
        self.engine.evaluate()
        return self._measure(np.zeros(self.n), np.zeros(self.n))

    def tick(
        self,
        position_command: np.ndarray,
        gripper: GripperCommand | None = None,
        overlay: np.ndarray | None = None,
    ) -> DriverReport:
        """Advance by one period; the joints' target ramps from the last command to this one.

        Args:
            position_command: (n) commanded q [rad].
            gripper: New command of the gripper; None keeps the last one.
            overlay: What the arm should exert besides, None for nothing: in Cartesian
                impedance control (6) force [N] and torque [Nm] at the tool, axes of the base
                frame; in joint torque control (n) torques [Nm], on top of gravity's.

        Returns:
            The measurement at the end of the tick. If its status is not OK the simulation
            stands at its last good state, and further ticks try again from there.

        Raises:
            CommandError: If a command has the wrong size or is not finite, or the arm takes
                no overlay; nothing moved.
        """
        command = _checked(position_command, self.n, gripper) - self._twist
        extra = self._checked_overlay(overlay)
        engine = self.engine
        if gripper is not None:
            self._start_gripper(gripper)
        engine.drives.target_rate[self._arm] = (
            command - engine.drives.target[self._arm]
        ) / self._steps
        if self._finger is not None:
            self._drive_gripper(self._finger)
        engine.contact_impulse[:] = 0.0
        self.surroundings.advance(self.scene.config.period)
        before = engine.v[self._arm].copy()
        self._unknown = self._errors.torque(engine.q[self._arm_q], before, self._acceleration)
        drive = self._step(command, extra)
        self._ticks += 1
        engine.drives.target[self._arm] = command
        period = self.scene.config.period
        self._acceleration = (engine.v[self._arm] - before) / period
        torque = engine.contact_impulse[self._arm] / period + self._push + self._unknown
        return self._measure(torque, drive)

    def _step(self, command: np.ndarray, overlay: np.ndarray) -> np.ndarray:
        """Simulate one period, and return the mean torque of the arm's drives [Nm].

        The Cartesian controller is evaluated at every step of it.
        """
        engine = self.engine
        drive = np.zeros(self.n)
        control = overlay if self._mode is CommandMode.TORQUE else np.zeros(self.n)
        if self._impedance is not None:
            self._impedance.start_tick(engine.q[self._arm_q], command, overlay)
        for _ in range(self._steps):
            if self._impedance is not None:
                control = self._impedance.torque(engine.q[self._arm_q], engine.v[self._arm])
            engine.drives.applied[self._arm] = control + self._push + self._unknown
            self._status = self.engine.step()
            if self._status is not StepStatus.OK:
                break
            drive += (control + engine.joint_force[self._arm]) / self._steps
        return drive

    def _checked_overlay(self, overlay: np.ndarray | None) -> np.ndarray:
        """Return the overlay as an array, or raise a CommandError."""
        size = AXES if self._mode is CommandMode.WRENCH else self.n
        if overlay is None:
            return np.zeros(size)
        if self._mode is CommandMode.POSITION:
            raise CommandError(
                "the arm takes positions alone (valid: more in Cartesian impedance control or "
                "joint torque control)"
            )
        array = np.asarray(overlay, dtype=float)
        kind = "a wrench" if self._mode is CommandMode.WRENCH else "a torque command"
        if array.shape != (size,):
            raise CommandError(f"{kind} needs {size} values, got shape {array.shape}")
        if not np.isfinite(array).all():
            raise CommandError(f"{kind} must be finite, got {array.tolist()}")
        return array

    def push(self, torque: np.ndarray) -> None:
        """Push the arm, as a hand does; it lasts until the next push or reset.

        Args:
            torque: (n) tau = J^T f of the push [Nm]; part of the external torque.
        """
        self._push = np.array(torque, dtype=float)

    def _start_gripper(self, command: GripperCommand) -> None:
        """Take a new command; its motion starts from where the fingers are."""
        if self._finger is not None and command.position != self._gripper.position:
            q = self.engine.built.arrays.joints.q[self._finger]
            self.engine.drives.target[self._finger] = self.engine.q[q]
        self._gripper = command

    def _drive_gripper(self, finger: int) -> None:
        """Move the fingers' target towards the command at the gripper's speed."""
        drives, config = self.engine.drives, self.scene.config.robot.gripper
        reach = min(config.speed, self._gripper.max_speed) * self.scene.config.period
        change = min(max(self._gripper.position - drives.target[finger], -reach), reach)
        drives.target_rate[finger] = change / self._steps
        effort = min(self._gripper.max_effort, self.engine.built.efforts[finger])
        drives.effort_limit[finger] = self._fingers * effort

    def _measure(self, torque: np.ndarray, drive: np.ndarray) -> DriverReport:
        engine, finger = self.engine, self._finger
        gripper = (0.0, 0.0, 0.0)
        if finger is not None:
            opening = engine.q[self.engine.built.arrays.joints.q[finger]]
            gripper = (opening, engine.v[finger], engine.joint_force[finger] / self._fingers)
        friction = self._errors.friction(engine, self._arm)
        joint_torque = self._joint_sensor.sample(
            engine.q[self._arm_q], drive - friction, self._acceleration
        )
        commanded = engine.drives.target[self._arm] + self._twist
        self._twist = self._errors.twist(joint_torque)
        return DriverReport(
            time_ns=self._ticks * self.period_ns,
            position=engine.q[self._arm_q] + self._twist,
            velocity=engine.v[self._arm].copy(),
            commanded_position=commanded,
            external_torque=self._sensor.sample(torque + friction),
            joint_torque=joint_torque,
            gripper_position=float(gripper[0]),
            gripper_velocity=float(gripper[1]),
            gripper_effort=float(gripper[2]),
            status=self._status,
        )

    def truth(self) -> Truth:
        """Return the ground truth at the end of the last tick."""
        engine, contacts = self.engine, []
        for contact in self.engine.contacts():
            if ROBOT not in (contact.instance_a, contact.instance_b):
                continue
            # Engine forces act on A; turn them to act on the robot.
            on_robot = contact.instance_a == ROBOT
            sign = 1.0 if on_robot else -1.0
            contacts.append(
                TrueContact(
                    link=contact.link_a if on_robot else contact.link_b,
                    body=contact.instance_b if on_robot else contact.instance_a,
                    point=contact.point,
                    normal=sign * contact.normal,
                    force=sign * contact.force,
                )
            )
        joints = self._joints
        return Truth(
            joint_names=self._joint_names,
            joint_position=engine.q[self.engine.built.arrays.joints.q[joints]],
            joint_velocity=engine.v[joints],
            contacts=tuple(contacts),
            objects=tuple(self._object(name) for name in self.scene.objects),
        )

    def _object(self, name: str) -> TrueObject:
        engine = self.engine
        if name in engine.built.free_bodies:
            q, v = engine.built.free_bodies[name]
            pose, twist = engine.q[q : q + 7].copy(), engine.v[v : v + 6].copy()
        else:
            pose, twist = pin.SE3ToXYZQUAT(self.scene.object_placement(name)), np.zeros(6)
            pose[2] += self.surroundings.height(name)
        return TrueObject(name, pose[:3], pose[3:], twist[:3], twist[3:])


def cartesian_impedance(scene: Scene) -> CartesianImpedance:
    """Return the Cartesian controller of a scene's arm, with the gripper as it starts.

    Args:
        scene: The scene.
    """
    config = scene.config.robot
    return CartesianImpedance(
        scene.robot.arm_model(config.gripper.initial_position),
        scene.robot.tool_link,
        np.array(config.effective_armature),
        config.cartesian,
    )


def _checked(command: np.ndarray, joints: int, gripper: GripperCommand | None) -> np.ndarray:
    """Return the position command as an array, or raise a CommandError."""
    array = np.asarray(command, dtype=float)
    if array.shape != (joints,):
        raise CommandError(f"a position command needs {joints} values, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise CommandError(f"a position command must be finite, got {array.tolist()}")
    if gripper is not None:
        values = (gripper.position, gripper.max_effort)
        if not np.isfinite(values).all() or min(values) < 0.0 or not gripper.max_speed > 0.0:
            raise CommandError(f"a gripper command must be finite and not negative, got {gripper}")
    return array
