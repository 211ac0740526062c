"""How well the control loop's thread keeps its time, with a controller to run."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_core.config import from_mapping
from contact_experiments.bench.control_case import ControlCase
from contact_experiments.bench.timing import Timing
from contact_ros.entry_point import freeze_garbage_collector
from contact_ros.loop import FixedRateLoop, RealTimeConfig, RealTimeReport, enter_real_time

CONTACTS = 4


@dataclass(frozen=True)
class JitterResult:
    """One run of the loop.

    Attributes:
        rate: Ticks per second [Hz].
        duration: Length of the run [s].
        idle: Whether a tick did nothing: then the delays are those of the machine itself.
        delay: How late ticks began after the moment they were due.
        tick: Duration of a tick, making its inputs included.
        deadline_misses: Ticks that began half a period late, or took longer than a period.
        miss_fraction: Their share.
        scheduling: What the system granted the thread.
    """

    rate: float
    duration: float
    idle: bool
    delay: Timing
    tick: Timing
    deadline_misses: int
    miss_fraction: float
    scheduling: str

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        return dataclasses.asdict(self)


def measure(rate: float, duration: float, idle: bool = False) -> JitterResult:
    """Run a control loop in real time.

    Args:
        rate: Ticks per second [Hz].
        duration: Length of the run [s].
        idle: Do nothing in a tick, for comparison.

    Returns:
        Its timing.

    Raises:
        BaseException: What a tick raised.
    """
    case = ControlCase(CONTACTS, config=from_mapping(ControllerConfig, {"rate": rate}))
    delays: list[int] = []
    durations: list[int] = []
    reports: list[RealTimeReport] = []
    errors: list[BaseException] = []

    def tick() -> None:
        start = time.monotonic_ns()
        delays.append(loop.delay)
        if not idle:
            case.tick(case.inputs())
        durations.append(time.monotonic_ns() - start)

    loop = FixedRateLoop(
        1.0 / rate,
        tick,
        errors.append,
        on_start=lambda: reports.append(enter_real_time(RealTimeConfig())),
    )
    freeze_garbage_collector()
    loop.start()
    time.sleep(duration)
    loop.stop()
    if errors:
        raise errors[0]
    return JitterResult(
        rate,
        duration,
        idle,
        Timing.of(np.array(delays)),
        Timing.of(np.array(durations)),
        loop.deadline_misses,
        loop.deadline_misses / len(delays),
        reports[0].scheduling,
    )
