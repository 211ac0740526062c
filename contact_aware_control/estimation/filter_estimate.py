"""What one particle set finds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class FilterEstimate:
    """What a particle set says about its contact; world frame.

    Attributes:
        shape: The shape that is touched.
        point_world: (3) [m].
        normal_world: (3) unit vector into the robot.
        force_world: (3) force on the robot [N].
        point_covariance: (3, 3) [m^2].
        force_covariance: (3, 3) [N^2].
        residual: Squared whitened torque residual per joint, low-passed.
        unexplained: The same of the low-passed torque: it shows at once that the estimate does
            not explain the torque any more.
        effective_sample_size: Of the weights before resampling.
        spread: Root mean square distance of the particles to the point [m].
        modes: (shape, point in the world frame, weight) of every mode, main mode first.
    """

    shape: int
    point_world: np.ndarray
    normal_world: np.ndarray
    force_world: np.ndarray
    point_covariance: np.ndarray
    force_covariance: np.ndarray
    residual: float
    unexplained: float
    effective_sample_size: float
    spread: float
    modes: tuple[tuple[int, np.ndarray, float], ...]
