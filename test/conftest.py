"""Fixtures of all tests that use ROS, and what makes long runs resumable."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]

CAN_WAIT = 5
"""Niceness of tests that wait for no graph."""

PASSED = "contact_stack/passed"
"""Where pytest's cache keeps the tests that passed, and the state of the sources then."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer to go on where a long run was interrupted, and to soak for another time."""
    parser.addoption(
        "--resume", action="store_true", help="leave out what has passed with these very sources"
    )
    parser.addoption(
        "--soak-simulated", type=float, default=7200.0, help="length of the soak in process [s]"
    )
    parser.addoption(
        "--soak-real", type=float, default=1800.0, help="length of the soak over DDS [s]"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Remember what passes from now on, and take the signals that the starter may ignore."""
    # Whoever starts a run in the background ignores some, and processes of tests would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    if config.getoption("resume"):
        config.pluginmanager.register(_Resume(config))


class _Resume:
    """Leaves out the tests that have passed, notes those that pass."""

    def __init__(self, config: pytest.Config) -> None:
        self._cache = config.cache
        self._sources = _state_of_sources()
        noted = self._cache.get(PASSED, {})
        self._passed = set(noted["tests"]) if noted.get("sources") == self._sources else set()

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        done = [item for item in items if item.nodeid in self._passed]
        config.hook.pytest_deselected(items=done)
        items[:] = [item for item in items if item.nodeid not in self._passed]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self._passed.add(report.nodeid)
        elif report.failed:
            self._passed.discard(report.nodeid)
        else:
            return
        # At once: a run may be killed.
        self._cache.set(PASSED, {"sources": self._sources, "tests": sorted(self._passed)})

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self._passed:
            session.exitstatus = pytest.ExitCode.OK


def _state_of_sources() -> str:
    """Return a digest of the commit and of every change that is not committed."""
    digest = hashlib.sha256()
    for words in (("rev-parse", "HEAD"), ("diff", "HEAD"), ("status", "--porcelain")):
        digest.update(subprocess.check_output(["git", "-C", REPOSITORY, *words]))
    return digest.hexdigest()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put graphs first: one worker runs them one after the other, the others have the rest.

    Those that share a graph come together.
    """
    items.sort(
        key=lambda item: (
            item.get_closest_marker("graph") is None,
            "held" not in getattr(item, "fixturenames", ()),
        )
    )


@pytest.fixture(autouse=True)
def yielding_to_graphs(request: pytest.FixtureRequest) -> None:
    """Let a graph, which another worker may run in real time, go before what can wait."""
    if request.node.get_closest_marker("graph") is None:
        os.setpriority(os.PRIO_PROCESS, 0, max(CAN_WAIT, os.getpriority(os.PRIO_PROCESS, 0)))


@pytest.fixture(autouse=True)
def ordinary_scheduling() -> Iterator[None]:
    """Give back the real time that a node within the test's own process has asked for.

    All tests that follow would keep it, and the processes of other tests would have to wait.
    """
    yield
    if os.sched_getscheduler(0) != os.SCHED_OTHER:
        for task in Path("/proc/self/task").iterdir():
            with suppress(ProcessLookupError):
                os.sched_setscheduler(int(task.name), os.SCHED_OTHER, os.sched_param(0))


@pytest.fixture
def ros_domain(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A ROS domain of this test's own, reaching no other machine."""
    from own_domain import own_domain

    with own_domain() as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("PYTHONPATH", str(REPOSITORY), prepend=os.pathsep)
        yield int(environment["ROS_DOMAIN_ID"])


def _group_members(group: int) -> list[int]:
    """Return the processes of a group that are alive; zombies are not."""
    members = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, process_group = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:  # it ended while we were looking
            continue
        if int(process_group) == group and state not in "ZX":
            members.append(int(stat.parent.name))
    return members


@pytest.fixture(autouse=True)
def keep_signal_handlers() -> Iterator[None]:
    """Put back what a command that ran within a test has made of the signals."""
    handlers = {it: signal.getsignal(it) for it in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in handlers.items():
        if handler is not None:  # else it is none of Python's
            signal.signal(number, handler)


@pytest.fixture
def alive() -> Callable[[int], bool]:
    """Tell whether anything is left of a process group."""
    return lambda group: bool(_group_members(group))


@pytest.fixture
def start_process(ros_domain: int) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start processes in groups of their own; whatever is left at the end is an error."""
    started: list[subprocess.Popen[str]] = []

    def start(*command: str | Path) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    left = {p.args[0]: _group_members(p.pid) for p in started if _group_members(p.pid)}
    for process in started:
        if _group_members(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert not left, f"processes left behind: {left}"
