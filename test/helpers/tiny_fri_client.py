"""A client of FRI for tests of the cabinet, and the two at the ends of a cable without a clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from contact_core.robot.arm_state import CommandMode
from tamsi_sim.cabinet import Cabinet, CabinetConfig, Session, encode_monitoring
from tamsi_sim.cabinet.cabinet import ArmLimits
from tamsi_sim.cabinet.wire import (
    COMMAND_IDENTIFIER,
    VERSIONS,
    decode,
    encode,
    frame,
    unframe,
)

START = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
LIMITS = ArmLimits(np.full(7, -2.0), np.full(7, 2.0), np.full(7, 1.5))


class TinyClient:
    """Answers every message that is to be answered; what it has read last is in ``seen``."""

    def __init__(self, version: float = 1.15, offset: Any = 0.0, **extra: Any) -> None:
        self.version = VERSIONS[version]
        self.offset, self.extra = offset, extra
        self.count = self.heard = 0
        self.seen: dict[str, Any] = {}

    def data(self) -> dict[str, Any]:
        """Return what it commands, with nothing in monitoring."""
        if self.seen["connection"]["session"] < Session.COMMANDING_WAIT:
            return {}
        active = self.seen["connection"]["session"] == Session.COMMANDING_ACTIVE
        ipo = np.array(self.seen["interpolator"]["position"])
        return {"position": ipo + (self.offset if active else 0.0), **self.extra}

    def answer(self, datagram: bytes) -> bytes | None:
        self.seen = decode("monitoring", unframe(self.version, datagram))
        self.heard += 1
        connection = self.seen["connection"]
        if connection["session"] == Session.IDLE or self.heard % connection["multiplier"]:
            return None
        header = {
            "identifier": COMMAND_IDENTIFIER,
            "sequence": self.count,
            "reflected": self.seen["header"]["sequence"],
        }
        self.count += 1
        fields = {"header": header, "data": self.data() or None}
        return frame(self.version, encode("command", fields))


class Bench:
    """Cabinet and client with a cable between them, and an arm that is where it is commanded."""

    def __init__(
        self, mode: CommandMode = CommandMode.POSITION, client: Any = None, **config: Any
    ) -> None:
        self.lines: list[str] = []
        self.config = CabinetConfig(**config)
        self.cabinet = Cabinet(self.config, LIMITS, START, mode, self.lines.append)
        self.client = client or TinyClient(self.config.version)
        self.position = START.copy()
        self.now = 0.0
        self.path = [START]
        self.states = [Session.IDLE]

    def run(self, cycles: int, cable: Callable[[bytes | None], list[bytes]] | None = None) -> Bench:
        """Let cycles pass; the cable may change what the client answers."""
        for _ in range(cycles):
            self.cabinet.advance(self.now, self.position)
            self.position = self.cabinet.command.copy()
            self.path.append(self.position)
            if self.states[-1] is not self.cabinet.session:
                self.states.append(self.cabinet.session)
            answer = self.client.answer(self.datagram())
            for datagram in cable(answer) if cable else [answer]:
                if datagram is not None:
                    self.cabinet.take(datagram)
            self.now += 1e-3 * self.config.period
        return self

    def datagram(self) -> bytes:
        """Return what the cabinet says in this cycle."""
        torque, external = np.arange(7.0), 0.1 * np.arange(7.0)
        stamp = 1_700_000_000_000_000_000 + round(1e9 * self.now)
        message = self.cabinet.message(stamp, self.position, torque, external)
        return encode_monitoring(VERSIONS[self.config.version], message)

    def until(self, session: Session, cycles: int = 20_000, **run: Any) -> Bench:
        """Let cycles pass until a state of the session."""
        for _ in range(cycles):
            if self.cabinet.session is session:
                return self
            self.run(1, **run)
        raise AssertionError(f"{self.cabinet.session.name} after {cycles} cycles: {self.lines}")

    def active(self) -> Bench:
        """Let cycles pass until commands count."""
        return self.until(Session.COMMANDING_ACTIVE)
