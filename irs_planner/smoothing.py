"""Randomised smoothing of functions and of systems (bundled_gradients, Sec. III), and its modes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy

from contact_core.base.errors import ConfigError, choices
from contact_core.base.registry import Registry
from irs_planner.dynamics import ContactDynamics, Dynamics, Jacobians


def map_batch(
    function: Callable[..., Any], workers: int, *batches: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Apply a function of batches to contiguous parts of them, one part per thread.

    Every point of a batch is computed on its own, so the result does not depend on the
    number of workers.

    Args:
        function: Takes (K, ...) arrays and returns one array or a tuple of arrays whose
            first axis is K as well.
        workers: Number of threads, >= 1.
        batches: The arguments, with the same first axis.

    Returns:
        The concatenated results, always as a tuple.
    """
    count = len(batches[0])
    parts = min(workers, count)
    if parts <= 1:
        return _as_tuple(function(*batches))
    edges = [count * i // parts for i in range(parts + 1)]
    pieces = [tuple(batch[a:b] for batch in batches) for a, b in itertools.pairwise(edges)]
    with ThreadPoolExecutor(parts) as pool:
        results = [_as_tuple(r) for r in pool.map(lambda piece: function(*piece), pieces)]
    return tuple(np.concatenate(arrays) for arrays in zip(*results, strict=True))


def _as_tuple(result: Any) -> tuple[np.ndarray, ...]:
    return tuple(result) if isinstance(result, tuple) else (result,)


ScalarFunction = Callable[[np.ndarray], np.ndarray]


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
    integral: np.ndarray = scipy.integrate.cumulative_trapezoid(slopes, points, initial=0.0)
    return value + integral


class Perturbations(NamedTuple):
    """Samples around the T points of a trajectory; draw them before anything runs in parallel.

    Attributes:
        state: (T, N, n) w.
        input: (T, N, m) v.
        state_std: (n) standard deviation of w.
        input_std: (m) standard deviation of v.
    """

    state: np.ndarray
    input: np.ndarray
    state_std: np.ndarray
    input_std: np.ndarray


def draw_perturbations(
    generator: np.random.Generator,
    horizon: int,
    samples: int,
    state_std: np.ndarray,
    input_std: np.ndarray,
) -> Perturbations:
    """Draw Gaussian samples w, v ~ N(0, diag(std^2)).

    Args:
        generator: Where the numbers come from; one call draws T N (n + m) of them.
        horizon: T.
        samples: N per point.
        state_std: (n).
        input_std: (m).

    Returns:
        The samples.
    """
    std = np.concatenate((state_std, input_std))
    noise = std * generator.standard_normal((horizon, samples, std.size))
    split = len(state_std)
    return Perturbations(noise[..., :split], noise[..., split:], state_std, input_std)


def first_order_jacobians(
    dynamics: Dynamics,
    states: np.ndarray,
    inputs: np.ndarray,
    perturbations: Perturbations,
    workers: int = 1,
) -> Jacobians:
    """Average the Jacobians at the samples, equation (15).

    Args:
        dynamics: The system.
        states: (T, n) nominal x_t.
        inputs: (T, m) nominal u_t.
        perturbations: Samples around them.
        workers: Number of threads.

    Returns:
        The mean A_t and B_t of the samples that could be evaluated.
    """
    horizon, samples, _ = perturbations.input.shape
    sampled = Jacobians(
        *map_batch(dynamics.jacobians, workers, *_sample_points(states, inputs, perturbations))
    )
    means = [
        _mean_of_finite(jacobian.reshape(horizon, samples, *jacobian.shape[1:]))
        for jacobian in sampled
    ]
    return Jacobians(*means)


def zero_order_jacobians(
    dynamics: Dynamics,
    states: np.ndarray,
    inputs: np.ndarray,
    perturbations: Perturbations,
    workers: int = 1,
) -> Jacobians:
    """Fit a linear model to the values at the samples by least squares, equation (16).

    If only inputs are perturbed, the fit yields B and :meth:`Dynamics.jacobians` yields A, as
    in the paper's contact examples.

    Args:
        dynamics: The system.
        states: (T, n) nominal x_t.
        inputs: (T, m) nominal u_t.
        perturbations: Samples around them, more than there are perturbed components.
        workers: Number of threads.

    Returns:
        The fitted A_t and B_t.
    """
    horizon, samples, _ = perturbations.input.shape
    (nominal,) = map_batch(dynamics.step_batch, workers, states, inputs)
    (reached,) = map_batch(
        dynamics.step_batch, workers, *_sample_points(states, inputs, perturbations)
    )
    change = reached.reshape(horizon, samples, -1) - nominal[:, np.newaxis]
    valid = np.isfinite(change).all(axis=2, keepdims=True)
    change = np.where(valid, change, 0.0)
    if not perturbations.state_std.any():
        exact = Jacobians(*map_batch(dynamics.jacobians, workers, states, inputs))
        fitted = _least_squares(perturbations.input * valid, change, perturbations.input_std)
        return Jacobians(exact.state, fitted)
    noise = np.concatenate((perturbations.state, perturbations.input), axis=2)
    std = np.concatenate((perturbations.state_std, perturbations.input_std))
    fitted = _least_squares(noise * valid, change, std)
    split = dynamics.state_size
    return Jacobians(
        np.ascontiguousarray(fitted[:, :, :split]), np.ascontiguousarray(fitted[:, :, split:])
    )


def _sample_points(
    states: np.ndarray, inputs: np.ndarray, perturbations: Perturbations
) -> tuple[np.ndarray, np.ndarray]:
    """Return the (T N, n) states and (T N, m) inputs of all samples, knot by knot."""
    sampled_states = states[:, np.newaxis] + perturbations.state
    sampled_inputs = inputs[:, np.newaxis] + perturbations.input
    return (
        sampled_states.reshape(-1, states.shape[1]),
        sampled_inputs.reshape(-1, inputs.shape[1]),
    )


def _mean_of_finite(values: np.ndarray) -> np.ndarray:
    """Average (T, N, ...) over the samples that are finite throughout."""
    flat = values.reshape(*values.shape[:2], -1)
    valid = np.isfinite(flat).all(axis=2)
    total = np.where(valid[..., np.newaxis], flat, 0.0).sum(axis=1)
    with np.errstate(invalid="ignore"):  # no valid sample at all: NaN says so
        mean = total / valid.sum(axis=1)[:, np.newaxis]
    return np.asarray(mean.reshape(values.shape[0], *values.shape[2:]))


def _least_squares(noise: np.ndarray, change: np.ndarray, std: np.ndarray) -> np.ndarray:
    """Return (T, n, k) the matrices M that minimise sum_i |change_i - M noise_i|^2.

    Noise is scaled to unit variance first, so that the regularisation, far below the
    sampling error, means the same to every component.
    """
    scale = np.where(std > 0.0, std, 1.0)
    unit = noise / scale
    gram = np.einsum("tik,til->tkl", unit, unit) + 1e-9 * np.eye(len(std))
    moments = np.einsum("tik,tin->tkn", unit, change)
    solution = np.linalg.solve(gram, moments) / scale[:, np.newaxis]
    return np.ascontiguousarray(np.swapaxes(solution, 1, 2))


ModeJacobians = Callable[[Dynamics, np.ndarray, np.ndarray, Perturbations, int], Jacobians]
"""(system, (T, n) states, (T, m) inputs, perturbations, threads) -> A_t and B_t."""


@dataclass(frozen=True)
class SmoothingMode:
    """A way to make the derivatives that Algorithm 1 plans with.

    Attributes:
        title: Its name in legends.
        jacobians: Makes them; NaN where there are none. The number of threads changes nothing.
        sampled: Whether it takes samples; to others perturbations are standard deviations alone.
        smooth: Whether the standard deviation changes them.
        contact: Whether it takes nothing but :class:`ContactDynamics`.
    """

    title: str
    jacobians: ModeJacobians
    sampled: bool = True
    smooth: bool = True
    contact: bool = False

    def fits(self, dynamics: Dynamics) -> bool:
        """Return whether a system can be planned with in this mode."""
        return not self.contact or isinstance(dynamics, ContactDynamics)


def exact_jacobians(
    dynamics: Dynamics,
    states: np.ndarray,
    inputs: np.ndarray,
    perturbations: Perturbations,
    workers: int = 1,
) -> Jacobians:
    """Differentiate at the nominal points, equation (12).

    Args:
        dynamics: The system.
        states: (T, n) nominal x_t.
        inputs: (T, m) nominal u_t.
        perturbations: They do not matter.
        workers: Number of threads.

    Returns:
        A_t and B_t.
    """
    return Jacobians(*map_batch(dynamics.jacobians, workers, states, inputs))


def log_barrier_jacobians(
    dynamics: Dynamics,
    states: np.ndarray,
    inputs: np.ndarray,
    perturbations: Perturbations,
    workers: int = 1,
) -> Jacobians:
    """Differentiate the contact model whose constraints are log barriers, without samples.

    Args:
        dynamics: A system with contact.
        states: (T, n) nominal x_t.
        inputs: (T, m) nominal u_t.
        perturbations: Their standard deviation is the width of the barriers.
        workers: Number of threads.

    Returns:
        A_t and B_t.
    """
    assert isinstance(dynamics, ContactDynamics)
    width, barrier = perturbations.input_std, dynamics.barrier_jacobians
    return Jacobians(*map_batch(lambda x, u: barrier(x, u, width), workers, states, inputs))


SMOOTHING_MODES: Registry[SmoothingMode] = Registry(
    "smoothing mode",
    {
        "exact": SmoothingMode("exact", exact_jacobians, sampled=False, smooth=False),
        "first": SmoothingMode("first order", first_order_jacobians),
        "zero": SmoothingMode("zero order", zero_order_jacobians),
        "log_barrier": SmoothingMode(
            "log barrier", log_barrier_jacobians, sampled=False, contact=True
        ),
    },
    group="contact_stack.smoothing_modes",
)
"""Name -> mode: (12), (15) and (16) of bundled_gradients, and one without samples."""

DEFAULT_MODE = "first"


def mode_names(dynamics: Dynamics | None = None, sampled: bool = False) -> tuple[str, ...]:
    """Return the names of smoothing modes.

    Args:
        dynamics: Only those that fit this system.
        sampled: Only those that take samples.
    """
    return tuple(
        name
        for name, mode in SMOOTHING_MODES.items()
        if (dynamics is None or mode.fits(dynamics)) and (mode.sampled or not sampled)
    )


def linearize(
    dynamics: Dynamics,
    mode: str,
    states: np.ndarray,
    inputs: np.ndarray,
    perturbations: Perturbations,
    workers: int = 1,
) -> Jacobians:
    """Compute A_t and B_t around every point of a trajectory.

    Args:
        dynamics: The system.
        mode: One of SMOOTHING_MODES.
        states: (T, n) nominal x_t.
        inputs: (T, m) nominal u_t.
        perturbations: Samples, or standard deviations alone.
        workers: Number of threads; it does not change the result.

    Returns:
        A_t (T, n, n) and B_t (T, n, m); NaN where no sample could be evaluated.

    Raises:
        ConfigError: If there is no such mode, or it does not fit the system.
    """
    chosen = SMOOTHING_MODES[mode]
    if not chosen.fits(dynamics):
        raise ConfigError(
            f"mode '{mode}' is not available for {type(dynamics).__name__} "
            f"({choices(mode_names(dynamics))})"
        )
    return chosen.jacobians(dynamics, states, inputs, perturbations, workers)
