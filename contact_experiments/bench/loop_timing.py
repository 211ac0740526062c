"""The control loop in real time: how late its ticks begin, and how long they take."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from contact_aware_control import ControllerConfig
from contact_core.base.config import from_mapping
from contact_experiments.bench.control_case import MAX_CONTACTS, ControlCase, Timing
from contact_ros.entry_point import freeze_garbage_collector
from contact_ros.loop import FixedRateLoop
from contact_ros.real_time import RealTimeConfig, RealTimeReport, enter_real_time

LOOP_CONTACTS = MAX_CONTACTS
"""Contacts of the loop that runs in real time."""


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


def measure_loop(rate: float, duration: float, idle: bool = False) -> JitterResult:
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
    case = ControlCase(LOOP_CONTACTS, config=from_mapping(ControllerConfig, {"rate": rate}))
    delays: list[int] = []
    lengths: list[int] = []
    reports: list[RealTimeReport] = []
    errors: list[BaseException] = []

    def tick() -> None:
        start = time.monotonic_ns()
        delays.append(loop.delay)
        if not idle:
            case.tick(case.inputs())
        lengths.append(time.monotonic_ns() - start)

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
        Timing.of(np.array(lengths)),
        loop.deadline_misses,
        loop.deadline_misses / len(delays),
        reports[0].scheduling,
    )
