"""What is said to the gripper, and when: a state machine over the connection, tick by tick.

A goal is one command of the gripper's. Opening is MOVE, or RELEASE while it holds something.
Closing is GRIP with the goal's position as the width of the part and a tolerance as wide as the
stroke: wherever something stops the fingers it is held with the goal's force, and if nothing does
they end at the position and the gripper says NO PART. Nothing moves unasked: the gripper is neither
referenced nor acknowledged but on request.
"""

from __future__ import annotations

import math
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

from contact_core.base.errors import CommunicationError
from contact_core.robot.gripper import GripperCommand
from contact_ros.validation import MessageError
from contact_stack.wsg50 import gcl
from contact_stack.wsg50.gcl import Answer, GripState, Line

CONNECT_TIMEOUT = 1.0
"""How long an attempt to connect may take [s]."""

MAX_READ = 16_384
"""At most so much is read at a time [bytes]: a gripper that floods us cannot keep us busy."""


class GripperConnection:
    """A client of the gripper's server."""

    def __init__(self, host: str, port: int) -> None:
        """Prepare; nothing is sent.

        Args:
            host: Address of the gripper.
            port: Its TCP port.
        """
        self._address = host, port
        self._socket: socket.socket | None = None

    @property
    def connected(self) -> bool:
        """Whether there is a connection, as far as is known."""
        return self._socket is not None

    def connect(self) -> None:
        """Connect, and wait for that.

        Raises:
            CommunicationError: If the gripper does not answer there.
        """
        try:
            self._socket = socket.create_connection(self._address, CONNECT_TIMEOUT)
        except OSError as error:
            host, port = self._address
            raise CommunicationError(f"no gripper at {host}:{port}: {error}") from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setblocking(False)

    def send(self, line: str) -> None:
        """Send a line.

        Args:
            line: Without its end.

        Raises:
            CommunicationError: If the connection has broken.
        """
        assert self._socket is not None
        try:
            self._socket.sendall(line.encode("ascii") + b"\n")
        except OSError as error:
            raise CommunicationError(f"the connection broke: {error}") from error

    def receive(self) -> bytes:
        """Return what has arrived since; does not wait.

        Raises:
            CommunicationError: If the connection has ended.
        """
        assert self._socket is not None
        try:
            data = self._socket.recv(MAX_READ)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise CommunicationError(f"the connection broke: {error}") from error
        if not data:
            raise CommunicationError("the gripper closed the connection")
        return data

    def close(self) -> None:
        """End the connection, if there is one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


QUERIES = ("POS", "SPEED", "FORCE", "GRIPSTATE")
SETTINGS = {
    "PWT": gcl.MILLIMETRES * 2.0 * gcl.STROKE,  # half of it counts before the part
    "CLT": 2.0,
}
"""Part width tolerance and clamping travel [mm]; they are reset when the connection ends."""

MOVING = (GripState.GRIPPING, GripState.RELEASING, GripState.POSITIONING)

ATTEMPTS = 10
"""So many unanswered questions end a connection while nothing moves: ending it stops the grip."""

PATIENCE = 3.0
"""A motion may take so much longer than its way at its speed [s]."""

HOMING_TIME = 30.0
"""How long the fingers may take to find their stop [s]."""

MAX_REQUESTS = 10

FAREWELL = 0.3
"""How long an answer to BYE is waited for [s]."""


class GripperStatus(Enum):
    """How the gripper is; the value says what to do about it."""

    READY = "ready"
    NO_CONNECTION = "not connected: check its power, the cable, and the parameters host and port"
    STOPPED = "stopped by itself (FAST STOP or an error): look at it, then call wsg50/acknowledge"
    NOT_REFERENCED = "not referenced: empty the fingers, which will travel, then call wsg50/home"
    PART_LOST = "what it held is gone: open it"

    @property
    def remedy(self) -> str:
        """What happened, and what to do about it."""
        return self.value


class CommandOutcome(Enum):
    """How the gripper's own command ended."""

    DONE = "finished"
    BLOCKED = "something stops the fingers"
    FAILED = "not carried out"


@dataclass(frozen=True)
class GripperReading:
    """What the gripper says of itself, for one finger.

    Attributes:
        position: [m].
        velocity: [m/s].
        effort: Force of the drive [N], positive when opening; it grips from outside alone.
        state: Of its grip.
    """

    position: float
    velocity: float
    effort: float
    state: GripState


@dataclass
class _Job:
    """A command that the gripper carries out.

    It has ended as soon as the gripper says so, and then, in a reading that was asked for after
    that, where the fingers are and that they are at rest; or that it has stopped by itself.
    """

    word: str
    sent: float
    deadline: float
    command: GripperCommand | None = None
    done: Callable[[str], None] = lambda problem: None
    acknowledged: bool = False
    outcome: CommandOutcome | None = None
    problem: str = ""
    number: int = 0


class Wsg50:
    """The gripper behind its connection. Ticks come from one thread, requests from any.

    Attributes:
        connections: How often it was connected.
        problem: What went wrong last, in words; empty if nothing has.
    """

    def __init__(
        self,
        link: GripperConnection,
        reject: Callable[[str], None],
        timeout: float = 0.5,
        retry: float = 1.0,
        speed: float = 0.05,
    ) -> None:
        """Prepare; the first tick connects.

        Args:
            link: The connection, closed.
            reject: Takes why a line was rejected.
            timeout: How long an answer may take [s].
            retry: Time between two attempts to connect [s].
            speed: Of a finger, for commands that state none [m/s].
        """
        self._link, self._reject = link, reject
        self._timeout, self._retry, self._speed = timeout, retry, speed
        self._lines = gcl.LineReader()
        self._values: dict[str, float] = {}
        self._waiting: set[str] = set()
        self._asked = 0.0
        self._unanswered = 0
        self._complaint = ""
        self._next_attempt = 0.0
        self._number = 0
        self._reading: GripperReading | None = None
        self._job: _Job | None = None
        self._stopping: float | None = None
        self._stopped_for = ""
        self._command: GripperCommand | None = None
        self._end: tuple[GripperCommand | None, CommandOutcome] | None = None
        self._requests: deque[tuple[str, Callable[[str], None]]] = deque()
        self._referenced = True
        self._force_held: float | None = None
        self.connections = 0
        self.problem = ""

    @property
    def reading(self) -> GripperReading | None:
        """The latest reading; None without a connection."""
        return self._reading

    @property
    def status(self) -> GripperStatus:
        """How the gripper is."""
        reading = self._reading
        if reading is None:
            return GripperStatus.NO_CONNECTION
        if reading.state is GripState.ERROR:
            return GripperStatus.STOPPED
        if not self._referenced:
            return GripperStatus.NOT_REFERENCED
        return (
            GripperStatus.PART_LOST if reading.state is GripState.PART_LOST else GripperStatus.READY
        )

    @property
    def remedy(self) -> str:
        """What happened, and what to do about it; with what went wrong if it is not connected."""
        status = self.status
        reason = f" ({self.problem})" if self.problem else ""
        return status.remedy + (reason if status is GripperStatus.NO_CONNECTION else "")

    def refusal(self, command: GripperCommand) -> str:
        """Say why a command cannot be followed now.

        Args:
            command: The command.

        Returns:
            The reason; empty if it can.
        """
        reading = self._reading
        if reading is None or self.status not in (GripperStatus.READY, GripperStatus.PART_LOST):
            return f"the gripper is {self.remedy}"
        if command.max_effort < gcl.WEAKEST:
            return f"effort is {command.max_effort:g} N (valid: from {gcl.WEAKEST:g})"
        if command.max_speed < gcl.SLOWEST:
            return f"speed is {command.max_speed:g} m/s (valid: from {gcl.SLOWEST:g})"
        held = self._force_held
        if reading.state is GripState.HOLDING and command.position <= reading.position:
            if held is None:
                return "the gripper holds something, with a force that is not known: open it first"
            if command.max_effort < held:
                return f"the gripper holds something with {held:g} N: open it first"
        return ""

    def ask(self, word: str, done: Callable[[str], None]) -> None:
        """Ask for what no goal is: HOME or FSACK; from any thread.

        Args:
            word: The command.
            done: Called by a later tick with what went wrong; empty if nothing did.
        """
        if len(self._requests) < MAX_REQUESTS:
            self._requests.append((word, done))
        else:
            done(f"{MAX_REQUESTS} requests wait already")

    def tick(self, now: float, command: GripperCommand | None) -> GripperReading | None:
        """Listen, and say what is to be said.

        Args:
            now: A steady clock [s].
            command: What to follow; None to go on as before.

        Returns:
            What the gripper says of itself, if that is new.
        """
        try:
            if not self._link.connected:
                if now >= self._next_attempt:
                    self._next_attempt = now + self._retry
                    self._connect(now)
                return None
            return self._talk(now, command)
        except CommunicationError as error:
            self._lose(str(error))
            return None
        finally:
            self._refuse_requests()

    def outcome(self, command: GripperCommand) -> CommandOutcome | None:
        """Say how a command ended; the latest reading says where.

        Args:
            command: The command.

        Returns:
            None while it is carried out.
        """
        return self._end[1] if self._end is not None and self._end[0] is command else None

    def leave(self) -> None:
        """Stop what moves, keep what is held, and take leave: without it the gripper stops."""
        if not self._link.connected:
            return
        try:
            self._take_leave()
            end = time.monotonic() + FAREWELL
            while time.monotonic() < end:
                if "ACK BYE" in self._lines.read(self._link.receive()):
                    break
                time.sleep(0.01)
        except CommunicationError:
            pass
        self._link.close()

    def _take_leave(self) -> None:
        if self._job is not None:
            self._link.send("STOP()")
        self._link.send("BYE()")

    def _connect(self, now: float) -> None:
        self._link.connect()
        self.connections += 1
        self._lines, self._values = gcl.LineReader(), {}
        self._unanswered = 0
        self._ask(now, SETTINGS)

    def _talk(self, now: float, command: GripperCommand | None) -> GripperReading | None:
        for text in self._lines.read(self._link.receive()):
            try:
                self._hear(gcl.parse(text))
            except MessageError as error:
                self._reject(str(error))
        if self._waiting:
            if now - self._asked > self._timeout:
                self._ask_again(now)
            self._watch_job(now)
            return None
        new = self._read()
        self._proceed(now, command)
        self._unanswered, self._complaint = 0, ""
        self._ask(now, QUERIES)
        return new

    def _ask(self, now: float, words: Iterable[str]) -> None:
        self._waiting, self._asked = set(words), now
        self._number += 1
        for word in words:
            self._link.send(f"{word}={SETTINGS[word]:.1f}" if word in SETTINGS else f"{word}?")

    def _ask_again(self, now: float) -> None:
        """Ask for what was not answered; who moves, or has not answered for long, is given up."""
        self._unanswered += 1
        words = sorted(self._waiting)
        unheard = f"no sound answer to {', '.join(words)} for {self._timeout:g} s"
        reason = self._complaint or unheard
        if self._job is not None or self._unanswered >= ATTEMPTS:
            raise CommunicationError(reason)
        self.problem, self._reading = reason, None
        self._ask(now, words)

    def _read(self) -> GripperReading | None:
        """Make a reading of the values, if they are all there."""
        if not all(word in self._values for word in QUERIES):
            return None
        position, velocity, force, state = (self._values[word] for word in QUERIES)
        self._reading = GripperReading(
            position / gcl.MILLIMETRES,
            velocity / gcl.MILLIMETRES,
            0.0 - abs(force),
            GripState(int(state)),
        )
        job, state = self._job, self._reading.state
        if job is None or not job.number < self._number:
            return self._reading
        if job.outcome is not None and state not in MOVING:
            self._finish(job.outcome, job.problem)
        elif job.acknowledged and job.command is not None and state is GripState.ERROR:
            self._finish(CommandOutcome.FAILED, GripperStatus.STOPPED.remedy)
        return self._reading

    def _hear(self, line: Line) -> None:
        job, word = self._job, line.word
        if line.answer is Answer.VALUE:
            if word not in self._waiting:
                raise MessageError(f"{word}, which was not asked for")
            self._values[word] = line.number
            self._waiting.discard(word)
        elif line.answer is Answer.ERROR and word in self._waiting:
            self._complaint = f"the gripper refuses {word}: {gcl.error_name(line.number)}"
            raise MessageError(self._complaint)
        elif word == "STOP" and self._stopping is not None:
            self._stopping = None
            self._finish(CommandOutcome.FAILED, self._stopped_for)
        elif job is None or word not in ("", job.word):
            raise MessageError(f"{line.answer.value} {word}, which was not asked for")
        elif line.answer is Answer.ACKNOWLEDGED:
            job.acknowledged, job.number = True, self._number
            if job.word == "FSACK":
                self._note(job, CommandOutcome.DONE)
        elif line.answer is Answer.FINISHED and job.acknowledged:
            self._note(job, CommandOutcome.DONE)
        elif (
            line.answer is Answer.ERROR
            and self._stopping is None
            and (job.acknowledged or gcl.error_name(line.number) != "E_CMD_ABORTED")
        ):
            # Before its own acknowledgement an abortion is that of the command before.
            self._note_error(job, int(line.number))

    def _note(self, job: _Job, outcome: CommandOutcome, problem: str = "") -> None:
        if job.outcome is None:
            job.number = self._number
        job.outcome, job.problem = outcome, problem

    def _note_error(self, job: _Job, code: int) -> None:
        if code == gcl.NOT_INITIALIZED:
            self._referenced = False
        if code == gcl.AXIS_BLOCKED:
            self._note(job, CommandOutcome.BLOCKED)
        elif code == gcl.CMD_FAILED and job.word == "GRIP":
            self._note(job, CommandOutcome.DONE)  # no part where one might have been
        else:
            self._note(job, CommandOutcome.FAILED, f"{job.word}: {gcl.error_name(code)}")

    def _finish(self, outcome: CommandOutcome, problem: str = "") -> None:
        """End the job, if there is one."""
        job, self._job = self._job, None
        if job is None:
            return
        if outcome is CommandOutcome.DONE and job.word == "HOME":
            self._referenced = True
        if outcome is CommandOutcome.DONE and job.word == "GRIP" and job.command is not None:
            self._force_held = min(job.command.max_effort, gcl.STRONGEST)
        self.problem = job.problem or self.problem
        self._end = job.command, outcome
        job.done(problem)

    def _watch_job(self, now: float) -> None:
        """Give up a command that the gripper does not acknowledge or finish."""
        job = self._job
        if self._stopping is not None and now - self._stopping > self._timeout:
            raise CommunicationError("no answer to STOP")
        if job is None or self._stopping is not None:
            return
        answered = job.acknowledged or job.outcome is not None
        if not answered and now - job.sent > self._timeout:
            raise CommunicationError(f"no answer to {job.word}")
        if now > job.deadline:
            self.problem = f"{job.word} took longer than {job.deadline - job.sent:.1f} s"
            self._stop(now, self.problem)

    def _proceed(self, now: float, command: GripperCommand | None) -> None:
        """Start what is to be done next; a newer command stops the one before."""
        self._watch_job(now)
        if self._stopping is not None or self._reading is None:
            return
        if command is not None and command is not self._command:
            if self._job is None:
                self._command = command
                if not command.stop:
                    self._follow(now, command, self._reading)
            else:
                self._stop(now, "cancelled" if command.stop else "a newer command took over")
        elif self._requests and self._job is None:
            word, done = self._requests.popleft()
            if word == "HOME" and self._reading.state is GripState.HOLDING:
                done("the gripper holds something: open it first")
                return
            self._start(_Job(word, now, now + HOMING_TIME, None, done), f"{word}()")

    def _follow(self, now: float, command: GripperCommand, reading: GripperReading) -> None:
        stated = math.isfinite(command.max_speed)
        speed = min(command.max_speed if stated else self._speed, gcl.FASTEST)
        way = command.position - reading.position
        if reading.state is GripState.HOLDING:
            if way <= 0.0:
                self._end = command, CommandOutcome.BLOCKED
                return
            word, line = "RELEASE", gcl.release(way, speed)
        elif way > 0.0:
            word, line = "MOVE", gcl.move(min(command.position, gcl.STROKE), speed)
        else:
            force = min(command.max_effort, gcl.STRONGEST)
            word, line = "GRIP", gcl.grip(force, command.position, speed)
        deadline = now + 1.5 * abs(way) / speed + PATIENCE
        self._start(_Job(word, now, deadline, command), line)

    def _start(self, job: _Job, line: str) -> None:
        self._job, self._force_held = job, None
        self._link.send(line)

    def _stop(self, now: float, reason: str) -> None:
        self._stopping, self._stopped_for = now, reason
        self._link.send("STOP()")

    def _lose(self, reason: str) -> None:
        if self._link.connected:
            with suppress(CommunicationError):  # Where it has broken, the gripper stops.
                self._take_leave()
            self._link.close()
        self.problem = reason
        self._reading = self._stopping = self._command = self._force_held = None
        self._waiting = set()
        self._finish(CommandOutcome.FAILED, reason)

    def _refuse_requests(self) -> None:
        """Answer requests that nobody can carry out."""
        while self._requests and not self._link.connected:
            self._requests.popleft()[1](f"the gripper is {self.remedy}")
