"""The state of the arm as a driver reports it, free of any message type."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray


class CommandMode(Enum):
    """What the arm's commands consist of."""

    POSITION = "joint positions"
    TORQUE = "joint torques, and the joint positions they are meant to lead to"
    WRENCH = "joint positions, and a wrench at the tool on top of the springs that hold it"
    POSE = "poses of the tool"
    NONE = "no commands"
    UNKNOWN = "commands of a kind that is not known"


class TorqueKind(Enum):
    """What a driver means by the measured torque of a joint."""

    GRAVITY_INCLUDED = "gravity_included"
    GRAVITY_COMPENSATED = "gravity_compensated"
    MOTOR_CURRENT = "motor_current"


@dataclass(frozen=True, slots=True, eq=False)
class SoundCommand:
    """A command that a gate has passed; writers publish nothing else.

    Attributes:
        position: Joint positions q_cmd, shape (n,) [rad].
    """

    position: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RobotCondition:
    """What a robot says of itself, as far as its driver tells; None where it does not.

    Attributes:
        commanding: Whether its session follows commands now.
        drives_on: Whether the drives are active.
        safe: Whether its own safety lets it move.
        impedance: Whether it is in joint impedance control.
        connected_well: Whether the connection to it is good enough for commands.
        overlay: Whether its motion is one that joint commands overlay.
    """

    commanding: bool = True
    drives_on: bool | None = None
    safe: bool | None = None
    impedance: bool | None = None
    connected_well: bool | None = None
    overlay: bool | None = None


HEALTHY = RobotCondition()
"""A robot that follows commands, and of which no more is known."""


@dataclass(frozen=True, eq=False)
class ArmState:
    """One sample of the arm's sensors.

    Attributes:
        stamp: Time of the sample [ns].
        position: Measured joint positions q, shape (n,) [rad].
        velocity: Joint velocities v, shape (n,) [rad/s]; NaN if the driver gives none.
        commanded_position: The command the robot is following, shape (n,) [rad]; NaN if
            the driver does not give it.
        external_torque: Torque of the environment on the joints, shape (n,) [Nm], with
            the sign of ``J^T f`` where f is the force of the environment on the robot.
        joint_torque: Measured torque tau_m of the joints, shape (n,) [Nm], positive where it
            accelerates the joint: M qdd + C qd + g = tau_m + tau_ext, whatever sign and kind
            the driver's has; None if it gives none.
        condition: What the robot says of itself.
        command_mode: What its commands consist of.
        driver_stamp: The stamp on the driver's clock [ns], where :attr:`stamp` is when the
            sample arrived on ours; None where they are the same.
    """

    stamp: int
    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    commanded_position: NDArray[np.float64]
    external_torque: NDArray[np.float64]
    joint_torque: NDArray[np.float64] | None = None
    condition: RobotCondition = HEALTHY
    command_mode: CommandMode = CommandMode.POSITION
    driver_stamp: int | None = None

    @classmethod
    def recorded(
        cls,
        stamp: int,
        position: NDArray[np.float64],
        *,
        external_torque: NDArray[np.float64] | None = None,
        joint_torque: NDArray[np.float64] | None = None,
        velocity: NDArray[np.float64] | None = None,
    ) -> ArmState:
        """Return a sample of which only some quantities are known, that of a file for instance.

        Args:
            stamp: Time of the sample [ns].
            position: Joint positions, shape (n,) [rad].
            external_torque: See the attributes; NaN where it is not known.
            joint_torque: See the attributes; NaN where it is not known.
            velocity: See the attributes; NaN where it is not known.
        """
        unknown = np.full(np.shape(position), np.nan)
        return cls(
            stamp,
            position,
            unknown if velocity is None else velocity,
            unknown,
            unknown if external_torque is None else external_torque,
            joint_torque,
        )

    @property
    def taken(self) -> int:
        """When the sample was taken, on the driver's clock [ns]."""
        return self.stamp if self.driver_stamp is None else self.driver_stamp
