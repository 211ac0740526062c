"""The plots, as the figures of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from contact_experiments.tamsi.integrators.registry import SCHEMES
from contact_experiments.tamsi.paper.gripper_convergence import Convergence
from contact_experiments.tamsi.paper.gripper_robustness import Trial
from contact_experiments.tamsi.paper.integrator_speed import Run
from contact_experiments.tamsi.paper.moving_configuration import SCENES, Comparison
from contact_experiments.tamsi.paper.residual_history import ResidualHistory
from contact_experiments.tamsi.paper.work_precision import INTEGRATORS, Point

STICTION_VELOCITY = 1e-4  # [m/s], of all cases
BLUE, RED, GREEN, YELLOW, GREY = "#2166ac", "#b2182b", "#1b7837", "#e08214", "#555555"
COLORS = {"fn": BLUE, "fn_ec": GREEN, "qn": RED, "qn_ec": YELLOW}


def _new(rows: int, columns: int, width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.subplots(rows, columns)
    for axes in figure.axes:
        axes.grid(alpha=0.3)
    return figure


def residual_histories(histories: Mapping[str, ResidualHistory]) -> Figure:
    """Plot Newton's residuals at the first transition into stiction (Fig. 4).

    Args:
        histories: Integrator -> its history.
    """
    figure = _new(len(histories), 1, 6.0, 5.0)
    for axes, (name, history) in zip(figure.axes, histories.items(), strict=True):
        outcome = "converges" if history.converged else "does not converge"
        iterations = np.arange(len(history.residuals))
        color = BLUE if history.converged else RED
        axes.semilogy(iterations, history.residuals, "o-", color=color)
        axes.set_title(f"{SCHEMES[name].title} at t = {history.time:.3f} s: {outcome}")
        axes.set_xlabel("Newton iteration k")
        axes.set_ylabel("residual |r| [Ns]")
        axes.set_xticks(np.arange(10))
        axes.set_xlim(-0.4, 9.4)
        axes.set_ylim(1e-16, 1.0)
    return figure


def work_precision(points: Sequence[Point]) -> Figure:
    """Plot work against precision (Fig. 5).

    Args:
        points: Of any integrators.
    """
    figure = _new(1, 1, 7.0, 5.5)
    (axes,) = figure.axes
    for name in INTEGRATORS:
        curve = sorted(
            (p.error, p.evaluations) for p in points if p.integrator == name and p.finished
        )
        if curve:
            tals = SCHEMES[name].line_search
            axes.loglog(
                *np.transpose(curve), color=COLORS[name.removeprefix("ie_").removesuffix("_tals")],
                linestyle="-" if tals else "--", marker="o" if tals else "x", markersize=4,
                label=SCHEMES[name].title,
            )  # fmt: skip
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


def robustness(trials: Sequence[Trial]) -> Figure:
    """Plot how far the mug slips in the shaken gripper, by step and stiffness (Fig. 6).

    Args:
        trials: Of all integrators, with the same steps and stiffnesses.
    """
    names = list(dict.fromkeys(trial.integrator for trial in trials))
    steps = sorted({trial.time_step for trial in trials})
    stiffnesses = sorted({trial.stiffness for trial in trials})
    figure = _new(len(names), 1, 8.0, 3.1 * len(names))
    for axes, name in zip(figure.axes, names, strict=True):
        found = {(t.stiffness, t.time_step): t for t in trials if t.integrator == name}
        held = [[float(found[k, h].held) for h in steps] for k in stiffnesses]
        axes.imshow(held, cmap=ListedColormap([RED, BLUE]), vmin=0.0, vmax=1.0, origin="lower",
                    aspect="auto")  # fmt: skip
        for i, k in enumerate(stiffnesses):
            for j, h in enumerate(steps):
                _mark(axes, found[k, h], j, i)
        axes.grid(visible=False)
        explicit = any(trial.normal_ratio > 0.0 for trial in found.values())
        below = r"; below, $h\sqrt{k/m}$, limit 2" if explicit else ""
        axes.set_title(f"{SCHEMES[name].title}: slip of the mug in the grip{below}")
        axes.set_xticks(np.arange(1, len(steps)) - 0.5, minor=True)
        axes.set_yticks(np.arange(1, len(stiffnesses)) - 0.5, minor=True)
        axes.grid(which="minor", color="white", linewidth=1.5)
        axes.tick_params(which="minor", length=0)
        axes.set_xticks(range(len(steps)), [f"{1e3 * h:g}" for h in steps])
        axes.set_yticks(range(len(stiffnesses)), [f"{k:.0e}" for k in stiffnesses])
        axes.set_xlabel("time step h [ms]")
        axes.set_ylabel("stiffness k [N/m]")
    return figure


def _mark(axes: Axes, trial: Trial, x: int, y: int) -> None:
    """Write what became of the mug and, where normal forces are explicit, h sqrt(k/m)."""
    text = f"{1e3 * trial.slip:.0f} mm" if trial.held else "lost"
    if trial.normal_ratio > 0.0:
        text += f"\n{trial.normal_ratio:.1f}" if trial.normal_ratio < 10.0 else "\n> 10"
    axes.text(x, y, text, ha="center", va="center", fontsize=8, color="white")


def speed(runs: Mapping[str, Sequence[Run]]) -> Figure:
    """Plot simulated time against CPU time (Fig. 7).

    Args:
        runs: Gripper -> one run of each integrator.
    """
    figure = _new(1, len(runs), 5.2 * len(runs), 4.0)
    for axes, (gripper, curves) in zip(figure.axes, runs.items(), strict=True):
        reference = curves[0].cpu[-1]
        for run, color in zip(curves, (BLUE, GREEN, RED), strict=True):
            ratio = run.cpu[-1] / reference
            axes.plot(
                1e3 * run.cpu, run.simulated, color=color,
                label=f"{SCHEMES[run.integrator].title} ({ratio:.1f}x)",
            )  # fmt: skip
        axes.set_title(f"{gripper} pads")
        axes.set_xlabel("CPU time [ms]")
        axes.set_ylabel("simulated time [s]")
        axes.legend(fontsize="small", loc="lower right")
    return figure


def convergence(studies: Mapping[str, Convergence]) -> Figure:
    """Plot velocity errors against the time step (Fig. 8).

    Args:
        studies: Gripper -> its errors.
    """
    figure = _new(1, 1, 6.0, 5.0)
    (axes,) = figure.axes
    for (gripper, study), color in zip(studies.items(), (BLUE, RED), strict=False):
        slopes = study.slopes()
        for errors, style, what, slope in (
            (study.translation, "o-", "translation", slopes[0]),
            (study.rotation, "s--", "rotation", slopes[1]),
        ):
            label = f"{gripper} pads, {what} (slope {slope:.2f})"
            axes.loglog(study.steps, errors, style, color=color, markersize=5, label=label)
    span = np.array([study.steps[0], study.steps[-1]])
    axes.loglog(span, 150.0 * span, color=GREY, linestyle=":", label="first order")
    axes.set_xlabel("time step h [s]")
    axes.set_ylabel("velocity error (x T/A, x T)")
    axes.legend(fontsize="small")
    return figure


def moving_configuration(comparisons: Sequence[Comparison]) -> Figure:
    """Plot what TALS gives implicit Euler, and how often it misses (Sec. IV-B).

    Args:
        comparisons: Of all scenes and steps.
    """
    figure = _new(1, 2, 10.0, 4.0)
    gains, misses = figure.axes
    for scene, color in zip(SCENES, (BLUE, GREEN, RED), strict=True):
        found = [c for c in comparisons if c.scene == scene]
        steps = [1e3 * c.time_step for c in found]
        gains.loglog(steps, [c.gain for c in found], "o-", color=color, label=scene)
        misses.semilogx(steps, [100.0 * c.missed for c in found], "o-", color=color, label=scene)
    gains.axhline(1.0, color=GREY, linewidth=1.0)
    gains.set_title("evaluations of f without TALS : with TALS")
    gains.set_ylabel("ratio")
    misses.set_title("landings in stiction that missed it")
    misses.set_ylabel("share [%]")
    for axes in figure.axes:
        axes.set_xlabel("time step h [ms]")
        axes.set_xticks(steps, [f"{step:g}" for step in steps])
        axes.minorticks_off()
        axes.legend(fontsize="small")
    return figure
