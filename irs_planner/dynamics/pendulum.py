"""The pendulum: unit mass, length and gravity, no damping."""

from __future__ import annotations

import numpy as np

from irs_planner.dynamics.smooth_dynamics import SmoothDynamics


class Pendulum(SmoothDynamics):
    """x = (angle from hanging [rad], its rate [rad/s]), u = torque at the pivot [Nm].

    Semi-implicit Euler: the new rate moves the angle.
    """

    def __init__(self, time_step: float = 0.05) -> None:
        """Choose the time step.

        Args:
            time_step: h [s].
        """
        self.time_step = time_step

    @property
    def state_size(self) -> int:
        """2."""
        return 2

    @property
    def input_size(self) -> int:
        """1."""
        return 1

    @property
    def state_names(self) -> tuple[str, ...]:
        """Angle and rate."""
        return "angle", "rate"

    def formula(self, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Evaluate the step, see :meth:`SmoothDynamics.formula`."""
        angle, rate = states.T
        new_rate = rate + self.time_step * (inputs[:, 0] - np.sin(angle))
        return np.stack((angle + self.time_step * new_rate, new_rate), axis=1)
