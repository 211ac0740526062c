"""The driver's own last step of every command: what the robot is told never leaves its limits.

Commands that keep the limits pass as they are. Others are approached within them, and one that is
no continuation of those before, or no number, is none: the joints brake, and then hold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contact_core.base.config import parameter
from contact_core.base.kernel import inlined_kernel, kernel

REACHED = 1e-9
"""What is nearer to its command is there [rad]."""

MAX_PAUSE = 10
"""After so many steps without a command the next one tells nothing of its speed."""

BRIDGED = 3
"""So many cycles without an answer a robot may go on at its pace; after more it comes to rest."""


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
        # Compiled before anybody waits for it.
        self.step(None, 1.0)

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

    def go_on(
        self,
        missed: int,
        period: float,
        commanded: NDArray[np.float64] | None,
        measured: NDArray[np.float64],
    ) -> None:
        """Take note that nothing was sent for a while.

        The robot held what it had last, or went on at its pace for some cycles and braked. It says
        where it is commanded; or else, once it stands, where it is. Before, half of what more than
        one answer does not bridge is gone, as far as that leaves the speed below its limit.

        Args:
            missed: How many answers it did not get.
            period: Time between two of them [s].
            commanded: (n) what the robot said last of where it is commanded [rad]; None if it does
                not.
            measured: (n) where it is [rad].
        """
        way = missed * period * self.velocity
        if commanded is None and missed <= BRIDGED:
            next_speed = np.abs(self.velocity) + self._acceleration * period
            room = period * np.maximum(self._speed - next_speed, 0.0)
            gone = np.clip(0.5 * (1.0 - 1.0 / missed) * way, -room, room)
        else:
            where = measured if commanded is None else commanded
            gone = np.clip(where - self.position, np.minimum(way, 0.0), np.maximum(way, 0.0))
        self.position = np.clip(self.position + gone, self._lowest, self._highest)
        if missed > BRIDGED:
            self.velocity = np.zeros(self.position.size)
        self._pause += missed

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
        target = None if wanted is None else self._sound(wanted)
        steps = 0
        if target is None:
            self._pause += 1
        elif self._pause <= MAX_PAUSE:
            steps = 1 + self._pause
        position, velocity = np.empty((2, self.position.size))
        reached = _advance(
            self.position,
            self.velocity,
            self._lowest,
            self._highest,
            self._speed,
            self._acceleration,
            period,
            self._target if target is None else target,
            self._target,
            target is not None,
            steps,
            position,
            velocity,
        )
        if target is not None:
            self._target, self._pause = target, 0
            self.shaped += not reached
        self.position, self.velocity = position, velocity
        return position

    def _sound(self, wanted: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return a command within the limits of position; None if it is refused."""
        if wanted.shape != self.position.shape:
            self.problem = f"a command has {wanted.size} numbers instead of {self.position.size}"
        # Not "is larger": what cannot be compared is not near.
        elif not (distance := float(np.abs(wanted - self.position).max())) <= self._jump:
            self.problem = f"a command is {distance:.3g} rad from the last one that was sent"
        else:
            return np.minimum(np.maximum(wanted, self._lowest), self._highest)
        self.refused += 1
        return None


def precompile() -> None:
    """Compile the kernels into Numba's cache."""
    Gate(-np.ones(1), np.ones(1), np.ones(1), GateConfig()).step(np.zeros(1), 0.005)


@kernel
def _advance(
    position: np.ndarray,
    velocity: np.ndarray,
    lowest: np.ndarray,
    highest: np.ndarray,
    speed: np.ndarray,
    acceleration: float,
    period: float,
    target: np.ndarray,
    before: np.ndarray,
    follows: bool,
    steps: int,
    to: np.ndarray,
    at: np.ndarray,
) -> bool:
    """Fill the next position and its velocity; return whether it is the target.

    A target moves on at the pace it had since the one before, which was so many steps ago, 0 for
    unknown; whoever is behind catches up as fast as it can still fall in with it. Without one to
    follow the joints brake.
    """
    there = True
    gain = acceleration * period
    for i in range(position.size):
        wanted = 0.0
        if follows:
            pace = 0.0
            if steps > 0:
                pace = (target[i] - before[i]) / (steps * period)
                pace = min(max(pace, -speed[i]), speed[i])
            behind = target[i] - period * pace - position[i]
            catching_up = _stoppable(abs(behind), acceleration, period)
            wanted = pace + (catching_up if behind > 0.0 else -catching_up)
        down = _stoppable(position[i] - lowest[i], acceleration, period)
        up = _stoppable(highest[i] - position[i], acceleration, period)
        slowest = max(-speed[i], velocity[i] - gain, -down)
        fastest = min(speed[i], velocity[i] + gain, up)
        at[i] = min(max(wanted, slowest), fastest)
        to[i] = position[i] + period * at[i]
        if abs(to[i] - target[i]) < REACHED:
            to[i] = target[i]
        else:
            there = False
    return there


@inlined_kernel
def _stoppable(distance: float, acceleration: float, period: float) -> float:
    """Return the speed at which a step, and a stop after it, stay within a distance."""
    if distance <= 0.0:
        return 0.0
    at_once = min(distance / period, acceleration * period)
    root = np.sqrt(period**2 + 2.0 * distance / acceleration)
    return max(acceleration * (root - period), at_once)
