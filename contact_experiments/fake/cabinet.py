"""A robot's cabinet that speaks FRI without a graph, and misbehaves on request."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar, Protocol

import numpy as np

from contact_core.base.errors import ConfigError
from contact_core.base.seeds import generator
from contact_core.robot.arm_state import CommandMode
from contact_core.robot.scene import Scene
from contact_experiments.fake.arm import Drive, FakeArm
from contact_experiments.fake.fault import Fault, FaultSlot
from contact_ros.real_time import RealTimeConfig, enter_real_time
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.cabinet import (
    VERSIONS,
    ArmLimits,
    Cabinet,
    CabinetConfig,
    ClientConnection,
    Monitoring,
    encode_monitoring,
)
from tamsi_sim.robot.plant import Plant

NANOSECONDS = 1_000_000_000
ELSEWHERE = -0.3
"""How far the first joint is moved by hand [rad]."""


class CabinetBody(Protocol):
    """The arm of a cabinet.

    Attributes:
        position: (7) measured [rad].
        joint_torque: (7) measured, positive where they accelerate the joint [Nm].
        external_torque: (7) of the environment [Nm].
        limits: What it can do.
        mode: What commands consist of.
    """

    position: np.ndarray
    joint_torque: np.ndarray
    external_torque: np.ndarray
    limits: ArmLimits
    mode: CommandMode

    def move(self, command: np.ndarray, exerted: np.ndarray | None, drives: bool) -> None:
        """Move for a period.

        Args:
            command: (7) joint positions [rad].
            exerted: (6 or 7) wrench [N, Nm] or torques [Nm] besides; None for nothing.
            drives: Whether drives hold the arm, and not its brakes.
        """

    def move_by_hand(self) -> None:
        """Be somewhere else."""


class SpringBody:
    """The fake arm on joint springs; see :class:`CabinetBody`."""

    mode = CommandMode.POSITION

    def __init__(self, arm: FakeArm, period: float) -> None:
        """Take an arm.

        Args:
            arm: The arm.
            period: Of the cabinet [s].
        """
        self.arm, self._period = arm, period
        lowest, highest = arm.position_limits
        self.limits = ArmLimits(lowest, highest, arm.velocity_limits)
        self._read()

    def _read(self) -> None:
        arm = self.arm
        self.position, self.joint_torque = arm.q, arm.joint_torque
        self.external_torque = arm.external_torque

    def move(self, command: np.ndarray, exerted: np.ndarray | None, drives: bool) -> None:
        """Move for a period; see :class:`CabinetBody`."""
        self.arm.drive = Drive.IMPEDANCE if drives else Drive.BRAKES
        self.arm.step(command, self._period)
        self._read()

    def move_by_hand(self) -> None:
        """Be somewhere else; see :class:`CabinetBody`."""
        self.arm.place(self.arm.q + ELSEWHERE * np.eye(self.arm.q.size)[0])
        self._read()


class SceneBody:
    """The arm of a scene of the simulator, which has no brakes; see :class:`CabinetBody`."""

    def __init__(self, scene: Scene, seed: int) -> None:
        """Build the scene.

        Args:
            scene: The scene, with the period of the cabinet.
            seed: Of the sensors' noise.
        """
        self._plant, self._seed = Plant(scene, seed), seed
        self._report = self._plant.reset(seed)
        arm = scene.robot.arm_model(scene.config.robot.gripper.initial_position)
        self.limits = ArmLimits(
            np.array(arm.lowerPositionLimit),
            np.array(arm.upperPositionLimit),
            np.array(arm.velocityLimit),
        )
        self.mode = scene.config.robot.command_mode
        self._read()

    def _read(self) -> None:
        report = self._report
        self.position, self.joint_torque = report.position, report.joint_torque
        self.external_torque = report.external_torque

    def move(self, command: np.ndarray, exerted: np.ndarray | None, drives: bool) -> None:
        """Move for a period; see :class:`CabinetBody`."""
        self._report = self._plant.tick(command, overlay=exerted)
        if self._report.status is not StepStatus.OK:
            raise ConfigError(self._report.status.remedy + self._plant.engine.trouble())
        self._read()

    def move_by_hand(self) -> None:
        """Go back to the start of the scene."""
        self._report = self._plant.reset(self._seed)
        self._read()


class CabinetFault(Fault["FakeCabinet"]):
    """One thing that goes wrong with the cabinet or on its cable."""

    family: ClassVar[dict[str, type[CabinetFault]]] = {}

    def hears(self, datagram: bytes) -> bool:
        """Tell whether an answer reaches the cabinet.

        Args:
            datagram: The answer.
        """
        return True

    def altered(self, message: Monitoring) -> Monitoring:
        """Return one message instead of another.

        Args:
            message: What is true.
        """
        return message

    def sent(self, message: Monitoring) -> list[bytes]:
        """Return the datagrams that reach the client instead of a message.

        Args:
            message: What is true.
        """
        return [self.device.encode(self.altered(message))]

    def foreign(self, message: Monitoring) -> list[bytes]:
        """Return datagrams of somebody else, from another port.

        Args:
            message: What is true.
        """
        return []


CABINET_FAULTS = CabinetFault.family
"""Every fault of the cabinet by its name."""


class FakeCabinet:
    """A cabinet, its arm, and what is wrong with them; one cycle at a time.

    Attributes:
        config: What the cabinet is.
        cabinet: The session.
        body: The arm.
        rng: Of faults that are random.
        now: The time [s].
        cycles: Cycles so far.
        dead: Whether the cabinet is switched off.
    """

    def __init__(
        self,
        config: CabinetConfig,
        body: CabinetBody,
        say: Callable[[str], object] = lambda line: None,
        seed: int = 0,
    ) -> None:
        """Switch it on.

        Args:
            config: What the cabinet is.
            body: Its arm.
            say: Called with a line about everything that it does.
            seed: Of random faults.

        Raises:
            ConfigError: If modes do not go together.
        """
        self.config, self.body, self._say = config, body, say
        self.cabinet = Cabinet(config, body.limits, body.position, body.mode, say)
        self.rng = generator(seed, "fake cabinet")
        self.now, self.cycles, self.dead = 0.0, 0, False
        self._slot = FaultSlot(self, CABINET_FAULTS, 1e-3 * config.period, say)

    @property
    def fault(self) -> str:
        """Name of what is wrong now; empty if nothing is."""
        return self._slot.name

    def encode(self, message: Monitoring) -> bytes:
        """Return the datagram of a message."""
        return encode_monitoring(VERSIONS[self.config.version], message)

    def inject(self, name: str, lasts: float | None = None) -> None:
        """Let something go wrong from the next cycle on, see :meth:`FaultSlot.inject`."""
        self._slot.inject(name, self.now, lasts)

    def cure(self) -> None:
        """Let nothing be wrong any more."""
        self._slot.cure()

    def cycle(
        self, now: float, stamp: int, arrived: list[bytes]
    ) -> tuple[list[bytes], list[bytes]]:
        """Let one cycle pass.

        Args:
            now: The time [s], on any clock.
            stamp: Unix time [ns].
            arrived: Answers since the last cycle.

        Returns:
            Datagrams to the client, and those of somebody else.
        """
        self.now = now
        self.cycles += 1
        self._slot.cure_in_time(now)
        fault, cabinet, body = self._slot.fault, self.cabinet, self.body
        if self.dead:
            body.move(cabinet.command, None, False)
            return [], []
        for datagram in arrived:
            if fault is None or fault.hears(datagram):
                cabinet.take(datagram)
        cabinet.advance(now, body.position)
        body.move(cabinet.command, cabinet.overlay, cabinet.moving)
        message = cabinet.message(stamp, body.position, body.joint_torque, body.external_torque)
        if fault is None:
            return [self.encode(message)], []
        return fault.sent(message), fault.foreign(message)


def run_cabinet(
    fake: FakeCabinet, connection: ClientConnection, fault: str, at: float, lasts: float | None
) -> None:
    """Let time pass, until somebody interrupts it.

    Args:
        fake: The cabinet.
        connection: To the client.
        fault: What goes wrong; empty for nothing.
        at: When [s].
        lasts: For how long [s]; None for the fault's own time.
    """
    period = fake.config.period * NANOSECONDS // 1000
    somebody = ClientConnection(*connection.client, source=":0")
    enter_real_time(RealTimeConfig())
    start = due = time.monotonic_ns()
    try:
        while True:
            due += period
            wait = due - time.monotonic_ns()
            if wait < -period:
                # What was late is not caught up.
                due -= wait
            time.sleep(max(0, wait) / NANOSECONDS)
            now = (due - start) / NANOSECONDS
            if fault and now >= at:
                fake.inject(fault, lasts)
                fault = ""
            sent, foreign = fake.cycle(now, time.time_ns(), connection.receive())
            for datagram in sent:
                connection.send(datagram)
            for datagram in foreign:
                somebody.send(datagram)
    finally:
        counts = fake.cabinet.refused.items()
        refused = "; ".join(f"{count} times {reason}" for reason, count in counts)
        print(f"answers refused: {refused or 'none'}; of others: {connection.take_foreign()}")
        connection.close()
        somebody.close()
