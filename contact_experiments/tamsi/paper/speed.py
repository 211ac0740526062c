"""Fig. 7 of the TAMSI paper: CPU time of integrators with the shaken gripper.

They run in interleaved rounds; Fig. 9 measures the Allegro hand in the same way.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from contact_core.base.figures import METHODS, new_figure
from contact_core.base.sweep import Sweep
from contact_experiments.papers.figure import spread
from contact_experiments.papers.pictures import FigureResult
from contact_experiments.tamsi.cases import Case, ParallelGripper
from contact_experiments.tamsi.integrators.integrator import (
    SCHEMES,
    Integrator,
    IntegratorConfig,
    SolverEffort,
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
class SimulationRun:
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
    effort: SolverEffort
    finished: bool


def run(
    integrator: str, case: Case, duration: float, config: IntegratorConfig | None = None
) -> SimulationRun:
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
    return SimulationRun(
        integrator, np.array(simulated), 1e-9 * np.array(cpu), moved.effort, finished
    )


def interleaved_rounds(
    sweep: Sweep,
    integrators: Sequence[str],
    case: Case,
    duration: float,
    what: str,
    config: IntegratorConfig | None = None,
) -> list[list[SimulationRun]]:
    """Run all integrators in turn, several times, so that a busy machine hits all of them.

    Args:
        sweep: What runs them, one after the other.
        integrators: Their names.
        case: What is simulated.
        duration: Simulated time [s].
        what: Written beside a progress bar.
        config: Parameters of implicit Euler.

    Returns:
        The rounds: one run of each integrator.
    """
    rounds = [(integrators, case, duration, config, number) for number in range(ROUNDS)]
    return sweep.run(run_round, rounds, what, one_at_a_time=True)


def run_round(
    integrators: Sequence[str],
    case: Case,
    duration: float,
    config: IntegratorConfig | None,
    number: int,
) -> list[SimulationRun]:
    """Run all integrators in turn, as one of the rounds of :func:`interleaved_rounds`."""
    return [run(name, case, duration, config) for name in integrators]


def median_round(rounds: Sequence[list[SimulationRun]]) -> list[SimulationRun]:
    """Return the round whose first integrator took the median time.

    Args:
        rounds: The rounds.
    """
    totals = [runs[0].cpu[-1] for runs in rounds]
    return rounds[int(np.argsort(totals)[len(totals) // 2])]


def ratios(rounds: Sequence[list[SimulationRun]]) -> dict[str, dict[str, float]]:
    """Compare the integrators with the first, within each round.

    Args:
        rounds: The rounds.

    Returns:
        Integrator -> :func:`spread` of the ratio of CPU time, that of the first being 1.
    """
    times = np.array([[run.cpu[-1] for run in runs] for runs in rounds])
    relative = times / times[:, :1]
    return {
        one.integrator: spread(column) for one, column in zip(rounds[0], relative.T, strict=True)
    }


def scheme_style(name: str) -> dict[str, Any]:
    """Return colour and line of an integrator of the paper: without TALS it is dashed.

    Args:
        name: One of PUBLISHED.
    """
    dashed = name.startswith("ie_") and not SCHEMES[name].line_search
    return {"color": METHODS[name.removesuffix("_tals")], "ls": "--" if dashed else "-"}


def plot_speed(runs: Mapping[str, Sequence[SimulationRun]]) -> Figure:
    """Plot simulated time against CPU time (Fig. 7).

    Args:
        runs: Gripper -> one run of each integrator.
    """
    figure, grid = new_figure(1, len(runs), (5.2 * len(runs), 4.0))
    for axes, (gripper, curves) in zip(grid.flat, runs.items(), strict=True):
        reference = curves[0].cpu[-1]
        for run in curves:
            ratio = run.cpu[-1] / reference
            axes.plot(
                1e3 * run.cpu, run.simulated, **scheme_style(run.integrator),
                label=f"{SCHEMES[run.integrator].title} ({ratio:.1f}x)",
            )  # fmt: skip
        axes.set_title(f"{gripper} pads")
        axes.set_xlabel("CPU time [ms]")
        axes.set_ylabel("simulated time [s]")
        axes.legend(fontsize="small", loc="lower right")
    return figure


def figure_7(sweep: Sweep) -> FigureResult:
    """Fig. 7: CPU time of TAMSI and of implicit Euler with the shaken gripper."""
    runs, numbers = {}, {}
    for gripper, case in GRIPPERS.items():
        what = f"figure 7, {gripper} pads"
        rounds = interleaved_rounds(sweep, INTEGRATORS, case, DURATION, what)
        runs[gripper] = median_round(rounds)
        relative = ratios(rounds)
        rate = DURATION / float(runs[gripper][0].cpu[-1])
        numbers[gripper] = {
            "ratios": relative,
            "tamsi_real_time_rate": rate,
        }
    return plot_speed(runs), numbers
