"""The body of the fake robot: an arm on joint springs, gravity compensated, before a surface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ConfigError, choices
from contact_core.base.files import share
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot

SUBSTEP = 0.0025
"""Longest step of the integration [s]."""

ROTOR_INERTIA = 0.1
"""Inertia of the motors as the joints feel it [kg m^2]."""

LBR_RANGE = (170.0, 120.0, 170.0, 120.0, 170.0, 120.0, 175.0)
"""How far the joints of an LBR turn to either side [degrees], whatever it lifts and bears."""

POSITION_CONTROL = 20.0
"""How much stiffer the joints are in position control than on their springs."""


class Drive(Enum):
    """What moves the joints."""

    IMPEDANCE = "springs and dampers between command and joint"
    POSITION = "stiff position control"
    BRAKES = "nothing: the brakes hold"


@dataclass(frozen=True)
class Wall:
    """A compliant plane that one point of the arm can press against.

    Attributes:
        link: The link that touches; empty for the robot's tool link.
        point: (3) the point, frame of the link [m].
        normal: (3) unit vector out of the plane, world frame.
        offset: Where the plane is: the point touches at normal . point <= offset [m].
        stiffness: [N/m].
        damping: [N s/m].
    """

    link: str
    point: tuple[float, float, float]
    normal: tuple[float, float, float]
    offset: float
    stiffness: float = 1e4
    damping: float = 50.0


class FakeArm:
    """M(q) dv/dt = K (q_cmd - q) - D v - C(q, v) v + J^T f, with f of a surface or a hand.

    Attributes:
        q: (n) joint positions [rad].
        v: (n) joint velocities [rad/s].
        drive: What moves the joints.
        push: (3) force of a hand on the tool [N], world frame.
        surface: What the arm can touch; None for free space.
        contact_force: Normal force of the surface on the arm [N].
        external_torque: (n) torque of surface and hand on the joints [Nm].
        joint_torque: (n) measured torque, which carries the weight as well [Nm].
    """

    def __init__(
        self,
        description: RobotDescription,
        position: Sequence[float] | np.ndarray = (),
        stiffness: Sequence[float] = (),
        damping_ratio: float = 0.7,
    ) -> None:
        """Put the arm at rest.

        Args:
            description: The composed robot.
            position: (n) joint positions [rad]; empty for the robot's home.
            stiffness: (n) K of joint impedance control [Nm/rad]; empty for the robot's own.
            damping_ratio: Share of the critical damping.
        """
        robot = Robot.from_description(description)
        self._model, self._data = robot.model, robot.model.createData()
        self._tool_link = robot.tool_link
        self._stiffness = np.array(stiffness or description.joints.stiffness)
        self._damping_ratio = damping_ratio
        self._rotors = ROTOR_INERTIA * np.eye(robot.n)
        self.velocity_limits = robot.velocity_limits
        self.position_limits = robot.position_limits
        self.surface: Wall | None = None
        self.push = np.zeros(3)
        self.drive = Drive.IMPEDANCE
        self.place(np.array(position if len(position) else description.joints.home))

    def place(self, position: np.ndarray) -> None:
        """Put the arm somewhere, at rest.

        Args:
            position: (n) joint positions [rad].
        """
        self.q = np.array(position, dtype=float)
        self.v = np.zeros(self.q.size)
        self.contact_force = 0.0
        self.external_torque = np.zeros(self.q.size)
        self.joint_torque = np.array(pin.computeGeneralizedGravity(self._model, self._data, self.q))

    def point(self, link: str, point: np.ndarray) -> np.ndarray:
        """Return where a point of a link is.

        Args:
            link: Name of the link.
            point: (3) frame of the link [m].

        Returns:
            (3) world frame [m].
        """
        return self._row(link, point, np.array([0.0, 0.0, 1.0]))[1]

    def step(self, command: np.ndarray, duration: float) -> None:
        """Move for a while.

        Args:
            command: (n) where the springs are at rest [rad].
            duration: How long [s].
        """
        count = max(1, round(duration / SUBSTEP))
        for _ in range(count):
            self._substep(command, duration / count)

    def _substep(self, command: np.ndarray, h: float) -> None:
        """Take one step, linearly implicit in springs and dampers, so stiff ones are stable."""
        if self.drive is Drive.BRAKES:
            # What presses against the arm goes on to do so.
            self.v = np.zeros(self.q.size)
            return
        model, data = self._model, self._data
        normal, depth = self._contact()
        hand = self._hand()
        weight = np.array(pin.computeGeneralizedGravity(model, data, self.q))
        bias = pin.nonLinearEffects(model, data, self.q, self.v) - weight
        mass = pin.crba(model, data, self.q) + self._rotors
        stiffness = self._stiffness
        if self.drive is Drive.POSITION:
            stiffness = POSITION_CONTROL * stiffness
        damping = 2.0 * self._damping_ratio * np.sqrt(stiffness * np.diag(mass))
        matrix = mass.copy()
        matrix.flat[:: self.q.size + 1] += h * damping + h * h * stiffness
        force = mass @ self.v + h * (stiffness * (command - self.q) - bias + hand)
        self.contact_force = 0.0
        v = np.linalg.solve(matrix, force)
        if self.surface is not None and depth > 0.0:
            resistance = self.surface.damping + h * self.surface.stiffness
            pressed = np.linalg.solve(
                matrix + h * resistance * np.outer(normal, normal),
                force + h * self.surface.stiffness * depth * normal,
            )
            pressure = self.surface.stiffness * depth - resistance * float(normal @ pressed)
            if pressure > 0.0:
                v, self.contact_force = pressed, pressure
        self.v = v
        self.q = self.q + h * v
        self.external_torque = hand + self.contact_force * normal
        self.joint_torque = stiffness * (command - self.q) - damping * v + weight

    def _contact(self) -> tuple[np.ndarray, float]:
        """Return (n) J^T n of the point that may touch, and how deep it is [m]."""
        surface = self.surface
        if surface is None:
            return np.zeros(self.q.size), 0.0
        normal = np.array(surface.normal)
        row, point = self._row(surface.link or self._tool_link, np.array(surface.point), normal)
        return row, surface.offset - float(normal @ point)

    def _hand(self) -> np.ndarray:
        if not self.push.any():
            return np.zeros(self.q.size)
        return self._row(self._tool_link, np.zeros(3), self.push)[0]

    def _row(
        self, link: str, point: np.ndarray, force: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return (n) J^T f of a point of a link, and (3) where the point is."""
        model, data = self._model, self._data
        frame = model.getFrameId(link, pin.FrameType.BODY)
        pin.computeJointJacobians(model, data, self.q)
        place = pin.updateFramePlacement(model, data, frame)
        jacobian = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
        arm = place.rotation @ point
        wrench = np.concatenate([force, np.cross(arm, force)])
        return jacobian.T @ wrench, place.translation + arm


def check_lbr(device: str, description: RobotDescription) -> None:
    """Refuse an arm that a device of KUKA's LBR does not move.

    Args:
        device: What the command line calls the device.
        description: The robot.

    Raises:
        ConfigError: If its arm is no LBR.
    """
    if not _is_lbr(description):
        names = sorted(path.stem for path in share("config", "robots").glob("*.yaml"))
        valid = [name for name in names if _is_lbr(RobotDescription.load(name))]
        raise ConfigError(
            f"{device} moves an LBR of KUKA's, {len(LBR_RANGE)} joints that turn up to "
            f"{', '.join(f'{limit:g}' for limit in LBR_RANGE)} degrees, and robot "
            f"'{description.name}' has {len(description.arm_joints)} others: be ros2_control, or "
            f"take an LBR ({choices(valid)})"
        )


def _is_lbr(description: RobotDescription) -> bool:
    """Tell by the ranges of the joints, whose names are those of the file."""
    if len(description.arm_joints) != len(LBR_RANGE):
        return False
    model, most = description.arm_model(), np.deg2rad(LBR_RANGE) + 1e-3
    return bool(np.all((model.lowerPositionLimit >= -most) & (model.upperPositionLimit <= most)))
