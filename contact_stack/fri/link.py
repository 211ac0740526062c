"""The connection to the cabinet: a socket, and one thread that does nothing but answer.

What becomes of the graph, of rclpy and of the controller does not concern that thread: it takes
the latest command from a field, and hands states on to a queue that it never waits for.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from contact_core.base.errors import CommunicationError
from contact_ros.stamps import NANOSECONDS
from contact_stack.fri.session import Address, Session, Stamped
from contact_stack.fri.wire import MAX_DATAGRAM, Monitoring, SessionState

WAIT_SHARE = 0.4
"""Share of a period for which this cycle's command is waited for."""

ANSWER_TIME = 2e-4
"""Of that, what is kept for the answer itself [s]."""

PATIENCE = 0.05
"""How long the thread waits for a datagram before it looks at the time [s]."""

MAX_READS = 64
"""So many datagrams that have piled up are read in one go."""

MAX_STATES = 32
"""So many states wait for who publishes them; others are dropped."""

HISTORY = 4096
"""Number of the latest answers whose times are kept."""

FAREWELL = 1.0
"""How long the joints may take to come to rest when the driver ends [s]."""

SO_TIMESTAMPNS = 35
"""Of Linux: the kernel says when a datagram arrived."""

KERNEL_TIME = struct.Struct("qq")


@dataclass(frozen=True)
class Heard:
    """What a message of the cabinet's says, for the graph.

    Attributes:
        message: The message.
        sent: (7) what it was told last [rad]; None if nothing was commanded.
    """

    message: Monitoring
    sent: NDArray[np.float64] | None


@dataclass(frozen=True)
class AnswerTimes:
    """How long the latest answers took, from the kernel's stamp of the message.

    Attributes:
        answers: All since the start.
        late: Those of them that took more than half of their period.
        p50_us: Median [us]; NaN before the first, as the others.
        p99_us: 99th percentile [us].
        max_us: The longest [us].
    """

    answers: int
    late: int
    p50_us: float
    p99_us: float
    max_us: float


class Link:
    """Answers the cabinet in a thread of its own.

    Attributes:
        states: What was heard, for whoever publishes it.
        dropped: States that nobody took in time.
    """

    def __init__(
        self,
        session: Session,
        port: int,
        on_error: Callable[[BaseException], None],
        on_start: Callable[[], object] = lambda: None,
        address: str = "0.0.0.0",
    ) -> None:
        """Take the port.

        Args:
            session: Makes the answers; from the start on it is that thread's.
            port: UDP port of this machine that the cabinet sends to; 0 for any.
            on_error: Called in the thread with an error that has ended it.
            on_start: Called first in the thread, e.g. to raise its priority.
            address: Of this machine, to listen at.

        Raises:
            CommunicationError: If another process has the port.
        """
        self._session, self._on_error, self._on_start = session, on_error, on_start
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind((address, port))
        except OSError as error:
            self._socket.close()
            raise CommunicationError(
                f"UDP port {port} is not free ({error.strerror}): another driver answers the "
                "robot already; stop it, or set the parameter port"
            ) from error
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._socket.setblocking(False)
        self._came = os.eventfd(0, os.EFD_NONBLOCK)
        self._command: Stamped | None = None
        self._stopping = False
        self._times = np.zeros(HISTORY)
        self._answers = self._late = 0
        self.states: SimpleQueue[Heard | None] = SimpleQueue()
        self.dropped = 0
        self._thread = threading.Thread(target=self._run, name="FRI", daemon=True)

    @property
    def port(self) -> int:
        """The UDP port that is listened at."""
        port: int = self._socket.getsockname()[1]
        return port

    def start(self) -> None:
        """Begin to answer. A link starts only once."""
        self._thread.start()

    def stop(self) -> None:
        """Bring the joints to rest, and answer no more."""
        self._session.closing = self._stopping = True
        if self._thread.is_alive():
            self._thread.join(FAREWELL + 1.0)
        self.states.put(None)
        self._socket.close()
        os.close(self._came)

    def command(self, position: NDArray[np.float64]) -> None:
        """Take a command; may be called from any thread, and never waits.

        Args:
            position: (7) joint positions [rad].
        """
        self._command = time.monotonic(), position
        if not self._stopping:
            os.eventfd_write(self._came, 1)

    def times(self) -> AnswerTimes:
        """Summarise how long answers took; may be called from any thread."""
        times = 1e6 * self._times[: min(self._answers, HISTORY)]
        if not times.size:
            return AnswerTimes(0, 0, np.nan, np.nan, np.nan)
        p50, p99, longest = np.percentile(times, (50, 99, 100)).tolist()
        return AnswerTimes(self._answers, self._late, p50, p99, longest)

    def _run(self) -> None:
        try:
            self._on_start()
            self._drain()
            end = float("inf")
            while time.monotonic() < end and not (self._stopping and self._session.at_rest):
                if self._stopping and end == float("inf"):
                    end = time.monotonic() + FAREWELL
                self._cycle()
        except BaseException as error:
            self._on_error(error)

    def _drain(self) -> None:
        """Throw away what arrived before anybody could answer."""
        for _ in range(MAX_READS):
            if self._read() is None:
                return

    def _cycle(self) -> None:
        """Wait for datagrams, answer the newest one that is due, and hand on what was heard."""
        session = self._session
        ready, _, _ = select.select([self._socket], [], [], PATIENCE)
        heard, due, arrived = [], False, 0.0
        # Reading goes on until nothing waits: an answer to what is old would only be late.
        for _ in range(MAX_READS if ready else 0):
            datagram = self._read()
            if datagram is None:
                break
            data, sender, stamp = datagram
            message = session.receive(data, sender, time.monotonic())
            if message is not None:
                heard.append(message)
                due, arrived = session.due, stamp
        session.look(time.monotonic())
        if due and session.peer is not None:
            self._await_command(arrived)
            self._answer(session.answer(self._command, time.monotonic()), session.peer, arrived)
        for message in heard:
            self._hand_on(message)

    def _read(self) -> tuple[bytes, Address, float] | None:
        """Return a datagram, its sender, and when it came by the system's clock [s], if any."""
        try:
            data, extra, _, sender = self._socket.recvmsg(
                MAX_DATAGRAM + 1, socket.CMSG_SPACE(KERNEL_TIME.size)
            )
        except OSError:
            return None  # nothing, or what an answer to a cabinet that has gone came back with
        for _, kind, stamp in extra:
            if kind == SO_TIMESTAMPNS:
                seconds, nanoseconds = KERNEL_TIME.unpack(stamp)
                return data, sender, seconds + nanoseconds / NANOSECONDS
        return data, sender, time.time()

    def _await_command(self, arrived: float) -> None:
        """Wait for this cycle's command, if commands come at all."""
        session = self._session
        most = WAIT_SHARE * session.answer_period - ANSWER_TIME
        end = time.monotonic() + min(most - (time.time() - arrived), most)
        while session.awaits_command and not session.is_new(self._command):
            left = end - time.monotonic()
            if left <= 0.0 or not select.select([self._came], [], [], left)[0]:
                return
            os.eventfd_read(self._came)

    def _answer(self, answer: bytes, peer: Address, arrived: float) -> None:
        try:
            self._socket.sendto(answer, peer)
        except OSError:
            return  # the cable is out, or the cabinet has gone: it counts what it misses
        taken = time.time() - arrived
        self._times[self._answers % HISTORY] = taken
        self._answers += 1
        self._late += taken > 0.5 * self._session.answer_period

    def _hand_on(self, message: Monitoring) -> None:
        if message.session is SessionState.IDLE:
            return
        if self.states.qsize() >= MAX_STATES:
            self.dropped += 1
            return
        self.states.put(Heard(message, self._session.sent))
