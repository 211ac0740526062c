"""Guarded moves: straight ahead with the tool until something pushes back.

The force against the motion is what explains the torques best, a force along the way near the
tool: no place has to be found for it, so it is there with the torques themselves. Where contacts
of the hand are located, they count if they are larger. The surface gives way, so the tool is
farther when the force is reached; the line through force and place leads back to where there was
none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contact_aware_control.contact import ContactEstimate
from contact_aware_control.reference import PoseStream
from contact_aware_control.reference.stream import MAX_MOTION, MotionBounds
from contact_aware_control.tool_force import FORCE_TIME, force_along, hand_links
from contact_core.base.errors import TrajectoryError
from contact_core.base.low_pass import followed_share
from contact_core.robot.robot import Robot

RISING = 0.3
"""From this share of its rise on the force tells where the surface is."""

DRAGS = 0.15
"""What is at least this share of the force before it rises is not the surface's."""

MAX_RISE_TIME = 2.0
"""A force that has not been lower for so long was not rising [s]."""

FEWEST = 3
"""Samples that tell a line."""

MAX_SAMPLES = 4000
"""So many of the last samples are kept."""

COME = 1e-3
"""The end of the way counts as reached at this distance [m]."""

SHORT = 5e-3
"""Who has come to rest so near the end has come there: what drags bends the arm's springs [m]."""

REST_TIME, REST = 0.25, 2e-4
"""What moves less than that in this time is at rest [s, m]."""

RECOIL, TURNED = 2e-3, 2e-4
"""What goes back farther was pushed off; what comes forward again by more has turned [m]."""

HEADROOM = 1.5
"""So many times the force may press the hand while it comes to rest."""


@dataclass(frozen=True)
class Touch:
    """What a guarded move has found.

    Attributes:
        force: Against the motion, low-passed [N].
        distance: How far the tool has come [m].
        surface: How far it had come where the force began to rise, or where it ended if the rise
            is too short to tell [m]; NaN before the force is reached, and if the arm has met
            something elsewhere.
    """

    force: float
    distance: float
    surface: float


class GuardedMove:
    """A straight motion of the tool, and the force against it.

    Attributes:
        reference: What the tool follows; another one from the first joint state on where that is
            behind the command, and where the tool has been pushed off.
        wanted: The force at which it ends [N].
        distance: How far it goes at most [m].
        force_limits: Of the links beyond the last joint, so that they may press so hard [N].
        met: What the arm was stopped by elsewhere than at its hand, as far as the estimator tells.
    """

    def __init__(
        self,
        robot: Robot,
        command: np.ndarray,
        direction: np.ndarray,
        speed: float,
        distance: float,
        force: float,
        bounds: MotionBounds,
        period: float,
    ) -> None:
        """Plan the motion.

        Args:
            robot: The arm; it is updated.
            command: (n) where it is commanded to be now [rad].
            direction: (3) of the motion, world frame; its length makes no difference.
            speed: [m/s].
            distance: How far at most [m].
            force: At which it ends [N].
            bounds: Of the tool's motion: (6) each; the speed is bounded by its own.
            period: Time between ticks [s].

        Raises:
            TrajectoryError: If a number is not positive, or the direction is zero.
        """
        length = float(np.linalg.norm(direction))
        for name, value in (("direction", length), ("speed", speed), ("distance", distance)):
            if not (np.isfinite(value) and value > 0.0):
                raise TrajectoryError(f"the {name} of a guarded move is {value:g} (valid: > 0)")
        if not (np.isfinite(force) and force > 0.0):
            raise TrajectoryError(f"the force of a guarded move is {force:g} N (valid: > 0)")
        self._robot = robot
        self._along = direction / length
        self.wanted = force
        self._share = followed_share(period, FORCE_TIME)
        robot.update(command)
        self._pose, self.distance = robot.tool_pose().copy(), distance
        self._speed, self._bounds = speed, bounds
        self.reference = self._straight(distance)
        self.force_limits = dict.fromkeys(hand_links(robot), HEADROOM * force)
        self._force, self._waits = 0.0, False
        self.met: ContactEstimate | None = None
        self._farthest = self._back = 0.0
        self._begin: np.ndarray | None = None
        self._samples: deque[tuple[float, float]] = deque(maxlen=MAX_SAMPLES)
        self._max_rise = round(MAX_RISE_TIME / period)
        self._rest_ticks = round(REST_TIME / period)

    def _straight(self, distance: float) -> PoseStream:
        self._end = self._pose.translation + distance * self._along
        return PoseStream.straight(self._pose, distance * self._along, self._speed, self._bounds)

    @property
    def touched(self) -> bool:
        """Whether the force is reached."""
        return self._force >= self.wanted

    @property
    def come(self) -> bool:
        """Whether the tool has come to the end of its way, or nearly."""
        return bool(self._samples) and self._samples[-1][1] >= self.distance - SHORT

    def over(self, time: float) -> bool:
        """Tell whether it is touched, or the tool has come to the end of its way, or to rest there.

        Who comes to rest before is held back.

        Args:
            time: Of the reference [s].
        """
        if self.touched:
            return True
        if time < self.reference.duration or len(self._samples) < self._rest_ticks:
            return False
        ways = [distance for _, distance in self._samples][-self._rest_ticks :]
        rests = max(ways) - min(ways) < REST
        return ways[-1] >= self.distance - COME or (rests and self.come)

    def wait(self, time: float) -> None:
        """Come to rest, because what pushes back is not known, until :meth:`go_on` is called.

        Args:
            time: Of the reference [s].
        """
        if not self._waits:
            self.reference = self.reference.towards(time, None, np.zeros(6))
            self._waits = True

    def go_on(self, time: float) -> None:
        """Go the rest of the way, if it waits.

        Args:
            time: Of the reference [s].
        """
        if self._waits:
            self._pose = self.reference.sample(time)
            left = float((self._end - self._pose.translation) @ self._along)
            self.reference, self._waits = self._straight(max(left, 0.0)), False

    def at(self, distance: float) -> np.ndarray:
        """Return where the tool is after a distance [m] from where it was first seen (3) [m]."""
        assert self._begin is not None
        place: np.ndarray = self._begin + distance * self._along
        return place

    def watch(
        self, position: np.ndarray, torque: np.ndarray, contacts: Sequence[ContactEstimate] = ()
    ) -> Touch:
        """Look at a joint state.

        Args:
            position: (n) measured q [rad].
            torque: (n) external torque without bias and payload [Nm].
            contacts: Those that are estimated.

        Returns:
            What is known now.
        """
        robot = self._robot
        robot.update(position)
        place = robot.tool_pose().translation.copy()
        located = [c for c in contacts if c.wrench_known and c.link in self.force_limits]
        force = max(
            float(force_along(robot, -self._along[None], torque, self.wanted)[0]),
            -float(sum(self._along @ contact.force_world for contact in located)),
        )
        self._force += self._share * (force - self._force)
        if self._begin is None:
            self._begin = place
            # A command that is inside a surface first has to come out of it.
            behind = float((place - self._pose.translation) @ self._along)
            if behind > COME:
                longest = self._speed * MAX_MOTION
                self.reference = self._straight(min(self.distance + behind, longest))
        distance = float((place - self._begin) @ self._along)
        self._samples.append((self._force, distance))
        if not self.touched:
            self._begin_anew(place, distance)
            return Touch(self._force, distance, np.nan)
        self.met = self._met_elsewhere(torque, contacts)
        return Touch(self._force, distance, self._surface() if self.met is None else np.nan)

    def _begin_anew(self, place: np.ndarray, distance: float) -> None:
        """Come back at its own speed from where it was pushed off to, not after its reference."""
        if distance > self._farthest:
            self._farthest = self._back = distance
        elif distance < self._back:
            self._back = distance
        elif self._farthest - self._back > RECOIL and distance - self._back > TURNED:
            self._farthest = self._back = distance
            self._pose.translation += ((place - self._pose.translation) @ self._along) * self._along
            self.reference = self._straight(max(self.distance - distance, 0.0))

    def _met_elsewhere(
        self, torque: np.ndarray, contacts: Sequence[ContactEstimate]
    ) -> ContactEstimate | None:
        """Return what presses on the arm, if that is what the force on the tool seems to be."""
        others = [c for c in contacts if c.identifiable and c.link not in self.force_limits]
        if not others:
            return None
        robot = self._robot
        rest = torque.copy()
        for contact in others:
            rest -= robot.torque_of_force(contact.link, contact.point_world, contact.force_world)
        felt = float(force_along(robot, -self._along[None], rest, self.wanted)[0])
        if felt > 0.5 * self.wanted:
            return None
        return max(others, key=lambda c: float(np.linalg.norm(c.force_world)))

    def _surface(self) -> float:
        """Return where the line through the last rise of the force begins."""
        forces, distances = np.array(self._samples).T
        lowest = last = len(forces) - 1
        drag = DRAGS * self.wanted
        for k in range(last, -1, -1):
            if forces[k] < forces[lowest] - 0.5 * drag:
                lowest = k
            elif lowest - k > self._max_rise or forces[k] > forces[lowest] + 2.0 * drag:
                break
        # What drags before is no part of the surface's force.
        base = forces[lowest] if forces[lowest] > drag else 0.0
        begin = base + RISING * (forces[last] - base)
        rise = lowest + np.flatnonzero(forces[lowest:] >= begin)
        if len(rise) < FEWEST or np.ptp(forces[rise]) == 0.0:
            return float(distances[last])
        surface = np.polyfit(forces[rise] - base, distances[rise], 1)[1]
        return float(surface)
