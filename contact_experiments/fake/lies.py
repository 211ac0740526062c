"""What a robot, its driver or the way to us can report that is not true."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace
from typing import ClassVar

import numpy as np

from contact_experiments.fake.drivers import MONITORING_READY, Reading
from contact_experiments.fake.robot import FakeRobot, RobotFault

NANOSECONDS = 1_000_000_000

# Wrong numbers.


class Degrees(RobotFault):
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


class BeyondLimits(RobotFault):
    """Joint 4 is reported 0.1 rad beyond its limit, and so is its command."""

    name = "beyond_limits"

    def altered(self, reading: Reading) -> Reading:
        """Move the joint."""
        lowest = self.device.arm.position_limits[0]
        beyond = lowest[_fourth(lowest)] - 0.1
        return replace(
            reading, position=_put(reading.position, beyond), command=_put(reading.command, beyond)
        )


class Huge(RobotFault):
    """Joint 4 is reported at 1e10 rad."""

    name = "huge"

    def altered(self, reading: Reading) -> Reading:
        """Put the number in."""
        return replace(reading, position=_put(reading.position, 1e10))


class NotANumber(RobotFault):
    """Joint 4 is reported at NaN."""

    name = "nan"

    def altered(self, reading: Reading) -> Reading:
        """Put it in."""
        return replace(reading, position=_put(reading.position, math.nan))


class EncoderStuck(RobotFault):
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


class JointOrder(RobotFault):
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


class HugeTorque(RobotFault):
    """Every external torque is 1e6 Nm."""

    name = "huge_torque"

    def altered(self, reading: Reading) -> Reading:
        """Put it in."""
        return replace(reading, external_torque=np.full_like(reading.external_torque, 1e6))


class TorqueSign(RobotFault):
    """The external torque has the other sign."""

    name = "torque_sign"

    def altered(self, reading: Reading) -> Reading:
        """Turn it around."""
        return replace(reading, external_torque=-reading.external_torque)


class EverySecondNotANumber(NotANumber):
    """Joint 4 is reported at NaN in every second state."""

    name = "every_second_nan"

    def altered(self, reading: Reading) -> Reading:
        """Put it in, or not."""
        return super().altered(reading) if self.device.ticks % 2 else reading


class DriftingEncoder(RobotFault):
    """The position of joint 4 drifts by 0.05 rad/s."""

    name = "drifting_encoder"

    def __init__(self, robot: FakeRobot) -> None:
        """Note the time."""
        super().__init__(robot)
        self._begun = robot.time

    def altered(self, reading: Reading) -> Reading:
        """Add what it has drifted."""
        position = reading.position.copy()
        position[_fourth(position)] += 0.05 * (self.device.time - self._begun)
        return replace(reading, position=position)


class NoTorque(RobotFault):
    """Every external torque is 0."""

    name = "no_torque"

    def altered(self, reading: Reading) -> Reading:
        """Leave it out."""
        return replace(reading, external_torque=np.zeros_like(reading.external_torque))


class DriftingTorque(DriftingEncoder):
    """The external torque of joints 2 and 4 drifts by 5 Nm/s."""

    name = "drifting_torque"

    def altered(self, reading: Reading) -> Reading:
        """Add what it has drifted."""
        torque = reading.external_torque.copy()
        torque[1:4:2] += 5.0 * (self.device.time - self._begun)
        return replace(reading, external_torque=torque)


class SessionFlickers(RobotFault):
    """The session state says in every second state that it is not commanding."""

    name = "session_flickers"

    def altered(self, reading: Reading) -> Reading:
        """Say so, or not."""
        return replace(reading, session=MONITORING_READY) if self.device.ticks % 2 else reading


class CommandLies(RobotFault):
    """The command is reported 0.1 rad from the one in use."""

    name = "command_lies"

    def altered(self, reading: Reading) -> Reading:
        """Report another one."""
        return replace(reading, command=reading.command + 0.1)


# Wrong times.


class Frozen(RobotFault):
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


class Replayed(RobotFault):
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
        if self.device.ticks - self._begun <= 100:
            self._recording.append(reading)
            return reading
        old = self._recording[0]
        self._recording.rotate(-1)
        return replace(old, stamp=reading.stamp) if self.again else old


class ReplayedRestamped(Replayed):
    """The same with stamps that go on."""

    name = "replayed_restamped"
    again = True


class Delayed(RobotFault):
    """Every state arrives 40 ms later, with its stamp."""

    name = "delayed"
    delay: ClassVar[float] = 0.04

    def __init__(self, robot: FakeRobot) -> None:
        """Hold nothing back yet."""
        super().__init__(robot)
        self._on_their_way: deque[Reading] = deque()

    def readings(self, reading: Reading) -> list[Reading]:
        """Send what was due then."""
        self._on_their_way.append(reading)
        late = len(self._on_their_way) > round(self.delay / self.device.config.period)
        return [self._on_their_way.popleft()] if late else []


class Swapped(RobotFault):
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


class OldStamps(RobotFault):
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


class SlowClock(RobotFault):
    """The robot's clock runs at half its speed."""

    name = "slow_clock"

    def __init__(self, robot: FakeRobot) -> None:
        """Know no stamp yet."""
        super().__init__(robot)
        self._first: int | None = None

    def altered(self, reading: Reading) -> Reading:
        """Stamp it too early."""
        if self._first is None:
            self._first = reading.stamp
        return replace(reading, stamp=(self._first + reading.stamp) // 2)


class OpenLoop(RobotFault):
    """The command is reported as the measured position, as open-loop drivers do."""

    name = "open_loop"

    def altered(self, reading: Reading) -> Reading:
        """Copy it."""
        return replace(reading, position=reading.command.copy())


def _put(values: np.ndarray, value: float) -> np.ndarray:
    """Return the joints with another value for the fourth, or for the last of fewer."""
    changed = values.copy()
    changed[_fourth(values)] = value
    return changed


def _fourth(values: np.ndarray) -> int:
    """Return where the fourth joint is, or the last of fewer."""
    return min(4, values.size) - 1
