"""One sample of the external torque, and what forces at a point do to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from contact_core.base.kernel import kernel, leaf_kernel

NEGLIGIBLE = 1e-14
"""Share of a variance below which what others leave of it is rounding."""


class Measurement(NamedTuple):
    """A torque that one contact has to explain, and the kinematics it belongs to.

    Attributes:
        precision: (n, n) inverse P of the torque's covariance [1/Nm^2].
        weighted: (n) P tau [1/Nm].
        square: tau^T P tau.
        joint_origins: (n, 3) world frame [m].
        joint_axes: (n, 3) unit vectors, world frame.
        columns: (n, 3) scratch for the Jacobian of a point.
    """

    precision: np.ndarray
    weighted: np.ndarray
    square: float
    joint_origins: np.ndarray
    joint_axes: np.ndarray
    columns: np.ndarray


class KnownContact(NamedTuple):
    """A contact whose place is known, and whose force is roughly known.

    Attributes:
        jacobian: (3, n) J_C of its point, world frame [m/rad].
        force: (3) expected force on the robot, world frame [N].
        deviation: Standard deviation of the force, per axis [N].
    """

    jacobian: np.ndarray
    force: np.ndarray
    deviation: float


class Sample(NamedTuple):
    """What a particle set is shown at one update.

    Attributes:
        measured: The torque as measured.
        smooth: The torque, low-passed.
        mean: The torque, low-passed more slowly, so that noise hides less.
    """

    measured: Measurement
    smooth: Measurement
    mean: Measurement


class MeanTorque(NamedTuple):
    """A torque that is averaged over many samples.

    Attributes:
        torque: (n) [Nm].
        less_noise: (n) variances of a sample that this has taken away [Nm^2].
    """

    torque: np.ndarray
    less_noise: np.ndarray


@dataclass(frozen=True)
class Torques:
    """The external torque of one update.

    Attributes:
        measured: (n) tau_ext as measured [Nm].
        smooth: (n) tau_ext, low-passed [Nm].
        covariance: (n, n) of what is not contact in them [Nm^2].
        joint_origins: (n, 3) world frame [m].
        joint_axes: (n, 3) unit vectors, world frame.
        mean: Of tau_ext; None where nobody has averaged it.
    """

    measured: np.ndarray
    smooth: np.ndarray
    covariance: np.ndarray
    joint_origins: np.ndarray
    joint_axes: np.ndarray
    mean: MeanTorque | None = None

    @cached_property
    def alone(self) -> Sample:
        """What a contact has to explain if there is no other."""
        return self.beside([])

    def beside(self, others: Sequence[KnownContact]) -> Sample:
        """Return what a contact has to explain beside others.

        Their forces are marginalised: their expected torque is subtracted, and the
        uncertainty of their forces adds s^2 J^T J to the covariance of the torque. Without
        expectations, two forces and a place would be more unknowns than most arms have
        torques. Their friction pyramids are not imposed: the expectations hardly leave them.

        Args:
            others: The other contacts.

        Returns:
            The torques without those of the others.
        """
        expected, covariance = self._expected(others)
        precision = inverse(covariance)
        smooth = mean = self._measurement(self.smooth - expected, precision)
        if self.mean is not None:
            diagonal(covariance)[:] -= self.mean.less_noise
            mean = self._measurement(self.mean.torque - expected, inverse(covariance))
        return Sample(self._measurement(self.measured - expected, precision), smooth, mean)

    def forces(self, others: Sequence[KnownContact], explained: np.ndarray) -> list[np.ndarray]:
        """Return the likeliest forces of contacts beside one that has been found.

        Args:
            others: The contacts, as in :meth:`beside`.
            explained: (n) torque of the one that has been found, from the low-passed one [Nm].

        Returns:
            (3) of each [N].
        """
        expected, covariance = self._expected(others)
        weighted = inverse(covariance) @ (self.smooth - expected - explained)
        return [o.force + o.deviation**2 * o.jacobian @ weighted for o in others]

    def _expected(self, others: Sequence[KnownContact]) -> tuple[np.ndarray, np.ndarray]:
        """Return the torque (n) expected of contacts, and the covariance (n, n) beside them."""
        covariance = self.covariance.copy()
        expected = np.zeros_like(self.measured)
        for other in others:
            covariance += other.deviation**2 * other.jacobian.T @ other.jacobian
            expected += other.jacobian.T @ other.force
        return expected, covariance

    def _measurement(self, torque: np.ndarray, precision: np.ndarray) -> Measurement:
        weighted, axes = precision @ torque, self.joint_axes
        square, columns = float(torque @ weighted), np.empty_like(axes)
        return Measurement(precision, weighted, square, self.joint_origins, axes, columns)


@leaf_kernel
def jacobian_column(
    measurement: Measurement, joint: int, x: float, y: float, z: float
) -> tuple[float, float, float]:
    """Return the torque at a joint of unit forces along x, y and z at a point.

    Args:
        measurement: The kinematics.
        joint: The joint; it must move the point.
        x: First coordinate of the point, world frame [m].
        y: Second coordinate.
        z: Third coordinate.

    Returns:
        Column of J_C [m/rad], the velocity axis x (point - origin).
    """
    dx = x - measurement.joint_origins[joint, 0]
    dy = y - measurement.joint_origins[joint, 1]
    dz = z - measurement.joint_origins[joint, 2]
    ax = measurement.joint_axes[joint, 0]
    ay = measurement.joint_axes[joint, 1]
    az = measurement.joint_axes[joint, 2]
    return ay * dz - az * dy, az * dx - ax * dz, ax * dy - ay * dx


@kernel
def point_jacobian(
    joint_origins: np.ndarray, joint_axes: np.ndarray, joints: int, point: np.ndarray
) -> np.ndarray:
    """Return the Jacobian of a point.

    Args:
        joint_origins: (n, 3) world frame [m].
        joint_axes: (n, 3) unit vectors, world frame.
        joints: How many joints move the point.
        point: (3) world frame [m].

    Returns:
        (3, n) J_C [m/rad].
    """
    jacobian = np.zeros((3, joint_origins.shape[0]))
    for k in range(joints):
        jacobian[:, k] = np.cross(joint_axes[k], point - joint_origins[k])
    return jacobian


def diagonal(matrix: np.ndarray, first: int = 0) -> np.ndarray:
    """Return a diagonal of a matrix that is stored row by row, to write into.

    Args:
        matrix: (n, m).
        first: The column it begins at; it has to end before the last one.
    """
    rows, columns = matrix.shape
    return matrix.reshape(-1)[first :: columns + 1][:rows]


@kernel
def squared_norm(covariance: np.ndarray, torque: np.ndarray) -> float:
    """Return the squared whitened norm of a torque.

    Args:
        covariance: (n, n) S, positive definite [Nm^2].
        torque: (n) tau [Nm].

    Returns:
        tau^T S^-1 tau.
    """
    precision, square = inverse(covariance), 0.0
    for i in range(torque.size):
        for k in range(torque.size):
            square += torque[i] * precision[i, k] * torque[k]
    return square


@kernel
def inverse(covariance: np.ndarray) -> np.ndarray:
    """Return the inverse (n, n) of a covariance (n, n), by Gauss and Jordan.

    Beside absurd forces rounding leaves a matrix that has none: what is lost counts as unknown.
    """
    a, n = covariance.copy(), covariance.shape[0]
    for k in range(n):
        share = 1.0 / max(a[k, k], NEGLIGIBLE * covariance[k, k])
        a[k, k] = 1.0
        for j in range(n):
            a[k, j] *= share
        for i in range(n):
            if i != k:
                factor, a[i, k] = a[i, k], 0.0
                for j in range(n):
                    a[i, j] -= factor * a[k, j]
    return a
