"""Who pushes: a camera, and a planner that looks at what it sees and says where the tool is to be.

The camera sees the thing 30 times a second with noise, delay and dropouts; the planner looks 20
times a second at what the camera has seen last and where the tool is.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from contact_core.config import parameter
from contact_core.low_pass import followed_share
from contact_core.seeds import generator
from contact_experiments.push.shapes import HEIGHT
from contact_experiments.push.task import TABLE, PushTask
from irs_planner.closed_loop import ClosedLoop, ClosedLoopSettings, Phase

DOWN = pin.rpy.rpyToMatrix(0.0, math.pi, 0.0)
"""Orientation of a rod that hangs down from an arm that stretches along x."""
LOOK = 0.05
"""Between two looks [s]."""
CAMERA = 30.0
"""Pictures per second."""
FOLLOWED = 0.12
"""Time constant with which what is seen is followed [s]."""
KICKED = (0.03, 0.15)
"""Distance [m] and angle [rad] from what was followed from which it is taken over at once."""
REST = 10
"""Looks at rest after which it counts."""


@dataclass(frozen=True)
class PushConditions:
    """What the planner does not know."""

    noise: float = parameter(0.003, "of the camera, along each axis", unit="m", low=0.0)
    turn_noise: float = parameter(math.radians(1.0), "of the camera", unit="rad", low=0.0)
    delay: float = parameter(0.033, "of the camera", unit="s", low=0.0)
    dropouts: float = parameter(0.05, "share of the pictures that are lost", low=0.0, high=0.9)
    mass: float = parameter(1.0, "true mass over the planner's", above=0.0)
    friction: float = parameter(1.0, "true friction over the usual one", above=0.0)
    kick: float = parameter(
        0.0, "how far the thing is kicked away in the middle", unit="m", low=0.0
    )
    kick_turn: float = parameter(0.0, "and turned", unit="rad")
    speed: float = parameter(0.1, "of the tool", unit="m/s", above=0.0, high=0.5)
    engine: str = parameter("tamsi", "what simulates it")
    timeout: float = parameter(180.0, "when it has failed", unit="s", above=0.0)


class Camera:
    """Sees a pose with noise, delay and dropouts, and follows it.

    Attributes:
        pose: (3) what is believed: x, y [m], angle [rad].
    """

    def __init__(self, conditions: PushConditions, pose: np.ndarray, seed: int) -> None:
        """Begin with a pose that is known.

        Args:
            conditions: Noise, delay and dropouts.
            pose: (3) x, y [m], angle [rad].
            seed: Of the noise.
        """
        self.pose = pose.copy()
        self._generator = generator(seed, "camera")
        self._conditions = conditions
        self._scale = np.array([conditions.noise, conditions.noise, conditions.turn_noise])
        self._waiting: deque[tuple[float, np.ndarray]] = deque()
        self._next, self._doubts = 0.0, 0

    def see(self, moment: float, pose: np.ndarray) -> None:
        """Take a picture if it is time, and take over those that have arrived.

        Args:
            moment: Time [s].
            pose: (3) where the thing truly is.
        """
        draw = self._generator
        if moment >= self._next:
            self._next += 1.0 / CAMERA
            seen = pose + draw.normal(size=3) * self._scale
            if draw.random() >= self._conditions.dropouts:
                self._waiting.append((moment + self._conditions.delay, seen))
        while self._waiting and self._waiting[0][0] <= moment:
            self._follow(self._waiting.popleft()[1])

    def _follow(self, seen: np.ndarray) -> None:
        error = seen - self.pose
        error[2] = math.remainder(error[2], 2.0 * math.pi)
        far = np.hypot(*error[:2]) > KICKED[0] or abs(error[2]) > KICKED[1]
        self._doubts = self._doubts + 1 if far else 0
        share = 1.0 if self._doubts > 1 else followed_share(1.0 / CAMERA, FOLLOWED)
        self.pose = self.pose + share * error


class Pusher:
    """Looks, and says where the tool is to be.

    Attributes:
        camera: What it sees by.
        loop: The planner.
    """

    def __init__(
        self,
        task: PushTask,
        conditions: PushConditions,
        tool: np.ndarray,
        seed: int,
        settings: ClosedLoopSettings | None = None,
    ) -> None:
        """Begin.

        Args:
            task: What is to be pushed where.
            conditions: Noise of the camera, speed of the tool.
            tool: (2) where it is, x and y [m].
            seed: Of the noise.
            settings: Of the planner; None for the defaults.
        """
        self.camera = Camera(conditions, np.array(task.start), seed)
        self._command = _polar(tool)
        self.loop = ClosedLoop(task.problem(self._command), settings)
        self._step = conditions.speed * LOOK
        self._rested = 0

    @property
    def rests(self) -> bool:
        """Whether the thing has been seen at its goal for some time."""
        return self._rested >= REST

    def look(self, tool: np.ndarray) -> pin.SE3:
        """Return where the tool is to be at the next look, world frame.

        Args:
            tool: (2) where it is, x and y [m].
        """
        state = np.concatenate((self.camera.pose, _polar(tool)))
        change = self.loop.step(state, self._command) - self._command
        self._rested = self._rested + 1 if self.loop.phase is Phase.REST else 0
        length = math.hypot(change[0] * self._command[1], change[1])
        self._command = self._command + change * min(1.0, self._step / max(length, 1e-9))
        azimuth, distance = self._command
        turn = pin.rpy.rpyToMatrix(0.0, 0.0, azimuth)
        return pin.SE3(turn @ DOWN, turn @ np.array([distance, 0.0, TABLE + HEIGHT / 2.0]))


def _polar(place: np.ndarray) -> np.ndarray:
    """Return azimuth [rad] and distance [m] of a place (2)."""
    return np.array([math.atan2(place[1], place[0]), math.hypot(*place)])
