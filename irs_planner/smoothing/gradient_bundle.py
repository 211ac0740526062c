"""Randomised smoothing of a scalar function (bundled_gradients, Sec. III-A to III-C)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import cumulative_trapezoid

ScalarFunction = Callable[[np.ndarray], np.ndarray]


def bundled_objective(
    function: ScalarFunction, points: np.ndarray, samples: np.ndarray
) -> np.ndarray:
    """Estimate E_w[f(x + w)], equation (2).

    Args:
        function: f, elementwise.
        points: (K) x.
        samples: (N) w.

    Returns:
        (K) the mean over the samples.
    """
    return function(points[:, np.newaxis] + samples).mean(axis=1)


def first_order_bundle(
    gradient: ScalarFunction, points: np.ndarray, samples: np.ndarray
) -> np.ndarray:
    """Estimate E_w[grad f(x + w)], equations (1) and (5).

    It misses every jump of f (Theorem 1): the estimate then differs from the gradient of
    the bundled objective by jump height times sampling density.

    Args:
        gradient: grad f, elementwise.
        points: (K) x.
        samples: (N) w.

    Returns:
        (K) the mean gradient.
    """
    return gradient(points[:, np.newaxis] + samples).mean(axis=1)


def zero_order_bundle(
    function: ScalarFunction, points: np.ndarray, samples: np.ndarray
) -> np.ndarray:
    """Estimate the slope of f around x from its values, the scalar case of (16).

    The least-squares slope sum w (f(x + w) - f(x)) / sum w^2 is used, which for Gaussian
    samples converges to the gradient of the bundled objective even across jumps. The mean
    of (f(x + w) - f(x)) / w in (5) has infinite variance there.

    Args:
        function: f, elementwise.
        points: (K) x.
        samples: (N) w, of zero mean.

    Returns:
        (K) the slope.
    """
    change = function(points[:, np.newaxis] + samples) - function(points)[:, np.newaxis]
    return change @ samples / (samples @ samples)


def reconstruct(points: np.ndarray, slopes: np.ndarray, value: float) -> np.ndarray:
    """Integrate slopes to the function they belong to, as Fig. 2 to 4 do.

    Args:
        points: (K) x, increasing.
        slopes: (K) its derivative.
        value: Function value at the first point.

    Returns:
        (K) the function.
    """
    integral: np.ndarray = cumulative_trapezoid(slopes, points, initial=0.0)
    return value + integral
