"""Pictures of pushes, from above."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_core.base.figures import ROLES, dress
from contact_stack.demo.push_anything.shapes import Part, PushedObject
from contact_stack.demo.push_anything.task import PushTask
from irs_planner.scenes.planar_scene import Box, Circle

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OUTLINES = 8
"""Places of a thing on its way."""


def draw_push(axes: Axes, task: PushTask, poses: np.ndarray, tool: np.ndarray) -> None:
    """Draw a thing on its way, where it is in the end, its goal, and the path of the tool.

    Args:
        axes: Where.
        task: What was to be pushed where.
        poses: (n, 3) of the thing: x, y [m], angle [rad].
        tool: (n, 2) x and y [m].
    """
    for pose in poses[:: max(1, len(poses) // OUTLINES)]:
        _draw_thing(axes, task.thing, pose, color=ROLES["object"], alpha=0.1)
    _draw_thing(axes, task.thing, poses[-1], color=ROLES["object"], alpha=0.6)
    goal = {"facecolor": "none", "edgecolor": ROLES["goal"], "lw": 1.5, "ls": "--"}
    _draw_thing(axes, task.thing, np.array(task.goal), **goal)
    axes.plot(*tool.T, color=ROLES["robot"], lw=0.8)
    dress(axes)
    axes.set_aspect("equal")


def _draw_thing(axes: Axes, thing: PushedObject, pose: np.ndarray, **style: Any) -> None:
    cosine, sine = math.cos(pose[2]), math.sin(pose[2])
    turn = np.array([[cosine, -sine], [sine, cosine]])
    for part in thing.parts:
        axes.fill(*(pose[:2, np.newaxis] + turn @ _outline(part)), **{"lw": 0, **style})


def _outline(part: Part) -> np.ndarray:
    """Return the outline (2, N) of a part in its frame [m]."""
    if isinstance(part, Circle):
        angle = np.linspace(0.0, 2.0 * math.pi, 40)
        circle = part.radius * np.array([np.cos(angle), np.sin(angle)])
        return np.asarray(np.array(part.center)[:, np.newaxis] + circle)
    if isinstance(part, Box):
        corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * np.array(part.size) / 2.0
        return np.asarray((corners + part.center).T)
    return np.array(part.points).T
