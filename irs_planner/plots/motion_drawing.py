"""A motion through contact that can be drawn instant by instant."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

ROBOT, OBJECT, GOAL, FIXED = "#d9534f", "#5cb85c", "black", "0.6"


class View(NamedTuple):
    """A direction to look from.

    Attributes:
        horizontal: Coordinate that runs to the right.
        vertical: Coordinate that runs up.
        labels: What is written at these axes; without them there are no ticks either.
    """

    horizontal: int
    vertical: int
    labels: tuple[str, str] | None = None


class MotionDrawing(ABC):
    """Knows how to draw the bodies of a scene, and the window that shows all of them.

    Attributes:
        states: (T + 1, n) the motion.
        goal: (n) goal state, its objects are drawn as outlines.
        time_step: Between states [s].
        views: Where to look from, the first one in animations.
    """

    views: tuple[View, ...]

    def __init__(self, states: np.ndarray, goal: np.ndarray, time_step: float) -> None:
        """Take a motion.

        Args:
            states: (T + 1, n) x.
            goal: (n) goal state.
            time_step: h [s].
        """
        self.states, self.goal, self.time_step = states, goal, time_step

    @abstractmethod
    def draw_bodies(self, axes: Axes, instant: int, view: View) -> None:
        """Draw the bodies at an instant, and the objects where they should go.

        Args:
            axes: Where to.
            instant: Index of the state.
            view: Where to look from.
        """

    @abstractmethod
    def window(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and highest coordinates [m] of everything that moves."""

    def draw(self, axes: Axes, instant: int, view: View) -> None:
        """Draw an instant into its window.

        Args:
            axes: Where to.
            instant: Index of the state.
            view: Where to look from.
        """
        low, high = self.window()
        self.draw_bodies(axes, instant, view)
        axes.set(
            xlim=(low[view.horizontal], high[view.horizontal]),
            ylim=(low[view.vertical], high[view.vertical]),
            aspect="equal",
        )
        if view.labels is None:
            axes.set(xticks=[], yticks=[])
        axes.tick_params(labelsize=8)
