"""Hours of motion and contact in one process: nothing grows, nothing faults, all repeats."""

from __future__ import annotations

import multiprocessing
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from contact_aware_control.safety.status import Mode
from contact_experiments.bench.fault_run import FaultRun

HOUR = 3600.0
MOTION = 100.0
"""Length of one goal [s]."""
SAMPLES = 24
GROWTH = 10.0
"""Most memory that an hour may add [MB]."""


@dataclass(frozen=True)
class Soak:
    """What a process looked like over time, and what it computed."""

    time: list[float]
    memory: list[float]
    descriptors: list[int]
    faults: int
    sha256: str

    def growth(self) -> float:
        """Return the slope of the memory [MB/h], from a quarter of the time on."""
        first = len(self.time) // 4
        slope, _ = np.polyfit(np.array(self.time[first:]) / HOUR, self.memory[first:], 1)
        return float(slope)


def soak(duration: float) -> Soak:
    """Press against the wall and go back, again and again."""
    run = FaultRun("lbr_fri", True, keep=False)
    run.go(0.6)
    result = Soak([], [], [], 0, "")
    faults, goal_ends = 0, 0.0
    for sample in range(SAMPLES):
        while run.robot.time < duration * (sample + 1) / SAMPLES:
            if run.robot.time >= goal_ends:
                run.move()
                goal_ends = run.robot.time + MOTION
            faults += run.tick().mode is Mode.FAULT
        result.time.append(run.robot.time)
        result.memory.append(memory())
        result.descriptors.append(len(os.listdir("/proc/self/fd")))
    return Soak(result.time, result.memory, result.descriptors, faults, run.sha256)


def memory(pid: int | str = "self") -> float:
    """Return the resident memory of a process [MB]."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.verify
@pytest.mark.timeout(0)
def test_hours_in_one_process(pytestconfig: pytest.Config) -> None:
    duration = pytestconfig.getoption("--soak-simulated")
    with multiprocessing.get_context("fork").Pool(2) as pool:
        first, second = pool.map(soak, [duration] * 2)
    print(
        f"{duration:g} s twice: {first.memory[0]:.0f} to {first.memory[-1]:.0f} MB, "
        f"{first.growth():.2f} and {second.growth():.2f} MB/h, "
        f"{first.descriptors[-1]} descriptors, sha256 {first.sha256[:8]}"
    )
    assert first.sha256 == second.sha256
    for run in (first, second):
        assert run.faults == 0
        assert run.growth() < GROWTH
        assert len(set(run.descriptors)) == 1
