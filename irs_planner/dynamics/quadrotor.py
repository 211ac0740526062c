"""A quadrotor with roll-pitch-yaw angles."""

from __future__ import annotations

import numpy as np

from irs_planner.dynamics.smooth_dynamics import SmoothDynamics

MASS = 0.775  # [kg]
ARM = 0.15  # [m] from the centre to a rotor
INERTIA = (1.5e-3, 2.5e-3, 3.5e-3)  # [kg m^2] about the body axes
DRAG_RATIO = 0.0245  # [m] yaw moment per thrust
GRAVITY = 9.81  # [m/s^2]


class Quadrotor(SmoothDynamics):
    """x = (position [m], roll, pitch, yaw [rad], their rates), u = thrusts of the rotors [N].

    State order: position, angles, velocity, angle rates. Rotors 1 and 3 lie on the body's
    x axis, 2 and 4 on its y axis. Explicit Euler.
    """

    def __init__(self, time_step: float = 0.05) -> None:
        """Choose the time step.

        Args:
            time_step: h [s].
        """
        self.time_step = time_step

    @property
    def state_size(self) -> int:
        """12."""
        return 12

    @property
    def input_size(self) -> int:
        """4."""
        return 4

    @property
    def state_names(self) -> tuple[str, ...]:
        """Position and angles, then their rates."""
        names = ("x", "y", "z", "roll", "pitch", "yaw")
        return (*names, *(f"{name}_rate" for name in names))

    def formula(self, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Evaluate the step, see :meth:`SmoothDynamics.formula`."""
        velocity, angle_rates = states[:, 6:9], states[:, 9:]
        sine, cosine = np.sin(states[:, 3:6]).T, np.cos(states[:, 3:6]).T
        acceleration = _thrust_direction(sine, cosine) * (inputs.sum(axis=1) / MASS)[:, None]
        acceleration[:, 2] -= GRAVITY
        angular = _angle_accelerations(sine, cosine, states, inputs)
        rate = np.concatenate((velocity, angle_rates, acceleration, angular), axis=1)
        return states + self.time_step * rate


def _thrust_direction(sine: np.ndarray, cosine: np.ndarray) -> np.ndarray:
    """Return (K, 3) the body's z axis in the world, for R = Rz(yaw) Ry(pitch) Rx(roll)."""
    (sr, sp, sy), (cr, cp, cy) = sine, cosine
    return np.stack((cy * sp * cr + sy * sr, sy * sp * cr - cy * sr, cp * cr), axis=1)


def _angle_accelerations(
    sine: np.ndarray, cosine: np.ndarray, states: np.ndarray, inputs: np.ndarray
) -> np.ndarray:
    """Return (K, 3) the second derivatives of roll, pitch and yaw [rad/s^2].

    Body rates are w = W(angles) d(angles)/dt, and I dw/dt = moment - w x I w.
    """
    (sr, sp, _), (cr, cp, _) = sine, cosine
    roll_rate, pitch_rate, yaw_rate = states[:, 9:].T
    w = (
        roll_rate - sp * yaw_rate,
        cr * pitch_rate + sr * cp * yaw_rate,
        -sr * pitch_rate + cr * cp * yaw_rate,
    )
    f1, f2, f3, f4 = inputs.T
    moment = (ARM * (f2 - f4), ARM * (f3 - f1), DRAG_RATIO * (f1 - f2 + f3 - f4))
    i1, i2, i3 = INERTIA
    dw1 = (moment[0] - (i3 - i2) * w[1] * w[2]) / i1
    dw2 = (moment[1] - (i1 - i3) * w[2] * w[0]) / i2
    dw3 = (moment[2] - (i2 - i1) * w[0] * w[1]) / i3
    # Subtract dW/dt d(angles)/dt, then solve with W.
    dw1 = dw1 + cp * pitch_rate * yaw_rate
    dw2 = dw2 - (
        -sr * roll_rate * pitch_rate + (cr * cp * roll_rate - sr * sp * pitch_rate) * yaw_rate
    )
    dw3 = dw3 - (
        -cr * roll_rate * pitch_rate - (sr * cp * roll_rate + cr * sp * pitch_rate) * yaw_rate
    )
    yaw = (sr * dw2 + cr * dw3) / cp
    return np.stack((dw1 + sp * yaw, cr * dw2 - sr * dw3, yaw), axis=1)
