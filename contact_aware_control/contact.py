"""What the estimator tells the controller about contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt

import numpy as np

from contact_core.robot.robot import Robot


@dataclass(frozen=True)
class ContactMode:
    """One place where the contact may be.

    Attributes:
        link: Name of the link.
        point_world: (3) point on the robot's surface, world frame [m].
        weight: Its probability among the modes found, in (0, 1].
    """

    link: str
    point_world: np.ndarray
    weight: float


@dataclass(frozen=True)
class ContactEstimate:
    """One contact of the robot with its environment.

    Attributes:
        number: Counts the contacts; it stays the same as long as the contact lasts.
        link: Name of the link in contact.
        joints_moving: How many joints, counted from the base, move that link.
        point_world: (3) contact point C, world frame [m].
        point_link: (3) the same point, frame of the link [m].
        normal_world: (3) unit vector along which the environment can push, into the robot.
        force_world: (3) force f of the environment on the robot, world frame [N].
        point_covariance: (3, 3) covariance of the point, world frame [m^2]; it reaches to the
            places that explain the torques about as well.
        force_covariance: (3, 3) covariance of the force, world frame [N^2].
        residual: Squared whitened torque residual per joint; about 1 or less if the model
            explains the torque.
        effective_sample_size: Of the particle set, 1 ... number of particles.
        spread: Root mean square distance of the particles to the point [m].
        identifiable: False if the torques fit other places about as well; the point must
            then not be relied on.
        same_wrench: Whether those other places are on the same rigid part and on the line of
            the force: to the arm it is all one where it is pushed.
        age: Time since the contact began [s].
        modes: All places found, the estimate's own first.
        ambiguous: True if a load, a drift or friction explains the torques about as well as a
            contact does.
        force: How hard it presses [N].
        wrench_known: Whether it is known what the contact does to the arm, if not where.
    """

    number: int
    link: str
    joints_moving: int
    point_world: np.ndarray
    point_link: np.ndarray
    normal_world: np.ndarray
    force_world: np.ndarray
    point_covariance: np.ndarray
    force_covariance: np.ndarray
    residual: float
    effective_sample_size: float
    spread: float
    identifiable: bool
    age: float
    modes: tuple[ContactMode, ...]
    ambiguous: bool = False
    same_wrench: bool = False
    force: float = field(init=False)
    wrench_known: bool = field(init=False)

    def __post_init__(self) -> None:
        """Compute once what is asked for several times in a tick."""
        object.__setattr__(self, "force", sqrt(self.force_world @ self.force_world))
        object.__setattr__(self, "wrench_known", self.identifiable or self.same_wrench)

    @property
    def place_within(self) -> float:
        """How far from its point the contact may be, at two standard deviations [m]."""
        return within(self.point_covariance)

    @property
    def line_within(self) -> float:
        """How far from the line of its force the contact may be, likewise [m]."""
        along = self.force_world / max(self.force, 1e-9)
        beside = np.eye(3) - along[:, None] * along
        return within(beside @ self.point_covariance @ beside)

    @classmethod
    def known(
        cls, robot: Robot, link: str, point: np.ndarray, force: np.ndarray
    ) -> ContactEstimate:
        """Make an estimate of a contact that is known, e.g. by a simulator or a tactile skin.

        Args:
            robot: The arm, updated at the configuration of the contact.
            link: Name of the link in contact.
            point: (3) contact point C, world frame [m].
            force: (3) force of the environment on the robot, world frame [N].

        Returns:
            The estimate; its normal is the direction of the force.

        Raises:
            ModelError: If there is no such link.
        """
        size = float(np.linalg.norm(force))
        return cls(
            number=0,
            link=link,
            joints_moving=robot.joints_moving(link),
            point_world=point,
            point_link=robot.link_pose(link).actInv(point),
            normal_world=force / size if size > 0.0 else np.array([0.0, 0.0, 1.0]),
            force_world=force,
            point_covariance=np.zeros((3, 3)),
            force_covariance=np.zeros((3, 3)),
            residual=0.0,
            effective_sample_size=1.0,
            spread=0.0,
            identifiable=True,
            age=0.0,
            modes=(),
        )


MISSING = 0.1
"""A payload that the torques show but for so much is there [kg]."""


@dataclass(frozen=True)
class ContactReport:
    """The contacts of one estimator tick.

    Attributes:
        stamp: When they were estimated [ns], on the clock of the control loop.
        contacts: The contacts; empty in free space.
        free_torque: (n) the external torque without bias and payload that they follow from
            [Nm]; None if it is not told.
        calibrated: Whether the estimator knows how wrong the arm's model may be.
        undeclared_load: Mass that hangs on the arm beside the declared payload [kg]; negative:
            the torques do not show the payload that was declared.
    """

    stamp: int
    contacts: Sequence[ContactEstimate]
    free_torque: np.ndarray | None = None
    calibrated: bool = False
    undeclared_load: float = 0.0

    @property
    def lacks_payload(self) -> bool:
        """Whether the torques do not show the payload that was declared."""
        return self.undeclared_load < -MISSING


def within(covariance: np.ndarray) -> float:
    """Return how far something may be from where it is told, at two standard deviations [m].

    Args:
        covariance: (3, 3) of where it is [m^2].
    """
    return 2.0 * sqrt(max(0.0, float(np.linalg.eigvalsh(covariance)[-1])))
