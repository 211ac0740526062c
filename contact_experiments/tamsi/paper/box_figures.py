"""Fig. 4 and 5 of the TAMSI paper: Newton's method and its line search with the sliding box.

Fig. 4 shows the residuals at the first transition from sliding to stiction, Fig. 5 what the
precision of implicit Euler's variants costs.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from contact_core.base.figures import GREY, OTHERS, new_figure
from contact_core.base.sweep import Sweep
from contact_experiments.papers.pictures import FigureResult
from contact_experiments.tamsi.cases import StickSlipBox
from contact_experiments.tamsi.integrators.integrator import (
    PUBLISHED,
    SCHEMES,
    IntegratorConfig,
    make_integrator,
    own_schemes,
)
from contact_experiments.tamsi.paper.speed import scheme_style
from tamsi_sim.arrays.status import StepStatus

# Fig. 4: an iteration that cycles is shown, not given up.
PATIENT = IntegratorConfig(max_iterations=10, max_rate=1e3, min_step=1e-2)

WINDOW = 25e-3  # Delta_w [s]
DURATION = 1.0  # one period of the force [s]
REFERENCE_STEP = 1e-7  # [s]
STEPS_PER_WINDOW = tuple(2**k for k in range(13))
ACCURACIES = tuple(10.0 ** (-0.5 * k) for k in range(2, 15))
INTEGRATORS = tuple(name for name in PUBLISHED if name.startswith("ie_"))
STICTION_VELOCITY = 1e-4  # [m/s]


@dataclass(frozen=True)
class ResidualHistory:
    """Newton's method in one step.

    Attributes:
        time: Start of the step [s].
        residuals: |r| of each iteration [Ns].
        converged: Whether the step succeeded.
    """

    time: float
    residuals: np.ndarray
    converged: bool


def residual_history(integrator: str, case: StickSlipBox | None = None) -> ResidualHistory:
    """Step up to the first transition into stiction, and record Newton's residuals there.

    Args:
        integrator: Name of an implicit Euler.
        case: The box, by default with the paper's step of 10 ms.

    Returns:
        The history of the step that starts in sliding and ends, or fails to end, in stiction.
    """
    case = case or StickSlipBox()
    engine = case.engine()
    moved = make_integrator(integrator, engine, case.excitation(), PATIENT)
    stiction = case.solver.stiction_velocity
    while True:
        time, slip = moved.time, abs(float(engine.v[0]))
        converged = moved.step() == 0
        if not converged or (slip > stiction and abs(engine.v[0]) < stiction):
            return ResidualHistory(time, moved.residuals, converged)


def plot_residuals(histories: Mapping[str, ResidualHistory]) -> Figure:
    """Plot Newton's residuals at the first transition into stiction (Fig. 4).

    Args:
        histories: Integrator -> its history.
    """
    figure, grid = new_figure(len(histories), 1, (6.0, 5.0))
    for axes, (name, history) in zip(grid.flat, histories.items(), strict=True):
        outcome = "converges" if history.converged else "does not converge"
        iterations = np.arange(len(history.residuals))
        axes.semilogy(iterations, history.residuals, marker="o", **scheme_style(name))
        axes.set_title(f"{SCHEMES[name].title} at t = {history.time:.3f} s: {outcome}")
        axes.set_xlabel("Newton iteration k")
        axes.set_ylabel("residual |r| [Ns]")
        axes.set_xticks(np.arange(10))
        axes.set_xlim(-0.4, 9.4)
        axes.set_ylim(1e-16, 1.0)
    return figure


def figure_4(sweep: Sweep) -> FigureResult:
    """Fig. 4: Newton's residuals at the box's first transition into stiction."""
    names = "ie_fn", "ie_fn_tals"
    found = sweep.run(residual_history, [(name,) for name in names], "figure 4")
    histories = dict(zip(names, found, strict=True))
    numbers = {
        name: {
            "time_s": history.time,
            "residuals": history.residuals.tolist(),
            "first_residuals": ", ".join(f"{r:.3e}" for r in history.residuals[:4]),
            "converged": history.converged,
        }
        for name, history in histories.items()
    }
    return plot_residuals(histories), numbers


@dataclass(frozen=True)
class WorkPrecisionPoint:
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
) -> WorkPrecisionPoint:
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
    return WorkPrecisionPoint(
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


def cost_at(points: list[WorkPrecisionPoint], error: float) -> float:
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


def gain(
    without: list[WorkPrecisionPoint], with_tals: list[WorkPrecisionPoint]
) -> tuple[float, float]:
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


def first_order_range(points: list[WorkPrecisionPoint]) -> float:
    """Return up to which error an integrator's work falls as that of a first-order method does.

    Args:
        points: Its points.

    Returns:
        The largest error [m/s] up to which work times error stays below twice its median at errors
        below v_s.
    """
    curve = sorted((p.error, p.error * p.evaluations) for p in points if p.finished)
    level = 2.0 * np.median([product for error, product in curve if error <= STICTION_VELOCITY])
    kept = itertools.takewhile(lambda point: point[1] <= level, curve)
    return max(error for error, _ in kept)


def plot_work_precision(points: Sequence[WorkPrecisionPoint]) -> Figure:
    """Plot work against precision (Fig. 5).

    Args:
        points: Of any integrators.
    """
    figure, ((axes,),) = new_figure(1, 1, (7.0, 5.5))
    for name in INTEGRATORS:
        curve = sorted(
            (p.error, p.evaluations) for p in points if p.integrator == name and p.finished
        )
        if curve:
            axes.loglog(
                *np.transpose(curve), **scheme_style(name), markersize=4,
                marker="o" if SCHEMES[name].line_search else "x", label=SCHEMES[name].title,
            )  # fmt: skip
    for name, color in zip(own_schemes(), itertools.cycle(OTHERS)):
        curve = sorted(
            (p.error, p.evaluations) for p in points if p.integrator == name and p.finished
        )
        axes.loglog(*np.transpose(curve), "D-", color=color, label=SCHEMES[name].title)
    axes.axvline(STICTION_VELOCITY, color=GREY, linewidth=1.0)
    axes.annotate(
        " $v_s$", (STICTION_VELOCITY, 0.98), xycoords=axes.get_xaxis_transform(), va="top"
    )
    low, high = 2e-5, 5e-3
    axes.loglog(
        [low, high], [3.0 / low, 3.0 / high], color=GREY, linestyle=":", label="first order"
    )
    axes.set_xlabel("localised velocity error $e_v$ [m/s]")
    axes.set_ylabel("evaluations of f(t, x)")
    axes.legend(fontsize="small", ncols=2)
    return figure


def figure_5(sweep: Sweep) -> FigureResult:
    """Fig. 5: work against precision of implicit Euler's variants, with the box."""
    names = (*INTEGRATORS, *own_schemes())
    runs = [(name, setting) for name in names for setting in settings(name)]
    points = sweep.run(measure, runs, "figure 5")
    gains = {}
    for name in ("ie_fn", "ie_fn_ec", "ie_qn", "ie_qn_ec"):
        curves = [[p for p in points if p.integrator == n] for n in (name, f"{name}_tals")]
        ratio, error = gain(*curves)
        plain, limited = (first_order_range(points) for points in curves)
        gains[name] = {"ratio": ratio, "error_m_per_s": error, "range": limited / plain}
    return plot_work_precision(points), {
        "gain": gains,
        "points": [dataclasses.asdict(item) for item in points],
    }
