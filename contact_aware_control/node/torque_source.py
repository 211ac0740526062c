"""Where the external torque comes from: the driver, or the momentum observer."""

from __future__ import annotations

import numpy as np

from contact_aware_control.estimation.config import ObserverConfig
from contact_aware_control.estimation.momentum_observer import MomentumObserver
from contact_core.arm_state import ArmState
from contact_core.robot import Robot

DRIVER = "driver"
MOMENTUM_OBSERVER = "momentum_observer"
SOURCES = (DRIVER, MOMENTUM_OBSERVER)


class TorqueSource:
    """Takes the external torque from the driver, or estimates it.

    Attributes:
        problem: What is wrong and what to do about it; empty if all is well.
    """

    def __init__(self, name: str, robot: Robot, observer: ObserverConfig) -> None:
        """Choose the source.

        Args:
            name: One of SOURCES.
            robot: The arm.
            observer: Parameters of the momentum observer.
        """
        self._observer = MomentumObserver(robot, observer) if name == MOMENTUM_OBSERVER else None
        self.problem = ""

    def reset(self) -> None:
        """Begin anew."""
        if self._observer is not None:
            self._observer.reset()

    def torque(self, state: ArmState) -> np.ndarray | None:
        """Return the external torque of a state.

        Args:
            state: The state.

        Returns:
            (n) tau_ext [Nm]; None if it cannot be told.
        """
        if self._observer is None:
            return state.external_torque
        torque = self._observer.update(state)
        self.problem = (
            ""
            if torque is not None
            else "no joint torques for the momentum observer: set torque_source to 'driver'"
        )
        return torque
