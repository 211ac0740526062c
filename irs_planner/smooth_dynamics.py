"""Systems without contact: pendulum, kinematic bicycle, quadrotor."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from irs_planner.dynamics import Dynamics, Jacobians

# Any step works: the complex step has no subtraction, hence no cancellation.
COMPLEX_STEP = 1e-30


class SmoothDynamics(Dynamics):
    """A system whose step is analytic, written with numpy so that it takes complex numbers.

    Attributes:
        usual_step: h [s] unless another is chosen.
    """

    usual_step: ClassVar[float]

    def __init__(self, time_step: float | None = None) -> None:
        """Choose the time step.

        Args:
            time_step: h [s]; None for the system's usual one.
        """
        self.time_step = self.usual_step if time_step is None else time_step

    @abstractmethod
    def formula(self, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Evaluate x+ = f(x, u), for real or complex arguments.

        Args:
            states: (K, n) x.
            inputs: (K, m) u.

        Returns:
            (K, n) x+.
        """

    def step_batch(self, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Advance a batch by one step, see :meth:`Dynamics.step_batch`."""
        with np.errstate(over="ignore", invalid="ignore"):  # a motion that diverges costs inf
            return self.formula(states, inputs)

    def jacobians(self, states: np.ndarray, inputs: np.ndarray) -> Jacobians:
        """Differentiate by the complex step, Im f(z + i e) / e, exact to rounding."""
        n, m = self.state_size, self.input_size
        point = np.concatenate((states, inputs), axis=1).astype(complex)
        columns = np.empty((len(states), n, n + m))
        for k in range(n + m):
            point[:, k] += 1j * COMPLEX_STEP
            columns[:, :, k] = self.formula(point[:, :n], point[:, n:]).imag / COMPLEX_STEP
            point[:, k] -= 1j * COMPLEX_STEP
        return Jacobians(
            np.ascontiguousarray(columns[:, :, :n]), np.ascontiguousarray(columns[:, :, n:])
        )


class Pendulum(SmoothDynamics):
    """x = (angle from hanging [rad], its rate [rad/s]), u = torque at the pivot [Nm].

    Semi-implicit Euler: the new rate moves the angle.
    """

    input_size = 1
    state_names = ("angle", "rate")
    usual_step = 0.05

    def formula(self, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Evaluate the step, see :meth:`SmoothDynamics.formula`."""
        angle, rate = states.T
        new_rate = rate + self.time_step * (inputs[:, 0] - np.sin(angle))
        return np.stack((angle + self.time_step * new_rate, new_rate), axis=1)


class Bicycle(SmoothDynamics):
    """x = (x, y [m], heading [rad], speed [m/s], steering angle [rad]).

    u = (acceleration [m/s^2], steering rate [rad/s]). Explicit Euler; unit wheel base, so that
    heading rate = speed * tan(steering).
    """

    input_size = 2
    state_names = ("x", "y", "heading", "speed", "steering")
    usual_step = 0.1

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


MASS = 0.775  # [kg]
ARM = 0.15  # [m] from the centre to a rotor
INERTIA = (1.5e-3, 2.5e-3, 3.5e-3)  # [kg m^2] about the body axes
DRAG_RATIO = 0.0245  # [m] yaw moment per thrust
GRAVITY = 9.81  # [m/s^2]

Moments = tuple[np.ndarray, np.ndarray, np.ndarray]
Mixer = Callable[[np.ndarray], Moments]
"""Thrusts (K, 4) of the rotors [N] -> moments about the body axes, (K) each [Nm]."""


def plus_mixer(thrusts: np.ndarray) -> Moments:
    """Rotors 1 and 3 lie on the body's x axis, 2 and 4 on its y axis.

    Args:
        thrusts: (K, 4) of the rotors [N].

    Returns:
        Moments about the body axes, (K) each [Nm].
    """
    f1, f2, f3, f4 = thrusts.T
    return ARM * (f2 - f4), ARM * (f3 - f1), DRAG_RATIO * (f1 - f2 + f3 - f4)


def cross_mixer(thrusts: np.ndarray) -> Moments:
    """Every rotor turns about x and y, with the whole arm: the code of bundled_gradients.

    Args:
        thrusts: (K, 4) of the rotors [N].

    Returns:
        Moments about the body axes, (K) each [Nm].
    """
    f1, f2, f3, f4 = thrusts.T
    roll, pitch = -f1 - f2 + f3 + f4, -f1 + f2 + f3 - f4
    return ARM * roll, ARM * pitch, DRAG_RATIO * (-f1 + f2 - f3 + f4)


class Quadrotor(SmoothDynamics):
    """x = (position [m], roll, pitch, yaw [rad], their rates), u = thrusts of the rotors [N].

    State order: position, angles, velocity, angle rates. Explicit Euler.
    """

    input_size = 4
    state_names = (
        *("x", "y", "z", "roll", "pitch", "yaw"),
        *("x_rate", "y_rate", "z_rate", "roll_rate", "pitch_rate", "yaw_rate"),
    )
    usual_step = 0.05

    def __init__(self, time_step: float | None = None, mixer: Mixer = plus_mixer) -> None:
        """Choose time step and rotors.

        Args:
            time_step: h [s]; None for the usual one.
            mixer: Where the rotors are, and how they spin.
        """
        super().__init__(time_step)
        self._mixer = mixer

    def formula(self, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Evaluate the step, see :meth:`SmoothDynamics.formula`."""
        velocity, angle_rates = states[:, 6:9], states[:, 9:]
        sine, cosine = np.sin(states[:, 3:6]).T, np.cos(states[:, 3:6]).T
        acceleration = _thrust_direction(sine, cosine) * (inputs.sum(axis=1) / MASS)[:, None]
        acceleration[:, 2] -= GRAVITY
        angular = _angle_accelerations(sine, cosine, states, self._mixer(inputs))
        rate = np.concatenate((velocity, angle_rates, acceleration, angular), axis=1)
        return states + self.time_step * rate


def _thrust_direction(sine: np.ndarray, cosine: np.ndarray) -> np.ndarray:
    """Return (K, 3) the body's z axis in the world, for R = Rz(yaw) Ry(pitch) Rx(roll)."""
    (sr, sp, sy), (cr, cp, cy) = sine, cosine
    return np.stack((cy * sp * cr + sy * sr, sy * sp * cr - cy * sr, cp * cr), axis=1)


def _angle_accelerations(
    sine: np.ndarray, cosine: np.ndarray, states: np.ndarray, moment: Moments
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
