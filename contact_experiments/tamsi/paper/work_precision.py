"""tamsi Fig. 5: what implicit Euler's precision costs, with the box of Sec. IV-A."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from contact_experiments.tamsi.integrators.config import IntegratorConfig
from contact_experiments.tamsi.integrators.registry import SCHEMES, make_integrator
from contact_experiments.tamsi.paper.stick_slip_box import StickSlipBox
from tamsi_sim.arrays.status import StepStatus

WINDOW = 25e-3  # Delta_w [s]
DURATION = 1.0  # one period of the force [s]
REFERENCE_STEP = 1e-7  # [s]
STEPS_PER_WINDOW = tuple(2**k for k in range(13))
ACCURACIES = tuple(10.0 ** (-0.5 * k) for k in range(2, 15))
INTEGRATORS = tuple(name for name in SCHEMES if name.startswith("ie_"))


@dataclass(frozen=True)
class Point:
    """One run of one integrator.

    Attributes:
        integrator: Its name.
        setting: h [s], or the accuracy a [m/s] with error control.
        error: e_v, localised error of the velocity, root mean square over the windows [m/s].
        evaluations: Evaluations of f(t, x).
        factorizations: Matrices factorised.
        retries: Steps that Newton's method did not solve.
        finished: Whether it reached the end.
    """

    integrator: str
    setting: float
    error: float
    evaluations: int
    factorizations: int
    retries: int
    finished: bool


def settings(integrator: str) -> tuple[float, ...]:
    """Return the steps [s] or accuracies [m/s] that make an integrator's curve."""
    if SCHEMES[integrator].error_control:
        return ACCURACIES
    return tuple(WINDOW / n for n in STEPS_PER_WINDOW)


def measure(
    integrator: str,
    setting: float,
    reference_step: float = REFERENCE_STEP,
    duration: float = DURATION,
    case: StickSlipBox | None = None,
) -> Point:
    """Run one integrator once.

    Args:
        integrator: Its name.
        setting: h [s], or the accuracy a [m/s] with error control.
        reference_step: Step of the reference solution [s].
        duration: Simulated time [s].
        case: The box; its step is replaced.

    Returns:
        Error and cost.
    """
    case, config, per_window = case or StickSlipBox(), IntegratorConfig(), 1
    if SCHEMES[integrator].error_control:
        case = dataclasses.replace(case, time_step=WINDOW)
        config = dataclasses.replace(config, accuracy=setting)
    else:
        per_window = round(WINDOW / setting)
        case = dataclasses.replace(case, time_step=WINDOW / per_window)
    moved = make_integrator(integrator, case.engine(), case.excitation(), config)
    status, _, velocities = moved.roll(round(duration / WINDOW), per_window)
    effort = moved.effort
    return Point(
        integrator=integrator,
        setting=setting,
        error=localized_error(case, velocities[:, 0], reference_step),
        evaluations=effort.evaluations,
        factorizations=effort.factorizations,
        retries=effort.retries,
        finished=status == StepStatus.OK,
    )


def localized_error(case: StickSlipBox, velocities: np.ndarray, reference_step: float) -> float:
    """Compare each window with the exact flow from the solution's own state at its start.

    Args:
        case: The box.
        velocities: (n + 1) solution at the windows' ends [m/s].
        reference_step: Step of the reference solution [s].

    Returns:
        e_v, root mean square over the n windows [m/s].
    """
    reference = [
        case.reference(v, m * WINDOW, WINDOW, reference_step) for m, v in enumerate(velocities[:-1])
    ]
    return float(np.sqrt(np.mean((velocities[1:] - reference) ** 2)))


def sweep(integrators: tuple[str, ...] = INTEGRATORS) -> Iterator[Point]:
    """Run every integrator with every setting.

    Args:
        integrators: Their names.

    Yields:
        One point after the other.
    """
    for name in integrators:
        for setting in settings(name):
            yield measure(name, setting)


def cost_at(points: list[Point], error: float) -> float:
    """Return the least work of an integrator that reaches an error, infinite if none does.

    Args:
        points: Its points.
        error: [m/s].

    Returns:
        Evaluations of f, interpolated between neighbouring points on logarithmic axes.
    """
    curve = sorted((p.error, p.evaluations) for p in points if p.finished)
    costs = [float(work) for e, work in curve if e <= error]
    for (e0, w0), (e1, w1) in itertools.pairwise(curve):
        if e0 < error < e1:
            share = np.log(error / e0) / np.log(e1 / e0)
            costs.append(float(np.exp((1.0 - share) * np.log(w0) + share * np.log(w1))))
    return min(costs, default=np.inf)


def gain(without: list[Point], with_tals: list[Point]) -> tuple[float, float]:
    """Return how much work TALS saves at best, at equal error.

    Args:
        without: Points of an integrator without TALS.
        with_tals: Those of the same one with TALS.

    Returns:
        The largest ratio of work, and the error at which it is saved [m/s].
    """
    low = max(min(p.error for p in points) for points in (without, with_tals))
    high = max(p.error for points in (without, with_tals) for p in points)
    errors = np.geomspace(low, high, 200)
    ratios = [cost_at(without, e) / cost_at(with_tals, e) for e in errors]
    best = int(np.argmax(ratios))
    return float(ratios[best]), float(errors[best])
