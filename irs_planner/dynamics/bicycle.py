"""Dubins' car with a steering angle: the kinematic bicycle."""

from __future__ import annotations

import numpy as np

from irs_planner.dynamics.smooth_dynamics import SmoothDynamics


class Bicycle(SmoothDynamics):
    """x = (x, y [m], heading [rad], speed [m/s], steering angle [rad]).

    u = (acceleration [m/s^2], steering rate [rad/s]). Explicit Euler; unit wheel base, so that
    heading rate = speed * tan(steering).
    """

    def __init__(self, time_step: float = 0.1) -> None:
        """Choose the time step.

        Args:
            time_step: h [s].
        """
        self.time_step = time_step

    @property
    def state_size(self) -> int:
        """5."""
        return 5

    @property
    def input_size(self) -> int:
        """2."""
        return 2

    @property
    def state_names(self) -> tuple[str, ...]:
        """Pose, speed and steering angle."""
        return "x", "y", "heading", "speed", "steering"

    def formula(self, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Evaluate the step, see :meth:`SmoothDynamics.formula`."""
        _, _, heading, speed, steering = states.T
        acceleration, steering_rate = inputs.T
        rate = np.stack(
            (
                speed * np.cos(heading),
                speed * np.sin(heading),
                speed * np.tan(steering),
                acceleration,
                steering_rate,
            ),
            axis=1,
        )
        return states + self.time_step * rate
