"""What every contact estimator is: joint positions and external torques in, contacts out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from contact_aware_control.contact import ContactEstimate, ContactReport
from contact_aware_control.estimation.tare import TareStatus
from contact_core.multibody.collision.shapes import PlacedShape
from contact_core.robot.arm_state import ArmState


class EstimatorStatus(Enum):
    """What an update found; the value says what to do about it."""

    FREE = "no contact"
    CONTACT = "contact located"
    CONVERGING = "contact found, place not settled yet: rely on the force only"
    NOT_IDENTIFIABLE = "contact whose place the joint torques do not tell: be conservative"
    AMBIGUOUS = "a contact or a load: turn the arm, or declare the payload"
    REJECTED = (
        "input not used: it must be finite, of the arm's size and newer than the last, and torques "
        "no more than five times the effort limits"
    )


@dataclass(frozen=True)
class EstimatorOutput:
    """Result of one update.

    Attributes:
        stamp_ns: Time of the input [ns].
        status: What was found.
        contacts: The contacts reported, in the order in which they began; none if the input
            was rejected, which says nothing.
        torque: (n) external torque without bias and payload [Nm].
        bias: (n) what of the measured torque was taken for an error: bias, friction, masses [Nm].
        tare: State of the bias measurement.
        rejected: Number of inputs rejected since the last reset.
        residual: Squared whitened torque, per joint, that all contacts together leave
            unexplained; about 1 or less if the model explains it.
        calibrated: Whether the arm's errors are known from a calibration.
        load: Mass of what the torques show to hang on the arm beside the declared payload [kg];
            negative: less hangs there than was declared.
        least_force: Least sum of contact forces that causes the torque, 0 without contacts [N].
    """

    stamp_ns: int
    status: EstimatorStatus
    contacts: tuple[ContactEstimate, ...]
    torque: np.ndarray
    bias: np.ndarray
    tare: TareStatus = TareStatus.DONE
    rejected: int = 0
    residual: float = 0.0
    calibrated: bool = False
    load: float = 0.0
    least_force: float = 0.0

    def report(self, stamp: int) -> ContactReport:
        """Return what the controller is told.

        Args:
            stamp: What to stamp it with, on the clock of the control loop [ns].
        """
        return ContactReport(stamp, self.contacts, self.torque, self.calibrated, self.load)


class Estimator(ABC):
    """Finds where the robot is touched; it starts with a tare."""

    @abstractmethod
    def reset(self, seed: int) -> None:
        """Forget everything, payload and bias included, and tare.

        Args:
            seed: Seed of whatever is drawn at random.
        """

    @abstractmethod
    def tare(self) -> None:
        """Measure the bias anew; the robot must be free of contact."""

    @abstractmethod
    def set_payload(
        self,
        mass: float,
        center_of_mass: np.ndarray,
        start_ns: int,
        shapes: Sequence[PlacedShape] = (),
    ) -> None:
        """Tell what the robot holds from a time on.

        Args:
            mass: [kg], 0 when the object is dropped.
            center_of_mass: (3) tool frame [m].
            start_ns: The time [ns].
            shapes: Where it may be touched, placed in the tool frame; none if that is not known.

        Raises:
            ConfigError: If the mass is negative or above 20 kg, or the centre not three numbers
                up to 2 m.
            ModelError: If there are too many shapes, or one of a kind that cannot be held.
        """

    @abstractmethod
    def set_gripper(self, position: float) -> None:
        """Tell where the gripper's fingers are; at first they are closed.

        Args:
            position: Of the joint that opens the gripper [m], or [rad]; what is beyond its limits
                counts as at the limit.

        Raises:
            ConfigError: If it is not finite, or beyond what any gripper's joint has.
        """

    @abstractmethod
    def update(self, state: ArmState) -> EstimatorOutput:
        """Process one sample.

        Args:
            state: Its stamp, positions and external torque; nothing else is looked at.

        Returns:
            The contacts at that time.
        """
