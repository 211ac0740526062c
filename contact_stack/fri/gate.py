"""The last step of every command: what the robot is told never leaves its limits.

Commands that keep the limits pass as they are. Others are approached within them, and one that is
no continuation of those before, or no number, is none: the joints brake, and then hold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contact_core.base.config import parameter

MAX_PAUSE = 10
"""After so many steps without a command the next one tells nothing of its speed."""


@dataclass(frozen=True)
class GateConfig:
    """What may leave for the robot."""

    speed_share: float = parameter(
        1.0, "largest speed of a command, as a share of the joint's limit", above=0.0, high=1.0
    )
    acceleration: float = parameter(
        50.0,
        "largest acceleration and deceleration of a command",
        unit="rad/s^2",
        above=0.0,
        high=1000.0,
    )
    margin: float = parameter(
        0.01, "distance that is kept from a joint's position limits", unit="rad", low=0.0, high=0.5
    )
    jump: float = parameter(
        0.05,
        "a command that is farther from the last one that was sent is refused",
        unit="rad",
        above=0.0,
        high=1.0,
    )


class Gate:
    """Lets commands of joints pass within limits on position, speed and acceleration.

    Attributes:
        position: (n) what was sent last [rad].
        velocity: (n) of what is sent [rad/s].
        refused: Commands that were refused.
        shaped: Commands that were approached, as they were beyond a limit.
        problem: Why a command was refused last; empty if none was.
    """

    def __init__(
        self,
        lowest: NDArray[np.float64],
        highest: NDArray[np.float64],
        speed: NDArray[np.float64],
        config: GateConfig,
    ) -> None:
        """Take the limits.

        Args:
            lowest: (n) smallest joint positions [rad].
            highest: (n) largest joint positions [rad].
            speed: (n) speed limits of the joints [rad/s].
            config: What may pass.
        """
        self._limits = lowest + config.margin, highest - config.margin
        self._speed = config.speed_share * speed
        self._acceleration, self._jump = config.acceleration, config.jump
        self.refused = self.shaped = 0
        self.problem = ""
        self.start(np.zeros(lowest.size))

    def start(self, position: NDArray[np.float64]) -> None:
        """Begin at rest, and know of no command.

        Args:
            position: (n) where the robot is commanded to [rad].
        """
        self.position, self.velocity = position.copy(), np.zeros(position.size)
        # Where it stands beyond a limit it may stand, but go no further.
        self._lowest = np.minimum(self._limits[0], position)
        self._highest = np.maximum(self._limits[1], position)
        self._target, self._pause = self.position, 0

    def rest(self) -> None:
        """Take note that nothing was sent for a while: the robot holds what it had last."""
        self.velocity = np.zeros(self.position.size)

    @property
    def at_rest(self) -> bool:
        """Whether nothing moves."""
        return not self.velocity.any()

    def step(self, wanted: NDArray[np.float64] | None, period: float) -> NDArray[np.float64]:
        """Return what is to be sent now.

        Args:
            wanted: (n) the command for now [rad]; None if there is none.
            period: Time since the last step [s].

        Returns:
            (n) joint positions [rad].
        """
        gain = self._acceleration * period
        slower, faster = self.velocity - gain, self.velocity + gain
        lower = np.maximum(-self._speed, slower)
        upper = np.minimum(self._speed, faster)
        lower = np.maximum(lower, -self._stoppable(self.position - self._lowest, period))
        upper = np.minimum(upper, self._stoppable(self._highest - self.position, period))
        target = None if wanted is None else self._sound(wanted)
        if target is None:
            self._pause += 1
            velocity = np.clip(np.zeros(self.position.size), slower, faster)
        else:
            velocity = self._towards(target, period)
        velocity = np.minimum(np.maximum(velocity, lower), upper)
        position = self.position + period * velocity
        if target is not None:
            reached = np.abs(position - target) < 1e-9
            position = np.where(reached, target, position)
            self.shaped += not reached.all()
        self.position, self.velocity = position, velocity
        return position

    def _sound(self, wanted: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return a command within the limits of position; None if it is refused."""
        if wanted.shape != self.position.shape or not np.isfinite(wanted).all():
            self.problem = "a command is not one finite number for each joint"
        elif (distance := float(np.abs(wanted - self.position).max())) > self._jump:
            self.problem = f"a command is {distance:.3g} rad from the last one that was sent"
        else:
            return np.clip(wanted, self._lowest, self._highest)
        self.refused += 1
        return None

    def _towards(self, target: NDArray[np.float64], period: float) -> NDArray[np.float64]:
        """Return the velocity of who follows a target that moves, and can stop with it."""
        pause, before = self._pause, self._target
        self._pause, self._target = 0, target
        pace = np.zeros(target.size)
        if pause <= MAX_PAUSE:
            pace = (target - before) / ((1 + pause) * period)
            pace = np.clip(pace, -self._speed, self._speed)
        behind = target - period * pace - self.position
        return pace + np.sign(behind) * self._stoppable(np.abs(behind), period)

    def _stoppable(self, distance: NDArray[np.float64], period: float) -> NDArray[np.float64]:
        """Return the speed at which a step, and a stop after it, stay within a distance."""
        ways = np.maximum(distance, 0.0)
        root = np.sqrt(period**2 + 2.0 * ways / self._acceleration)
        at_once = np.minimum(ways / period, self._acceleration * period)
        speed: NDArray[np.float64] = np.maximum(self._acceleration * (root - period), at_once)
        return speed
