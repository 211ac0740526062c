"""The thread that answers, over the loopback; who answers, and who gets the port."""

from __future__ import annotations

import socket
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
from contact_stack.fri.gate import Gate, GateConfig
from contact_stack.fri.link import Link
from contact_stack.fri.session import Session, SessionStatus

LIMIT = np.full(7, 3.0)


class Bench:
    """A link, and a socket in the cabinet's place."""

    def __init__(self) -> None:
        self.gate = Gate(-LIMIT, LIMIT, LIMIT, GateConfig())
        self.session = Session("1.15", self.gate)
        self.errors: list[BaseException] = []
        self.link = Link(self.session, 0, self.errors.append, address="127.0.0.1")
        self.cabinet = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.cabinet.settimeout(5.0)
        self.script = Script(stamp=time.time_ns())

    def send(self, state: int) -> None:
        data = self.script.next(state).encode()
        self.cabinet.sendto(data, ("127.0.0.1", self.link.port))

    def ask(self, state: int) -> Answer:
        self.send(state)
        return answer(self.cabinet.recv(2000))


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.link.stop()
    made.cabinet.close()
    assert not made.errors


def test_the_cabinet_is_answered_and_commanded(bench: Bench) -> None:
    # What came before it began is old.
    bench.send(MONITORING_READY)
    bench.send(MONITORING_READY)
    time.sleep(0.01)
    bench.link.start()
    while bench.link._thread.native_id is None or not bench.session.messages:
        # The first ones may be sent before the thread has thrown the old ones away.
        bench.send(MONITORING_READY)
        time.sleep(0.01)
    bench.cabinet.setblocking(False)
    while True:
        try:
            bench.cabinet.recv(2000)
        except BlockingIOError:
            break
    bench.cabinet.settimeout(5.0)
    for state in (COMMANDING_WAIT, COMMANDING_WAIT, COMMANDING_ACTIVE):
        answered = bench.ask(state)
        assert answered.position == HOME and answered.reflected == bench.script.sequence
    target = np.array(HOME)
    for _ in range(10):
        target = target + 0.001
        bench.link.command(target)
        answered = bench.ask(COMMANDING_ACTIVE)
    assert answered.position == pytest.approx(target)
    times = bench.link.times()
    assert times.answers >= 13 and 0.0 < times.p50_us < 1e6
    states = [bench.link.states.get() for _ in range(bench.session.messages)]
    assert states[-1] is not None and states[-1].sent == pytest.approx(target)
    # Nobody listens any more: it brakes and goes on answering.
    held = [bench.ask(COMMANDING_ACTIVE).position for _ in range(20)]
    assert held[-1] == held[-2] and bench.session.status is SessionStatus.COMMANDED


def test_this_cycles_command_is_waited_for(bench: Bench) -> None:
    bench.script.period = 100
    bench.link.start()
    while not bench.session.messages:
        bench.send(MONITORING_READY)
        time.sleep(0.01)
    bench.send(COMMANDING_WAIT)
    bench.send(COMMANDING_ACTIVE)
    while bench.session.status is not SessionStatus.COMMANDED:
        time.sleep(0.001)
    bench.link.command(np.array(HOME))
    bench.send(COMMANDING_ACTIVE)
    while not bench.session.awaits_command:
        time.sleep(0.001)
    bench.send(COMMANDING_ACTIVE)
    late = np.array(HOME) + 0.001
    time.sleep(0.005)
    bench.link.command(late)
    while (answered := answer(bench.cabinet.recv(2000))).reflected != bench.script.sequence:
        pass
    assert answered.position == pytest.approx(late, abs=1e-9)


def test_states_that_nobody_takes_are_dropped(bench: Bench) -> None:
    bench.link.start()
    while not bench.link.dropped:
        bench.send(MONITORING_READY)
        time.sleep(0.001)
    assert bench.link.states.qsize() <= 32


def test_the_second_driver_gets_no_port(bench: Bench) -> None:
    with pytest.raises(CommunicationError, match=f"UDP port {bench.link.port} .* another driver"):
        Link(bench.session, bench.link.port, bench.errors.append, address="127.0.0.1")
    # Nor does one that listens everywhere.
    with pytest.raises(CommunicationError):
        Link(bench.session, bench.link.port, bench.errors.append)
