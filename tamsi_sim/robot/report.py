"""What the simulated robot's driver reports, and what is true and no driver reports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from tamsi_sim.arrays.status import StepStatus


@dataclass(frozen=True)
class DriverReport:
    """What the driver reports at the end of a tick.

    Attributes:
        time_ns: Simulated time [ns].
        position: (n) measured q [rad].
        velocity: (n) [rad/s].
        commanded_position: (n) the command the robot is at [rad].
        external_torque: (n) tau_ext = J^T f, f of the environment on the robot [Nm].
        joint_torque: (n) tau_m with M qdd + C qd + g = tau_m + tau_ext [Nm].
        gripper_position: Finger position [m]; zero without gripper.
        gripper_velocity: [m/s].
        gripper_effort: Force of the drive per finger, positive when opening [N].
        status: How the tick's steps ended; the state is the last good one unless OK.
    """

    time_ns: int
    position: np.ndarray
    velocity: np.ndarray
    commanded_position: np.ndarray
    external_torque: np.ndarray
    joint_torque: np.ndarray
    gripper_position: float
    gripper_velocity: float
    gripper_effort: float
    status: StepStatus


@dataclass(frozen=True)
class TrueContact:
    """A contact of the robot with an object, from the last step of the tick.

    Attributes:
        link: Link of the robot.
        body: The object it touches.
        point: (3) world [m].
        normal: (3) unit vector into the robot, world.
        force: (3) of the environment on the robot, world [N].
    """

    link: str
    body: str
    point: np.ndarray
    normal: np.ndarray
    force: np.ndarray


@dataclass(frozen=True)
class TrueObject:
    """State of an object; one that is fixed to the world has no velocity.

    Attributes:
        name: The object.
        position: (3) of its origin, world [m].
        quaternion: (4) x, y, z, w.
        velocity: (3) of its origin, world [m/s].
        angular_velocity: (3) world [rad/s].
    """

    name: str
    position: np.ndarray
    quaternion: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray


@dataclass(frozen=True)
class Truth:
    """What no driver reports.

    Attributes:
        joint_names: The arm's joints from the base to the flange, then the gripper's.
        joint_position: Their true positions [rad or m].
        joint_velocity: Their true velocities [rad/s or m/s].
        contacts: Contacts of the robot that carry a force.
        objects: The objects of the scene.
    """

    joint_names: tuple[str, ...]
    joint_position: np.ndarray
    joint_velocity: np.ndarray
    contacts: tuple[TrueContact, ...]
    objects: tuple[TrueObject, ...]

    def pose_of(self, name: str) -> pin.SE3:
        """Return the pose of an object in the world.

        Args:
            name: The object, one of the scene's.
        """
        (found,) = (item for item in self.objects if item.name == name)
        return pin.XYZQUATToSE3(np.concatenate([found.position, found.quaternion]))
