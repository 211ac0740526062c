"""What the operating system grants a thread, and what is said when it does not."""

import os
import threading

import pytest

from contact_core.errors import ConfigError
from contact_ros import real_time
from contact_ros.real_time import RealTimeConfig, enter_real_time


def in_a_thread(function):
    """Run in a thread of its own, so that nothing of it is left; return the result."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def test_a_refusal_is_reported_and_nothing_else_happens(monkeypatch):
    def refuse(*args):
        raise PermissionError

    monkeypatch.setattr(real_time.os, "sched_setscheduler", refuse)
    report = in_a_thread(lambda: enter_real_time(RealTimeConfig(priority=50)))
    assert not report.granted
    assert "not permitted" in report.scheduling


def test_only_the_calling_thread_changes():
    """Whether it is permitted or not, the report says what is the case."""

    def change():
        report = enter_real_time(RealTimeConfig(priority=5))
        return report, os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK

    report, policy = in_a_thread(change)
    assert report.granted == (policy == os.SCHED_FIFO)
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_processors_are_those_asked_for():
    before = os.sched_getaffinity(0)
    first = min(before)
    report = in_a_thread(lambda: enter_real_time(RealTimeConfig(0, str(first))))
    assert report.granted
    assert report.processors == str(first)
    assert report.scheduling == "ordinary"
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("processors", ["one", "4711", "-1"])
def test_processors_that_do_not_exist_are_refused(processors):
    with pytest.raises(ConfigError, match=r"real_time\.processors"):
        RealTimeConfig(processors=processors)
