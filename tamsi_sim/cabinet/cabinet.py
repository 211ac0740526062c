"""The session of a simulated cabinet with its client: states, quality, and what ends a motion."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from contact_core.base.config import parameter
from contact_core.base.errors import ConfigError
from contact_core.robot.arm_state import CommandMode
from tamsi_sim.cabinet.invented import (
    MAX_EXERTED,
    MIRRORED,
    PATIENCE,
    REOPENED_AFTER,
    RESTARTED_AFTER,
    SHARES,
    START_TIME,
    START_TOLERANCE,
    WINDOW,
)
from tamsi_sim.cabinet.overlay import OverlayMotion
from tamsi_sim.cabinet.wire import (
    JOINTS,
    VERSIONS,
    ClientAnswer,
    Monitoring,
    WireError,
    decode_answer,
)


class Session(IntEnum):
    """State of a session."""

    IDLE = 0
    MONITORING_WAIT = 1
    MONITORING_READY = 2
    COMMANDING_WAIT = 3
    COMMANDING_ACTIVE = 4


class Quality(IntEnum):
    """Of the connection; commands need GOOD."""

    POOR = 0
    FAIR = 1
    GOOD = 2
    EXCELLENT = 3


COMMAND_MODES = {CommandMode.POSITION: 1, CommandMode.WRENCH: 2, CommandMode.TORQUE: 3}
JOINT_OVERLAY = 1
CONTROL_MODES = {"position": 0, "cartesian_impedance": 1, "joint_impedance": 2}
NO_CONTROL = 3
NEEDED_CONTROL = {
    CommandMode.POSITION: CONTROL_MODES,
    CommandMode.WRENCH: ("cartesian_impedance",),
    CommandMode.TORQUE: ("joint_impedance",),
}
OPERATION_MODES = {"T1": 0, "T2": 1, "AUT": 2}
DRIVES_TRANSITIONING, DRIVES_ACTIVE = 1, 2
NORMAL_OPERATION, SAFETY_STOP = 0, 1

WRENCH = 6
TORQUE_SIGN = -1.0
"""Of measured and commanded torque on the wire, against positive where they accelerate a joint."""

MAX_COMMANDING = {CommandMode.POSITION: 10, CommandMode.WRENCH: 10, CommandMode.TORQUE: 5}
"""Longest time between two answers with which an arm can be commanded [ms]."""


@dataclass(frozen=True)
class CabinetConfig:
    """A robot's cabinet, as far as its client has to know it."""

    version: float = parameter(1.15, "version of FRI to speak", options=VERSIONS)
    period: int = parameter(5, "time between two messages", unit="ms", low=1, high=100)
    multiplier: int = parameter(1, "every so many messages are answered", low=1, high=100)
    client: str = parameter("127.0.0.1", "address of the client")
    source: str = parameter(
        "",
        "ADDRESS:PORT from which the cabinet sends; empty: for a client on this machine any port, "
        "for others the client's",
    )
    control: str = parameter(
        "joint_impedance", "control mode that is reported", options=CONTROL_MODES
    )
    operation: str = parameter("AUT", "operation mode that is reported", options=OPERATION_MODES)
    command: bool = parameter(
        True, "whether the application starts a motion to be commanded, when period times "
        "multiplier is 10 ms at most, 5 ms for torques",
    )  # fmt: skip


@dataclass(frozen=True)
class ArmLimits:
    """What an arm can do.

    Attributes:
        lowest: (7) smallest joint positions [rad].
        highest: (7) largest joint positions [rad].
        speed: (7) largest joint speeds [rad/s].
    """

    lowest: np.ndarray
    highest: np.ndarray
    speed: np.ndarray


class Cabinet:
    """Says what the robot does, takes answers, and moves the robot's command.

    In every cycle: :meth:`take` what has arrived, :meth:`advance`, move the arm by ``command`` and
    ``overlay``, send :meth:`message`.

    Attributes:
        session: State of the session.
        quality: Of the connection.
        sequence: Counter of the latest message.
        refused: Why answers were refused -> how many.
        safety: Safety state; anything but 0 ends a motion.
        drives_on: Whether the drives can be used.
        enabled: Whether somebody enables motions.
        cancelled: Whether somebody has ended the application's motion.
        best_quality: The best quality that the way to the client allows.
        overlay: (6 or 7) commanded wrench [N, Nm] or torques [Nm]; None without.
    """

    def __init__(
        self,
        config: CabinetConfig,
        limits: ArmLimits,
        position: np.ndarray,
        mode: CommandMode = CommandMode.POSITION,
        say: Callable[[str], object] = lambda line: None,
    ) -> None:
        """Close the session; it opens in the first cycle.

        Args:
            config: What the cabinet is.
            limits: What its arm can do.
            position: (7) where the arm is [rad].
            mode: What clients command.
            say: Called with a line for a person about everything that the session does.

        Raises:
            ConfigError: If the arm has not 7 joints, or modes do not go together.
        """
        if len(position) != JOINTS:
            raise ConfigError(f"FRI is for arms of {JOINTS} joints, this one has {len(position)}")
        if config.control not in NEEDED_CONTROL[mode]:
            raise ConfigError(
                f"{mode.value} cannot be commanded in the control mode {config.control} "
                f"(valid: {', '.join(NEEDED_CONTROL[mode])})"
            )
        self.config = config
        self._version = VERSIONS[config.version]
        self._mode = mode
        self._say = say
        self._motion = OverlayMotion(
            np.asarray(position), limits.lowest, limits.highest, limits.speed,
            1e-3 * config.period, config.multiplier,
        )  # fmt: skip
        self.safety, self.drives_on, self.enabled = NORMAL_OPERATION, True, True
        self.cancelled = False
        self.best_quality = Quality.EXCELLENT
        self.refused: Counter[str] = Counter()
        self.session = Session.IDLE
        self.overlay: np.ndarray | None = None
        self._answer: ClientAnswer | None = None
        self._wake = -math.inf
        self._forget()

    @property
    def command(self) -> np.ndarray:
        """(7) position that the robot commands its drives [rad]."""
        return self._motion.position

    @property
    def moving(self) -> bool:
        """Whether a motion with an overlay is queued or active, so that the drives are used."""
        return self.session in (Session.COMMANDING_WAIT, Session.COMMANDING_ACTIVE)

    @property
    def hindrance(self) -> str:
        """Why no motion is possible; empty if one is."""
        if self.safety != NORMAL_OPERATION:
            return "a safety stop"
        if not self.drives_on:
            return "the drives are off"
        if not self.enabled:
            return "nobody enables a motion"
        return "the application's motion was cancelled" if self.cancelled else ""

    def close(self, reason: str, now: float, position: np.ndarray | None = None) -> None:
        """Close the session; it opens again after a while.

        Args:
            reason: Why, for a person.
            now: The time [s].
            position: (7) where the arm is put meanwhile [rad]; None if it is not.
        """
        self._say(f"session closed: {reason}")
        self.session = Session.IDLE
        self._motion.brake()
        if position is not None:
            self._motion.hold(position)
        self._wake = now + REOPENED_AFTER
        self._forget()

    def take(self, datagram: bytes) -> str:
        """Take a client's answer.

        Args:
            datagram: What has arrived.

        Returns:
            Why it is refused; empty if it is not.
        """
        try:
            answer = decode_answer(self._version, datagram)
            reason = self._refusal(answer)
        except WireError as error:
            reason = str(error)
        if reason:
            self.refused[reason] += 1
        else:
            self._answered, self._answer = answer.reflected, answer
            self._arrived += 1
        return reason

    def _refusal(self, answer: ClientAnswer) -> str:
        if self.session is Session.IDLE:
            return "an answer without a session"
        if not 0 < answer.reflected <= self.sequence:
            return "an answer to a message that was not sent"
        if answer.reflected == self._answered:
            return "a second answer to a message"
        if answer.reflected < self._answered:
            return "an old answer"
        if answer.reflected <= self.sequence - self.config.multiplier:
            return "a late answer"
        sizes = ((answer.position, JOINTS), (answer.torque, JOINTS), (answer.wrench, WRENCH))
        for values, size in sizes:
            if values is not None and len(values) != size:
                return f"an answer with {len(values)} numbers instead of {size}"
            if values is not None and not all(map(math.isfinite, values)):
                return "an answer that is not finite"
        return ""

    def advance(self, now: float, position: np.ndarray) -> None:
        """Let a cycle pass, with the answer that has been taken in it.

        Args:
            now: The time [s], on any clock.
            position: (7) where the arm is [rad].
        """
        answer, self._answer = self._answer, None
        if self.session is Session.IDLE:
            if now >= self._wake:
                self._heard, self._wake, self.sequence = now, now, 0
                self._enter(Session.MONITORING_WAIT)
        else:
            self._count(answer, now)
            self._update(answer, now, position)
        self._motion.advance()
        self.sequence += 1

    def message(
        self, stamp: int, position: np.ndarray, torque: np.ndarray, external: np.ndarray
    ) -> Monitoring:
        """Return what the cabinet says at the end of a cycle.

        Args:
            stamp: The robot's clock, Unix time [ns].
            position: (7) measured [rad].
            torque: (7) measured, positive where they accelerate the joint [Nm].
            external: (7) torque of the environment [Nm].
        """
        config, moving = self.config, self.moving
        active = self.session is Session.COMMANDING_ACTIVE
        return Monitoring(
            sequence=self.sequence,
            reflected=self._reflected,
            session=self.session,
            quality=self.quality,
            period=config.period,
            multiplier=config.multiplier,
            safety=self.safety,
            operation=OPERATION_MODES[config.operation],
            control=CONTROL_MODES[config.control] if moving else NO_CONTROL,
            drives=(DRIVES_ACTIVE if moving else DRIVES_TRANSITIONING,) * JOINTS,
            position=position,
            torque=TORQUE_SIGN * torque,
            commanded=self.command,
            commanded_torque=TORQUE_SIGN * torque,
            external=external,
            stamp=stamp,
            interpolator=self._motion.interpolator if moving else None,
            command_mode=COMMAND_MODES[self._mode] if moving else None,
            overlay=JOINT_OVERLAY if moving else None,
            tracking=(self._motion.tracking if active else 0.0) if moving else None,
        )

    def _forget(self) -> None:
        """Know nothing of the client."""
        self.quality = Quality.POOR
        self.overlay = None
        self.sequence = 0
        self._answered = self._reflected = self._mirrored = 0
        self._answer = None
        self._arrived = 0
        self._window = deque([False] * WINDOW, maxlen=WINDOW)

    def _enter(self, session: Session) -> None:
        self.session = session
        self._say(session.name)

    def _count(self, answer: ClientAnswer | None, now: float) -> None:
        """Book whether an answer has come, and rate the connection."""
        if answer is not None:
            self._heard, self._reflected = now, answer.sequence
        if self.sequence % self.config.multiplier:
            return
        if self._arrived > 1:
            # With a multiplier the one before may have come after its own turn, and yet in time.
            self._window[-1] = True
        self._window.append(self._arrived > 0)
        if not self._arrived:
            self._motion.miss()
        self._arrived = 0
        share = sum(self._window) / WINDOW
        quality = min(Quality(sum(share >= least for least in SHARES)), self.best_quality)
        if quality is not self.quality:
            self._say(f"quality {quality.name}: {share:.3f} of the answers in time")
        self.quality = quality

    def _update(self, answer: ClientAnswer | None, now: float, position: np.ndarray) -> None:
        """Change the session's state."""
        good = self.quality >= Quality.GOOD
        if self.moving:
            problem = self.hindrance if good else "the connection is not good"
            if not problem and self.session is Session.COMMANDING_WAIT:
                problem = self._agree(answer, now)
            elif not problem and answer is not None:
                problem = self._follow(answer)
            if problem:
                self._end_motion(problem, now)
        elif self.session is Session.MONITORING_WAIT:
            if good:
                self._enter(Session.MONITORING_READY)
            elif now - self._heard >= PATIENCE:
                self.close(f"no answer for {PATIENCE:g} s", now)
        elif not good:
            self._enter(Session.MONITORING_WAIT)
        elif self.hindrance:
            self._wake = now + RESTARTED_AFTER
        elif now >= self._wake and self._commands:
            self._motion.hold(position)
            self._wake, self._mirrored = now, 0
            self._enter(Session.COMMANDING_WAIT)

    @property
    def _commands(self) -> bool:
        cycle = self.config.period * self.config.multiplier
        return self.config.command and cycle <= MAX_COMMANDING[self._mode]

    def _agree(self, answer: ClientAnswer | None, now: float) -> str:
        """Wait for a client that answers the interpolator's position."""
        if answer is not None:
            distance = math.inf
            if answer.position is not None and not self._lack(answer):
                distance = np.max(np.abs(answer.position - self._motion.interpolator))
            self._mirrored = self._mirrored + 1 if distance <= START_TOLERANCE else 0
        if self._mirrored >= MIRRORED:
            self._enter(Session.COMMANDING_ACTIVE)
        late = not self._mirrored and now - self._wake >= START_TIME
        return "the client does not answer the interpolator's position" if late else ""

    def _lack(self, answer: ClientAnswer) -> str:
        """Return what an answer lacks in this command mode; empty if nothing."""
        if answer.position is None:
            return "an answer without joint positions"
        if self._mode is not CommandMode.POSITION and self._extra(answer) is None:
            return f"an answer without {self._mode.value}"
        return ""

    def _extra(self, answer: ClientAnswer) -> tuple[float, ...] | None:
        return answer.torque if self._mode is CommandMode.TORQUE else answer.wrench

    def _follow(self, answer: ClientAnswer) -> str:
        """Move as the client says, or return why that ends the motion."""
        if lack := self._lack(answer):
            return lack
        assert answer.position is not None
        if self._mode is not CommandMode.POSITION:
            exerted = np.array(self._extra(answer))
            if np.max(np.abs(exerted)) > MAX_EXERTED:
                return f"a command to exert {np.round(exerted, 1).tolist()}"
            self.overlay = exerted
        return self._motion.follow(answer.position)

    def _end_motion(self, reason: str, now: float) -> None:
        self._say(f"motion ended: {reason}")
        self._motion.brake()
        self.overlay = None
        self._wake = now + RESTARTED_AFTER
        good = self.quality >= Quality.GOOD
        self._enter(Session.MONITORING_READY if good else Session.MONITORING_WAIT)
