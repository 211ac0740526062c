"""Insert a peg into a hole whose place and direction are not exactly known.

The search is that of a leaning peg (Bruyninckx, Dutré and De Schutter, "Peg-on-hole: a model based
solution to peg and hole alignment", 1995): where the lowest point of its end is anywhere in the
hole, the peg drops, and the rim catches it. The tip follows a spiral until one of them is felt.
Upright again and pressed, with its sides and its tilt giving way, it finds the way in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator

import numpy as np
import pinocchio as pin

from contact_aware_control.led_tool import FREE, PRESSING_SPEED, LedTool
from contact_aware_control.skill import CAUGHT, Skill, Ways

LEANS = np.deg2rad(12.0)
"""How far the peg leans while it searches: much more than the hole's direction is wrong [rad]."""

PITCH = 0.3
"""Of the spiral, a share of the peg's diameter."""

SEARCH_SPEED = 0.02
"""Along the spiral [m/s]."""

LIGHT = 0.5
"""Share of the force that is pressed with while it searches."""

ASIDE = 0.4
"""The same, sideways, while it straightens: the edge that is in the hole stays at the wall."""

APART = 3e-3
"""A surface was seen that was felt at places so far from each other [m]."""

HELD = 0.8
"""Share of a force from which on something holds it."""

STILL = 0.6
"""Who makes no progress for so long has come to rest [s]."""

SETTLING = 4.0
"""Who has not come to rest by then is not in a hole [s]."""

CLEAR = 0.015
"""How far over the hole it goes back to search on [m]: what has turned back slips at first."""

SUSPECT, DROP = 4e-4, 1e-3
"""So much lower than the surface the tip may be in a hole; so much lower it is in one [m]."""

LOOK_BACK = 0.3
"""What was felt so long ago is the surface [s]."""

STEEP, ROUGH = 0.05, 1e-4
"""What slope and roughness of the surface are like [-, m]."""

STEEPEST = 0.12
"""Slope of a surface; that of the leaning end is 0.2 [-]."""

PROGRESS, PATIENCE = 5e-4, 2.5
"""Who comes less far [m] in this time [s] is stuck."""

ATTEMPTS = 3
"""How often it straightens and pushes before it counts as jammed."""


class Plane:
    """The surface that was felt: z over x and y, by recursive least squares.

    Attributes:
        apart: How far samples are from the first one at most [m].
    """

    def __init__(self, steep: float, rough: float) -> None:
        """Begin with an unknown level.

        Args:
            steep: What slopes are like [-].
            rough: What errors of a sample are like [m].
        """
        self._rough = rough
        self._first: np.ndarray | None = None
        self._spread = np.diag([1.0, steep, steep]) ** 2
        self._plane = np.zeros(3)
        self.apart = 0.0

    @property
    def seen(self) -> bool:
        """Whether this is a surface, and not the rim that a leaning end slides on."""
        return self.apart > APART and float(np.linalg.norm(self._plane[1:])) < STEEPEST

    def add(self, place: np.ndarray) -> None:
        """Take a sample (3) [m]."""
        if self._first is None:
            self._first = place
        row = self._row(place)
        gain = self._spread @ row / (row @ self._spread @ row + self._rough**2)
        self._plane = self._plane + gain * (place[2] - self._first[2] - row @ self._plane)
        self._spread = self._spread - np.outer(gain, row @ self._spread)
        self.apart = max(self.apart, float(np.linalg.norm(row[1:])))

    def level(self, place: np.ndarray) -> float:
        """Return z at the place's x and y (3) [m]; infinite before the first sample."""
        if self._first is None:
            return np.inf
        return float(self._first[2] + self._row(place) @ self._plane)

    def _row(self, place: np.ndarray) -> np.ndarray:
        assert self._first is not None
        return np.array([1.0, *(place - self._first)[:2]])


class Insert(Skill):
    """Lean, touch, search, straighten and push; the third axis of the tool's points into the hole.

    Attributes:
        depth: How deep the tip is in the hole [m], negative over it; at least so deep, if the first
            touch was in it.
    """

    def __init__(
        self,
        tool: LedTool,
        diameter: float,
        radius: float,
        depth: float,
        force: float,
        speed: float,
        distance: float,
        period: float,
        force_limit: float,
    ) -> None:
        """Take what is to be done.

        Args:
            tool: What is led; its tip is the middle of the peg's end.
            diameter: Of the peg [m].
            radius: How far sideways the hole may be [m].
            depth: How deep the tip is to be in the end [m].
            force: To push in with [N].
            speed: Before it touches something [m/s].
            distance: How far away the surface may be [m].
            period: Time between ticks [s].
            force_limit: What the hand may be pressed with [N]; 0: its share of the force.

        Raises:
            TrajectoryError: If a number is none.
        """
        super().__init__(tool, force, speed, distance, period, force_limit)
        self._check(diameter=diameter, radius=radius, depth=depth)
        self._diameter, self._radius, self._wanted = diameter, radius, depth
        self._upright = self._way.rotation.copy()
        # The lowest point, along the first axis, is to be where the middle was.
        self._leaning = pin.exp3(-LEANS * tool.axes[1]) @ self._upright
        self._lowest = 0.5 * diameter * tool.axes[0]
        sides = radius * np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
        leans = pin.SE3(self._leaning, self._tip - self._leaning @ tool.lever)
        corners = np.vstack((np.zeros((2, 3)), sides @ tool.axes[:2]))
        corners[1:] -= self._lowest
        self.later = self._ways(leans, corners)
        self._surface = Plane(STEEP, ROUGH)
        self._mouth = self._touched = np.nan
        self._shift, self._found = np.zeros(3), False
        self._refused: list[np.ndarray] = []
        self.depth = 0.0

    def _perform(self) -> Ways:
        """Touch with a leaning peg, search, straighten and push; search on if it was no hole."""
        tool = self.tool
        self.phase = "lean"
        yield from self._go(self._tip - self._lowest)
        yield from self._turn(self._leaning)
        if not (yield from self._approach()):
            return
        self._touched = float(tool.axes[2] @ tool.tip)
        spiral, attempts = self._spiral(), 0
        while attempts < ATTEMPTS:
            if not (yield from self._search(spiral)):
                return
            found, height = self._led, tool.axes[2] @ tool.tip
            if (yield from self._settle()):
                attempts += 1
                yield from self._turn(self._upright)
                if (yield from self._push()):
                    return
            yield from self._back_off(found + self._pass_over(spiral), height)
        self._fail("JAMMED", f"it came {1e3 * self.depth:.1f} mm deep and no deeper")
        self.depth = self._below

    def _spiral(self) -> Iterator[np.ndarray]:
        """Go round ever farther out; return how far from the middle, along the axes (3) [m]."""
        angle, pitch = 0.0, PITCH * self._diameter / (2.0 * np.pi)
        while pitch * angle <= self._radius:
            angle += SEARCH_SPEED * self._period / max(pitch * angle, pitch)
            yield pitch * angle * np.array([np.cos(angle), np.sin(angle), 0.0])

    def _search(self, spiral: Iterator[np.ndarray]) -> Generator[pin.SE3, None, bool]:
        """Slide along the spiral until the tip is lower than the surface, or a wall catches it."""
        self.phase = "search"
        tool = self.tool
        light = LIGHT * self._force
        self._press(light)
        pressed = waited = 0.0
        while pressed < STILL and waited < PATIENCE + CLEAR / PRESSING_SPEED:
            yield self._way
            if self._fallen:
                return self._lose()
            waited += self._period
            pressed = pressed + self._period if tool.pressing[2] > light / 2.0 else 0.0
        middle = self._tip - tool.axes.T @ self._shift
        felt: deque[np.ndarray] = deque()
        armed, unfelt = not self._found, 0.0
        self._found = True
        for self._shift in spiral:
            yield self._at(middle + tool.axes.T @ self._shift)
            if self._fallen:
                return self._lose()
            tip = tool.axes @ tool.tip
            holds = np.linalg.norm(tool.pressing[:2])
            if holds > CAUGHT * max(tool.pressing[2], light):
                return True
            if tip[2] > self._surface.level(tip) + SUSPECT:
                # What was no hole is left before there may be another one.
                if armed:
                    return True
                continue
            armed = True
            if tool.pressing[2] < light / 2.0:
                if (unfelt := unfelt + self._period) > PATIENCE:
                    return self._lose()
                continue
            unfelt = 0.0
            felt.append(tip)
            if len(felt) * self._period > LOOK_BACK:
                self._surface.add(felt.popleft())
        self._fail("HOLE_NOT_FOUND", f"no hole within {1e3 * self._radius:.0f} mm")
        return False

    @property
    def _fallen(self) -> bool:
        """Whether it is deeper than a leaning peg comes in the hole."""
        deepest = self._touched + self._diameter + self._wanted
        return bool(self.tool.axes[2] @ self.tool.tip > deepest)

    def _lose(self) -> bool:
        """Say that there is no surface any more."""
        self._press(0.0)
        self._fail("HOLE_NOT_FOUND", "the surface ends: nothing carries the tip any more")
        return False

    def _pass_over(self, spiral: Iterator[np.ndarray]) -> np.ndarray:
        """Leave out what is beside places that were no hole before; return how far (3) [m]."""
        here, beside = self._shift, 0.5 * PITCH * self._diameter
        again = sum(np.linalg.norm(here - there) < 2.0 * beside for there in self._refused)
        self._refused.append(here)
        for self._shift in spiral if again else ():
            if np.linalg.norm(self._shift - here) >= again * beside:
                break
        way: np.ndarray = self.tool.axes.T @ (self._shift - here)
        return way

    def _settle(self) -> Generator[pin.SE3, None, bool]:
        """Let the lowest point find the wall of the hole; tell whether there is one."""
        self.phase = "straighten"
        tool, waited, wanted = self.tool, 0.0, ASIDE * self._force
        tool.compliance[:2] = FREE
        tool.wanted[0] = wanted
        farthest, begin, lasted = -np.inf, tool.axes[0] @ tool.tip, 0.0
        while waited < STILL:
            yield self._way
            waited, lasted = waited + self._period, lasted + self._period
            if self._fallen:
                return False
            aside = tool.axes[0] @ tool.tip
            if aside > farthest + PROGRESS or tool.pressing[0] < HELD * wanted:
                farthest, waited = max(farthest, aside), 0.0
            if aside - begin > self._diameter or lasted > SETTLING:
                # In no hole, unless it is just dropping into one.
                tool.wanted[0] = 0.0
                while tool.pressing[2] < LIGHT * self._force / 2.0 and lasted < 2.0 * SETTLING:
                    yield self._way
                    lasted += self._period
                    if self._fallen:
                        return False
                return self._surface.seen and self._dropped()
        return self._dropped()

    def _dropped(self) -> bool:
        """Tell whether it is lower than the surface, from which the depth is told from now on."""
        tip = self.tool.axes @ self.tool.tip
        level = self._surface.level(tip)
        lever = 0.5 * self._diameter * np.sin(LEANS)
        if not self._surface.seen:
            # Touched in the hole: so deep the peg is at least.
            self._mouth = tip[2] - lever
            return True
        self._mouth = level + lever
        return bool(tip[2] > level + DROP)

    def _push(self) -> Generator[pin.SE3, None, bool]:
        """Press, and give way sideways and in tilt; tell whether it comes as deep as wanted."""
        self.phase = "push"
        tool = self.tool
        self._press(self._force)
        tool.wanted[:2] = 0.0
        tool.turns[:2] = True
        deepest, waited = -np.inf, 0.0
        while waited < PATIENCE:
            yield self._way
            self.depth = self._below
            if self.depth >= self._wanted:
                yield from self._stay()
                return True
            waited += self._period
            if self.depth > deepest + PROGRESS:
                deepest, waited = self.depth, 0.0
        return False

    def _stay(self) -> Ways:
        """Go no deeper than it is, where the command is ahead of it."""
        self._let_go()
        yield from self._arrive()
        self.depth = self._below

    @property
    def _below(self) -> float:
        """How deep the tip is below the surface [m]."""
        return float(self.tool.axes[2] @ self.tool.tip - self._mouth)

    def _back_off(self, found: np.ndarray, height: float) -> Ways:
        """Lean over where the search had come to (3) [m], in that height of the tip [m]."""
        self.phase = "back off"
        tool = self.tool
        # Sideways it gives way until it is out.
        tool.turns[:2], tool.wanted[:2] = False, 0.0
        self._press(0.0)
        ahead, waited = tool.axes[2], 0.0
        yield from self._go(self._led + (height - CLEAR - ahead @ self._led) * ahead)
        while ahead @ tool.tip > height and waited < PATIENCE:
            yield self._way
            waited += self._period
        tool.compliance[:2] = 0.0
        yield from self._go(self._led + tool.across(found - self._led))
        yield from self._turn(self._leaning)
