"""The fake robot behind its cabinet: what the driver fri answers, datagram by datagram.

Cabinet, session and gate are the real ones; only sockets and processes are left out.
"""

from __future__ import annotations

from typing import Any, ClassVar

from contact_core.base.errors import ConfigError, choices
from contact_core.robot.description import RobotDescription
from contact_experiments.fake import CABINET_FAULTS, FakeCabinet
from contact_experiments.fake.arm import FakeArm
from contact_experiments.fake.cabinet import CabinetFault, SpringBody
from contact_experiments.fake.drivers import DRIVERS
from contact_experiments.fake.fault import Fault, FaultSlot
from contact_experiments.fake.robot import EPOCH, FakeConfig, Sent
from contact_stack.fri.answering import Heard
from contact_stack.fri.gate import Gate, GateConfig
from contact_stack.fri.node import lbr_state
from contact_stack.fri.session import ClientSession, SessionStatus, Stamped
from contact_stack.fri.wire import SessionState
from tamsi_sim.cabinet import CabinetConfig

NAME = "fri"
VERSION = "1.15"
CABINET, FOREIGNER = ("172.31.1.147", 30200), ("172.31.1.99", 30200)

START_TIME = 5.0
"""By then the robot is commanded [s]."""


class DriverFault(Fault["FriRobot"]):
    """One thing that goes wrong beside the cabinet."""

    family: ClassVar[dict[str, type[DriverFault]]] = {}
    lasts = 1.0


class DriverKilled(DriverFault):
    """The driver is killed, and started again 2 s later."""

    name = "driver_killed"
    lasts = 2.0

    def begin(self) -> None:
        """Answer nothing."""
        self.device.session = None

    def end(self) -> None:
        """Start anew."""
        self.device.start_driver()


class ControllerStopped(DriverFault):
    """The controller is stopped for 1 s, and then goes on as if nothing had been."""

    name = "controller_stopped"

    def begin(self) -> None:
        """Stop it."""
        self.device.controlled = False

    def end(self) -> None:
        """Let it go on."""
        self.device.controlled = True


class ControllerKilled(ControllerStopped):
    """The controller is killed, and started again 1 s later."""

    name = "controller_killed"

    def end(self) -> None:
        """Start another one."""
        super().end()
        self.device.controller_restarted = True


DRIVER_FAULTS = DriverFault.family
FRI_FAULTS: dict[str, type[CabinetFault] | type[DriverFault]] = {**CABINET_FAULTS, **DRIVER_FAULTS}
"""Every fault by its name."""


class FriRobot:
    """Takes commands and gives states, one period at a time, as :class:`FakeRobot` does.

    Attributes:
        config: What it is.
        driver: The messages.
        arm: The body; what it really does.
        session: Of the driver; None while there is no driver.
        target: (7) what the cabinet was told last [rad].
        controlled: Whether a controller runs.
        controller_restarted: Whether it has just been started anew.
        ticks: Periods so far.
    """

    def __init__(self, config: FakeConfig) -> None:
        """Put the robot at rest, and wait until it is commanded.

        Args:
            config: What it is; driver, guard and sensors do not count.
        """
        self.config, self.driver = config, DRIVERS["lbr_fri"](config.namespace)
        description = RobotDescription.load(config.robot)
        self.arm = FakeArm(description, config.position, config.stiffness)
        self.arm.surface = config.surface
        body = SpringBody(self.arm, config.period)
        cabinet = CabinetConfig(float(VERSION), round(1e3 * config.period))
        self._fake = FakeCabinet(cabinet, body, seed=config.seed)
        self._slot = FaultSlot(self, DRIVER_FAULTS, config.period)
        self._answers: list[bytes] = []
        self._command: Stamped | None = None
        self.ticks, self.target = 0, self.arm.q.copy()
        self.controlled, self.controller_restarted = True, False
        self.session: ClientSession | None = None
        self.start_driver()
        while not self.commanding and self.time < START_TIME:
            self.step()

    def start_driver(self) -> None:
        """Start the driver, which knows nothing."""
        lowest, highest = self.arm.position_limits
        gate = Gate(lowest, highest, self.arm.velocity_limits, GateConfig())
        self.session, self._command = ClientSession(VERSION, gate), None

    @property
    def time(self) -> float:
        """Time since the start [s]."""
        return self.ticks * self.config.period

    @property
    def commanding(self) -> bool:
        """Whether commands count now."""
        return self.session is not None and self.session.status is SessionStatus.COMMANDED

    @property
    def fault(self) -> str:
        """Name of what is wrong now; empty if nothing is."""
        return self._slot.name or self._fake.fault

    def inject(self, name: str) -> None:
        """Let something go wrong from the next period on.

        Args:
            name: One of FRI_FAULTS.

        Raises:
            ConfigError: If there is no such fault.
        """
        if name not in FRI_FAULTS:
            raise ConfigError(f"unknown fault '{name}' ({choices(FRI_FAULTS, name)})")
        self.cure()
        if name in CABINET_FAULTS:
            self._fake.inject(name)
        else:
            self._slot.inject(name, self.time)

    def cure(self) -> None:
        """Let everything be right again."""
        self._fake.cure()
        self._slot.cure()

    def take(self, message: Any) -> None:
        """Receive a command.

        Args:
            message: Of the driver's command type.
        """
        if (position := self.driver.decode(message)) is not None:
            self._command = self.time, position

    def step(self) -> list[Sent]:
        """Let one period pass.

        Returns:
            What the driver publishes at its end.
        """
        self.ticks += 1
        self._slot.cure_in_time(self.time)
        stamp = EPOCH + round(1e9 * self.time)
        datagrams, foreign = self._fake.cycle(self.time, stamp, self._answers)
        self._answers = []
        session = self.session
        if session is None:
            return []
        senders = (*((data, CABINET) for data in datagrams), *((d, FOREIGNER) for d in foreign))
        heard = [session.receive(data, sender, self.time) for data, sender in senders]
        messages = [message for message in heard if message is not None]
        session.look(self.time)
        if messages and session.due:
            self._answers = [session.answer(self._command, self.time)]
            self.target = self.target if session.sent is None else session.sent
        return [
            Sent("state", lbr_state(Heard(message, session.sent)))
            for message in messages
            if message.session is not SessionState.IDLE
        ]
