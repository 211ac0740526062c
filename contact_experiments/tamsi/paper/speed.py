"""Fig. 7 of the TAMSI paper: CPU time of integrators with the shaken gripper.

They run in interleaved rounds; Fig. 9 measures the Allegro hand in the same way.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from tqdm import tqdm

from contact_core.figures import BLUE, GREEN, RED, FigureResult, new_figure
from contact_experiments.tamsi.cases import Case, ParallelGripper
from contact_experiments.tamsi.integrators.integrator import (
    SCHEMES,
    Effort,
    Integrator,
    IntegratorConfig,
    make_integrator,
)
from tamsi_sim.arrays.status import StepStatus

SAMPLES = 250  # of the curves of implicit Euler, which show where it slows down
# TAMSI does not; a call from Python takes as long as ten of its steps, so there are few.
TAMSI_SAMPLES = 5
ROUNDS = 5
TAMSI = "tamsi"

DURATION = 5.0  # of Fig. 7 [s]
INTEGRATORS = (TAMSI, "ie_fn_tals", "ie_fn")
GRIPPERS = {
    "soft": ParallelGripper(stiffness=1e3, dissipation=3.0),
    "stiff": ParallelGripper(stiffness=1e4, dissipation=10.0),
}
"""Soft pads touch at some 16 points, stiff ones at 4."""


@dataclass(frozen=True)
class Run:
    """One simulation.

    Attributes:
        integrator: Its name.
        simulated: (m) simulated time [s].
        cpu: (m) CPU time spent up to then [s].
        effort: What it cost.
        finished: Whether it reached the end.
    """

    integrator: str
    simulated: np.ndarray
    cpu: np.ndarray
    effort: Effort
    finished: bool


def run(
    integrator: str, case: Case, duration: float, config: IntegratorConfig | None = None
) -> Run:
    """Simulate once, and look at the clock now and then.

    Args:
        integrator: Its name.
        case: What is simulated.
        duration: Simulated time [s].
        config: Parameters of implicit Euler.

    Returns:
        The run; steps are taken before the clock starts, so that nothing is compiled then.
    """

    def make() -> Integrator:
        return make_integrator(integrator, case.engine(), case.excitation(), config)

    for _ in range(2):
        make().step()
    moved = make()
    samples = TAMSI_SAMPLES if integrator == TAMSI else SAMPLES
    every = max(1, round(duration / case.time_step / samples))
    simulated, cpu, status = [0.0], [0], StepStatus.OK
    while moved.time < duration - 0.5 * case.time_step and status == StepStatus.OK:
        steps = min(every, round((duration - moved.time) / case.time_step))
        start = time.thread_time_ns()
        status = moved.step(steps)
        cpu.append(cpu[-1] + time.thread_time_ns() - start)
        simulated.append(moved.time)
    finished = status == StepStatus.OK
    return Run(integrator, np.array(simulated), 1e-9 * np.array(cpu), moved.effort, finished)


def interleaved_rounds(
    integrators: Sequence[str],
    case: Case,
    duration: float,
    what: str,
    config: IntegratorConfig | None = None,
) -> list[list[Run]]:
    """Run all integrators in turn, several times, so that a busy machine hits all of them.

    Args:
        integrators: Their names.
        case: What is simulated.
        duration: Simulated time [s].
        what: Written beside a progress bar.
        config: Parameters of implicit Euler.

    Returns:
        The rounds: one run of each integrator.
    """
    return [
        [run(name, case, duration, config) for name in integrators]
        for _ in tqdm(range(ROUNDS), what)
    ]


def median_round(rounds: Sequence[list[Run]]) -> list[Run]:
    """Return the round whose first integrator took the median time.

    Args:
        rounds: The rounds.
    """
    totals = [runs[0].cpu[-1] for runs in rounds]
    return rounds[int(np.argsort(totals)[len(totals) // 2])]


def ratios(rounds: Sequence[list[Run]]) -> dict[str, tuple[float, float, float]]:
    """Compare the integrators with the first, within each round.

    Args:
        rounds: The rounds.

    Returns:
        Integrator -> (median, smallest, largest) ratio of CPU time, that of the first being 1.
    """
    times = np.array([[run.cpu[-1] for run in runs] for runs in rounds])
    relative = times / times[:, :1]
    return {
        one.integrator: (float(np.median(column)), float(column.min()), float(column.max()))
        for one, column in zip(rounds[0], relative.T, strict=True)
    }


def times_tamsi(ratio: tuple[float, float, float]) -> str:
    """Say how long an integrator takes: median, smallest and largest ratio to TAMSI."""
    median, low, high = ratio
    return f"{median:.1f}x the time of TAMSI ({low:.1f} to {high:.1f})"


def plot_speed(runs: Mapping[str, Sequence[Run]]) -> Figure:
    """Plot simulated time against CPU time (Fig. 7).

    Args:
        runs: Gripper -> one run of each integrator.
    """
    figure, grid = new_figure(1, len(runs), (5.2 * len(runs), 4.0))
    for axes, (gripper, curves) in zip(grid.flat, runs.items(), strict=True):
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


def figure_7() -> FigureResult:
    """Fig. 7: CPU time of TAMSI and of implicit Euler with the shaken gripper."""
    runs, summary, numbers = {}, {}, {}
    for gripper, case in GRIPPERS.items():
        rounds = interleaved_rounds(INTEGRATORS, case, DURATION, f"figure 7, {gripper} pads")
        runs[gripper] = median_round(rounds)
        relative = ratios(rounds)
        rate = DURATION / float(runs[gripper][0].cpu[-1])
        numbers[gripper] = {"ratios": relative, "tamsi_real_time_rate": rate}
        summary[f"{gripper} pads, TAMSI"] = f"{rate:.0f}x real time"
        for name in INTEGRATORS[1:]:
            summary[f"{gripper} pads, {name}"] = times_tamsi(relative[name])
    return plot_speed(runs), {"summary": summary, **numbers}
