"""What can go wrong with a robot, its driver and who else is on the wire, by name."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from contact_experiments.fake.arm import Drive
from contact_experiments.fake.drivers import (
    DRIVES_ACTIVE,
    DRIVES_OFF,
    EXCELLENT,
    JOINT_IMPEDANCE_CONTROL,
    NORMAL_OPERATION,
    POOR,
    POSITION_CONTROL,
    SAFETY_STOP,
    Reading,
)

if TYPE_CHECKING:
    from contact_experiments.fake.robot import FakeRobot

NANOSECONDS = 1_000_000_000
ELSEWHERE = -0.3
"""How far the first joint is from where it was after a restart elsewhere [rad]."""
FOREIGN = 0.2
"""How far the commands of somebody else are off, every joint [rad]."""


class Fault:
    """One thing that goes wrong. Its first line of documentation is what the command line says.

    Attributes:
        name: What it is called.
        lasts: How long it does unless told otherwise [s].
        robot: Whose fault it is.
    """

    name: ClassVar[str]
    lasts: ClassVar[float] = math.inf

    def __init__(self, robot: FakeRobot) -> None:
        """Prepare.

        Args:
            robot: Whose fault it is.
        """
        self.robot = robot

    def begin(self) -> None:
        """Change the robot."""

    def end(self) -> None:
        """Change it back."""

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


# The driver goes away.


class Dies(Fault):
    """The driver ends and does not come back; the brakes hold the arm."""

    name = "dies"

    def begin(self) -> None:
        """End."""
        self.robot.silent = True
        self.robot.leave_session()

    def end(self) -> None:
        """Start again, and command from where the arm is."""
        self.robot.silent = False
        self.robot.enter_session()


class Restarts(Dies):
    """The driver ends and is started again 2 s later, with the arm where it was."""

    name = "restarts"
    lasts = 2.0


class RestartsQuickly(Dies):
    """The driver ends and is started again 0.4 s later, with the arm where it was."""

    name = "restarts_quickly"
    lasts = 0.4


class RestartsElsewhere(Dies):
    """The driver is started again 2 s later; meanwhile joint 1 was moved by -0.3 rad."""

    name = "restarts_elsewhere"
    lasts = 2.0

    def end(self) -> None:
        """Start again, elsewhere."""
        self.robot.arm.place(self.robot.arm.q + ELSEWHERE * np.eye(7)[0])
        super().end()


class RestartsElsewhereQuickly(RestartsElsewhere):
    """The driver is started again 0.4 s later; meanwhile joint 1 was moved by -0.3 rad."""

    name = "restarts_elsewhere_quickly"
    lasts = 0.4


class Outage(Fault):
    """No state arrives for 0.1 s, while the driver goes on."""

    name = "outage"
    lasts = 0.1

    def readings(self, reading: Reading) -> list[Reading]:
        """Publish nothing."""
        return []


class LongOutage(Outage):
    """No state arrives for 2 s, while the driver goes on."""

    name = "long_outage"
    lasts = 2.0


class Late(Fault):
    """No state arrives for 25 ms; then the first of them does, with the one that is due."""

    name = "late"
    lasts = 0.03

    def __init__(self, robot: FakeRobot) -> None:
        """Keep nothing yet."""
        super().__init__(robot)
        self._kept: list[Reading] = []

    def readings(self, reading: Reading) -> list[Reading]:
        """Keep them back."""
        self._kept.append(reading)
        return [self._kept[0], reading] if len(self._kept) == 6 else []


class LeavesCommanding(Fault):
    """The session leaves its commanding state for 1 s; states go on, the brakes hold."""

    name = "leaves_commanding"
    lasts = 1.0

    def begin(self) -> None:
        """Leave."""
        self.robot.leave_session()

    def end(self) -> None:
        """Come back, with the command where the arm is."""
        self.robot.enter_session()


# The robot's own condition.


class DrivesOff(Fault):
    """The drives are off and the brakes hold, in a session that says it is commanding."""

    name = "drives_off"

    def begin(self) -> None:
        """Switch them off."""
        self.robot.drives = DRIVES_OFF
        self.robot.arm.drive = Drive.BRAKES

    def end(self) -> None:
        """Switch them on."""
        self.robot.drives = DRIVES_ACTIVE
        self.robot.enter_session()


class SafetyStop(Fault):
    """The robot's safety has stopped it, in a session that says it is commanding."""

    name = "safety_stop"

    def begin(self) -> None:
        """Stop."""
        self.robot.safety = SAFETY_STOP
        self.robot.arm.drive = Drive.BRAKES

    def end(self) -> None:
        """Go on."""
        self.robot.safety = NORMAL_OPERATION
        self.robot.enter_session()


class PositionMode(Fault):
    """A new session begins at once, in position control instead of joint impedance control."""

    name = "position_mode"

    def begin(self) -> None:
        """Begin it: the arm is as stiff as it can be."""
        self.robot.enter_session()
        self.robot.control_mode = POSITION_CONTROL
        self.robot.arm.drive = Drive.POSITION

    def end(self) -> None:
        """Begin another one, in joint impedance control."""
        self.robot.control_mode = JOINT_IMPEDANCE_CONTROL
        self.robot.enter_session()


class PoorConnection(Fault):
    """The connection is poor: the robot says so, and every third state is lost."""

    name = "poor_connection"

    def begin(self) -> None:
        """Say so."""
        self.robot.quality = POOR

    def end(self) -> None:
        """Say that it is good."""
        self.robot.quality = EXCELLENT

    def readings(self, reading: Reading) -> list[Reading]:
        """Lose some."""
        return [] if self.robot.ticks % 3 == 0 else [reading]


class WrongRate(Fault):
    """States come, and say that they come, at half the rate."""

    name = "wrong_rate"

    def readings(self, reading: Reading) -> list[Reading]:
        """Leave out every second one."""
        slow = replace(reading, sample_time=2.0 * reading.sample_time)
        return [] if self.robot.ticks % 2 else [slow]


# Wrong numbers.


class Degrees(Fault):
    """Positions and velocities are in degrees."""

    name = "degrees"

    def altered(self, reading: Reading) -> Reading:
        """Convert."""
        return replace(
            reading,
            position=np.rad2deg(reading.position),
            velocity=np.rad2deg(reading.velocity),
            command=np.rad2deg(reading.command),
            interpolator=np.rad2deg(reading.interpolator),
        )


class BeyondLimits(Fault):
    """Joint 4 is reported 0.1 rad beyond its limit, and so is its command."""

    name = "beyond_limits"

    def altered(self, reading: Reading) -> Reading:
        """Move the joint."""
        beyond = self.robot.arm.position_limits[0][3] - 0.1
        return replace(
            reading, position=_put(reading.position, beyond), command=_put(reading.command, beyond)
        )


class Huge(Fault):
    """Joint 4 is reported at 1e10 rad."""

    name = "huge"

    def altered(self, reading: Reading) -> Reading:
        """Put the number in."""
        return replace(reading, position=_put(reading.position, 1e10))


class NotANumber(Fault):
    """Joint 4 is reported at NaN."""

    name = "nan"

    def altered(self, reading: Reading) -> Reading:
        """Put it in."""
        return replace(reading, position=_put(reading.position, math.nan))


class EncoderStuck(Fault):
    """The position of the joint that moves most does not change any more."""

    name = "encoder_stuck"

    def __init__(self, robot: FakeRobot) -> None:
        """Choose the joint."""
        super().__init__(robot)
        self._joint = int(np.argmax(np.abs(robot.arm.v)))
        self._position = float(robot.arm.q[self._joint])

    def altered(self, reading: Reading) -> Reading:
        """Repeat its position."""
        position, velocity = reading.position.copy(), reading.velocity.copy()
        position[self._joint], velocity[self._joint] = self._position, 0.0
        return replace(reading, position=position, velocity=velocity)


class JointOrder(Fault):
    """The joints are reported in reverse order."""

    name = "joint_order"

    def altered(self, reading: Reading) -> Reading:
        """Turn everything around."""
        return replace(
            reading,
            position=reading.position[::-1].copy(),
            velocity=reading.velocity[::-1].copy(),
            command=reading.command[::-1].copy(),
            interpolator=reading.interpolator[::-1].copy(),
            joint_torque=reading.joint_torque[::-1].copy(),
            external_torque=reading.external_torque[::-1].copy(),
        )


class HugeTorque(Fault):
    """Every external torque is 1e6 Nm."""

    name = "huge_torque"

    def altered(self, reading: Reading) -> Reading:
        """Put it in."""
        return replace(reading, external_torque=np.full(7, 1e6))


class TorqueSign(Fault):
    """The external torque has the other sign."""

    name = "torque_sign"

    def altered(self, reading: Reading) -> Reading:
        """Turn it around."""
        return replace(reading, external_torque=-reading.external_torque)


# Wrong times.


class Frozen(Fault):
    """The same state for ever, with stamps that go on."""

    name = "frozen"

    def __init__(self, robot: FakeRobot) -> None:
        """Keep nothing yet."""
        super().__init__(robot)
        self._kept: Reading | None = None

    def altered(self, reading: Reading) -> Reading:
        """Repeat the first."""
        self._kept = self._kept or reading
        return replace(self._kept, stamp=reading.stamp)


class Hung(Frozen):
    """The driver's cyclic thread hangs: the last state for ever, with its stamp."""

    name = "hung"

    def altered(self, reading: Reading) -> Reading:
        """Repeat the first, its stamp too."""
        self._kept = self._kept or reading
        return self._kept


class Replayed(Fault):
    """A recording of the last half second is played again and again, with its stamps."""

    name = "replayed"
    again: ClassVar[bool] = False

    def __init__(self, robot: FakeRobot) -> None:
        """Record nothing yet."""
        super().__init__(robot)
        self._recording: deque[Reading] = deque()
        self._begun = robot.ticks

    def altered(self, reading: Reading) -> Reading:
        """Record for half a second, then play."""
        if self.robot.ticks - self._begun <= 100:
            self._recording.append(reading)
            return reading
        old = self._recording[0]
        self._recording.rotate(-1)
        return replace(old, stamp=reading.stamp) if self.again else old


class ReplayedRestamped(Replayed):
    """The same with stamps that go on."""

    name = "replayed_restamped"
    again = True


class Swapped(Fault):
    """Every two states arrive in reverse order."""

    name = "swapped"

    def __init__(self, robot: FakeRobot) -> None:
        """Keep nothing yet."""
        super().__init__(robot)
        self._kept: Reading | None = None

    def readings(self, reading: Reading) -> list[Reading]:
        """Send the second first."""
        if self._kept is None:
            self._kept = reading
            return []
        pair, self._kept = [reading, self._kept], None
        return pair


class OldStamps(Fault):
    """Stamps jump 10 s back, and go on from there."""

    name = "old_stamps"
    shift: ClassVar[float] = -10.0

    def altered(self, reading: Reading) -> Reading:
        """Shift the stamp."""
        return replace(reading, stamp=reading.stamp + round(self.shift * NANOSECONDS))


class FutureStamps(OldStamps):
    """Stamps jump 10 s ahead, and go on from there."""

    name = "future_stamps"
    shift = 10.0


# Others on the wire.


class ForeignCommands(Fault):
    """Somebody else commands 0.2 rad from where the arm was, as often as we do."""

    name = "foreign_commands"

    def begin(self) -> None:
        """Choose where to."""
        self.robot.intruder = self.robot.command + FOREIGN

    def end(self) -> None:
        """Stop."""
        self.robot.intruder = None


class ForeignStates(Fault):
    """Another node publishes states of this arm, at rest 0.2 rad from where it was."""

    name = "foreign_states"

    def __init__(self, robot: FakeRobot) -> None:
        """Choose where."""
        super().__init__(robot)
        self._position = robot.arm.q + FOREIGN

    def readings(self, reading: Reading) -> list[Reading]:
        """Add one."""
        other = replace(
            reading,
            stamp=reading.stamp + 1_000_000,
            position=self._position,
            velocity=np.zeros(7),
            command=self._position,
            interpolator=self._position,
            external_torque=np.zeros(7),
            publisher=1,
        )
        return [reading, other]


class Pushed(Fault):
    """A hand pushes the tool upwards with 60 N for 1 s."""

    name = "pushed"
    lasts = 1.0

    def begin(self) -> None:
        """Push."""
        self.robot.arm.push = np.array([0.0, 0.0, 60.0])

    def end(self) -> None:
        """Let go."""
        self.robot.arm.push = np.zeros(3)


class OpenLoop(Fault):
    """The command is reported as the measured position, as open-loop drivers do."""

    name = "open_loop"

    def altered(self, reading: Reading) -> Reading:
        """Copy it."""
        return replace(reading, position=reading.command.copy())


def _put(values: np.ndarray, value: float) -> np.ndarray:
    """Return the joints with another value for the fourth."""
    changed = values.copy()
    changed[3] = value
    return changed


def _subclasses(fault: type[Fault]) -> list[type[Fault]]:
    return [item for child in fault.__subclasses__() for item in (child, *_subclasses(child))]


FAULTS: Mapping[str, type[Fault]] = {fault.name: fault for fault in _subclasses(Fault)}
"""Every fault by its name."""


def summary(name: str) -> str:
    """Say what a fault does.

    Args:
        name: One of FAULTS.

    Returns:
        One sentence.
    """
    return (FAULTS[name].__doc__ or "").partition("\n")[0]
