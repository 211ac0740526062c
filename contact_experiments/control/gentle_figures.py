"""Figures beyond the paper contact_aware_control: arms not as described, and things that move.

The same plants for the QP and for the baselines. What an arm may be wrong in is
:data:`contact_experiments.control.wrong_arm.FAULTS`; arms, motions and noise differ from seed to
seed, and a calibration has another seed than what it is used for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from contact_aware_control.config import ControllerConfig
from contact_aware_control.estimation import EstimatorConfig
from contact_aware_control.estimation.config import ErrorsConfig
from contact_core.base.figures import BLUE, GREY, add_legend, draw_limit, new_figure
from contact_core.base.sweep import Sweep
from contact_experiments.control.closed_loop import ClosedLoopRun
from contact_experiments.control.moving_ball import (
    BACKWARD,
    DOWNWARD,
    FORWARD,
    SIDEWAYS,
    BallPush,
    BallRun,
    PushFigures,
    Stay,
)
from contact_experiments.control.trial import compared, controller_config
from contact_experiments.control.wrong_arm import FAULTS, calibrate, run_touched, wrong_arm_figures
from contact_experiments.papers.figure import spread
from contact_experiments.papers.pictures import FigureResult
from contact_stack.demo.contact_tracking.experiments import EXPERIMENTS
from contact_stack.demo.contact_tracking.statistics import rms
from contact_stack.demo.contact_tracking.variants import VARIANTS, Variant

PLACEMENT = "mug_placement"
AS_DESCRIBED = "as described"
BASELINES = ("impedance", "greedy")
LINKS = tuple(f"lbr_link_{i}" for i in range(2, 8))
DIRECTIONS = (FORWARD, BACKWARD, SIDEWAYS, DOWNWARD)
SPEEDS = (0.05, 0.1, 0.25, 0.5)
"""Of the ball [m/s]."""
AFTERWARDS = 5.0
"""How long an arm is watched after the ball has gone [s]."""
ALLOWED_PEAK, ALLOWED_P50, ALLOWED_P99 = 1.2, 1.3, 2.0
"""Times the impact, to which the limit is added; times the limit; times the limit."""
SPREAD = {
    "p50_N": "p50",
    "p99_N": "p99",
    "peak_N": "peak",
    "second_peak_N": "second_peak",
    "return_m_s": "return_speed",
}
"""Number of the figure -> field of PushFigures."""
LEFT = 0.3
"""Estimates may linger so long after a contact [s]."""


@dataclass(frozen=True)
class GentleEffort:
    """How much is run.

    Attributes:
        seeds: Arms of each kind.
        arms: Kinds of arms.
        links: That the ball pushes.
        directions: In which it does.
        speeds: At which it does [m/s].
    """

    seeds: int = 3
    arms: tuple[str, ...] = tuple(FAULTS)
    links: tuple[str, ...] = LINKS
    directions: tuple[tuple[float, float, float], ...] = DIRECTIONS
    speeds: tuple[float, ...] = SPEEDS


FULL = GentleEffort()


@dataclass(frozen=True)
class Press:
    """What came of a mug placement with an arm that is not as described.

    Attributes:
        p50: Median contact force after impacts [N].
        p99: Its 99th percentile.
        free_error: Of the tool in free space, rms [mm].
        phantoms: Share of ticks in free space with a contact.
        on_cart: Whether the mug stands on the cart.
    """

    p50: float
    p99: float
    free_error: float
    phantoms: float
    on_cart: bool


def wrong_arms(sweep: Sweep, effort: GentleEffort = FULL) -> FigureResult:
    """Contact force and free motion of the mug placement with arms that are not as described.

    Args:
        sweep: What runs the experiments.
        effort: How much is run.
    """
    kinds = _kinds()
    tasks = [
        (arm, seed, calibrated, dict(variant.values))
        for variant, calibrated in kinds.values()
        for arm in effort.arms
        for seed in range(effort.seeds)
    ]
    found = iter(sweep.run(press, tasks, "mug placements with wrong arms"))
    runs = {
        kind: {arm: [next(found) for _ in range(effort.seeds)] for arm in effort.arms}
        for kind in kinds
    }
    figure, ((force, error),) = new_figure(1, 2, (11.0, 4.6), sharey=True, width_ratios=(3, 2))
    for row, (kind, by_arm) in enumerate(runs.items()):
        variant, calibrated = kinds[kind]
        style: dict[str, Any] = {
            "color": variant.color,
            "fill": calibrated or variant.baseline,
            "label": _label(variant, calibrated),
        }
        at = np.arange(len(effort.arms)) + 0.18 * (row - 0.5 * (len(runs) - 1))
        for quantity, marker in (("p50", "o"), ("p99", "s")):
            _draw(force, at, by_arm, quantity, marker, **style)
        _draw(error, at, by_arm, "free_error", "o", **style)
    limit = ControllerConfig().force.limit
    force.axvline(limit, color=GREY, ls="--", lw=1)
    force.set_xscale("log")
    force.set_xticks([10, 15, 20, 30, 50, 100], ["10", "15", "20", "30", "50", "100"], minor=False)
    force.xaxis.minorticks_off()
    force.set_xlabel("contact force [N]: median (disc), 99 % (square)")
    error.set_xlabel("error of the tool in free space, rms [mm]")
    error.set_xlim(left=0.0)
    force.set_yticks(range(len(effort.arms)), effort.arms)
    force.set_ylim(len(effort.arms) - 0.5, -0.5)
    add_legend(figure, error, columns=4)
    return figure, {
        kind: {
            arm: {
                field.name: spread([float(getattr(run, field.name)) for run in of_arm])
                for field in dataclasses.fields(Press)
            }
            for arm, of_arm in by_arm.items()
        }
        for kind, by_arm in runs.items()
    }


def touches(sweep: Sweep, effort: GentleEffort = FULL) -> FigureResult:
    """What the estimator feels while arms move that are not as described.

    Args:
        sweep: What runs the experiments.
        effort: How much is run.
    """
    kinds = {"calibrated": True, "uncalibrated": False}
    tasks = [
        (FAULTS[arm], seed, calibrated)
        for calibrated in kinds.values()
        for arm in effort.arms
        for seed in range(effort.seeds)
    ]
    found = iter(sweep.run(run_touched, tasks, "touches of wrong arms"))
    numbers = {
        kind: {
            arm: wrong_arm_figures([next(found) for _ in range(effort.seeds)])
            for arm in effort.arms
        }
        for kind in kinds
    }
    shown = {
        "phantoms": "contacts in free motion [%]",
        "located": "felt within 0.15 s, and located [%]",
        "misleading": "located, but 10 cm off [%]",
    }
    figure, (panels,) = new_figure(1, len(shown), (11.0, 3.8), sharey=True)
    for axes, (quantity, title) in zip(panels, shown.items(), strict=True):
        for row, (kind, by_arm) in enumerate(numbers.items()):
            at = np.arange(len(effort.arms)) + 0.3 * (row - 0.5)
            shares = [100.0 * figures[quantity] for figures in by_arm.values()]
            color = BLUE if kinds[kind] else GREY
            axes.barh(at, shares, 0.28, color=color, label=kind)
        axes.set_xlabel(title)
        axes.set_xlim(0.0, 100.0)
    panels[0].set_yticks(range(len(effort.arms)), effort.arms)
    panels[0].set_ylim(len(effort.arms) - 0.5, -0.5)
    add_legend(figure, panels[0])
    return figure, numbers


def moving_ball(sweep: Sweep, effort: GentleEffort = FULL) -> FigureResult:
    """Forces of a ball that pushes the resting arm, and does not give way.

    Args:
        sweep: What runs the experiments.
        effort: How much is run.
    """
    chosen = {name: compared()[name] for name in ("qp", "impedance", *_strangers())}
    tasks = [
        (dict(variant.values), link, direction, speed)
        for variant in chosen.values()
        for speed in effort.speeds
        for link in effort.links
        for direction in effort.directions
    ]
    found = iter(sweep.run(push, tasks, "pushes"))
    per_speed = len(effort.links) * len(effort.directions)
    runs = {
        name: {speed: [next(found) for _ in range(per_speed)] for speed in effort.speeds}
        for name in chosen
    }
    limit = ControllerConfig().force.limit
    figure, ((settled, peak),) = new_figure(1, 2, (11.0, 4.6))
    for side, (name, by_speed) in enumerate(runs.items()):
        for column, (speed, pushes) in enumerate(by_speed.items()):
            at = column + 0.4 * (side - 0.5) + np.linspace(-0.12, 0.12, len(pushes))
            able = np.array([run.yield_speed > speed for run in pushes], dtype=bool)
            p99 = np.array([run.p99 for run in pushes])
            share = np.array([run.peak / _allowed(run, limit) for run in pushes])
            label = chosen[name].label if column == 0 else None
            _scatter(settled, at, np.maximum(p99, 1.0), able, chosen[name].color, label)
            _scatter(peak, at, share, able, chosen[name].color, label)
    for axes in (settled, peak):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")
        axes.set_xlim(-0.5, len(effort.speeds) - 0.5)
        axes.set_xticks(range(len(effort.speeds)), [name_of(speed) for speed in effort.speeds])
        axes.set_xlabel("speed of the ball; rings: the link cannot yield so fast")
    settled.set_ylabel("force from 0.3 s on, 99 % [N]")
    peak.set_ylabel("largest force over what is allowed")
    draw_limit(settled, ALLOWED_P99 * limit, "twice the limit")
    draw_limit(peak, 1.0)
    add_legend(figure, settled)
    return figure, {
        name: {
            name_of(speed): _push_numbers(pushes, speed, limit)
            for speed, pushes in by_speed.items()
        }
        for name, by_speed in runs.items()
    }


def name_of(speed: float) -> str:
    """Return what a speed [m/s] is called."""
    return f"{100.0 * speed:g} cm/s"


def press(arm: str, seed: int, calibrated: bool, values: Mapping[str, Any]) -> Press:
    """Place a mug with an arm that is not as described.

    Args:
        arm: Its kind, in FAULTS.
        seed: Of the arm, of noise and particles.
        calibrated: Whether the estimator knows the arm from a calibration.
        values: Dotted name of a parameter of the controller -> its value.
    """
    faults, experiment = FAULTS[arm], EXPERIMENTS[PLACEMENT]()
    scene = faults.scene(experiment.scene, seed)
    drift = faults.drifts(len(scene.robot.arm_joints), seed)
    with TemporaryDirectory() as folder:
        known = ErrorsConfig()
        if calibrated:
            file = Path(folder) / "calibration.json"
            calibration, joints = calibrate(faults, "free_space", seed)
            calibration.write(file, joints)
            known = ErrorsConfig(calibration=str(file))
        run = ClosedLoopRun(
            controller_config(values),
            experiment,
            seed=seed,
            scene=scene,
            estimator=EstimatorConfig(errors=known),
            calibrated=False,
            signal=lambda time: time * drift,
        )
    data = run.run()
    summary = run.summary(data)
    touched = data.force > 0.0
    lately = round(LEFT / data.period)
    free = ~np.convolve(touched, np.ones(lately + 1), "full")[: len(touched)].astype(bool)
    felt = np.array([bool(estimates) for estimates in data.estimates])
    error = rms(data.position_error[free])
    contact = summary["contact"]
    return Press(
        p50=contact["force_post_impact_p50_N"] or 0.0,
        p99=contact["force_post_impact_p99_N"] or 0.0,
        free_error=1e3 * (np.nan if error is None else error),
        phantoms=float(felt[free].mean()),
        on_cart=bool(summary["mug"]["on_cart"]),
    )


def push(
    values: Mapping[str, Any],
    link: str,
    direction: tuple[float, float, float],
    speed: float,
    seed: int = 1,
) -> PushFigures:
    """Push a link of an arm that is to stay where it is.

    Args:
        values: Dotted name of a parameter of the controller -> its value.
        link: The link.
        direction: (3) of the ball, world frame.
        speed: Of the ball [m/s].
        seed: Of noise and particles.
    """
    ball = BallPush(link, direction, speed)
    run = BallRun(ball, Stay(), controller_config(values), seed=seed)
    _, figures = run.execute(ball.duration + AFTERWARDS)
    return figures


def _kinds() -> dict[str, tuple[Variant, bool]]:
    """Return what places the mug: a controller, and whether its estimator is calibrated."""
    variants = compared()
    return {
        "qp": (variants["qp"], True),
        "qp_uncalibrated": (variants["qp"], False),
        **{name: (variants[name], False) for name in (*BASELINES, *_strangers())},
    }


def _strangers() -> list[str]:
    """Return the controllers that somebody else has registered."""
    return [name for name in compared() if name not in VARIANTS]


def _label(variant: Variant, calibrated: bool) -> str:
    if variant.baseline:
        return variant.label
    return f"{variant.label}, {'calibrated' if calibrated else 'not calibrated'}"


def _draw(
    axes: Axes,
    at: np.ndarray,
    by_arm: Mapping[str, Sequence[Press]],
    quantity: str,
    marker: str,
    color: str,
    fill: bool,
    label: str,
) -> None:
    """Draw medians over the seeds, and their range."""
    values = np.array([[getattr(run, quantity) for run in runs] for runs in by_arm.values()])
    axes.hlines(at, values.min(axis=1), values.max(axis=1), color=color, lw=1)
    axes.plot(
        np.median(values, axis=1), at, marker, color=color, ms=5, ls="",
        mfc=color if fill else "white", label=label,
    )  # fmt: skip


def _scatter(
    axes: Axes, at: np.ndarray, values: np.ndarray, able: np.ndarray, color: str, label: str | None
) -> None:
    """Draw one mark for each push, a ring where the link cannot yield so fast."""
    axes.plot(at[able], values[able], "o", color=color, ms=4, ls="", label=label)
    axes.plot(at[~able], values[~able], "o", color=color, ms=4, ls="", mfc="none")


def _allowed(run: PushFigures, limit: float) -> float:
    return ALLOWED_PEAK * run.impact + limit


def _push_numbers(pushes: Sequence[PushFigures], speed: float, limit: float) -> dict[str, Any]:
    """Sum up the pushes to which the link can yield: how many there are, and how many hold."""
    able = [run for run in pushes if run.yield_speed > speed]
    holds = {
        "peak": [run.peak <= _allowed(run, limit) for run in able],
        "p50": [run.p50 <= ALLOWED_P50 * limit for run in able],
        "p99": [run.p99 <= ALLOWED_P99 * limit for run in able],
        "second_hits": [run.second_hits == 0 for run in able],
    }
    return {
        "pushes": len(able),
        "all_hold": sum(all(each) for each in zip(*holds.values(), strict=True)),
        **{f"{name}_holds": sum(each) for name, each in holds.items()},
        **{
            name: spread([getattr(run, field) for run in able]) if able else None
            for name, field in SPREAD.items()
        },
    }
