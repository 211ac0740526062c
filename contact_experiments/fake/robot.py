"""The fake robot: a body, a driver, and what goes wrong with them, period by period."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from contact_core.base.errors import ConfigError, choices
from contact_core.base.seeds import generator
from contact_core.robot.description import RobotDescription
from contact_experiments.fake.arm import Drive, FakeArm, Wall, check_lbr
from contact_experiments.fake.drivers import (
    COMMANDING_ACTIVE,
    DRIVERS,
    DRIVES_ACTIVE,
    EXCELLENT,
    JOINT_IMPEDANCE_CONTROL,
    MONITORING_READY,
    NORMAL_OPERATION,
    Reading,
)
from contact_experiments.fake.fault import Fault, FaultSlot

NANOSECONDS = 1_000_000_000
EPOCH = 1_800_000_000 * NANOSECONDS
"""Unix time at the start, where nobody says another [ns]."""


@dataclass(frozen=True)
class FakeConfig:
    """What the fake robot is.

    Attributes:
        driver: One of DRIVERS.
        namespace: Of the driver.
        robot: The robot's description.
        position: (n) where it stands at the start [rad]; empty for the robot's home.
        stiffness: (n) of its joint impedance control [Nm/rad]; empty for the robot's own.
        surface: What it can touch.
        period: Of its states [s].
        guard: Whether driver and robot check commands, as the real ones do: without, it can be
            seen what a command would have done.
        position_noise: Standard deviation of the encoders [rad].
        torque_noise: Standard deviation of the external torque before its filter [Nm].
        torque_time: Time constant of the driver's low-pass on the external torque [s].
        seed: Of the noise.
        intruder_sends: Whether commands of somebody else have to be published, by
            :attr:`FakeRobot.intruder`; otherwise every second command is theirs.
    """

    driver: str = "lbr_fri"
    namespace: str = "/"
    robot: str = "iiwa14_wsg50"
    position: tuple[float, ...] = ()
    stiffness: tuple[float, ...] = ()
    surface: Wall | None = None
    period: float = 0.005
    guard: bool = True
    position_noise: float = 1e-5
    torque_noise: float = 0.2
    torque_time: float = 0.016
    seed: int = 0
    intruder_sends: bool = False


@dataclass(frozen=True)
class Sent:
    """A message on its way.

    Attributes:
        topic: Where.
        message: What.
        publisher: Who: 0 the driver, 1 another node.
    """

    topic: str
    message: Any
    publisher: int = 0


class RobotFault(Fault["FakeRobot"]):
    """One thing that goes wrong with the robot, its driver, or on the wire."""

    family: ClassVar[dict[str, type[RobotFault]]] = {}

    def readings(self, reading: Reading) -> list[Reading]:
        """Return what is published instead of a reading.

        Args:
            reading: What is true.
        """
        return [self.altered(reading)]

    def altered(self, reading: Reading) -> Reading:
        """Return one reading instead of another.

        Args:
            reading: What is true.
        """
        return reading


FAULTS = RobotFault.family
"""Every fault by its name."""


class FakeRobot:
    """Takes commands and gives states, one period at a time.

    Attributes:
        arm: The body; what it really does.
        driver: The messages.
        target: (n) the last command the driver took [rad].
        command: (n) the command in use, after the driver's low-pass [rad].
        interpolator: (n) position of the motion below the commands [rad].
        session: Session state; commands count while it is COMMANDING_ACTIVE.
        quality: Connection quality.
        safety: Safety state.
        drives: Drive state.
        control_mode: Control mode.
        silent: Whether the driver's process is gone.
        intruder: (n) what somebody else commands [rad]; None if nobody does.
        stopped: Why driver or robot ended by themselves; empty if they did not.
        controlled: Whether a controller runs.
        controller_restarted: Whether it has just been started anew.
        ticks: Periods so far.
        epoch: Unix time at the start [ns].
    """

    def __init__(self, config: FakeConfig | None = None) -> None:
        """Put the robot at rest, its session active.

        Args:
            config: What it is.

        Raises:
            ConfigError: If there is no such driver or robot, or that driver does not move it.
        """
        self.config = config = config or FakeConfig()
        if config.driver not in DRIVERS:
            raise ConfigError(
                f"unknown driver '{config.driver}' ({choices(DRIVERS, config.driver)})"
            )
        driver = DRIVERS[config.driver]
        description = RobotDescription.load(config.robot)
        if not driver.moves_any_arm:
            check_lbr(driver.name, description)
        self.driver = driver(config.namespace, description.arm_joints)
        self.arm = FakeArm(description, config.position, config.stiffness)
        self.arm.surface = config.surface
        self._rng = generator(config.seed, "fake robot")
        self._slot = FaultSlot(self, FAULTS, config.period)
        self._torque = np.zeros(self.arm.q.size)
        self.ticks = 0
        self.epoch = EPOCH
        self.stopped = ""
        self.controlled, self.controller_restarted = True, False
        self.silent = False
        self.intruder: np.ndarray | None = None
        self.quality, self.safety = EXCELLENT, NORMAL_OPERATION
        self.drives, self.control_mode = DRIVES_ACTIVE, JOINT_IMPEDANCE_CONTROL
        self.enter_session()

    @property
    def time(self) -> float:
        """Time since the start [s]."""
        return self.ticks * self.config.period

    @property
    def commanding(self) -> bool:
        """Whether commands count now."""
        return self.session == COMMANDING_ACTIVE and not self.silent

    @property
    def fault(self) -> str:
        """Name of what is wrong now; empty if nothing is."""
        return self._slot.name

    def enter_session(self) -> None:
        """Begin to follow commands, from where the arm is."""
        self.target = self.arm.q.copy()
        self.command = self.arm.q.copy()
        self.interpolator = self.arm.q.copy()
        self._seen = self.arm.q.copy()
        self.session = COMMANDING_ACTIVE
        self.arm.drive = Drive.IMPEDANCE

    def leave_session(self) -> None:
        """Follow commands no more; the brakes hold the arm."""
        self.session = MONITORING_READY
        self.interpolator = np.full(self.arm.q.size, np.nan)
        self.arm.drive = Drive.BRAKES

    def inject(self, name: str, lasts: float | None = None) -> None:
        """Let something go wrong from the next period on, see :meth:`FaultSlot.inject`."""
        self._slot.inject(name, self.time, lasts)

    def cure(self) -> None:
        """Let everything be right again."""
        self._slot.cure()

    def take(self, message: Any) -> None:
        """Receive a command.

        Args:
            message: Of the driver's command type.
        """
        target = self.driver.decode(message)
        # The drivers take NaN as no command.
        if self.commanding and target is not None and np.isfinite(target).all():
            self.target = target

    def step(self) -> list[Sent]:
        """Let one period pass.

        Returns:
            What the driver, and who else is on the wire, publishes at its end.
        """
        self.ticks += 1
        self._slot.cure_in_time(self.time)
        fault = self._slot.fault
        if self.commanding:
            self._follow(self._last_command())
        self.arm.step(self.command, self.config.period)
        if self.silent:
            return []
        reading = self._read()
        readings = [reading] if fault is None else fault.readings(reading)
        return [
            Sent(topic, message, item.publisher)
            for item in readings
            for topic, message in self.driver.encode(item)
        ]

    def step_until(self, now: int) -> list[Sent]:
        """Let pass what has passed of time, one period at least.

        An arm moves on while its driver is held up, and its clock goes on.

        Args:
            now: Unix time [ns].

        Returns:
            What is published at the end of the last period; nobody sends what is old.
        """
        behind = round((now - self.epoch) / (self.config.period * NANOSECONDS)) - self.ticks
        for _ in range(behind - 1):
            self.step()
        return self.step()

    def _last_command(self) -> np.ndarray:
        """Return what came last: ours, or every second time that of somebody else."""
        theirs = self.ticks % 2 == 1 and not self.config.intruder_sends
        return self.intruder if self.intruder is not None and theirs else self.target

    def _follow(self, target: np.ndarray) -> None:
        """Move the command in use, as driver and robot do."""
        period, smoothing = self.config.period, self.driver.smoothing
        share = 1.0 if smoothing == 0.0 else 1.0 - math.exp(-period / smoothing)
        command = self.command + share * (target - self.command)
        if self.config.guard and (reason := self._refusal(target, command)):
            self.stopped = reason
            self.silent = self.driver.has_guard
            self.leave_session()
            return
        self.command = command

    def _refusal(self, target: np.ndarray, command: np.ndarray) -> str:
        """Return why driver or robot do not take a command; empty if they do."""
        lowest, highest = self.arm.position_limits
        if not np.all((command >= lowest) & (command <= highest)):
            return f"command beyond the joints' limits: {np.round(target, 3).tolist()} rad"
        speed = np.abs(command - self.command) / self.config.period
        if np.any(speed > self.arm.velocity_limits):
            return f"command faster than the joints: {np.round(speed, 2).tolist()} rad/s"
        speed = np.abs(self.arm.q - self._seen) / self.config.period
        self._seen = self.arm.q.copy()
        if self.driver.has_guard and np.any(speed > self.arm.velocity_limits):
            return f"measured speed above the limit: {np.round(speed, 2).tolist()} rad/s"
        return ""

    def _read(self) -> Reading:
        config, size = self.config, self.arm.q.size
        noisy = self.arm.external_torque + self._rng.normal(scale=config.torque_noise, size=size)
        share = 1.0 - math.exp(-config.period / max(config.torque_time, 1e-9))
        self._torque = self._torque + share * (noisy - self._torque)
        return Reading(
            stamp=self.epoch + round(self.ticks * config.period * NANOSECONDS),
            position=self.arm.q + self._rng.normal(scale=config.position_noise, size=size),
            velocity=self.arm.v.copy(),
            command=self.command.copy(),
            interpolator=self.interpolator.copy(),
            joint_torque=self.arm.joint_torque.copy(),
            external_torque=self._torque.copy(),
            sample_time=config.period,
            session=self.session,
            quality=self.quality,
            safety=self.safety,
            drives=self.drives,
            control_mode=self.control_mode,
        )
