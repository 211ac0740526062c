"""Fig. 6 and 8 of the TAMSI paper: the shaken gripper with many steps.

Fig. 6 shows with which steps and stiffnesses it keeps hold of the mug, Fig. 8 how its velocities
converge. Fig. 7, what that costs, is measured in ``speed.py``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from contact_core.base.errors import ContactStackError
from contact_core.base.figures import GREY, METHODS, OTHERS, ROLES, new_figure
from contact_core.base.sweep import Sweep
from contact_experiments.papers.pictures import FigureResult
from contact_experiments.tamsi.cases import MUG, ParallelGripper
from contact_experiments.tamsi.integrators.integrator import (
    SCHEMES,
    make_integrator,
    own_schemes,
)
from contact_experiments.tamsi.paper.speed import GRIPPERS, TAMSI
from tamsi_sim.arrays.status import StepStatus

SHAKING = 5.0  # Fig. 6 [s]
STEPS = (1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 3e-3, 5e-3, 7e-3, 1e-2, 1.5e-2, 2e-2)
STIFFNESSES = (1e3, 3e3, 1e4, 3e4, 1e5)
INTEGRATORS = ("tamsi", "semi_implicit")
HELD = 0.03  # The mug is 0.1 m tall: it may slip so far in the grip [m].

PERIOD = 0.498  # Fig. 8: nearly one period of the shaking [s]
SAMPLE = 3e-3  # between two comparisons with the reference, a multiple of every step [s]
FINE_STEPS = (3e-3, 1.5e-3, 7.5e-4, 3e-4, 1e-4, 3e-5, 1e-5)
REFERENCE_STEP = 1e-7  # [s]


@dataclass(frozen=True)
class ShakeTrial:
    """One simulation of the shaken gripper.

    Attributes:
        integrator: Its name.
        time_step: h [s].
        stiffness: k [N/m].
        failed: Whether a step failed.
        retries: Steps that needed sub-steps.
        slip: Furthest that the mug moved relative to the gripper, in any direction [m].
        normal_ratio: Largest h sqrt(k/m) of explicit normal forces.
    """

    integrator: str
    time_step: float
    stiffness: float
    failed: bool
    retries: int
    slip: float
    normal_ratio: float

    @property
    def held(self) -> bool:
        """Whether the mug stayed in the gripper, and every step succeeded."""
        return not self.failed and self.slip < HELD


def trial(
    integrator: str, time_step: float, stiffness: float, duration: float = SHAKING
) -> ShakeTrial:
    """Shake the gripper once.

    Args:
        integrator: Its name.
        time_step: h [s].
        stiffness: k [N/m].
        duration: Simulated time [s].

    Returns:
        What became of the mug.
    """
    case = ParallelGripper(time_step=time_step, stiffness=stiffness)
    engine = case.engine()
    moved = make_integrator(integrator, engine, case.excitation())
    status, positions, _ = moved.roll(round(duration / time_step))
    first = engine.built.free_bodies[MUG][0]
    relative = positions[:, first : first + 3].copy()
    relative[:, 2] -= positions[:, engine.built.joints["lift"]]
    slip = np.linalg.norm(relative - relative[0], axis=1)
    return ShakeTrial(
        integrator=integrator,
        time_step=time_step,
        stiffness=stiffness,
        failed=status != StepStatus.OK,
        retries=moved.effort.retries,
        slip=float(np.nanmax(slip)),
        normal_ratio=moved.normal_ratio,
    )


def plot_robustness(trials: Sequence[ShakeTrial]) -> Figure:
    """Plot how far the mug slips in the shaken gripper, by step and stiffness (Fig. 6).

    Args:
        trials: Of all integrators, with the same steps and stiffnesses.
    """
    names = list(dict.fromkeys(trial.integrator for trial in trials))
    steps = sorted({trial.time_step for trial in trials})
    stiffnesses = sorted({trial.stiffness for trial in trials})
    figure, grid = new_figure(len(names), 1, (8.0, 3.1 * len(names)))
    for axes, name in zip(grid.flat, names, strict=True):
        found = {(t.stiffness, t.time_step): t for t in trials if t.integrator == name}
        held = [[float(found[k, h].held) for h in steps] for k in stiffnesses]
        colors = ListedColormap([ROLES["bad"], ROLES["good"]])
        axes.imshow(held, cmap=colors, vmin=0.0, vmax=1.0, origin="lower", aspect="auto")
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


def _mark(axes: Axes, trial: ShakeTrial, x: int, y: int) -> None:
    """Write what became of the mug and, where normal forces are explicit, h sqrt(k/m)."""
    text = f"{1e3 * trial.slip:.0f} mm" if trial.held else "lost"
    if trial.normal_ratio > 0.0:
        text += f"\n{trial.normal_ratio:.1f}" if trial.normal_ratio < 10.0 else "\n> 10"
    axes.text(x, y, text, ha="center", va="center", fontsize=8, color="white")


def figure_6(sweep: Sweep) -> FigureResult:
    """Fig. 6: the shaken gripper with all steps and stiffnesses."""
    runs = [(name, h, k) for name in INTEGRATORS for k in STIFFNESSES for h in STEPS]
    found = sweep.run(trial, runs, "figure 6")
    numbers = {}
    for name in INTEGRATORS:
        own = [trial for trial in found if trial.integrator == name]
        numbers[name] = {
            "runs": len(own),
            "failed": sum(trial.failed for trial in own),
            "held": sum(trial.held for trial in own),
        }
    return plot_robustness(found), {
        **numbers,
        "trials": [dataclasses.asdict(item) for item in found],
    }


@dataclass(frozen=True)
class Convergence:
    """Errors of the velocities over time, root mean square, without dimensions.

    Attributes:
        steps: (m) h [s].
        translation: (m) of lift, finger and mug, times T / A.
        rotation: (m) of the mug, times T.
    """

    steps: np.ndarray
    translation: np.ndarray
    rotation: np.ndarray

    def slopes(self) -> tuple[float, float]:
        """Return the orders of convergence of translation and rotation."""
        translation, rotation = (
            float(np.polyfit(np.log(self.steps), np.log(error), 1)[0])
            for error in (self.translation, self.rotation)
        )
        return translation, rotation


def velocities(
    case: ParallelGripper,
    step: float,
    duration: float = PERIOD,
    integrator: str = TAMSI,
) -> np.ndarray:
    """Return velocities at equal intervals.

    Args:
        case: The gripper; its step is replaced.
        step: h [s].
        duration: Simulated time [s].
        integrator: Its name.

    Returns:
        (m, nv)

    Raises:
        ContactStackError: If a step fails.
    """
    case = dataclasses.replace(case, time_step=step)
    moved = make_integrator(integrator, case.engine(), case.excitation())
    rates = [moved.v.copy()]
    for _ in range(round(duration / SAMPLE)):
        status = moved.step(round(SAMPLE / step))
        if status != StepStatus.OK:
            raise ContactStackError(f"h = {step:g} s: {status.remedy}")
        rates.append(moved.v.copy())
    return np.array(rates)


def convergence(
    case: ParallelGripper,
    reference: np.ndarray,
    steps: tuple[float, ...] = FINE_STEPS,
    duration: float = PERIOD,
    integrator: str = TAMSI,
) -> Convergence:
    """Compare steps with a reference.

    Args:
        case: The gripper.
        reference: :func:`velocities` with a much smaller step.
        steps: h [s].
        duration: Simulated time of the reference [s].
        integrator: Its name.

    Returns:
        The errors.
    """
    first = case.engine().built.free_bodies[MUG][1]
    turning = np.zeros(reference.shape[1], dtype=bool)
    turning[first + 3 : first + 6] = True
    errors = [velocities(case, h, duration, integrator) - reference for h in steps]
    return Convergence(
        steps=np.array(steps),
        translation=np.array([_norm(e[:, ~turning]) for e in errors])
        * case.shake_period
        / case.shake_amplitude,
        rotation=np.array([_norm(e[:, turning]) for e in errors]) * case.shake_period,
    )


def _norm(errors: np.ndarray) -> float:
    """L2 norm over time of the Euclidean norm at each time."""
    return float(np.sqrt(np.mean(np.sum(errors**2, axis=1))))


def plot_convergence(studies: Mapping[tuple[str, str], Convergence]) -> Figure:
    """Plot velocity errors against the time step (Fig. 8).

    Args:
        studies: Integrator and gripper -> the errors.
    """
    figure, ((axes,),) = new_figure(1, 1, (6.0, 5.0))
    colors = {TAMSI: METHODS[TAMSI], **dict(zip(own_schemes(), cycle(OTHERS), strict=False))}
    for (integrator, gripper), study in studies.items():
        name = f"{gripper} pads"
        if integrator != TAMSI:
            name = f"{SCHEMES[integrator].title}, {name}"
        slopes = study.slopes()
        for errors, style, what, slope in (
            (study.translation, "o-", "translation", slopes[0]),
            (study.rotation, "s--", "rotation", slopes[1]),
        ):
            label = f"{name}, {what} (slope {slope:.2f})"
            axes.loglog(
                study.steps, errors, style, color=colors[integrator], markersize=5, label=label,
                mfc=None if gripper == next(iter(GRIPPERS)) else "white",
            )  # fmt: skip
    span = np.array([study.steps[0], study.steps[-1]])
    axes.loglog(span, 150.0 * span, color=GREY, linestyle=":", label="first order")
    axes.set_xlabel("time step h [s]")
    axes.set_ylabel("velocity error (x T/A, x T)")
    axes.legend(fontsize="small")
    return figure


def figure_8(sweep: Sweep) -> FigureResult:
    """Fig. 8: velocity errors of TAMSI against the time step, and of schemes of one's own."""
    studies, numbers = {}, {}
    names = [(own, gripper) for own in (TAMSI, *own_schemes()) for gripper in GRIPPERS]
    tasks = [(case, REFERENCE_STEP) for case in GRIPPERS.values()]
    exact = dict(zip(GRIPPERS, sweep.run(velocities, tasks, "figure 8, references"), strict=True))
    found = sweep.run(
        convergence,
        [(GRIPPERS[gripper], exact[gripper], FINE_STEPS, PERIOD, own) for own, gripper in names],
        "figure 8",
    )
    for (own, gripper), study in zip(names, found, strict=True):
        studies[own, gripper] = study
        translation, rotation = study.slopes()
        numbers[gripper if own == TAMSI else f"{own}_{gripper}"] = {
            "steps_s": study.steps.tolist(),
            "translation": study.translation.tolist(),
            "rotation": study.rotation.tolist(),
            "translation_slope": translation,
            "rotation_slope": rotation,
        }
    return plot_convergence(studies), numbers
