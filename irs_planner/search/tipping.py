"""Whether pushes turn things over: moments about the edge of what a thing stands on."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from irs_planner.quasi_dynamic import SpatialQuasiDynamics
from irs_planner.quasi_dynamic.contact_step import ContactFrames

MARGIN = 1.3
"""Friction may be greater than what the model has by this factor."""
TOUCHES = 5e-3
"""What is no farther from a thing pushes it [m]."""
STANDS, AIRBORNE = 1e-3, 0.02
"""A thing stands on what is so little higher than the lowest place, if that is no farther: what
slides in a relaxed model hops [m]."""
LEVEL = 0.9
"""What a thing stands on looks up by so much."""
STRAIGHT = 0.99
"""What presses straight down turns it over no way that is known."""


class _Thing(NamedTuple):
    """The c pairs of a thing with what may carry it, and the p ones with robots.

    Attributes:
        number: Of the thing.
        carries: (c) their indices.
        pushes: (p) likewise.
        up: (c) 1 where the thing is the first part, for the normal points into it, else -1.
        inward: (p) likewise.
    """

    number: int
    carries: np.ndarray
    pushes: np.ndarray
    up: np.ndarray
    inward: np.ndarray


class Tipping:
    """Moments on the things of a problem that are to stay upright."""

    def __init__(self, dynamics: SpatialQuasiDynamics, upright: Collection[int]) -> None:
        """Sort the pairs.

        Args:
            dynamics: The contact model.
            upright: Numbers of the things.
        """
        self._dynamics = dynamics
        first, second = np.array(dynamics.pair_names).reshape(-1, 2).T
        robots = np.isin(first, dynamics.link_names) | np.isin(second, dynamics.link_names)
        self._things = []
        for number in upright:
            own = first == dynamics.object_names[number]
            some = own | (second == dynamics.object_names[number])
            carries, pushes = np.flatnonzero(some & ~robots), np.flatnonzero(some & robots)
            up, inward = (np.where(own[pairs], 1.0, -1.0) for pairs in (carries, pushes))
            self._things.append(_Thing(number, carries, pushes, up, inward))

    def share(
        self, states: np.ndarray, frames: ContactFrames, touches: float = TOUCHES
    ) -> np.ndarray:
        """Return (K) the moments that turn things over, as shares of those that hold them down.

        What is pushed slides: the horizontal force is mu times its weight and what presses it down.
        It turns about the edge of what it stands on, ahead. What presses down holds it, less what
        friction turns of that into a pull.

        Args:
            states: (K, n) x.
            frames: Contact geometry there.
            touches: What is no farther from a thing pushes it [m].

        Returns:
            (K) the largest, 0 where nothing pushes.
        """
        largest = np.zeros(len(states))
        for thing in self._things:
            gap = frames.gap[:, thing.pushes]
            if (gap < touches).any():
                share = np.where(gap < touches, self._share(thing, states, frames), 0.0)
                largest = np.maximum(largest, share.max(axis=1))
        return largest

    def _share(self, thing: _Thing, states: np.ndarray, frames: ContactFrames) -> np.ndarray:
        """Return (K, p) the share of every pair with a robot, as if it touched."""
        normal = thing.inward[:, np.newaxis] * frames.frame[:, thing.pushes, 0]
        flat = np.maximum(np.linalg.norm(normal[..., :2], axis=2), 1e-9)
        ahead, down = normal[..., :2] / flat[..., np.newaxis], -normal[..., 2] / flat
        grip = self._dynamics.friction[thing.pushes]
        # The tangent of an angle less that of friction.
        down = np.where(down > 0.0, np.maximum((down - grip) / (1.0 + grip * down), 0.0), down)
        foot, stands = self._support(thing, frames)
        at = frames.point[:, thing.pushes]
        centers = [self._dynamics.centers(state)[thing.number, :2] for state in states]
        center = np.array(centers)[:, np.newaxis]
        reach = np.einsum("kcd,kpd->kpc", foot[..., :2] - center, ahead)
        edge = np.where(stands[:, np.newaxis], reach, 0.0).max(axis=2, initial=0.0)
        lever = edge - np.einsum("kpd,kpd->kp", at[..., :2] - center, ahead)
        # Nothing turns over in the air.
        table = np.where(stands, foot[..., 2], np.inf).min(axis=1, initial=np.inf)
        height = np.maximum(at[..., 2] - table[:, np.newaxis], 0.0)
        friction = MARGIN * self._dynamics.friction[thing.carries].max(initial=0.0)
        force = friction / np.maximum(1.0 - friction * down, 1e-9)  # per weight
        held = np.maximum(edge + down * force * lever, 1e-9)
        return np.where(normal[..., 2] > -STRAIGHT, force * height / held, 0.0)

    def _support(self, thing: _Thing, frames: ContactFrames) -> tuple[np.ndarray, np.ndarray]:
        """Return points (K, c, 3) that may carry a thing [m], and (K, c) whether they do."""
        level = thing.up * frames.frame[:, thing.carries, 0, 2] > LEVEL
        room = np.where(level, frames.gap[:, thing.carries], np.inf)
        lowest = room.min(axis=1, initial=AIRBORNE, keepdims=True)
        return frames.point[:, thing.carries], room < np.minimum(lowest + STANDS, AIRBORNE)
