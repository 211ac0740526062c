"""A camera that sees the objects of a scene: with noise, late, and not always."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from contact_core.base.seeds import generator
from contact_core.robot.scene_config import CameraConfig


@dataclass(frozen=True)
class CameraView:
    """What a camera saw.

    Attributes:
        stamp: When it was taken [ns].
        poses: Object -> its pose in the world.
    """

    stamp: int
    poses: Mapping[str, pin.SE3]


class Camera:
    """Takes pictures, which arrive later."""

    def __init__(self, config: CameraConfig, seed: int) -> None:
        """Set up.

        Args:
            config: Rate, noise, delay and dropouts.
            seed: Of noise and dropouts.
        """
        self._config = config
        self._generator = generator(seed, "camera")
        self._scale = np.repeat([config.noise, config.turn_noise], 3)
        self._next: int | None = None
        self._under_way: deque[CameraView] = deque()

    def see(self, now: int, look: Callable[[], Mapping[str, pin.SE3]]) -> list[CameraView]:
        """Take a picture if it is time.

        Args:
            now: The time [ns].
            look: Returns object -> its true pose in the world; called if there is a picture.

        Returns:
            The pictures that have arrived since the last call.
        """
        due = now if self._next is None else self._next
        if now >= due:
            period = round(1e9 / self._config.rate)
            self._next = (due if due + period > now else now) + period
            picture = CameraView(now, {name: self._blur(pose) for name, pose in look().items()})
            if self._generator.random() >= self._config.dropouts:
                self._under_way.append(picture)
        arrived = []
        while self._under_way and now - self._under_way[0].stamp >= 1e9 * self._config.delay:
            arrived.append(self._under_way.popleft())
        return arrived

    def _blur(self, pose: pin.SE3) -> pin.SE3:
        shift, turn = np.split(self._generator.normal(size=6) * self._scale, 2)
        return pin.SE3(pose.rotation @ pin.exp3(turn), pose.translation + shift)
