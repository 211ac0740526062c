"""What is answered to the cabinet in each state of its session; free of ROS, sockets and clocks.

The cabinet drives the clock: it sends, and every answer is to one of its messages. Monitored, it
is answered with its own command (FRI 1), or with nothing but a header (FRI 2, which has none). When
it is about to be commanded, with the position of its interpolator, and when it is commanded, with
what the gate lets pass: commands of this session, or else the position that is held. Where it asks
for something that is not spoken here it gets headers, and so does not begin.
"""

from __future__ import annotations

from collections import Counter, deque
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from contact_ros.stamps import NANOSECONDS
from contact_stack.fri import wire
from contact_stack.fri.gate import Gate
from contact_stack.fri.wire import CabinetMessage, DatagramError, Refusal, SessionState

POSITION_MODE, WRENCH_MODE, TORQUE_MODE, POSE_MODE = 1, 2, 3, 4
JOINT_OVERLAY = 1
CONTROLLED = (0, 1, 2)
"""Modes of control that follow positions: position, cartesian and joint impedance."""

SEQUENCES = 2**32
"""Numbers of messages begin anew after so many."""

ORDINARY_PERIOD = 5
"""A process without real-time scheduling answers no faster [ms]."""

HASTY, STEADY = 0.5, 0.9
"""Share of the time between two answers that the cabinet tells, below which it is not believed: of
one by the robot's clock, and of the mean of the last."""

ANSWERS = 8
"""Number of times between answers in that mean."""

SHORTEST = 1e-6
"""What the time between two answers is at least taken for [s]."""

AWAY = 0.5
"""An interpolator that is farther from where the robot is leads it astray [rad]."""

MISSES = 3
"""After so many answers without a command none is waited for."""

Address = tuple[str, int]
Stamped = tuple[float, NDArray[np.float64]]
"""A command (n) [rad], and when it came [s]."""


class SessionStatus(Enum):
    """How the session is; the value says what to do about it."""

    SILENT = "not heard: start its application, and check address, port, cable and firewall"
    CLOSED = "idle: start its application again"
    MONITORED = "monitored: let its application start a motion with a joint overlay"
    STARTING = "about to be commanded"
    COMMANDED = "commanded"
    POOR = "not answered well enough: check cable, processors and real-time permission"
    WRENCHES = "waiting for wrenches: choose position commands in its application"
    TORQUES = "waiting for torques: choose position commands in its application"
    POSES = "waiting for poses: choose position commands in its application"
    NO_COMMANDS = "waiting for no commands of joints: choose position commands in its application"
    NO_OVERLAY = "waiting without a joint overlay: choose one in its application"
    NO_CONTROL = "not controlled: choose position or impedance control in its application"
    ELSEWHERE = "about to be commanded, with its interpolator elsewhere: start the motion again"
    NO_INTERPOLATOR = "silent about its interpolator: set the parameter version to that of FRI"
    TOO_FAST = (
        f"sending faster than every {ORDINARY_PERIOD} ms, which needs real-time permission: see "
        "contact-stack doctor, choose a longer send period, or set allow_late"
    )
    NOT_OURS = "in a motion that began without this driver: start the motion again"

    @property
    def remedy(self) -> str:
        """What the robot is, and what to do about it."""
        return self.value


MONITORED = {
    SessionState.IDLE: SessionStatus.CLOSED,
    SessionState.MONITORING_WAIT: SessionStatus.POOR,
    SessionState.MONITORING_READY: SessionStatus.MONITORED,
}
"""Status of a session without a motion."""

MODES = {
    WRENCH_MODE: SessionStatus.WRENCHES,
    TORQUE_MODE: SessionStatus.TORQUES,
    POSE_MODE: SessionStatus.POSES,
}
"""Modes of commands that are refused, each by its name."""


class ClientSession:
    """Takes datagrams and makes answers; all times come from its caller.

    Attributes:
        status: How the session is.
        peer: The cabinet's address; None before it is heard.
        message: Its latest message; None without a session.
        refused: Datagrams that were not taken, by reason.
        problem: What was wrong with the last of them; empty if none was.
        sessions: How many have begun.
        messages: Messages that were taken.
        lost: Messages that never arrived.
        repeats: Answers in motion without a command that was new.
        sent: (7) position of the last answer [rad]; None if it had none.
        closing: Set it to brake, and to take no more commands.
    """

    def __init__(
        self,
        version: str,
        gate: Gate,
        host: str = "",
        timeout: float = 1.0,
        fast: bool = True,
    ) -> None:
        """Begin without a cabinet.

        Args:
            version: One of :data:`contact_stack.fri.wire.VERSIONS`.
            gate: The last step of every command.
            host: The cabinet's address; empty for the first that is heard, until it is silent.
            timeout: A cabinet that is silent for longer has left [s].
            fast: Whether answers may be asked for faster than ORDINARY_PERIOD.
        """
        self._version, self._gate, self._host = version, gate, host
        self._timeout, self.fast = timeout, fast
        self.refused: Counter[Refusal] = Counter()
        self.problem = ""
        self.sessions = self.messages = self.lost = self.repeats = 0
        self.closing = False
        self._answers = 0
        # Of the last answers, by the robot's clock and by ours [ns].
        self._times: deque[tuple[int, int]] = deque(maxlen=ANSWERS)
        self.status = SessionStatus.SILENT
        self._forget()

    def _forget(self) -> None:
        """Know of no cabinet: nothing of one is valid for the next."""
        self.message: CabinetMessage | None = None
        self.peer: Address | None = None
        self.sent: NDArray[np.float64] | None = None
        self._heard = self._used = 0.0
        self._missed = self._stamp = 0
        self._times.clear()
        self._answered: int | None = None
        self._began: tuple[int, int] | None = None

    def receive(self, data: bytes, sender: Address, now: float) -> CabinetMessage | None:
        """Take a datagram.

        Args:
            data: The datagram.
            sender: Who sent it.
            now: The time [s].

        Returns:
            The message; None if it is refused.
        """
        self.look(now)
        try:
            if self._host not in ("", sender[0]) or self.peer not in (None, sender):
                raise DatagramError(Refusal.SENDER, f"from {sender[0]}:{sender[1]}")
            message = wire.decode(data, self._version)
            self._check_order(message)
        except DatagramError as error:
            self.refused[error.refusal] += 1
            self.problem = str(error)
            return None
        self._take(message, sender, now)
        return message

    def look(self, now: float) -> None:
        """Take note of the time: a cabinet that is silent for too long has left.

        Args:
            now: The time [s].
        """
        if self.message is not None and now - self._heard > self._timeout:
            self.status = SessionStatus.SILENT
            self._forget()

    @property
    def due(self) -> bool:
        """Whether the latest message is one of those that get an answer."""
        if self.message is None or self.message.session is SessionState.IDLE:
            return False
        if self._answered is None:
            return True
        return _ahead(self.message.sequence, self._answered) >= self.message.multiplier

    @property
    def answer_period(self) -> float:
        """Time between two answers [s]; 0 without a cabinet."""
        if self.message is None:
            return 0.0
        return 1e-3 * self.message.period * self.message.multiplier

    @property
    def commanded(self) -> bool:
        """Whether commands are followed."""
        return self.status is SessionStatus.COMMANDED and not self.closing

    @property
    def awaits_command(self) -> bool:
        """Whether a command is likely to come, so that it is worth waiting for."""
        return self.commanded and self._missed < MISSES

    @property
    def at_rest(self) -> bool:
        """Whether the driver lets nothing move."""
        return self._began is None or self._gate.at_rest

    def is_new(self, command: Stamped | None) -> bool:
        """Whether a command is one of this session that has not been used.

        Args:
            command: The latest that came.
        """
        return command is not None and command[0] > self._used

    def answer(self, command: Stamped | None, now: float) -> bytes:
        """Answer the latest message, which is due.

        Args:
            command: The latest command that came; one that is not of this session is ignored.
            now: The time [s].

        Returns:
            The answer.
        """
        message = self.message
        assert message is not None
        position = None
        if message.session < SessionState.COMMANDING_WAIT:
            position = message.commanded
        elif self.status is SessionStatus.STARTING:
            position = message.interpolated
        elif self._began is not None:
            position = self._step(message, command, now)
        answer = wire.encode(self._answers % SEQUENCES, message.sequence, position, self._version)
        self._answers += 1
        self._answered = message.sequence
        self._times.append((message.stamp, round(now * NANOSECONDS)))
        self.sent = position
        return answer

    def _step(
        self, message: CabinetMessage, command: Stamped | None, now: float
    ) -> NDArray[np.float64]:
        """Let a command pass, or brake."""
        last = message.sequence if self._answered is None else self._answered
        missed = (_ahead(message.sequence, last) - 1) // message.multiplier
        if missed > 0:
            self._gate.go_on(missed, self.answer_period, message.commanded, message.position)
        wanted = None
        if self.commanded and command is not None and self.is_new(command):
            self._used, wanted = command
            self._missed = 0
        else:
            self._missed += 1
            self.repeats += not self._gate.at_rest
        return self._gate.step(wanted, self._true_period(message, now))

    def _true_period(self, message: CabinetMessage, now: float) -> float:
        """Return the time since the last answer [s], no more than the cabinet says.

        Of one that sends faster than it says, the arm would move faster than it may.
        """
        said = self.answer_period
        times = [*self._times, (message.stamp, round(now * NANOSECONDS))]
        clock = all(stamp for stamp, _ in times)
        own = [stamp if clock else arrived for stamp, arrived in times]
        if len(own) == 1:
            return said
        last = (own[-1] - own[-2]) / NANOSECONDS
        mean = (own[-1] - own[0]) / NANOSECONDS / (len(own) - 1)
        if clock and last < HASTY * said:
            return max(last, SHORTEST)
        return max(mean, SHORTEST) if mean < STEADY * said else said

    def _check_order(self, message: CabinetMessage) -> None:
        """Refuse what is older than the latest message, or far beyond it.

        A cabinet that begins anew counts from the start, but its clock goes on.
        """
        last = self.message
        if last is None:
            return
        step = _ahead(message.sequence, last.sequence)
        # One of an idle session may tell no time.
        later, most = 1e-9 * (message.stamp - self._stamp), 2.0 * self._timeout
        timely = 0.0 <= later <= most or 0 in (message.stamp, self._stamp)
        follows = step > 0 and step * last.period * 1e-3 <= most
        anew = later > 0.0 and message.session <= SessionState.MONITORING_WAIT
        if not timely or not (follows or anew):
            raise DatagramError(
                Refusal.CLOCK if follows else Refusal.ORDER,
                f"number {message.sequence}, {later:.3f} s after {last.sequence}",
            )

    def _take(self, message: CabinetMessage, sender: Address, now: float) -> None:
        last = self.message
        step = 1 if last is None else _ahead(message.sequence, last.sequence)
        if step <= 0 or self.status in (SessionStatus.SILENT, SessionStatus.CLOSED):
            self._answered = None
            self._times.clear()
            self.sessions += message.session is not SessionState.IDLE
        else:
            self.lost += step - 1
        self.peer, self._heard, self.message = sender, now, message
        self._stamp = max(self._stamp, message.stamp)
        self.messages += 1
        if message.session >= SessionState.COMMANDING_WAIT:
            self._overlay(message, now)
        else:
            self._began, self.sent, self.status = None, None, MONITORED[message.session]

    def _overlay(self, message: CabinetMessage, now: float) -> None:
        """Decide whether the cabinet may be commanded, and from when on."""
        pace = message.period, message.multiplier
        obstacle = self._obstacle(message)
        if obstacle is not None:
            self._began, self.status = None, obstacle
        elif message.session is SessionState.COMMANDING_WAIT:
            assert message.interpolated is not None
            self._gate.start(message.interpolated)
            self._began, self.status = pace, SessionStatus.STARTING
        elif self._began != pace:
            self._began, self.status = None, SessionStatus.NOT_OURS
        else:
            if self.status is SessionStatus.STARTING:
                # What was commanded until now was for another motion.
                self._used, self._missed = now, MISSES
            self.status = SessionStatus.COMMANDED

    def _obstacle(self, message: CabinetMessage) -> SessionStatus | None:
        """Return why positions of joints cannot be commanded."""
        if message.command_mode != POSITION_MODE:
            return MODES.get(message.command_mode, SessionStatus.NO_COMMANDS)
        if message.overlay != JOINT_OVERLAY:
            return SessionStatus.NO_OVERLAY
        if message.control not in CONTROLLED:
            return SessionStatus.NO_CONTROL
        if message.session is SessionState.COMMANDING_WAIT:
            if message.interpolated is None:
                return SessionStatus.NO_INTERPOLATOR
            if np.abs(message.interpolated - message.position).max() > AWAY:
                return SessionStatus.ELSEWHERE
        if not self.fast and message.period * message.multiplier < ORDINARY_PERIOD:
            return SessionStatus.TOO_FAST
        return None


def _ahead(sequence: int, other: int) -> int:
    """Return by how much a number is ahead of another one, where they begin anew in the end."""
    return (sequence - other + SEQUENCES // 2) % SEQUENCES - SEQUENCES // 2
