"""How well the control loop's thread keeps its time, with a controller to run."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_stack.app.bench.control_case import ControlCase
from contact_stack.app.bench.timing import Timing
from contact_stack.core.config import from_mapping
from contact_stack.ros.entry_point import freeze_garbage_collector
from contact_stack.ros.loop import FixedRateLoop
from contact_stack.ros.real_time import RealTimeConfig, RealTimeReport, enter_real_time

CONTACTS = 4


@dataclass(frozen=True)
class JitterResult:
    """One run of the loop.

    Attributes:
        rate: Ticks per second [Hz].
        duration: Length of the run [s].
        delay: How late ticks began after the moment they were due.
        tick: Duration of a tick at 4 contacts, making its inputs included.
        deadline_misses: Ticks that began half a period late, or took longer than a period.
        miss_fraction: Their share.
        scheduling: What the system granted the thread.
    """

    rate: float
    duration: float
    delay: Timing
    tick: Timing
    deadline_misses: int
    miss_fraction: float
    scheduling: str

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        return dataclasses.asdict(self)


def measure(rate: float, duration: float) -> JitterResult:
    """Run a control loop in real time.

    Args:
        rate: Ticks per second [Hz].
        duration: Length of the run [s].

    Returns:
        Its timing.

    Raises:
        BaseException: What a tick raised.
    """
    case = ControlCase(CONTACTS, config=from_mapping(ControllerConfig, {"rate": rate}))
    period = round(1e9 / rate)
    starts: list[int] = []
    ends: list[int] = []
    reports: list[RealTimeReport] = []
    errors: list[BaseException] = []

    def tick() -> None:
        starts.append(time.monotonic_ns())
        case.tick(case.inputs())
        ends.append(time.monotonic_ns())

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
    # Due times lie on a grid; the earliest tick, relative to it, was on time.
    phase = np.array(starts) - starts[0]
    delay = phase - period * np.floor(phase / period + 0.5)
    delay -= delay.min()
    return JitterResult(
        rate,
        duration,
        Timing.of(delay),
        Timing.of(np.array(ends) - np.array(starts)),
        loop.deadline_misses,
        loop.deadline_misses / len(starts),
        reports[0].scheduling,
    )
