"""The process that answers the cabinet; it runs nothing else, and no ROS.

In the node's own process an answer would have to wait whenever rclpy keeps the interpreter, for as
long as DDS or the log do not come back. So what becomes of the graph, of the controller and of the
node does not concern it: without commands it brakes, and goes on answering. When the node ends,
however it ends, it brakes and ends too.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import socket
import struct
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contact_core.base.signals import end_with_parent, stop_signals
from contact_ros.entry_point import freeze_garbage_collector
from contact_ros.real_time import RealTimeConfig, enter_real_time
from contact_ros.stamps import NANOSECONDS
from contact_stack.fri.gate import Gate, GateConfig
from contact_stack.fri.session import Address, ClientSession, SessionStatus, Stamped
from contact_stack.fri.wire import (
    JOINTS,
    MAX_DATAGRAM,
    MONITORING_ID,
    CabinetMessage,
    SessionState,
    decode,
    encode,
    framed,
    message_class,
)

WAIT_SHARE = 0.4
"""Share of a period for which this cycle's command is waited for."""

ANSWER_TIME = 2e-4
"""Of that, what is kept for the answer itself [s]."""

PATIENCE = 0.05
"""How long a datagram is waited for before anything else is looked at [s]."""

REPORT_PERIOD = 0.1
"""How often the node is told how it goes [s]."""

MAX_READS = 64
"""So many datagrams that have piled up are read in one go."""

MAX_OLD = 10_000
"""So many are thrown away at the start, at most: somebody may flood us."""

HISTORY = 4096
"""Number of the latest answers whose times are kept."""

FAREWELL = 1.0
"""How long the joints may take to come to rest when the driver ends [s]."""

SO_TIMESTAMPNS = 35
"""Of Linux: the kernel says when a datagram arrived."""

KERNEL_TIME = struct.Struct("qq")
COMMAND = struct.Struct(f"{1 + JOINTS}d")
"""When a command came, and its positions."""


@dataclass(frozen=True)
class AnsweringSetup:
    """What the process is told at its start.

    Attributes:
        version: One of :data:`contact_stack.fri.wire.VERSIONS`.
        host: Address of the cabinet; empty for the first that sends.
        timeout: A cabinet that is silent for longer has left [s].
        allow_late: Whether short periods need no real-time permission.
        lowest: (7) smallest joint positions [rad].
        highest: (7) largest joint positions [rad].
        speed: (7) speed limits of the joints [rad/s].
        gate: What may leave for the robot.
        real_time: What is asked of the operating system.
    """

    version: str
    host: str
    timeout: float
    allow_late: bool
    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]
    speed: NDArray[np.float64]
    gate: GateConfig
    real_time: RealTimeConfig


@dataclass(frozen=True)
class Heard:
    """What a message of the cabinet's says, for the graph.

    Attributes:
        message: The message.
        sent: (7) what it was told last [rad]; None if nothing was commanded.
    """

    message: CabinetMessage
    sent: NDArray[np.float64] | None


@dataclass(frozen=True)
class AnsweringReport:
    """How it goes.

    Attributes:
        status: How the session is.
        message: The cabinet's latest message; None without one.
        peer: Its address.
        refused: Datagrams that were not taken, by reason.
        problem: What was wrong with the last of them.
        refused_command: Why a command was refused last; empty if none was.
        scheduling: What the operating system granted.
        fast: Whether short periods are commanded.
        counts: Numbers by name, as for /diagnostics; times of answers from the kernel's stamp of
            the message on.
    """

    status: SessionStatus
    message: CabinetMessage | None
    peer: Address | None
    refused: dict[str, int]
    problem: str
    refused_command: str
    scheduling: str
    fast: bool
    counts: dict[str, int]


class Answering:
    """Answers the cabinet, takes commands from the node, and tells it what was heard.

    Attributes:
        stopping: Set it to bring the joints to rest, and to answer no more.
    """

    def __init__(
        self, session: ClientSession, gate: Gate, port: socket.socket, pipe: socket.socket
    ) -> None:
        """Prepare.

        Args:
            session: Makes the answers.
            gate: That of the session.
            port: The UDP socket that the cabinet sends to.
            pipe: To the node.
        """
        self._session, self._gate, self._port, self._pipe = session, gate, port, pipe
        port.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        port.setblocking(False)
        pipe.setblocking(False)
        self._command: Stamped | None = None
        self._times = np.zeros(HISTORY)
        self._counts: Counter[str] = Counter()
        self._reported = 0.0
        self.scheduling = ""
        self.stopping = False

    def run(self) -> None:
        """Answer until it is to stop and the joints are at rest."""
        for _ in range(MAX_OLD):
            # What arrived before anybody could answer is old.
            if self._read() is None:
                break
        end = np.inf
        while time.monotonic() < end and not (self.stopping and self._session.at_rest):
            if self.stopping and end == np.inf:
                self._session.closing, end = True, time.monotonic() + FAREWELL
            self._cycle()

    def _cycle(self) -> None:
        """Wait for datagrams, answer the newest one that is due, and hand on what was heard."""
        session, heard, arrived = self._session, [], 0.0
        ready, _, _ = select.select([self._port], [], [], PATIENCE)
        # Reading goes on until nothing waits: an answer to what is old would only be late.
        for _ in range(MAX_READS if ready else 0):
            datagram = self._read()
            if datagram is None:
                break
            data, sender, arrived = datagram
            message = session.receive(data, sender, time.monotonic())
            if message is not None:
                heard.append(message)
        session.look(time.monotonic())
        self._take_commands()
        if heard and session.due and session.peer is not None:
            self._await_command(arrived)
            self._answer(session.answer(self._command, time.monotonic()), session.peer, arrived)
        for message in heard:
            if message.session is not SessionState.IDLE:
                self._tell(Heard(message, session.sent))
        if time.monotonic() - self._reported > REPORT_PERIOD:
            self._reported = time.monotonic()
            self._tell(self.report())

    def _read(self) -> tuple[bytes, Address, float] | None:
        """Return a datagram, its sender, and when it came by the system's clock [s], if any."""
        try:
            data, extra, _, sender = self._port.recvmsg(
                MAX_DATAGRAM + 1, socket.CMSG_SPACE(KERNEL_TIME.size)
            )
        except OSError:
            return None  # nothing, or what an answer to a cabinet that has gone came back with
        for _, kind, stamp in extra:
            if kind == SO_TIMESTAMPNS:
                seconds, nanoseconds = KERNEL_TIME.unpack(stamp)
                return data, sender, seconds + nanoseconds / NANOSECONDS
        return data, sender, time.time()

    def _take_commands(self) -> None:
        """Take the latest command that has come; a node that has gone is reason to stop."""
        with suppress(BlockingIOError):
            for _ in range(MAX_READS):
                data = self._pipe.recv(COMMAND.size)
                if len(data) != COMMAND.size:
                    self.stopping = True
                    return
                stamp, *position = COMMAND.unpack(data)
                self._command = stamp, np.array(position)

    def _await_command(self, arrived: float) -> None:
        """Wait for this cycle's command, if commands come at all."""
        session = self._session
        most = WAIT_SHARE * session.answer_period - ANSWER_TIME
        end = time.monotonic() + min(most - (time.time() - arrived), most)
        while session.awaits_command and not session.is_new(self._command) and not self.stopping:
            left = end - time.monotonic()
            if left <= 0.0 or not select.select([self._pipe], [], [], left)[0]:
                return
            self._take_commands()

    def _answer(self, answer: bytes, peer: Address, arrived: float) -> None:
        try:
            self._port.sendto(answer, peer)
        except OSError:
            return  # the cable is out, or the cabinet has gone: it counts what it misses
        taken = time.time() - arrived
        self._times[self._counts["answers"] % HISTORY] = taken
        self._counts["answers"] += 1
        self._counts["late_answers"] += taken > 0.5 * self._session.answer_period

    def _tell(self, what: Heard | AnsweringReport) -> None:
        """Hand something to the node, unless it has not taken what came before."""
        try:
            self._pipe.send(pickle.dumps(what))
        except BlockingIOError:
            self._counts["dropped_states"] += 1
        except OSError:
            self.stopping = True

    def report(self) -> AnsweringReport:
        """Sum up how it goes."""
        session, gate = self._session, self._gate
        counts = {
            "sessions": session.sessions,
            "messages": session.messages,
            "lost_messages": session.lost,
            "answers_without_command": session.repeats,
            "refused_commands": gate.refused,
            "shaped_commands": gate.shaped,
            **{name: self._counts[name] for name in ("answers", "late_answers", "dropped_states")},
        }
        times = self._times[: min(self._counts["answers"], HISTORY)]
        if times.size:
            figures = np.percentile(1e6 * times, (50, 99, 100)).tolist()
            names = ("answer_p50_us", "answer_p99_us", "answer_max_us")
            counts |= dict(zip(names, map(round, figures), strict=True))
        return AnsweringReport(
            session.status,
            session.message,
            session.peer,
            {f"refused_{why.name.lower()}": n for why, n in session.refused.items() if n},
            session.problem,
            gate.problem,
            self.scheduling,
            session.fast,
            counts,
        )


def main() -> None:
    """Answer until the node ends; the arguments are two sockets that were inherited."""
    port, pipe = (socket.socket(fileno=int(word)) for word in sys.argv[1:])
    setup: AnsweringSetup = pickle.loads(pipe.recv(MAX_DATAGRAM * MAX_READS))
    gate = Gate(setup.lowest, setup.highest, setup.speed, setup.gate)
    session = ClientSession(setup.version, gate, setup.host, setup.timeout)
    answering = Answering(session, gate, port, pipe)

    def stop(number: int, frame: object) -> None:
        answering.stopping = True

    for number in stop_signals():
        # That of a terminal goes to all its processes; the node says when it is time.
        signal.signal(number, stop if number == signal.SIGTERM else signal.SIG_IGN)
    end_with_parent()
    _warm_up(setup.version)
    freeze_garbage_collector()
    answering.scheduling = enter_real_time(setup.real_time).scheduling
    real_time = os.sched_getscheduler(0) != os.SCHED_OTHER
    session.fast = real_time or setup.allow_late
    answering.run()


def _warm_up(version: str) -> None:
    """Do once what takes longer the first time."""
    header = {"identifier": MONITORING_ID, "sequence": 0, "reflected": 0}
    message = message_class("Monitoring")(header=header, connection={}).SerializeToString()
    # Of a session that is idle, with nothing that could contradict the version.
    decode(framed(message, version), version)
    encode(0, 0, np.zeros(JOINTS), version)
