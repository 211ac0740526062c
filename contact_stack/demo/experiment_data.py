"""What one run of an experiment left behind, as arrays over its ticks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ContactSample:
    """One contact of the robot at one tick, true or estimated.

    Attributes:
        link: The robot's link.
        point: (3) contact point [m], world frame.
        force: (3) force of the environment on the robot [N], world frame.
        identifiable: False where an estimate says that it may be wrong.
    """

    link: str
    point: np.ndarray
    force: np.ndarray
    identifiable: bool = True

    @property
    def magnitude(self) -> float:
        """Norm of the force [N]."""
        return float(np.linalg.norm(self.force))


@dataclass(frozen=True)
class ExperimentData:
    """The ticks of one run, from the start of its reference to the end.

    Attributes:
        time: (n) simulated time since the start of the reference [s].
        period: Time between two ticks [s].
        joint_position: (n, nj) true positions of all joints [rad or m].
        joint_velocity: (n, 7) true velocities of the arm's joints [rad/s].
        contacts: For each tick the true contacts between robot and environment; the
            object in the gripper does not count.
        estimates: For each tick the contacts the estimator believed in.
        position_error: (n) distance of the true tool position from the reference [m].
        rotation_error: (n) angle between true and reference tool orientation [rad].
        tick_time: (m) compute time of the controller's ticks [s].
        deadline_misses: Ticks of the controller that came too late.
        control_rate: Ticks of the controller per second of its own clock [Hz].
        estimator_rate: Estimates per simulated second [Hz].
        mug_tilt: Angle between the mug's axis and the vertical at the end [rad]; None
            without a mug.
        mug_on_cart: True if the mug stands on the cart's top at the end; None if it is
            not meant to.
    """

    time: np.ndarray
    period: float
    joint_position: np.ndarray
    joint_velocity: np.ndarray
    contacts: tuple[tuple[ContactSample, ...], ...]
    estimates: tuple[tuple[ContactSample, ...], ...]
    position_error: np.ndarray
    rotation_error: np.ndarray
    tick_time: np.ndarray
    deadline_misses: int
    control_rate: float
    estimator_rate: float
    mug_tilt: float | None
    mug_on_cart: bool | None

    @property
    def force(self) -> np.ndarray:
        """(n) norm of the total true contact force on the robot [N]."""
        return np.array(
            [np.linalg.norm(sum((c.force for c in tick), np.zeros(3))) for tick in self.contacts]
        )
