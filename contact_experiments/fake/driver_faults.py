"""The driver goes away, the robot is not as it should be, or somebody else is on the wire."""

from __future__ import annotations

from dataclasses import replace

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
from contact_experiments.fake.robot import FakeRobot, RobotFault

ELSEWHERE = -0.3
"""How far the first joint is from where it was after a restart elsewhere [rad]."""
FOREIGN = 0.2
"""How far the commands of somebody else are off, every joint [rad]."""


# The driver goes away.


class Dies(RobotFault):
    """The driver ends and does not come back; the brakes hold the arm."""

    name = "dies"

    def begin(self) -> None:
        """End."""
        self.device.silent = True
        self.device.leave_session()

    def end(self) -> None:
        """Start again, and command from where the arm is."""
        self.device.silent = False
        self.device.enter_session()


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
        self.device.arm.place(self.device.arm.q + ELSEWHERE * np.eye(self.device.arm.q.size)[0])
        super().end()


class RestartsElsewhereQuickly(RestartsElsewhere):
    """The driver is started again 0.4 s later; meanwhile joint 1 was moved by -0.3 rad."""

    name = "restarts_elsewhere_quickly"
    lasts = 0.4


class Outage(RobotFault):
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


class Late(RobotFault):
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


class LeavesCommanding(RobotFault):
    """The session leaves its commanding state for 1 s; states go on, the brakes hold."""

    name = "leaves_commanding"
    lasts = 1.0

    def begin(self) -> None:
        """Leave."""
        self.device.leave_session()

    def end(self) -> None:
        """Come back, with the command where the arm is."""
        self.device.enter_session()


# The robot's own condition.


class DrivesOff(RobotFault):
    """The drives are off and the brakes hold, in a session that says it is commanding."""

    name = "drives_off"

    def begin(self) -> None:
        """Switch them off."""
        self.device.drives = DRIVES_OFF
        self.device.arm.drive = Drive.BRAKES

    def end(self) -> None:
        """Switch them on."""
        self.device.drives = DRIVES_ACTIVE
        self.device.enter_session()


class SafetyStop(RobotFault):
    """The robot's safety has stopped it, in a session that says it is commanding."""

    name = "safety_stop"

    def begin(self) -> None:
        """Stop."""
        self.device.safety = SAFETY_STOP
        self.device.arm.drive = Drive.BRAKES

    def end(self) -> None:
        """Go on."""
        self.device.safety = NORMAL_OPERATION
        self.device.enter_session()


class PositionMode(RobotFault):
    """A new session begins at once, in position control instead of joint impedance control."""

    name = "position_mode"

    def begin(self) -> None:
        """Begin it: the arm is as stiff as it can be."""
        self.device.enter_session()
        self.device.control_mode = POSITION_CONTROL
        self.device.arm.drive = Drive.POSITION

    def end(self) -> None:
        """Begin another one, in joint impedance control."""
        self.device.control_mode = JOINT_IMPEDANCE_CONTROL
        self.device.enter_session()


class PoorConnection(RobotFault):
    """The connection is poor: the robot says so, and every third state is lost."""

    name = "poor_connection"

    def begin(self) -> None:
        """Say so."""
        self.device.quality = POOR

    def end(self) -> None:
        """Say that it is good."""
        self.device.quality = EXCELLENT

    def readings(self, reading: Reading) -> list[Reading]:
        """Lose some."""
        return [] if self.device.ticks % 3 == 0 else [reading]


class WrongRate(RobotFault):
    """States come, and say that they come, at half the rate."""

    name = "wrong_rate"

    def readings(self, reading: Reading) -> list[Reading]:
        """Leave out every second one."""
        slow = replace(reading, sample_time=2.0 * reading.sample_time)
        return [] if self.device.ticks % 2 else [slow]


# Others on the wire.


class ForeignCommands(RobotFault):
    """Somebody else commands 0.2 rad from where the arm was, as often as we do."""

    name = "foreign_commands"

    def begin(self) -> None:
        """Choose where to."""
        self.device.intruder = self.device.command + FOREIGN

    def end(self) -> None:
        """Stop."""
        self.device.intruder = None


class ForeignStates(RobotFault):
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
            velocity=np.zeros(self._position.size),
            command=self._position,
            interpolator=self._position,
            external_torque=np.zeros(self._position.size),
            publisher=1,
        )
        return [reading, other]


class Pushed(RobotFault):
    """A hand pushes the tool upwards with 60 N for 1 s."""

    name = "pushed"
    lasts = 1.0

    def begin(self) -> None:
        """Push."""
        self.device.arm.push = np.array([0.0, 0.0, 60.0])

    def end(self) -> None:
        """Let go."""
        self.device.arm.push = np.zeros(3)
