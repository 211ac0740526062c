"""What an experiment has to say about itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from contact_core.robot import Robot
from contact_stack.demo.motion import Motion

SETTLING = 0.5
"""Time recorded after the end of every motion [s]."""


@dataclass(frozen=True)
class HeldObject:
    """What the gripper holds at the start.

    Attributes:
        name: Its name in the scene.
        mass: Declared to the estimator [kg].
    """

    name: str
    mass: float


@dataclass(frozen=True)
class Release:
    """The gripper lets go of what it holds.

    Attributes:
        time: When, from the start of the motion [s].
        onto: Name of the object that the released one should stand on.
        opening: Position of each finger when the gripper is open [m].
        effort: Largest force of the gripper [N].
    """

    time: float
    onto: str
    opening: float = 0.055
    effort: float = 30.0


class Experiment(ABC):
    """A scene, a motion in it, and what is judged.

    Attributes:
        scene: The scene it takes place in, a file of config/scenes.
        held: What the gripper holds at the start, if anything.
        release: When it is released, if it is.
        settling: Time recorded after the end of the motion [s].
    """

    scene: ClassVar[str]
    held: ClassVar[HeldObject | None] = None
    release: ClassVar[Release | None] = None
    settling: ClassVar[float] = SETTLING

    @property
    @abstractmethod
    def duration(self) -> float:
        """Duration of the motion [s]."""

    @property
    @abstractmethod
    def phases(self) -> dict[str, tuple[float, float]]:
        """Name -> (start, end) [s] of what the motion consists of."""

    @property
    @abstractmethod
    def passes(self) -> dict[str, tuple[float, float]]:
        """Name -> (start, end) [s] of the times in which there has to be contact."""

    @abstractmethod
    def motion(self, robot: Robot, q: np.ndarray) -> Motion:
        """Return the motion.

        Args:
            robot: The arm; may be updated.
            q: (n) where it starts [rad].

        Returns:
            The motion, from time 0.
        """
