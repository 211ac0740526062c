"""Where an object is, from what a camera says of it, and from what has pushed it since."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from contact_core.base.config import parameter
from contact_core.base.low_pass import followed_share

RESTART = 1.0
"""What is so much older than what was seen last does not come late: stamps begin anew [s]."""
LATEST = 0.5
"""Pictures are no later than that, or clocks differ: then nothing is known of since when [s]."""
KICKED_TURN = 0.15
"""A turn by this angle in two pictures in a row is no noise [rad]."""


@dataclass(frozen=True)
class TrackerConfig:
    """How what is seen is followed."""

    time_constant: float = parameter(
        0.12, "time constant of the low-pass of the object's pose", unit="s", low=0.0, high=10.0
    )
    kicked: float = parameter(
        0.03,
        "a jump by this distance in two pictures in a row is no noise",
        unit="m",
        above=0.0,
        high=10.0,
    )


def is_news(stamp: int, last: int) -> bool:
    """Return whether what was seen then says anything of now.

    Args:
        stamp: When it was seen [ns].
        last: When that was seen which is known already [ns].
    """
    return stamp > last or stamp < last - RESTART * 1e9


@dataclass(frozen=True)
class _Push:
    """How something was moved, and from when to when [ns]; world frame."""

    begin: int
    end: int
    turn: np.ndarray
    shift: np.ndarray

    def since(self, stamp: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the turn (3) and the shift (3) after a stamp, none if it is too old."""
        late = 0 <= self.end - stamp <= LATEST * 1e9
        share = min(1.0, (self.end - stamp) / max(self.end - self.begin, 1)) if late else 0.0
        return share * self.turn, share * self.shift


class ObjectTracker:
    """Follows poses by a low-pass; what is elsewhere twice has been kicked there.

    Pictures come late, and a low-pass later: what is known to have been pushed is carried along,
    and what was seen before is taken on to where it has been pushed since.

    Attributes:
        pose: What is believed, world frame.
        stamp: When that was seen [ns].
    """

    def __init__(self, config: TrackerConfig, stamp: int, pose: pin.SE3) -> None:
        """Begin with what is seen first.

        Args:
            config: How to follow.
            stamp: When it was seen [ns].
            pose: World frame.
        """
        self._config = config
        self.pose, self.stamp = pose, stamp
        self._doubts = 0
        self._pushes: deque[_Push] = deque()

    def carry(self, begin: int, end: int, before: pin.SE3, after: pin.SE3) -> None:
        """Take along what has been pushed.

        Args:
            begin: Since when, on the clock of what is seen [ns].
            end: Until when [ns].
            before: Pose before, world frame.
            after: And after.
        """
        turn, shift = _change(before, after)
        self.pose = _moved(self.pose, turn, shift)
        self._pushes.append(_Push(begin, end, turn, shift))
        while self._pushes and not 0 <= end - self._pushes[0].begin <= LATEST * 1e9:
            self._pushes.popleft()  # also where the clock begins anew

    def see(self, stamp: int, pose: pin.SE3) -> None:
        """Take what was seen; what is a little older than the last is of no use.

        Args:
            stamp: When it was seen [ns]; much older than the last: that one, or a clock, was wrong.
            pose: World frame.
        """
        if not is_news(stamp, self.stamp):
            return
        config, anew = self._config, stamp < self.stamp
        for push in self._pushes:
            pose = _moved(pose, *push.since(stamp))
        turn, shift = _change(self.pose, pose)
        far = np.linalg.norm(shift) > config.kicked or np.linalg.norm(turn) > KICKED_TURN
        self._doubts = self._doubts + 1 if far else 0
        share = followed_share(max(0.0, 1e-9 * (stamp - self.stamp)), config.time_constant)
        if self._doubts > 1 or (anew and not far):
            share = 1.0
        self.stamp = stamp
        self.pose = _moved(self.pose, share * turn, share * shift)


def _change(before: pin.SE3, after: pin.SE3) -> tuple[np.ndarray, np.ndarray]:
    """Return the turn (3) and the shift (3) from one pose to another one, world frame."""
    turn = pin.log3(after.rotation @ before.rotation.T)
    return turn, after.translation - before.translation


def _moved(pose: pin.SE3, turn: np.ndarray, shift: np.ndarray) -> pin.SE3:
    """Return a pose after a turn (3) about its origin, and a shift (3), world frame."""
    return pin.SE3(pin.exp3(turn) @ pose.rotation, pose.translation + shift)
