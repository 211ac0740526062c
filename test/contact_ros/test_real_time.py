"""What the operating system does for a loop, in a process of its own that a test can spoil."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from contact_core.base.errors import ConfigError
from contact_ros.real_time import RealTimeConfig

PROBE = """
import dataclasses, json, os, resource, sys, threading
from contact_ros import real_time

changes = json.loads(sys.argv[1])
if changes.pop("refuse", False):
    def refuse(*args):
        raise PermissionError
    os.sched_setscheduler = refuse
if "memlock" in changes:
    limit = changes.pop("memlock")
    resource.getrlimit = lambda which: (limit, limit)
    os.geteuid = lambda: 1000
found = {}

def look(name):
    policy = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
    found[name] = os.sched_getparam(0).sched_priority if policy == os.SCHED_FIFO else 0

def loop():
    report = real_time.enter_real_time(real_time.RealTimeConfig(**changes))
    found["report"] = dataclasses.asdict(report)
    look("loop")
    later = threading.Thread(target=look, args=("later",))
    later.start()
    later.join()
    done.set()

done = threading.Event()
files = threading.Thread(target=lambda: (done.wait(), look("files")))
files.start()
thread = threading.Thread(target=loop)
thread.start()
thread.join()
files.join()
look("main")
status = open("/proc/self/status").read()
found["locked"] = int(status.partition("VmLck:")[2].split()[0])
found["processors"] = sorted(os.sched_getaffinity(0))
print(json.dumps(found))
"""


def probe(**changes):
    """Let a thread of another process enter real time; return what it found."""
    command = [sys.executable, "-c", PROBE, json.dumps(changes)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def test_the_loop_and_what_it_waits_for_are_raised_and_nothing_else():
    """Whether it is permitted or not, the report says what is the case."""
    found = probe(priority=20, lock_memory=False)
    granted = found["report"]["scheduling"] == "real time, priority 20"
    assert granted or "not permitted" in found["report"]["scheduling"]
    assert (found["loop"], found["main"]) == ((20, 19) if granted else (0, 0))
    assert (found["files"], found["later"]) == (0, 0)


def test_a_refusal_is_reported_and_nothing_else_happens():
    found = probe(priority=50, lock_memory=False, refuse=True)
    assert "not permitted" in found["report"]["scheduling"]
    assert found["loop"] == found["main"] == 0


def test_memory_is_locked_where_it_may_be():
    found = probe(priority=0)
    locked = found["report"]["memory"] == "locked"
    assert locked or "not permitted" in found["report"]["memory"]
    assert (found["locked"] > 0) == locked


def test_memory_is_not_locked_below_a_limit_that_it_would_reach_later():
    found = probe(priority=0, memlock=2**40)
    assert "not permitted" in found["report"]["memory"]
    assert found["locked"] == 0


def test_processors_are_those_asked_for():
    ours = probe(priority=0, lock_memory=False)["processors"]
    found = probe(priority=0, lock_memory=False, processors=str(ours[0]))
    assert found["report"] == {
        "scheduling": "ordinary",
        "processors": str(ours[0]),
        "memory": "ordinary",
    }
    # The main thread stays where it was.
    assert found["processors"] == ours


@pytest.mark.parametrize("processors", ["one", "4711", "-1"])
def test_processors_that_do_not_exist_are_refused(processors):
    with pytest.raises(ConfigError, match=r"real_time\.processors"):
        RealTimeConfig(processors=processors)


@pytest.mark.parametrize("turn", ["first", "second"])
def test_a_test_keeps_its_scheduling_to_itself(turn: str) -> None:
    assert os.sched_getscheduler(0) == os.SCHED_OTHER
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
