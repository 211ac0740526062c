"""How wrong the external torque is where nothing touches the arm, and how sure that is.

Drivers compute tau_ext from the arm's description. What is wrong in it looks like a contact:

    tau_ext = J^T f + payload + H(q, dq) theta + noise,

    theta = (bias b, Coulomb friction, viscous friction, tilt of the base,
             errors of mass and first moment of mass of every link).

theta is a random vector with a prior: what is thinkable of any arm, or what a calibration has
found of this one. A Kalman filter conditions it on the torques of free space; the bias may walk.
Its covariance P makes the errors a function of where and how the arm moves: S = H P H^T + R.

Errors that H lacks, such as Stribeck's or those of elastic gears, repeat from sample to sample.
So samples within a correlation time count as one.
"""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin

from contact_aware_control.estimation.calibration import Calibration
from contact_aware_control.estimation.config import ErrorsConfig
from contact_aware_control.estimation.measurement import diagonal
from contact_core.base.kernel import kernel
from contact_core.robot.robot import GRAVITY, Robot

VELOCITY_TIME = 0.015
"""Time constant of the low-pass on the differentiated positions [s]."""

LEARNING_PERIOD = 0.05
"""Time over which torques are averaged before theta is conditioned on them [s]."""

CORRELATION_TIME = 0.3
"""Time for which an error that H lacks lasts: samples within it count as one [s]."""

PRESLIDING, MAX_PRESLIDING = 1e-3, 5e-3
"""Motion in which a joint's friction turns round, and in which it may take to do so [rad]."""

SLIDING_SPEED = 0.03
"""Speed from which on a joint slides and its friction is as known as its coefficient [rad/s]."""

STUCK, SLIDING = 0.65, 0.05
"""Share of a joint's friction that is not known while it sticks, and while it slides."""


class ErrorRegressor:
    """H of an arm: what each error does to tau_ext, in the order of :class:`Calibration`."""

    def __init__(self, robot: Robot) -> None:
        """Take the arm.

        Args:
            robot: The arm.
        """
        self._model = robot.model
        self._data = self._model.createData()
        self._tilted = []
        for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)):
            model = self._model.copy()
            # A base tilted by a small angle about an axis feels gravity turned the other way.
            model.gravity.linear = np.cross((0.0, 0.0, -GRAVITY), axis)
            self._tilted.append(model)
        self._still = np.zeros(robot.n)
        self._of_bias = np.eye(robot.n, 7 * robot.n + 2)

    def at(self, q: np.ndarray, friction: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Return H.

        Args:
            q: (n) joint positions [rad].
            friction: (n) friction over its reach, positive against negative motion, in [-1, 1].
            velocity: (n) [rad/s].

        Returns:
            (n, 7 n + 2).
        """
        n = self._still.size
        matrix = self._of_bias.copy()
        diagonal(matrix, n)[:] = friction
        diagonal(matrix, 2 * n)[:] = -velocity
        for column, model in enumerate(self._tilted, 3 * n):
            matrix[:, column] = -pin.computeGeneralizedGravity(model, self._data, q)
        links = pin.computeJointTorqueRegressor(
            self._model, self._data, q, self._still, self._still
        )
        # Of the ten inertial parameters of a link, weight needs mass and first moment.
        weights = links.reshape(n, n, 10)[:, :, :4].reshape(n, 4 * n)
        np.negative(weights, out=matrix[:, 3 * n + 2 :])
        return matrix


class TorqueErrors:
    """The Kalman filter of theta."""

    def __init__(self, robot: Robot, config: ErrorsConfig, bias: float, known: Calibration) -> None:
        """Start from the prior.

        Args:
            robot: The arm.
            config: Walk of the bias.
            bias: Standard deviation of a bias that has not been measured yet [Nm].
            known: The prior.
        """
        self._n = robot.n
        self._drift = config.drift
        self._bias_variance = bias**2
        self._regressor = ErrorRegressor(robot)
        self._mean = known.mean.copy()
        self._covariance = known.covariance.copy()
        self.forget_bias()
        self._position: np.ndarray | None = None
        self._velocity = np.zeros(self._n)
        self._friction, self._slow_friction = np.zeros((2, self._n))
        self._gathered = np.zeros(self._n)
        self._gathered_time = 0.0

    def forget_bias(self) -> None:
        """Begin anew with the bias, which may be any now."""
        n = self._n
        self._covariance[:n, :] = 0.0
        self._covariance[:, :n] = 0.0
        diagonal(self._covariance)[:n] = self._bias_variance

    def expect(self, q: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
        """Predict the torque of an arm that nothing touches.

        Args:
            q: (n) joint positions [rad].
            period: Time since the last call [s].

        Returns:
            (n) torque [Nm], (n, n) its covariance [Nm^2] without noise.
        """
        if self._position is not None and period > 0.0:
            change = q - self._position
            _move_joints(change, period, self._velocity, self._friction, self._slow_friction)
        self._position = q.copy()
        diagonal(self._covariance)[: self._n] += self._drift**2 * period
        self._matrix = self._regressor.at(q, self._friction, self._velocity)
        expected, covariance, self._doubt = _expect(
            self._matrix, self._mean, self._covariance, self._velocity,
            self._friction, self._slow_friction,
        )  # fmt: skip
        return expected, covariance

    def learn(self, residual: np.ndarray, noise: np.ndarray, period: float) -> None:
        """Take in a sample of free space, after :meth:`expect`.

        Args:
            residual: (n) measured less expected torque [Nm].
            noise: (n) standard deviation of a sample [Nm].
            period: Time since the last one [s].
        """
        self._gathered += period * residual
        self._gathered_time += period
        if self._gathered_time < (1.0 - 1e-6) * LEARNING_PERIOD:
            return
        repeated = CORRELATION_TIME / LEARNING_PERIOD
        self.condition(self._gathered / self._gathered_time, repeated * (noise**2 + self._doubt))
        self._gathered = np.zeros(self._n)
        self._gathered_time = 0.0

    def condition(self, residual: np.ndarray, variance: np.ndarray) -> None:
        """Condition theta on a residual, after :meth:`expect`.

        Args:
            residual: (n) measured less expected torque [Nm].
            variance: (n) of what is measured of it [Nm^2].
        """
        spread = self._matrix @ self._covariance
        gain = np.linalg.solve(spread @ self._matrix.T + np.diag(variance), spread).T
        self._mean = self._mean + gain @ residual
        covariance = self._covariance - gain @ spread
        self._covariance = 0.5 * (covariance + covariance.T)

    @property
    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean (7 n + 2) and covariance of theta, to go on with."""
        return self._mean, self._covariance

    def go_on(self, mean: np.ndarray, covariance: np.ndarray) -> None:
        """Take over the :attr:`state` of another one."""
        self._mean, self._covariance = mean.copy(), covariance.copy()

    @property
    def load_matrix(self) -> np.ndarray:
        """(n, 4) torque per mass and first moment on the last link, where :meth:`expect` was."""
        return self._matrix[:, -4:]

    def take_load(self, load: np.ndarray, covariance: np.ndarray) -> None:
        """Count a load among the errors, or no longer.

        Args:
            load: (4) mass [kg] and first moment [kg m] in the frame of the last joint.
            covariance: (4, 4) of it.
        """
        self._mean[-4:] += load
        self._covariance[-4:, -4:] += covariance

    def knowledge(self) -> Calibration:
        """Return what is known now, and will be: the bias has drifted by then."""
        mean = self._mean.copy()
        mean[: self._n] = 0.0
        return Calibration(mean, self._covariance.copy(), of_this_arm=True)


@kernel
def _move_joints(
    change: np.ndarray,
    period: float,
    velocity: np.ndarray,
    friction: np.ndarray,
    slow_friction: np.ndarray,
) -> None:
    """Take velocity and friction (n) along: a spring that bends, and slips (Dahl's model)."""
    share = 1.0 - math.exp(-period / VELOCITY_TIME)
    for i in range(change.size):
        velocity[i] += share * (change[i] / period - velocity[i])
        # Exact along a step in one direction: friction relaxes to minus the direction.
        for state, distance in ((friction, PRESLIDING), (slow_friction, MAX_PRESLIDING)):
            kept = math.exp(-abs(change[i]) / distance)
            state[i] = kept * state[i] - math.copysign(1.0 - kept, change[i])


@kernel
def _expect(
    matrix: np.ndarray,
    mean: np.ndarray,
    covariance: np.ndarray,
    velocity: np.ndarray,
    friction: np.ndarray,
    slow_friction: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return H m, H P H^T with the doubt about friction on its diagonal, and that doubt (n)."""
    n, size = matrix.shape
    expected, doubt = np.zeros(n), np.empty(n)
    spread, total = np.zeros((n, size)), np.empty((n, n))
    for i in range(n):
        for k in range(size):
            # Much of H is zero: no joint bears the links before it.
            if matrix[i, k] != 0.0:
                expected[i] += matrix[i, k] * mean[k]
                for j in range(size):
                    spread[i, j] += matrix[i, k] * covariance[k, j]
    for i in range(n):
        for j in range(i + 1):
            entry = 0.0
            for k in range(size):
                entry += spread[i, k] * matrix[j, k]
            total[i, j] = total[j, i] = entry
        reach = mean[n + i] ** 2 + covariance[n + i, n + i]
        sliding = min(abs(velocity[i]) / SLIDING_SPEED, 1.0)
        unknown = max(STUCK * (1.0 - sliding), abs(friction[i] - slow_friction[i]))
        doubt[i] = reach * (unknown + SLIDING) ** 2
        total[i, i] += doubt[i]
    return expected, total, doubt
