"""Figures 5 to 7 of contact_aware_control, and the numbers of its text, with several seeds.

Every registered controller is in the figures, and every registered contact estimator in that of
the rates: a stranger's beside ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from contact_aware_control.config import ControllerConfig
from contact_aware_control.controllers import CONTROLLERS
from contact_aware_control.estimation import ESTIMATORS, EstimatorConfig
from contact_core.base.figures import BLUE, GREEN, GREY, ORANGE, RED, add_legend, new_figure
from contact_core.base.results import look_up
from contact_core.base.sweep import Sweep
from contact_experiments.bench.contacts import measure_speed
from contact_experiments.bench.control_case import time_ticks
from contact_experiments.control.closed_loop import TRUTH
from contact_experiments.control.trial import PARTICLE_FILTER, Trial, compared, run_trial
from contact_experiments.papers.figure import spread
from contact_experiments.papers.pictures import FigureResult
from contact_stack.demo.contact_tracking.experiments import EXPERIMENTS
from contact_stack.demo.contact_tracking.run_figures import (
    draw_force,
    draw_range,
    draw_release,
    draw_tracking,
)
from contact_stack.demo.contact_tracking.variants import Variant

PLACEMENT, MOVING = "mug_placement", "mug_moving"
BOUNDED = "null_space_bounded"
"""The baseline of Fig. 7 with a bound on its step, which the paper's has not."""
MILLI = 1e3
QP_TICK = "QP,\na tick"

QUANTITIES: Mapping[str, tuple[str, float]] = {
    "force_p50_N": ("contact.force_post_impact_p50_N", 1.0),
    "force_p99_N": ("contact.force_post_impact_p99_N", 1.0),
    "force_peak_N": ("contact.force_peak_N", 1.0),
    "contacts": ("contact.segments", 1.0),
    "position_rms_mm": ("tracking.position_rms_contact_m", MILLI),
    "location_p50_mm": ("estimator.location_error_p50_m", MILLI),
    "right_link_share": ("estimator.link_correct_fraction", 1.0),
    "force_fall_s": ("release.force_fall_s", 1.0),
}
"""Number of a figure -> key of a trial's summary, and factor."""


@dataclass(frozen=True)
class Effort:
    """How much is run.

    Attributes:
        seeds: Number of seeds, from 0.
        until: When runs end, if that is before their own end [s].
        controllers: Names of the controllers; empty for all.
        estimators: Names of the contact estimators; empty for all.
        timed: Number of ticks and updates that are timed.
    """

    seeds: int = 5
    until: float = math.inf
    controllers: tuple[str, ...] = ()
    estimators: tuple[str, ...] = ()
    timed: int = 3000


FULL = Effort()
Trials = Mapping[str, Sequence[Trial]]
"""Name of what is compared -> its trials, one per seed."""


def figure_5(sweep: Sweep, effort: Effort = FULL) -> FigureResult:
    """Fig. 5: contact force while the mug is placed.

    Args:
        sweep: What runs the experiments.
        effort: How much is run.
    """
    trials = _controllers(sweep, PLACEMENT, tuple(CONTROLLERS), effort)
    figure = draw_force(_styled(trials), EXPERIMENTS[PLACEMENT].phases, _limit())
    return figure, _numbers(trials)


def figure_6(sweep: Sweep, effort: Effort = FULL) -> FigureResult:
    """Fig. 6: tracking error while the mug is placed, in the runs of Fig. 5.

    Args:
        sweep: What runs the experiments.
        effort: How much is run.
    """
    trials = _controllers(sweep, PLACEMENT, tuple(CONTROLLERS), effort)
    figure = draw_tracking(_styled(trials), EXPERIMENTS[PLACEMENT].phases)
    return figure, {
        **_numbers(trials),
        "qp_to_greedy": _ratio(trials, "position_rms_contact_m"),
        "qp_to_greedy_rotation": _ratio(trials, "rotation_rms_rad"),
    }


def figure_7(sweep: Sweep, effort: Effort = FULL) -> FigureResult:
    """Fig. 7: force and joint speed while the arm that moves the mug leaves the table.

    Args:
        sweep: What runs the experiments.
        effort: How much is run.
    """
    trials = _controllers(sweep, MOVING, (*CONTROLLERS, BOUNDED), effort)
    figure = draw_release(_styled(trials), _limit(), last=True)
    return figure, _numbers(trials)


def section_vi(sweep: Sweep, effort: Effort = FULL) -> FigureResult:
    """Sec. VI, in words: how fast controller and estimator are, and how well contacts are found.

    Args:
        sweep: What runs the experiments, and measures one after the other.
        effort: How much is run.
    """
    names = effort.estimators or tuple(ESTIMATORS)
    qp = compared()["qp"]
    trials = _trials(sweep, PLACEMENT, {name: (qp, name) for name in names}, effort)
    ticks = sweep.run(
        time_ticks, [(1, effort.timed)], "a tick of the QP, timed", one_at_a_time=True
    )  # fmt: skip
    particles = EstimatorConfig().particles.count
    timed = [name for name in names if name != TRUTH]
    updates = sweep.run(
        measure_speed, [(particles, effort.timed, name) for name in timed],
        "updates of the estimators, timed", one_at_a_time=True,
    )  # fmt: skip
    times = [(found["p50_ms"], found["p99_ms"]) for found in updates]
    durations = {QP_TICK: (1e-3 * ticks[0].p50_us, 1e-3 * ticks[0].p99_us)}
    durations |= dict(zip([f"{_label(name)},\nan update" for name in timed], times, strict=True))
    figure, ((seen, cost),) = new_figure(1, 2, (11.0, 4.2), width_ratios=(3, 2))
    _draw_location(seen, trials)
    add_legend(figure, seen)
    _draw_durations(cost, durations)
    config = ControllerConfig()
    return figure, {
        **_numbers(trials),
        "controller_rate_Hz": config.rate,
        "estimator_rate_Hz": config.rate,
        "contact_on_N": config.force.contact_on,
        "tick_ms": _timing(*durations[QP_TICK]),
        "update_ms": {name: _timing(*found) for name, found in zip(timed, times, strict=True)},
    }


def _controllers(
    sweep: Sweep, experiment: str, names: Sequence[str], effort: Effort
) -> dict[str, list[Trial]]:
    """Run an experiment with controllers, the particle filter in the loop."""
    variants = compared()
    chosen = {name: (variants[name], PARTICLE_FILTER) for name in effort.controllers or names}
    return _trials(sweep, experiment, chosen, effort)


def _trials(
    sweep: Sweep, experiment: str, chosen: Mapping[str, tuple[Variant, str]], effort: Effort
) -> dict[str, list[Trial]]:
    """Run an experiment with each variant and estimator; leave out who cannot do the task."""
    tasks = [
        (experiment, dict(variant.values), estimator, seed, effort.until)
        for variant, estimator in chosen.values()
        for seed in range(effort.seeds)
    ]
    found = iter(sweep.run(run_trial, tasks, experiment.replace("_", " ")))
    runs = {name: [next(found) for _ in range(effort.seeds)] for name in chosen}
    able = {name: [run for run in of_name if run is not None] for name, of_name in runs.items()}
    return {name: of_name for name, of_name in able.items() if of_name}


def _styled(trials: Trials) -> dict[str, tuple[Sequence[Trial], dict[str, Any]]]:
    variants = compared()
    return {name: (runs, variants[name].style) for name, runs in trials.items()}


def _numbers(trials: Trials) -> dict[str, Any]:
    """Return the limit, and per name a :func:`spread` over the seeds of each quantity.

    ``mug_on_cart`` is a share of the seeds, None where there is no cart.
    """
    others: Mapping[str, Callable[[Trial], float | None]] = {
        "position_peak_mm": lambda run: _times(MILLI, run.peak_error),
        "separation_speed_rad_s": lambda run: run.separation_speed,
        "separation_acceleration_rad_s2": lambda run: run.separation_acceleration,
    }
    numbers: dict[str, Any] = {"force_limit_N": _limit()}
    for name, runs in trials.items():
        numbers[name] = {
            quantity: _spread([_times(factor, look_up(run.summary, key)) for run in runs])
            for quantity, (key, factor) in QUANTITIES.items()
        }
        numbers[name] |= {
            key: _spread([value(run) for run in runs]) for key, value in others.items()
        }
        placed = [run.summary["mug"]["on_cart"] for run in runs]
        numbers[name]["mug_on_cart"] = None if None in placed else float(np.mean(placed))
    return numbers


def _ratio(trials: Trials, error: str) -> dict[str, float] | None:
    """Return a :func:`spread` of the QP's tracking error relative to the greedy one's, by seed."""
    if not {"qp", "greedy"} <= set(trials):
        return None
    pairs = [
        [run.summary["tracking"][error] for run in both]
        for both in zip(trials["qp"], trials["greedy"], strict=True)
    ]
    return _spread([None if None in pair else pair[0] / pair[1] for pair in pairs])


def _times(factor: float, value: float | None) -> float | None:
    return None if value is None else factor * value


def _spread(values: Sequence[float | None]) -> dict[str, float] | None:
    """Sum up what there is; None if no seed has a value."""
    known = [value for value in values if value is not None]
    return spread(known) if known else None


def _timing(median: float, high: float) -> dict[str, float]:
    return {"p50": median, "p99": high, "possible_Hz": 1e3 / high}


def _limit() -> float:
    return ControllerConfig().force.limit


def _label(name: str) -> str:
    return name.replace("_", " ")


def _draw_location(axes: Axes, trials: Trials) -> None:
    """Draw how far estimates are from the true contact."""
    colors = cycle((BLUE, GREY, RED, GREEN, ORANGE))
    for (name, runs), color in zip(trials.items(), colors, strict=False):
        errors = [
            MILLI * np.where(np.isinf(r.location_error), np.nan, r.location_error) for r in runs
        ]
        draw_range(axes, runs[0].time, errors, {"color": color, "lw": 1.2, "label": _label(name)})
    axes.set_yscale("symlog", linthresh=1.0)
    axes.set_ylim(bottom=-0.1)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("time [s]")
    axes.set_ylabel("distance from the true contact [mm]")


def _draw_durations(axes: Axes, durations: Mapping[str, tuple[float, float]]) -> None:
    """Draw median and 99th percentile of each duration [ms], beside the periods of the paper."""
    for row, (median, high) in enumerate(durations.values()):
        axes.plot([median, high], [row, row], color=BLUE, lw=1)
        axes.plot(median, row, "o", color=BLUE)
        axes.plot(high, row, "s", color=BLUE)
    for rate, side in ((200, "right"), (100, "left")):
        axes.axvline(1e3 / rate, color=GREY, ls="--", lw=1)
        axes.text(
            1e3 / rate, 1.01, f"{rate} Hz", transform=axes.get_xaxis_transform(),
            ha=side, va="bottom", color=GREY, fontsize=9,
        )  # fmt: skip
    axes.set_yticks(range(len(durations)), list(durations))
    axes.set_ylim(len(durations) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.set_xlim(0.05, 30.0)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("time [ms]: median (disc), 99 % (square)")
