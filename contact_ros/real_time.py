"""What the operating system can do for a loop: priority, processors, memory that stays."""

from __future__ import annotations

import ctypes
import os
import resource
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from contact_core.base.config import parameter
from contact_core.base.errors import ConfigError, choices

SWITCH_INTERVAL = 5e-5
"""Longest time another Python thread may keep the interpreter from the loop [s]."""

LOCK_CURRENT, LOCK_FUTURE, LOCK_ON_FAULT = 1, 2, 4
"""Flags of ``mlockall``: pages stay from when they are first used, now and later."""


@dataclass(frozen=True)
class RealTimeConfig:
    """What a node asks of the operating system; without permission it runs as any other."""

    priority: int = parameter(
        40,
        "priority of the loop among real-time threads, if permitted; 0: an ordinary thread",
        low=0,
        high=98,
    )
    processors: str = parameter(
        "", "numbers of the processors that may run the loop, e.g. `2,3`; empty: any"
    )
    lock_memory: bool = parameter(True, "keep memory from being swapped out, if permitted")

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
        processors: The processors that may run the loop.
        memory: "locked", "ordinary", or what was not permitted.
    """

    scheduling: str
    processors: str
    memory: str


def enter_real_time(config: RealTimeConfig) -> RealTimeReport:
    """Raise the calling thread, a loop's, and what it waits for; a refusal is reported, not raised.

    A loop waits for messages, which threads of DDS receive, and for the interpreter, which the
    main thread may hold: they are raised with it, the main thread to one less. Other threads of
    Python, for files for instance, and those that are started later stay ordinary.

    Args:
        config: What is wanted.

    Returns:
        What was granted.
    """
    sys.setswitchinterval(SWITCH_INTERVAL)
    _pin(config.processor_set)
    raised = config.priority > 0 and _raise_threads(config.priority)
    locked = config.lock_memory and _lock_memory()
    return RealTimeReport(
        _in_words(f"real time, priority {config.priority}", config.priority > 0, raised),
        ",".join(str(number) for number in sorted(os.sched_getaffinity(0))),
        _in_words("locked", config.lock_memory, locked),
    )


def keep_up_with_main_thread() -> None:
    """Give the calling thread the priority of the main thread, for work beside a loop.

    A thread that other programs keep from running may hold the interpreter all the while.
    """
    main = threading.main_thread().native_id or 0
    try:
        policy, parameters = os.sched_getscheduler(main), os.sched_getparam(main)
        os.sched_setscheduler(threading.get_native_id(), policy, parameters)
    except OSError:
        return  # the loop's own request says what is not permitted


def _in_words(what: str, wanted: bool, granted: bool) -> str:
    if wanted and not granted:
        return f"ordinary: {what} is not permitted, see contact-stack doctor"
    return what if wanted else "ordinary"


def _pin(processors: frozenset[int]) -> None:
    with suppress(OSError):  # the report says which they are
        if processors:
            # The system call means the calling thread when it is given 0.
            os.sched_setaffinity(0, processors)


def _raise_threads(priority: int) -> bool:
    main = threading.main_thread().native_id
    ordinary = {thread.native_id for thread in threading.enumerate()}
    ordinary -= {main, threading.get_native_id()}
    policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
    try:
        for task in Path("/proc/self/task").iterdir():
            number = int(task.name)
            if number not in ordinary:
                least = max(1, priority - 1) if number == main else priority
                os.sched_setscheduler(number, policy, os.sched_param(least))
    except ProcessLookupError:
        # A thread has ended meanwhile.
        return _raise_threads(priority)
    except OSError:
        return False
    return True


def _lock_memory() -> bool:
    # Below a limit, memory that is asked for later would be refused.
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    if os.geteuid() != 0 and limit != resource.RLIM_INFINITY:
        return False
    flags = LOCK_CURRENT | LOCK_FUTURE | LOCK_ON_FAULT
    return ctypes.CDLL(None).mlockall(flags) == 0
