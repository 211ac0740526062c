"""Skills: tasks made of motions, each of which ends by what the tool feels.

A task is a generator that says in every tick where the tool would be without forces; what leads it
off that way is a :class:`LedTool`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import NoReturn

import numpy as np
import pinocchio as pin

from contact_aware_control.contact import ContactEstimate
from contact_aware_control.led_tool import BEHIND, FREE, LedTool
from contact_aware_control.reference import PoseStream
from contact_aware_control.reference.stream import KEPT
from contact_core.base.errors import TrajectoryError

Ways = Iterator[pin.SE3]
"""Where the tool would be without forces, tick by tick, world frame."""

TOUCH = 5.0
"""At this force something is touched, if no less is to be pressed with [N]."""

APPROACH_SPEED = 0.02
"""What is stiff is met no faster [m/s]: an impact grows with the speed."""

TURN_SPEED = 0.2
"""How fast the tool is turned [rad/s]."""

HEADROOM = 1.5
"""So many times the force may press the hand, if no limit is said."""

NEAR = 0.01
"""What something catches is held back once it is so far behind [m]."""

PATIENCE = 1.0
"""How long it waits [s]."""

STIRS, AT_REST = 5e-4, 0.2
"""Who moves less [m] in this time [s] has come to rest."""

CAUGHT = 1.0
"""Share of what is pressed with that only a wall holds sideways; friction holds less."""


SPACING = 0.05
"""Poses that are known beforehand are at most so far from each other [m]."""


class GivenUp(Exception):  # noqa: N818
    """Ends a motion of a task, or all of it; what went wrong is in the task's attributes."""


class Skill(ABC):
    """A task.

    Attributes:
        tool: What is led; its third axis is where it presses to.
        ahead: What is followed first, straight to where something has to be touched by.
        later: Where the tool would come then, were the surface where it begins, and where it is
            looked for last: ways of poses, world frame.
        force_limits: Of the links beyond the last joint, so that they may press so hard [N].
        phase: What it does.
        failure: What went wrong, a name of the action's error codes; empty if nothing.
        text: The same in words, with the numbers.
        ended: Whether it is over.
    """

    def __init__(
        self,
        tool: LedTool,
        force: float,
        speed: float,
        distance: float,
        period: float,
        force_limit: float,
    ) -> None:
        """Begin.

        Args:
            tool: See the attributes.
            force: To press with [N].
            speed: Of the tool [m/s].
            distance: How far at most it goes before it touches something [m].
            period: Time between ticks [s].
            force_limit: What the hand may be pressed with [N]; 0: HEADROOM times the force.

        Raises:
            TrajectoryError: If a number is none.
        """
        self._check(force=force, speed=speed, distance=distance)
        self.tool = tool
        self.force_limits = dict.fromkeys(tool.hand, max(force_limit, HEADROOM * force))
        self.ahead = tool.straight(distance, min(speed, APPROACH_SPEED))
        self.later: Sequence[Iterable[pin.SE3]] = ()
        self.phase, self.failure, self.text, self.ended = "", "", "", False
        # What is faster than the tool it would run away from.
        self._speed = min(speed, KEPT * tool.fastest)
        self._force, self._distance = force, distance
        self._period = period
        self._way = tool.start.copy()
        self._motion = self._perform()

    def _ways(self, pose: pin.SE3, corners: np.ndarray) -> Sequence[Iterable[pin.SE3]]:
        """Return ways from a pose past corners (k, 3) [m], on a surface here, or far away."""
        farther = corners + self._distance * self.tool.axes[2]
        return _along(pose, corners), _along(pose, np.vstack((corners[:1], farther)))

    @abstractmethod
    def _perform(self) -> Ways:
        """Do it, tick by tick; what is felt meanwhile is in the tool."""

    def step(
        self,
        passed: float,
        position: np.ndarray,
        command: np.ndarray,
        torque: np.ndarray | None,
        contacts: Sequence[ContactEstimate] = (),
    ) -> PoseStream:
        """Return what is followed next.

        Args:
            passed: What has passed of the reference that was returned last [s]; 0 if it was
                not followed.
            position: (n) measured q [rad].
            command: (n) present command q_cmd [rad].
            torque: (n) external torque without bias and payload [Nm]; None: it is not known, and
                the tool waits.
            contacts: Those that are estimated.
        """
        self.tool.feel(position, torque, contacts)
        if passed > 0.0 and torque is not None and not self.ended:
            try:
                self._way = next(self._motion)
            except (StopIteration, GivenUp):
                self.ended = True
        return self.tool.lead(self._way, passed, command)

    def _check(self, **numbers: float) -> None:
        """Refuse numbers that are not positive, by their names."""
        what = type(self).__name__.lower()
        for name, value in numbers.items():
            if not (np.isfinite(value) and value > 0.0):
                raise TrajectoryError(f"the {name} of '{what}' is {value:g} (valid: > 0)")

    def _fail(self, failure: str, text: str) -> None:
        """Remember what went wrong."""
        self.failure, self.text = failure, text

    def _approach(self) -> Generator[pin.SE3, None, bool]:
        """Go ahead until something is touched; return whether it was."""
        self.phase = "approach"
        tool, ahead = self.tool, self.tool.axes[2]
        begin, waited = ahead @ self._tip, 0.0
        step = min(self._speed, APPROACH_SPEED) * self._period
        while not (touched := tool.pressing[2] >= min(TOUCH, self._force)) or tool.hidden:
            # Where something else holds the arm back it does not come so far.
            if ahead @ self._tip - begin > self._distance:
                self._fail("NOT_TOUCHED", f"nothing was touched within {self._distance:g} m")
                return False
            if touched or self._behind > BEHIND:
                waited = self._wait(waited)
                yield self._way
            else:
                waited = 0.0
                yield self._at(self._tip + step * ahead)
        return True

    def _wait(self, waited: float) -> float:
        """Return how long it has waited for the tool [s], or give up."""
        if waited > PATIENCE:
            self._give_up()
        return waited + self._period

    def _give_up(self) -> NoReturn:
        """End because something holds the tool back, or hides what it feels."""
        text = f"something holds it back: it is {1e3 * self._behind:.0f} mm behind its way"
        if self.tool.hidden:
            text = "something leans on the arm, so that it is not told what the tool feels"
        self._fail("GOAL_TOLERANCE_VIOLATED", text)
        raise GivenUp

    def _press(self, force: float) -> None:
        """Press from now on; with 0 the tool stays where it is led to."""
        self.tool.compliance[2], self.tool.wanted[2] = FREE if force > 0.0 else 0.0, force

    def _let_go(self) -> None:
        """Press on nothing, neither ahead nor sideways: lead the tool to where it is."""
        self._press(0.0)
        self.tool.offset = self.tool.offset + self.tool.axes @ (self.tool.tip - self._led)

    @property
    def _behind(self) -> float:
        """How far the tip is from where it is led to, along axes that do not give way [m]."""
        return self.tool.behind(self._way)

    @property
    def _held_back(self) -> bool:
        """Whether something does, that is more than friction."""
        sideways, ahead = np.linalg.norm(self.tool.pressing[:2]), self.tool.pressing[2]
        caught = sideways > CAUGHT * max(ahead, min(TOUCH, self._force))
        return self._behind > (NEAR if caught else BEHIND)

    @property
    def _led(self) -> np.ndarray:
        """Where the tip is led to (3) [m]."""
        return self.tool.tip_on(self._way)

    @property
    def _tip(self) -> np.ndarray:
        """Where the tip would be without forces (3) [m]."""
        tip: np.ndarray = self._way.act(self.tool.lever)
        return tip

    def _at(self, tip: np.ndarray, rotation: np.ndarray | None = None) -> pin.SE3:
        """Return where the tool is if its tip (3) is there; its rotation stays unless given."""
        rotation = self._way.rotation if rotation is None else rotation
        self._way = pin.SE3(rotation, tip - rotation @ self.tool.lever)
        return self._way

    def _go(self, tip: np.ndarray) -> Ways:
        """Go straight to where the led tip is there (3) [m]."""
        begin, way = self._tip, tip - self._led
        length = float(np.linalg.norm(way))
        gone = waited = 0.0
        while gone < length:
            if self._behind > BEHIND:
                waited = self._wait(waited)
            else:
                gone, waited = min(gone + self._speed * self._period, length), 0.0
            yield self._at(begin + gone / length * way)

    def _arrive(self) -> Ways:
        """Let the tool come to rest; give up if it is held back there."""
        place, waited, lasted = self.tool.tip, 0.0, 0.0
        while waited < AT_REST and lasted < PATIENCE:
            yield self._way
            waited, lasted = waited + self._period, lasted + self._period
            if np.linalg.norm(self.tool.tip - place) > STIRS:
                place, waited = self.tool.tip, 0.0
        if self._held_back:
            self._give_up()

    def _turn(self, rotation: np.ndarray) -> Ways:
        """Turn the tool about its tip, in which its own speed is that of a way at most."""
        begin, tip = self._way.rotation, self._tip
        way = pin.log3(begin.T @ rotation)
        lever = float(np.linalg.norm(self.tool.lever))
        fastest = min(TURN_SPEED, self._speed / lever) if lever > 0.0 else TURN_SPEED
        ticks = int(np.ceil(np.linalg.norm(way) / (fastest * self._period)))
        for k in range(1, ticks + 1):
            yield self._at(tip, begin @ pin.exp3(k / ticks * way))


def _along(pose: pin.SE3, corners: np.ndarray) -> Ways:
    """Generate poses on a polyline, all turned alike.

    Args:
        pose: Of the tool, world frame.
        corners: (k, 3) from there [m].
    """
    steps = np.ceil(np.linalg.norm(np.diff(corners, axis=0), axis=1) / SPACING)
    marks = np.concatenate(((0.0,), np.cumsum(steps)))
    shares = np.arange(marks[-1] + 1.0)
    for way in np.column_stack([np.interp(shares, marks, values) for values in corners.T]):
        yield pin.SE3(pose.rotation, pose.translation + way)
