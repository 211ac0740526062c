"""The figures of the TAMSI paper: each function runs a study, plots it and sums it up."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from matplotlib.figure import Figure
from tqdm import tqdm

from contact_experiments.tamsi.allegro.figure import figure_9 as draw_figure_9
from contact_experiments.tamsi.allegro.hand import AllegroHand
from contact_experiments.tamsi.allegro.reorientation import turn_mug
from contact_experiments.tamsi.paper import (
    allegro_speed,
    gripper_convergence,
    gripper_robustness,
    gripper_speed,
    integrator_speed,
    moving_configuration,
    plots,
    work_precision,
)
from contact_experiments.tamsi.paper.residual_history import residual_history

Item = TypeVar("Item")
Result = tuple[Figure, dict[str, Any]]


def figure_4() -> Result:
    """Newton's residuals at the box's first transition into stiction."""
    histories = {name: residual_history(name) for name in ("ie_fn", "ie_fn_tals")}
    numbers = {
        name: {
            "time_s": history.time,
            "residuals": history.residuals.tolist(),
            "converged": history.converged,
        }
        for name, history in histories.items()
    }
    summary = {
        name: ", ".join(f"{residual:.3e}" for residual in history.residuals[:4])
        for name, history in histories.items()
    }
    return plots.residual_histories(histories), {"summary": summary, **numbers}


def figure_5() -> Result:
    """Work against precision of implicit Euler's variants, with the box."""
    total = sum(len(work_precision.settings(name)) for name in work_precision.INTEGRATORS)
    points = list(_progress(work_precision.sweep(), "figure 5", total))
    summary = {}
    for name in ("ie_fn", "ie_fn_ec", "ie_qn", "ie_qn_ec"):
        curves = [[p for p in points if p.integrator == n] for n in (name, f"{name}_tals")]
        ratio, error = work_precision.gain(*curves)
        summary[name] = f"TALS saves work up to {ratio:.1f}x, at an error of {error:.1e} m/s"
    return plots.work_precision(points), {"summary": summary, "points": _plain(points)}


def figure_6() -> Result:
    """The shaken gripper with all steps and stiffnesses."""
    total = (
        len(gripper_robustness.INTEGRATORS)
        * len(gripper_robustness.STEPS)
        * len(gripper_robustness.STIFFNESSES)
    )
    trials = list(_progress(gripper_robustness.trials(), "figure 6", total))
    summary = {}
    for name in gripper_robustness.INTEGRATORS:
        own = [trial for trial in trials if trial.integrator == name]
        failed, held = sum(trial.failed for trial in own), sum(trial.held for trial in own)
        summary[name] = f"{held} of {len(own)} runs hold the mug, {failed} with a failed step"
    return plots.robustness(trials), {"summary": summary, "trials": _plain(trials)}


def figure_7() -> Result:
    """CPU time of TAMSI and of implicit Euler with the shaken gripper."""
    runs, summary, numbers = {}, {}, {}
    for gripper, case in gripper_speed.GRIPPERS.items():
        rounds = list(
            _progress(
                integrator_speed.interleaved_rounds(
                    gripper_speed.INTEGRATORS, case, gripper_speed.DURATION
                ),
                f"figure 7, {gripper} pads",
                integrator_speed.ROUNDS,
            )
        )
        runs[gripper] = integrator_speed.median_round(rounds)
        ratios = integrator_speed.ratios(rounds)
        rate = gripper_speed.DURATION / float(runs[gripper][0].cpu[-1])
        numbers[gripper] = {"ratios": ratios, "tamsi_real_time_rate": rate}
        summary[f"{gripper} pads, TAMSI"] = f"{rate:.0f}x real time"
        for name in gripper_speed.INTEGRATORS[1:]:
            summary[f"{gripper} pads, {name}"] = _times_tamsi(ratios[name])
    return plots.speed(runs), {"summary": summary, **numbers}


def figure_8() -> Result:
    """Velocity errors of TAMSI against the time step."""
    studies, summary, numbers = {}, {}, {}
    for gripper, case in gripper_speed.GRIPPERS.items():
        reference = gripper_convergence.velocities(
            case,
            gripper_convergence.REFERENCE_STEP,
            progress=lambda samples: _progress(samples, "figure 8, reference", len(samples)),
        )
        study = gripper_convergence.convergence(case, reference)
        studies[gripper] = study
        translation, rotation = study.slopes()
        summary[f"{gripper} pads"] = (
            f"slope {translation:.3f} of translations, {rotation:.3f} of rotations"
        )
        numbers[gripper] = {
            "steps_s": study.steps.tolist(),
            "translation": study.translation.tolist(),
            "rotation": study.rotation.tolist(),
            "slopes": [translation, rotation],
        }
    return plots.convergence(studies), {"summary": summary, **numbers}


def figure_9() -> Result:
    """The Allegro hand that turns a mug, and what that costs."""
    duration = allegro_speed.DURATION
    turned = turn_mug(AllegroHand(), duration)
    costs, ratios = {}, {}
    for h in allegro_speed.STEPS:
        rounds = list(
            _progress(
                integrator_speed.interleaved_rounds(
                    allegro_speed.INTEGRATORS,
                    AllegroHand(time_step=h),
                    duration,
                    allegro_speed.LOOSE,
                ),
                f"figure 9, {1e3 * h:g} ms",
                integrator_speed.ROUNDS,
            )
        )
        costs[h] = integrator_speed.median_round(rounds)
        ratios[h] = integrator_speed.ratios(rounds)
    rate = duration / float(costs[allegro_speed.STEPS[0]][0].cpu[-1])
    swings = np.rad2deg(turned.swings())
    held = turned.time > 0.5 * turned.period
    fingers = int(turned.fingers[held].min())
    summary = {
        "swing of the mug in a period": f"{swings.min():.0f} to {swings.max():.0f} deg",
        "fingers in contact": f"{fingers} or more",
        "TAMSI": f"{rate:.0f}x real time",
    }
    for h, found in ratios.items():
        tamsi, *others = costs[h]
        for run in others:
            work = run.effort.evaluations / tamsi.effort.evaluations
            summary[f"{run.integrator}, steps up to {1e3 * h:g} ms"] = (
                f"{_times_tamsi(found[run.integrator])}, {work:.1f}x its evaluations of f"
            )
    numbers = {
        "swings_deg": swings.tolist(),
        "fingers": fingers,
        "accuracy": allegro_speed.LOOSE.accuracy,
        "ratios": {f"{h:g}": found for h, found in ratios.items()},
        "tamsi_real_time_rate": rate,
        "efforts": {
            f"{h:g}": {run.integrator: dataclasses.asdict(run.effort) for run in runs}
            for h, runs in costs.items()
        },
    }
    return draw_figure_9(turned, costs), {"summary": summary, **numbers}


def section_iv_b() -> Result:
    """What TALS gives implicit Euler when the contacts' tangent spaces turn."""
    total = len(moving_configuration.SCENES) * len(moving_configuration.STEPS)
    comparisons = list(_progress(moving_configuration.comparisons(), "section IV-B", total))
    summary = {}
    for scene in moving_configuration.SCENES:
        own = [c for c in comparisons if c.scene == scene]
        landings = sum(c.with_tals.landings for c in own)
        missed = sum(c.with_tals.missed for c in own)
        gains = [c.gain for c in own]
        summary[scene] = (
            f"{missed} of {landings} landings missed stiction; without TALS "
            f"{min(gains):.1f} to {max(gains):.1f} times the evaluations"
        )
    numbers = [
        {**dataclasses.asdict(c), "gain": c.gain, "missed": c.with_tals.missed} for c in comparisons
    ]
    return plots.moving_configuration(comparisons), {"summary": summary, "comparisons": numbers}


FIGURES: dict[str, Callable[[], Result]] = {
    "4": figure_4,
    "5": figure_5,
    "6": figure_6,
    "7": figure_7,
    "8": figure_8,
    "9": figure_9,
    "IV-B": section_iv_b,
}


def _progress(items: Iterable[Item], what: str, total: int) -> Iterator[Item]:
    yield from tqdm(items, desc=what, total=total)


def _times_tamsi(ratio: tuple[float, float, float]) -> str:
    median, low, high = ratio
    return f"{median:.1f}x the time of TAMSI ({low:.1f} to {high:.1f})"


def _plain(items: Iterable[Any]) -> list[dict[str, Any]]:
    return [dataclasses.asdict(item) for item in items]
