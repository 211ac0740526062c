"""Real-time priority and processors of a thread, as far as the system permits."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from contact_core.config import parameter
from contact_core.errors import ConfigError, choices

SWITCH_INTERVAL = 2e-4
"""Longest time another Python thread may keep the interpreter from the loop [s]."""


@dataclass(frozen=True)
class RealTimeConfig:
    """How the operating system runs a loop's thread."""

    priority: int = parameter(
        # Off by default: with shared processors the node's other threads were starved.
        0,
        "priority of the loop among real-time threads; 0: an ordinary thread",
        low=0,
        high=98,
    )
    processors: str = parameter(
        "", "numbers of the processors that may run the loop, e.g. `2,3`; empty: any"
    )

    def __post_init__(self) -> None:
        """Check the processors.

        Raises:
            ConfigError: If this machine does not have one of them.
        """
        available = sorted(os.sched_getaffinity(0))
        for word in self.processors.split(",") if self.processors else ():
            if not word.strip().isdecimal() or int(word) not in available:
                raise ConfigError(f"real_time.processors: '{word}' ({choices(available)})")

    @property
    def processor_set(self) -> frozenset[int]:
        """The processors as numbers; empty for any."""
        return frozenset(int(word) for word in self.processors.split(",") if word)


@dataclass(frozen=True)
class RealTimeReport:
    """What the system granted.

    Attributes:
        scheduling: "real time, priority 60", "ordinary", or what was not permitted.
        processors: The processors that may run the thread.
        granted: Whether everything that was asked for was granted.
    """

    scheduling: str
    processors: str
    granted: bool


def enter_real_time(config: RealTimeConfig) -> RealTimeReport:
    """Change the calling thread; a refusal is reported, not raised.

    Threads it starts later are ordinary again. Other Python threads of the process also
    give way sooner.

    Args:
        config: What is wanted.

    Returns:
        What was granted.
    """
    sys.setswitchinterval(SWITCH_INTERVAL)
    granted = True
    # The system calls mean the calling thread when they are given 0.
    if config.processor_set:
        try:
            os.sched_setaffinity(0, config.processor_set)
        except OSError:
            granted = False
    scheduling = "ordinary"
    if config.priority > 0:
        scheduling = f"real time, priority {config.priority}"
        try:
            os.sched_setscheduler(
                0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(config.priority)
            )
        except OSError:
            granted = False
            scheduling = "ordinary: real-time priority is not permitted, see contact-stack doctor"
    processors = ",".join(str(number) for number in sorted(os.sched_getaffinity(0)))
    return RealTimeReport(scheduling, processors, granted)
