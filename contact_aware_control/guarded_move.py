"""Guarded moves: straight ahead with the tool until something pushes back.

The force against the motion is what explains the torques best, a force along the way near the
tool: no place has to be found for it, so it is there with the torques themselves. Where contacts
of the hand are located, they count if they are larger. The surface gives way, so the tool is
farther when the force is reached; the line through force and place leads back to where there was
none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contact_aware_control.contact import ContactEstimate
from contact_aware_control.reference import PoseStream
from contact_aware_control.reference.stream import MotionBounds
from contact_aware_control.tool_force import force_along, hand_links
from contact_core.base.errors import TrajectoryError
from contact_core.base.low_pass import followed_share
from contact_core.robot.robot import Robot

FORCE_TIME = 0.01
"""Time constant of the force [s]."""

RISING = 0.3
"""Share of the force from which on its rise tells where the surface is."""

FEWEST = 3
"""Samples that tell a line."""

HEADROOM = 1.5
"""Share of the force that the hand may be pressed with while it comes to rest."""


@dataclass(frozen=True)
class Touch:
    """What a guarded move has found.

    Attributes:
        force: Against the motion, in the last tick [N].
        distance: How far the tool has come [m].
        surface: How far it had come where the force began [m]; NaN if that does not show.
    """

    force: float
    distance: float
    surface: float


class GuardedMove:
    """A straight motion of the tool, and the force against it.

    Attributes:
        reference: What the tool follows.
        force_limits: Of the links beyond the last joint, so that they may press so hard [N].
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
        self._wanted = force
        self._share = followed_share(period, FORCE_TIME)
        robot.update(command)
        way = distance * self._along
        self.reference = PoseStream.straight(robot.tool_pose(), way, speed, bounds)
        self.force_limits = dict.fromkeys(hand_links(robot), HEADROOM * force)
        self._force: float | None = None
        self._begin: np.ndarray | None = None
        self._samples: list[tuple[float, float]] = []

    @property
    def touched(self) -> bool:
        """Whether the force is reached."""
        return self._force is not None and self._force >= self._wanted

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
            float(force_along(robot, -self._along[None], torque, self._wanted)[0]),
            -float(sum(self._along @ contact.force_world for contact in located)),
        )
        before = self._force
        self._force = force if before is None else before + self._share * (force - before)
        if self._begin is None:
            self._begin = place
        distance = float((place - self._begin) @ self._along)
        self._samples.append((self._force, distance))
        return Touch(self._force, distance, self._surface())

    def _surface(self) -> float:
        """Return where the line through the last rise of the force begins."""
        rise: list[tuple[float, float]] = []
        for force, distance in reversed(self._samples):
            if force < RISING * self._wanted:
                break
            rise.append((force, distance))
        if len(rise) < FEWEST:
            return np.nan
        forces, distances = np.array(rise).T
        slope, begin = np.polyfit(forces, distances, 1)
        return float(begin) if np.isfinite(slope) else np.nan
