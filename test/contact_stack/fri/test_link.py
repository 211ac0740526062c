"""The process that answers, over the loopback; who answers, and who gets the port."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from fri_datagrams import (
    COMMANDING_ACTIVE,
    COMMANDING_WAIT,
    HOME,
    MONITORING_READY,
    Answer,
    Script,
    answer,
)

from contact_core.base.errors import CommunicationError
from contact_ros.real_time import RealTimeConfig
from contact_stack.fri.answering import COMMAND, Answering, AnsweringReport, AnsweringSetup, Heard
from contact_stack.fri.gate import Gate, GateConfig
from contact_stack.fri.link import Link
from contact_stack.fri.session import ClientSession, SessionStatus

LIMIT = np.full(7, 3.0)
ORDINARY = RealTimeConfig(priority=0, lock_memory=False)
SETUP = AnsweringSetup("1.15", "", 1.0, False, -LIMIT, LIMIT, LIMIT, GateConfig(), ORDINARY)


class Cabinet:
    """A socket and a script in the robot's place."""

    def __init__(self, port: int, **script: int) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(5.0)
        self.script = Script(stamp=time.time_ns(), **script)
        self.address = "127.0.0.1", port

    def send(self, state: int) -> None:
        self.socket.sendto(self.script.next(state).encode(), self.address)

    def ask(self, state: int) -> Answer:
        """Send, and return the answer to this one."""
        self.send(state)
        while (answered := answer(self.socket.recv(2000))).reflected != self.script.sequence:
            pass
        return answered

    def begin(self) -> None:
        """Ask until somebody answers, then let the robot be commanded."""
        self.socket.settimeout(0.1)
        for _ in range(100):
            try:
                self.ask(MONITORING_READY)
                break
            except TimeoutError:
                pass
        self.socket.settimeout(5.0)
        assert self.ask(COMMANDING_WAIT).position == HOME
        assert self.ask(COMMANDING_ACTIVE).position == HOME


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def bench() -> Iterator[tuple[Link, Cabinet]]:
    """A process that answers, and a cabinet that commands nothing yet."""
    port = free_port()
    link, cabinet = Link(SETUP, port, "127.0.0.1"), Cabinet(port)
    yield link, cabinet
    link.stop()
    while link.receive() is not None:
        pass
    link.close()
    cabinet.socket.close()
    # It may have been ended while it was starting.
    assert link._process.returncode in (0, -signal.SIGTERM)


def told(link: Link, kind: type) -> Heard | AnsweringReport:
    """Return the next thing of a kind that the process tells."""
    while not isinstance(found := link.receive(), kind):
        assert found is not None
    return found


def test_the_cabinet_is_answered_and_commanded(bench: tuple[Link, Cabinet]) -> None:
    link, cabinet = bench
    cabinet.begin()
    target = np.array(HOME)
    for _ in range(10):
        target = target + 0.001
        link.command(target)
        answered = cabinet.ask(COMMANDING_ACTIVE)
    assert answered.position == pytest.approx(target)
    while not (
        isinstance(state := told(link, Heard), Heard)
        and state.sent is not None
        and np.allclose(state.sent, target)
    ):
        pass
    # Nobody commands any more: it brakes and goes on answering.
    held = [cabinet.ask(COMMANDING_ACTIVE).position for _ in range(20)]
    assert held[-1] == held[-2]
    time.sleep(0.2)
    cabinet.ask(COMMANDING_ACTIVE)
    reports = [told(link, AnsweringReport) for _ in range(3)]
    report = reports[-1]
    assert isinstance(report, AnsweringReport) and report.status is SessionStatus.COMMANDED
    assert report.counts["answers"] > 30 and 0 < report.counts["answer_p50_us"] < 1e6


def test_it_outlives_a_node_that_hangs_and_states_are_dropped(bench: tuple[Link, Cabinet]) -> None:
    link, cabinet = bench
    cabinet.begin()
    # Nobody reads what it tells.
    for _ in range(1000):
        assert cabinet.ask(COMMANDING_ACTIVE).position == HOME
    while (
        not isinstance(report := link.receive(), AnsweringReport)
        or not (report.counts["dropped_states"])
    ):
        cabinet.ask(COMMANDING_ACTIVE)


def test_a_node_that_is_gone_is_reason_to_end(bench: tuple[Link, Cabinet]) -> None:
    link, cabinet = bench
    cabinet.begin()
    link._pipe.shutdown(socket.SHUT_RDWR)
    end = time.monotonic() + 5.0
    while link._process.poll() is None and time.monotonic() < end:
        cabinet.send(COMMANDING_ACTIVE)
        time.sleep(0.005)
    assert link._process.returncode == 0


def test_a_signal_to_all_does_not_end_it_alone(bench: tuple[Link, Cabinet]) -> None:
    link, cabinet = bench
    cabinet.begin()
    os.kill(link._process.pid, signal.SIGINT)
    assert cabinet.ask(COMMANDING_ACTIVE).position == HOME
    # That of the node brakes first.
    target = np.array(HOME)
    for _ in range(50):
        target = target + 0.002
        link.command(target)
        before = cabinet.ask(COMMANDING_ACTIVE).position
    os.kill(link._process.pid, signal.SIGTERM)
    cabinet.socket.settimeout(0.5)
    moved = []
    try:
        while True:
            link.command(target)
            moved.append(cabinet.ask(COMMANDING_ACTIVE).position)
    except TimeoutError:
        pass
    assert before is not None and moved[-1] is not None
    assert 0.0 <= moved[-1][0] - before[0] < 0.4**2 / (2 * 50.0) + 0.004
    assert moved[-1] == moved[-2] or len(moved) < 4


def test_the_second_driver_gets_no_port(bench: tuple[Link, Cabinet]) -> None:
    _, cabinet = bench
    port = cabinet.address[1]
    with pytest.raises(CommunicationError, match=f"UDP port {port} .* another driver"):
        Link(SETUP, port, "127.0.0.1")
    # Nor does one that listens everywhere.
    with pytest.raises(CommunicationError):
        Link(SETUP, port)


class InThread:
    """The answering in a thread of the test's own."""

    def __init__(self, period: int) -> None:
        port = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        port.bind(("127.0.0.1", 0))
        self.node, pipe = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        gate = Gate(-LIMIT, LIMIT, LIMIT, GateConfig())
        self.session = ClientSession("1.15", gate)
        self.cabinet = Cabinet(port.getsockname()[1], period=period)
        # What came before it began is old.
        self.cabinet.send(MONITORING_READY)
        time.sleep(0.01)
        self.answering = Answering(self.session, gate, port, pipe)
        self.thread = threading.Thread(target=self.answering.run)
        self.sockets = port, pipe, self.node, self.cabinet.socket

    def __enter__(self) -> InThread:
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.answering.stopping = True
        self.thread.join()
        for each in self.sockets:
            each.close()


def test_this_cycles_command_is_waited_for() -> None:
    with InThread(period=100) as bench:
        cabinet = bench.cabinet
        cabinet.begin()
        assert bench.session.lost == 0 and bench.session.sessions == 1

        def command(position: np.ndarray) -> None:
            bench.node.send(COMMAND.pack(time.monotonic(), *position))

        command(np.array(HOME))
        cabinet.ask(COMMANDING_ACTIVE)
        assert bench.session.awaits_command
        cabinet.send(COMMANDING_ACTIVE)
        time.sleep(0.005)
        late = np.array(HOME) + 0.001
        command(late)
        answered = answer(cabinet.socket.recv(2000))
        assert answered.reflected == cabinet.script.sequence
        assert answered.position == pytest.approx(late, abs=1e-9)
        # If none comes, that does not last.
        start = time.monotonic()
        cabinet.ask(COMMANDING_ACTIVE)
        assert time.monotonic() - start > 0.03
