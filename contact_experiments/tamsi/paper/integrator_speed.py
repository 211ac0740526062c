"""CPU time of integrators with one and the same case, in interleaved rounds."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from contact_experiments.tamsi.integrators.config import IntegratorConfig
from contact_experiments.tamsi.integrators.excitation import Excitation
from contact_experiments.tamsi.integrators.integrator import Effort, Integrator
from contact_experiments.tamsi.integrators.registry import make_integrator
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.simulation.engine import Engine

SAMPLES = 250  # of the curves of implicit Euler, which show where it slows down
# TAMSI does not; a call from Python takes as long as ten of its steps, so there are few.
TAMSI_SAMPLES = 5
ROUNDS = 5
TAMSI = "tamsi"


class Case(Protocol):
    """What is simulated."""

    @property
    def time_step(self) -> float:
        """Step h [s]."""

    def engine(self) -> Engine:
        """Return an engine at the start."""

    def excitation(self) -> Excitation:
        """Return the forces that drive it."""


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
    config: IntegratorConfig | None = None,
    rounds: int = ROUNDS,
) -> Iterator[list[Run]]:
    """Run all integrators in turn, several times, so that a busy machine hits all of them.

    Args:
        integrators: Their names.
        case: What is simulated.
        duration: Simulated time [s].
        config: Parameters of implicit Euler.
        rounds: How many times.

    Yields:
        A round: one run of each integrator.
    """
    for _ in range(rounds):
        yield [run(name, case, duration, config) for name in integrators]


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
