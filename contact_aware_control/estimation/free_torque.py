"""What an estimator without particles needs: a torque that only contacts can explain."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import final

import numpy as np

from contact_aware_control.contact import ContactEstimate
from contact_aware_control.estimation.base import Estimator, EstimatorOutput, EstimatorStatus
from contact_aware_control.estimation.calibration import prior
from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.tool_surface import check_held, check_opening
from contact_aware_control.estimation.torque_balance import TorqueBalance
from contact_core.multibody.collision.shapes import PlacedShape
from contact_core.robot.arm_state import ArmState
from contact_core.robot.robot import Robot


class FreeTorqueEstimator(Estimator):
    """Takes payload and bias from the torque; what is left is explained sample by sample.

    Attributes:
        robot: The arm.
        config: Parameters.
    """

    def __init__(self, robot: Robot, config: EstimatorConfig) -> None:
        """Prepare an estimator; it starts with a tare.

        Args:
            robot: The arm; the estimator updates its configuration.
            config: Parameters.
        """
        self.robot = robot
        self.config = config
        self._calibration = prior(robot, config.errors)
        self.reset(config.seed)

    @abstractmethod
    def locate(self, torque: np.ndarray) -> Sequence[ContactEstimate]:
        """Explain a torque.

        Args:
            torque: (n) external torque without payload and bias [Nm]; ``self.robot`` has been
                updated at the configuration it was measured at.

        Returns:
            The contacts; those of small force are dropped, see ``detection.contact_on``.
        """

    @final
    def reset(self, seed: int) -> None:
        """Forget everything and tare, see :meth:`Estimator.reset`."""
        self._balance = TorqueBalance(self.robot, self.config, self._calibration)

    @final
    def tare(self) -> None:
        """Measure the bias anew, see :meth:`Estimator.tare`."""
        self._balance.tare()

    @final
    def set_payload(
        self,
        mass: float,
        center_of_mass: np.ndarray,
        start_ns: int,
        shapes: Sequence[PlacedShape] = (),
    ) -> None:
        """Tell what the robot holds from a time on, see :meth:`Estimator.set_payload`."""
        check_held(shapes)
        self._balance.set_payload(mass, center_of_mass, start_ns, shapes)

    @final
    def set_gripper(self, position: float) -> None:
        """Move the links of ``self.robot``, see :meth:`Estimator.set_gripper`."""
        self.robot.set_gripper(check_opening(position))

    @final
    @property
    def held(self) -> tuple[PlacedShape, ...]:
        """The shapes of what is held, tool frame."""
        return self._balance.held

    @final
    def update(self, state: ArmState) -> EstimatorOutput:
        """Process one sample, see :meth:`Estimator.update`; nothing is found before the tare."""
        balance, stamp = self._balance, state.stamp
        free = balance.update(state)
        if free is None:
            return self._output(stamp, EstimatorStatus.REJECTED, (), np.zeros(self.robot.n))
        located = self.locate(free.torque) if balance.measured else ()
        smallest = self.config.detection.contact_on
        contacts = tuple(c for c in located if np.linalg.norm(c.force_world) >= smallest)
        balance.learn(touched=bool(contacts), free=not contacts)
        status = EstimatorStatus.CONTACT if contacts else EstimatorStatus.FREE
        return self._output(stamp, status, contacts, free.torque)

    def _output(
        self,
        stamp_ns: int,
        status: EstimatorStatus,
        contacts: tuple[ContactEstimate, ...],
        torque: np.ndarray,
    ) -> EstimatorOutput:
        balance = self._balance
        return EstimatorOutput(
            stamp_ns,
            status,
            contacts,
            torque,
            balance.bias.copy(),
            balance.tare_status,
            balance.rejected,
            calibrated=balance.calibrated,
        )
