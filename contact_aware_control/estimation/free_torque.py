"""What an estimator without particles needs: a torque that only contacts can explain."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import final

import numpy as np

from contact_aware_control.contact import ContactEstimate
from contact_aware_control.estimation.base import Estimator, EstimatorOutput, EstimatorStatus
from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.tare import Payload, Tare
from contact_core.robot import Robot


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
        self._tare = Tare(self.robot.n, self.config.tare, self.config.noise)
        self._payload = Payload(self.config.payload)
        self._last_ns: int | None = None
        self._rejected = 0

    @final
    def tare(self) -> None:
        """Measure the bias anew, see :meth:`Estimator.tare`."""
        self._tare.start()

    @final
    def set_payload(self, mass: float, center_of_mass: np.ndarray, start_ns: int) -> None:
        """Tell what the robot holds from a time on, see :meth:`Estimator.set_payload`."""
        self._payload.set(mass, center_of_mass, start_ns)

    @final
    def update(self, stamp_ns: int, q: np.ndarray, external_torque: np.ndarray) -> EstimatorOutput:
        """Process one sample, see :meth:`Estimator.update`; nothing is found before the tare."""
        before, self._last_ns = self._last_ns, stamp_ns
        finite = np.isfinite(q).all() and np.isfinite(external_torque).all()
        if not finite or (before is not None and stamp_ns <= before):
            self._rejected += 1
            nothing = np.zeros(self.robot.n)
            return self._output(EstimatorStatus.REJECTED, (), nothing)
        self.robot.update(q)
        weight, _ = self._payload.update(stamp_ns, self.robot)
        torque = external_torque - weight - self._tare.bias
        located = self.locate(torque) if self._tare.measured else ()
        smallest = self.config.detection.contact_on
        contacts = tuple(c for c in located if np.linalg.norm(c.force_world) >= smallest)
        period = 0.0 if before is None else 1e-9 * (stamp_ns - before)
        self._tare.update(external_torque - weight, bool(contacts), not contacts, period)
        status = EstimatorStatus.CONTACT if contacts else EstimatorStatus.FREE
        return self._output(status, contacts, torque)

    def _output(
        self, status: EstimatorStatus, contacts: tuple[ContactEstimate, ...], torque: np.ndarray
    ) -> EstimatorOutput:
        assert self._last_ns is not None
        bias, tare = self._tare.bias.copy(), self._tare.status
        return EstimatorOutput(self._last_ns, status, contacts, torque, bias, tare, self._rejected)
