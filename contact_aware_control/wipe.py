"""Wipe a surface of unknown height and slope along a path, with a force."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from contact_aware_control.led_tool import BEHIND, HELD, LedTool
from contact_aware_control.skill import PATIENCE, STIRS, GivenUp, Skill, Ways
from contact_core.base.errors import TrajectoryError
from contact_core.base.low_pass import followed_share

HELD_TIME = 0.05
"""The force is held in the mean over about this time [s]."""

RISES = 1.0
"""A force that rises by so much while it is waited for is on its way [N]."""


class Wipe(Skill):
    """Touch, follow a path with a force along the third axis of the tool's, and lift.

    While the force is not held, or something holds the tool back, the path waits: what is wiped is
    wiped with the force.

    Attributes:
        wiped: How far along the path it has come [m].
        lost: Where the tool was when the force was lost (3), world frame [m]; NaN if it was not.
    """

    def __init__(
        self,
        tool: LedTool,
        path: np.ndarray,
        lift: float,
        force: float,
        speed: float,
        distance: float,
        period: float,
        force_limit: float,
    ) -> None:
        """Plan the path.

        Args:
            tool: What is led; its third axis points to the surface.
            path: (k, 3) corners, from where the tool is, world frame [m]; what they have along the
                third axis makes no difference.
            lift: How far it lifts in the end [m].
            force: To press with [N].
            speed: Along the path [m/s].
            distance: How far away the surface may be [m].
            period: Time between ticks [s].
            force_limit: What the hand may be pressed with [N]; 0: its share of the force.

        Raises:
            TrajectoryError: If a number is none, or there is no path.
        """
        super().__init__(tool, force, speed, distance, period, force_limit)
        self._corners = np.vstack((np.zeros(3), tool.across(path)))
        self._marks = np.concatenate(
            ((0.0,), np.cumsum(np.linalg.norm(np.diff(self._corners, axis=0), axis=1)))
        )
        if not (np.isfinite(self._marks[-1]) and self._marks[-1] > 0.0):
            raise TrajectoryError(f"the path of a wipe is {self._marks[-1]:g} m long (valid: > 0)")
        if not (np.isfinite(lift) and lift >= 0.0):
            raise TrajectoryError(f"the lift of a wipe is {lift:g} m (valid: >= 0)")
        self._lift = lift
        lifted = self._corners[-1] - lift * tool.axes[2]
        self.later = self._ways(tool.start, np.vstack((self._corners, lifted)))
        self._held = 0.0
        self._held_share = followed_share(period, HELD_TIME)
        self.wiped, self.lost = 0.0, np.full(3, np.nan)

    def _perform(self) -> Ways:
        """Touch, press, follow the path, lift."""
        if not (yield from self._approach()):
            return
        self._press(self._force)
        with suppress(GivenUp):
            yield from self._follow_path()
        self.phase = "lift"
        self._let_go()
        tip, away = self.tool.tip, -self.tool.axes[2]
        yield from self._go(tip + self._lift * away)
        yield from self._arrive()

    def _follow_path(self) -> Ways:
        """Go on along the path while the force is held."""
        self.phase = "wipe"
        begin, waited, most = self._tip, 0.0, 0.0
        touched = nearest = self.tool.axes[2] @ self.tool.tip
        while self.wiped < self._marks[-1]:
            self._held += self._held_share * (self.tool.pressing[2] - self._held)
            reach = self.tool.axes[2] @ self.tool.tip
            nearest = min(nearest, reach)
            # Over an edge it gets by a force that grows.
            if self.tool.hidden or self._behind > BEHIND:
                waited = self._wait(waited)
            elif self._held >= HELD * self._force:
                waited, most, touched, nearest = 0.0, 0.0, reach, reach
                self.wiped = min(self.wiped + self._period * self._speed, self._marks[-1])
            elif self._held > most + RISES:
                waited, most = 0.0, self._held
            elif nearest + STIRS < reach < touched:  # knocked back, it comes again
                waited, nearest = 0.0, reach
            elif (waited := waited + self._period) > PATIENCE:
                self._lose()
                return
            place = [np.interp(self.wiped, self._marks, c) for c in self._corners.T]
            yield self._at(begin + place)
        yield from self._arrive()

    def _lose(self) -> None:
        """Say where the force was lost."""
        share = self.wiped / self._marks[-1]
        self.lost = self.tool.tip.copy()
        how = "was lost" if self.wiped > 0.0 else "was never reached"
        self._fail(
            "FORCE_NOT_HELD",
            f"{self._force:g} N {how} after {share:.0%} of the path: it presses with "
            f"{self._held:.1f} N",
        )
