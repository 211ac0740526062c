"""tamsi Fig. 7: what it costs to shake the parallel jaw gripper, by TAMSI and implicit Euler."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tamsi_sim.cases import ParallelGripper
from tamsi_sim.integrators.integrator import Effort
from tamsi_sim.integrators.registry import make_integrator
from tamsi_sim.status import StepStatus

DURATION = 5.0  # [s]
SAMPLES = 250  # of the curves of implicit Euler, which show where it slows down
# TAMSI does not; a call from Python takes as long as ten of its steps, so there are few.
TAMSI_SAMPLES = 5
ROUNDS = 5
TAMSI = "tamsi"
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


def run(integrator: str, case: ParallelGripper, duration: float = DURATION) -> Run:
    """Simulate once, and look at the clock now and then.

    Args:
        integrator: Its name.
        case: The gripper.
        duration: Simulated time [s].

    Returns:
        The run; a step is taken before the clock starts, so that nothing is compiled then.
    """
    make_integrator(integrator, case.engine(), case.excitation()).step()
    moved = make_integrator(integrator, case.engine(), case.excitation())
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
    case: ParallelGripper, duration: float = DURATION, rounds: int = ROUNDS
) -> Iterator[list[Run]]:
    """Run all integrators in turn, several times, so that a busy machine hits all of them.

    Args:
        case: The gripper.
        duration: Simulated time [s].
        rounds: How many times.

    Yields:
        A round: one run of each of ``INTEGRATORS``.
    """
    for _ in range(rounds):
        yield [run(name, case, duration) for name in INTEGRATORS]


def ratios(rounds: list[list[Run]]) -> dict[str, tuple[float, float, float]]:
    """Compare implicit Euler with TAMSI, within each round.

    Args:
        rounds: The rounds.

    Returns:
        Integrator -> (median, smallest, largest) ratio of CPU time, TAMSI's being 1.
    """
    times = np.array([[run.cpu[-1] for run in runs] for runs in rounds])
    relative = times / times[:, [INTEGRATORS.index(TAMSI)]]
    return {
        name: (float(np.median(column)), float(column.min()), float(column.max()))
        for name, column in zip(INTEGRATORS, relative.T, strict=True)
    }
