"""What goes wrong between a cabinet and its client."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace
from typing import ClassVar

import numpy as np

from contact_experiments.fake.cabinet import CABINET_FAULTS, CabinetFault, FakeCabinet
from tamsi_sim.cabinet import VERSIONS, Monitoring, Quality, encode_monitoring

__all__ = ["CABINET_FAULTS", "FakeCabinet"]

FOREIGN = 0.2
"""How far an arm is from ours that somebody else reports [rad], every joint."""

# The cable.


class CableOut(CabinetFault):
    """The cable is out for 2 s: no message and no answer arrives."""

    name = "cable_out"
    lasts = 2.0

    def hears(self, datagram: bytes) -> bool:
        """Hear nothing."""
        return False

    def sent(self, message: Monitoring) -> list[bytes]:
        """Send nothing."""
        return []


class ShortOutage(CableOut):
    """The cable is out for 15 ms."""

    name = "short_outage"
    lasts = 0.015


class LosesAnswers(CabinetFault):
    """One answer in ten is lost: too many for commands."""

    name = "loses_answers"
    share: ClassVar[float] = 0.1

    def hears(self, datagram: bytes) -> bool:
        """Hear most."""
        return bool(self.device.rng.random() >= self.share)


class LosesFewAnswers(LosesAnswers):
    """One answer in a hundred is lost."""

    name = "loses_few_answers"
    share = 0.01


class LosesMessages(CabinetFault):
    """One message in ten is lost."""

    name = "loses_messages"

    def sent(self, message: Monitoring) -> list[bytes]:
        """Send most."""
        return super().sent(message) if self.device.rng.random() >= 0.1 else []


class LateMessages(CabinetFault):
    """Every message arrives three cycles late."""

    name = "late_messages"

    def __init__(self, fake: FakeCabinet) -> None:
        """Hold nothing back yet."""
        super().__init__(fake)
        self._on_their_way: deque[bytes] = deque()

    def sent(self, message: Monitoring) -> list[bytes]:
        """Send what was due then."""
        self._on_their_way += super().sent(message)
        return [self._on_their_way.popleft()] if len(self._on_their_way) > 3 else []


class PilesUp(LateMessages):
    """Messages of a fifth of a second arrive at once, again and again."""

    name = "piles_up"

    def sent(self, message: Monitoring) -> list[bytes]:
        """Send many, or none."""
        self._on_their_way += CabinetFault.sent(self, message)
        if len(self._on_their_way) * self.device.config.period < 200:
            return []
        pile, self._on_their_way = list(self._on_their_way), deque()
        return pile


class Duplicates(CabinetFault):
    """Every message arrives twice."""

    name = "duplicates"

    def sent(self, message: Monitoring) -> list[bytes]:
        """Send two."""
        return 2 * super().sent(message)


class SwappedMessages(LateMessages):
    """Every two messages arrive in reverse order."""

    name = "swapped"

    def sent(self, message: Monitoring) -> list[bytes]:
        """Send the second first."""
        self._on_their_way += CabinetFault.sent(self, message)
        if len(self._on_their_way) < 2:
            return []
        pair = [self._on_their_way.pop(), self._on_their_way.pop()]
        return pair


class ReplayedMessages(LateMessages):
    """Half a second is recorded, and played again and again between the messages of now."""

    name = "replayed"

    def sent(self, message: Monitoring) -> list[bytes]:
        """Record for half a second, then play."""
        now = CabinetFault.sent(self, message)
        if len(self._on_their_way) * self.device.config.period < 500:
            self._on_their_way += now
            return now
        self._on_their_way.rotate(-1)
        return [*now, self._on_their_way[-1]]


class Foreign(CabinetFault):
    """Another cabinet, at another port, tells the client of an arm 0.2 rad away."""

    name = "foreign"

    def foreign(self, message: Monitoring) -> list[bytes]:
        """Send as often as the cabinet."""
        position = np.asarray(message.position) + FOREIGN
        interpolator = None if message.interpolator is None else position
        return [
            self.device.encode(
                replace(message, position=position, commanded=position, interpolator=interpolator)
            )
        ]


class Noise(CabinetFault):
    """Somebody sends random bytes from another port, three for every message."""

    name = "noise"

    def foreign(self, message: Monitoring) -> list[bytes]:
        """Send of all lengths."""
        return [self.device.rng.bytes(int(self.device.rng.integers(2000))) for _ in range(3)]


# Wrong messages.


class WrongChecksum(CabinetFault):
    """The last byte of every message is wrong: with 2.7 that of its checksum."""

    name = "wrong_checksum"

    def sent(self, message: Monitoring) -> list[bytes]:
        """Change it."""
        (datagram,) = super().sent(message)
        return [datagram[:-1] + bytes([datagram[-1] ^ 0x55])]


class DamagedMessages(CabinetFault):
    """A random byte of every second message is wrong."""

    name = "damaged"

    def sent(self, message: Monitoring) -> list[bytes]:
        """Change it."""
        data = bytearray(super().sent(message)[0])
        if self.device.cycles % 2:
            data[int(self.device.rng.integers(len(data)))] ^= int(self.device.rng.integers(1, 256))
        return [bytes(data)]


class CutMessages(CabinetFault):
    """Messages end in the middle."""

    name = "cut"

    def sent(self, message: Monitoring) -> list[bytes]:
        """Cut them."""
        (datagram,) = super().sent(message)
        return [datagram[: len(datagram) // 2]]


class WrongIdentifier(CabinetFault):
    """Messages have the identifier of commands."""

    name = "wrong_identifier"

    def altered(self, message: Monitoring) -> Monitoring:
        """Put it in."""
        return replace(message, identifier=0x34001)


class WrongVersion(CabinetFault):
    """Messages are of another version: of 2.5 with 1.x, of 1.15 with 2.x."""

    name = "wrong_version"

    def sent(self, message: Monitoring) -> list[bytes]:
        """Speak it."""
        other = 2.5 if self.device.config.version < 2.0 else 1.15
        return [encode_monitoring(VERSIONS[other], message)]


class PositionNotANumber(CabinetFault):
    """The measured position of joint 4 is NaN."""

    name = "nan"

    def altered(self, message: Monitoring) -> Monitoring:
        """Put it in."""
        position = np.array(message.position)
        position[3] = math.nan
        return replace(message, position=position)


class InterpolatorNotANumber(CabinetFault):
    """The interpolator's position is NaN."""

    name = "interpolator_nan"

    def altered(self, message: Monitoring) -> Monitoring:
        """Put it in."""
        moves = message.interpolator is not None
        return replace(message, interpolator=np.full(7, math.nan)) if moves else message


class SixJoints(CabinetFault):
    """The robot says that it has six joints, and sends the positions of six."""

    name = "joint_count"

    def altered(self, message: Monitoring) -> Monitoring:
        """Leave the last one out."""
        return replace(
            message, joints=6, position=list(message.position)[:6], drives=message.drives[:6]
        )


class WrongMode(CabinetFault):
    """The robot says that it awaits torques."""

    name = "wrong_mode"

    def altered(self, message: Monitoring) -> Monitoring:
        """Say so while there is a motion."""
        return replace(message, command_mode=3) if message.command_mode is not None else message


class WrongPeriod(CabinetFault):
    """The robot says that it sends half as often as it does."""

    name = "wrong_period"

    def altered(self, message: Monitoring) -> Monitoring:
        """Double the period."""
        return replace(message, period=2 * message.period)


class FrozenCabinet(CabinetFault):
    """The same message for ever, with its counter and its stamp."""

    name = "frozen"

    def __init__(self, fake: FakeCabinet) -> None:
        """Keep nothing yet."""
        super().__init__(fake)
        self._kept: Monitoring | None = None

    def altered(self, message: Monitoring) -> Monitoring:
        """Repeat the first."""
        self._kept = self._kept or message
        return self._kept


class ClockJumps(CabinetFault):
    """The robot's clock jumps 10 s back, and goes on from there."""

    name = "clock_jumps"

    def altered(self, message: Monitoring) -> Monitoring:
        """Shift the stamp."""
        return replace(message, stamp=message.stamp - 10_000_000_000)


# The robot and its session.


class SessionLost(CabinetFault):
    """The application ends; it is started again 2 s later."""

    name = "session_lost"
    lasts = 0.0

    def begin(self) -> None:
        """Close the session."""
        self.device.cabinet.close("the application has ended", self.device.now)


class SessionFlickersBack(CabinetFault):
    """Every second message says that the session only monitors."""

    name = "session_flickers"

    def altered(self, message: Monitoring) -> Monitoring:
        """Say so, or not."""
        if self.device.cycles % 2:
            return message
        return replace(
            message, session=2, interpolator=None, command_mode=None, overlay=None, tracking=None
        )


class CabinetDies(CabinetFault):
    """The cabinet is switched off; brakes hold the arm."""

    name = "dies"

    def begin(self) -> None:
        """Switch it off."""
        self.device.dead = True

    def end(self) -> None:
        """Start again with a new session."""
        self.device.dead = False
        self.device.cabinet.close("switched on", self.device.now, self.device.body.position)


class CabinetRestarts(CabinetDies):
    """The cabinet is off for 2 s, then on again with the arm where it was."""

    name = "restarts"
    lasts = 2.0


class CabinetRestartsElsewhere(CabinetRestarts):
    """The cabinet is off for 2 s; meanwhile the arm is moved by hand."""

    name = "restarts_elsewhere"

    def end(self) -> None:
        """Start again, elsewhere."""
        self.device.body.move_by_hand()
        super().end()


class MotionCancelled(CabinetFault):
    """The application ends its motion, and starts it again 2 s later."""

    name = "motion_cancelled"
    lasts = 1.0

    def begin(self) -> None:
        """Cancel it."""
        self.device.cabinet.cancelled = True

    def end(self) -> None:
        """Allow it."""
        self.device.cabinet.cancelled = False


class CabinetSafetyStop(CabinetFault):
    """A safety stop for 2 s."""

    name = "safety_stop"
    lasts = 2.0

    def begin(self) -> None:
        """Stop."""
        self.device.cabinet.safety = 1

    def end(self) -> None:
        """Acknowledge it."""
        self.device.cabinet.safety = 0


class CabinetDrivesOff(CabinetFault):
    """The drives are off for 2 s."""

    name = "drives_off"
    lasts = 2.0

    def begin(self) -> None:
        """Switch them off."""
        self.device.cabinet.drives_on = False

    def end(self) -> None:
        """Switch them on."""
        self.device.cabinet.drives_on = True


class NotEnabled(CabinetFault):
    """The enabling switch is released for 2 s."""

    name = "not_enabled"
    lasts = 2.0

    def begin(self) -> None:
        """Release it."""
        self.device.cabinet.enabled = False

    def end(self) -> None:
        """Press it."""
        self.device.cabinet.enabled = True


class QualitySinks(CabinetFault):
    """The connection is rated FAIR for 2 s, whatever arrives."""

    name = "quality_sinks"
    lasts = 2.0

    def begin(self) -> None:
        """Rate it so."""
        self.device.cabinet.best_quality = Quality.FAIR

    def end(self) -> None:
        """Rate it by the answers."""
        self.device.cabinet.best_quality = Quality.EXCELLENT
