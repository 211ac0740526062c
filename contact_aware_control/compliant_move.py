"""Compliant moves: the tool presses, or gives way, along some axes, and moves along the others.

Along an axis with compliance c the tool's reference is off its way by o, which follows

    D o' = F + f - o / c

with the force F that the tool is to press with, the force f on the tool and a damping D: an axis
whose c is large ends where -f = F, a force axis; one without F is a spring about the way; one
whose c is 0 is rigid. The controller follows this reference as it follows any other, and bounds
every contact force meanwhile, also where the rest of the arm is touched.
"""

from __future__ import annotations

from collections.abc import Sequence

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

DAMPING = 200.0
"""D: 10 N more than wanted move the tool at 50 mm/s [N s/m]."""

STIFFEST = 1e-4
"""Least compliance, other than none: stiffer springs need more than one step per tick [m/N]."""

DEAD_BAND = 1.0
"""Where no force is wanted, a smaller one moves nothing, so that noise does not [N]."""

PRESSING_SPEED = 0.02
"""The tool looks for what it is to press no faster [m/s]."""

AHEAD = 0.03
"""The reference is at most so far ahead of a command that something else holds back [m]."""

EXPECTED = 10.0
"""A force on the tool, where none is asked for [N]."""

HEADROOM = 1.2
"""Share of the force that the hand may be pressed with."""

HELD, HELD_TIME = 0.5, 0.2
"""Share of a force that is held, in the mean over about this time [s]."""


class CompliantMove:
    """A motion of the tool that forces lead away from its way.

    Attributes:
        reference: What the tool follows next, without forces.
        force_limits: Of the links beyond the last joint, so that they may press so hard [N].
        duration: How long it takes [s].
    """

    def __init__(
        self,
        robot: Robot,
        command: np.ndarray,
        axes: np.ndarray,
        compliance: np.ndarray,
        force: np.ndarray,
        travel: np.ndarray,
        speed: float,
        duration: float,
        bounds: MotionBounds,
        period: float,
        force_limit: float,
    ) -> None:
        """Plan the way.

        Args:
            robot: The arm; it is updated.
            command: (n) where it is commanded to be now [rad].
            axes: (3, 3) the frame of what follows, its axes as rows, world frame.
            compliance: (3) c [m/N]; 0: rigid, else at least STIFFEST.
            force: (3) F that the tool presses with [N].
            travel: (3) of the tool, if nothing pushes [m].
            speed: Along the way [m/s].
            duration: How long it takes at least [s].
            bounds: Of the tool's motion: (6) each; the speed is bounded by its own.
            period: Time between ticks [s].
            force_limit: What the hand may be pressed with, if F is not larger [N]; 0: the
                controller's own limit.

        Raises:
            TrajectoryError: If a number is none, a compliance negative, or F not along an axis
                that gives way.
        """
        _check(compliance, force, travel, speed, duration)
        self._robot = robot
        self._axes = axes
        self._soft = compliance > 0.0
        self._stiffness = 1.0 / compliance[self._soft]
        self._wanted = force[self._soft]
        self._strength = max(EXPECTED, float(np.linalg.norm(force)))
        self._share = followed_share(period, FORCE_TIME)
        self._period = period
        self._fastest = bounds.velocity[:3].min()
        robot.update(command)
        self._start = robot.tool_pose().copy()
        self._way = PoseStream.straight(self._start, axes.T @ travel, speed, bounds)
        self.reference = self._way
        self.duration = max(duration, self._way.duration)
        self._followed = PoseStream.at_rest(self._start, bounds)
        self._hand = hand_links(robot)
        most = max(force_limit, HEADROOM * float(np.linalg.norm(force)))
        self.force_limits = dict.fromkeys(self._hand, most) if most > 0.0 else {}
        self._offset = np.zeros(self._wanted.size)
        self._force = np.zeros(self._wanted.size)
        self._held = np.zeros(self._wanted.size)
        self._held_share = followed_share(period, HELD_TIME)
        self._reached = np.zeros(self._wanted.size, dtype=bool)

    @property
    def force(self) -> np.ndarray:
        """What the tool presses with (3) [N]; 0 along rigid axes."""
        force = np.zeros(3)
        force[self._soft] = -self._force
        return force

    @property
    def offset(self) -> np.ndarray:
        """How far forces have led the reference from its way (3) [m]."""
        offset = np.zeros(3)
        offset[self._soft] = self._offset
        return offset

    @property
    def shortfall(self) -> str:
        """What the tool should press with and does not; empty if that is nothing."""
        texts = []
        for name, wanted, held, reached in zip(
            np.array(["x", "y", "z"])[self._soft], self._wanted, self._held, self._reached,
            strict=True,
        ):  # fmt: skip
            if held * np.sign(wanted) < HELD * abs(wanted):
                how = "was lost" if reached else "was never reached"
                texts.append(f"{wanted:g} N along {name} {how}: it presses with {held:.1f} N")
        return ", ".join(texts)

    def step(
        self,
        time: float,
        passed: float,
        position: np.ndarray,
        command: np.ndarray,
        torque: np.ndarray | None,
        contacts: Sequence[ContactEstimate] = (),
    ) -> PoseStream:
        """Return what is followed next.

        Args:
            time: Since the start [s].
            passed: What has passed of the reference that was returned last [s]; 0 if it was
                not followed.
            position: (n) measured q [rad].
            command: (n) present command q_cmd [rad].
            torque: (n) external torque without bias and payload [Nm]; None: it is not known.
            contacts: Those that are estimated.
        """
        now, ahead = (self._way.sample(t).translation for t in (time, time + self._period))
        soft, speed = self._axes[self._soft], np.zeros(self._wanted.size)
        if torque is not None and passed > 0.0:
            self._robot.update(command)
            lead = soft @ (now - self._robot.tool_pose().translation) + self._offset
            self._robot.update(position)
            speed = self._speed(lead, torque, contacts)
        self._offset = self._offset + self._period * speed
        target = self._start.copy()
        target.translation = now + soft.T @ self._offset
        velocity = np.zeros(6)
        velocity[:3] = (ahead - now) / self._period + soft.T @ speed
        self._followed = self._followed.towards(passed, target, velocity)
        return self._followed

    def _speed(
        self, lead: np.ndarray, torque: np.ndarray, contacts: Sequence[ContactEstimate]
    ) -> np.ndarray:
        """Return o' along the axes that give way [m/s]; the reference leads the command [m]."""
        for contact in contacts:
            if contact.wrench_known and contact.link not in self._hand:
                torque = torque - self._robot.torque_of_force(
                    contact.link, contact.point_world, contact.force_world
                )
        force = force_along(self._robot, self._axes, torque, self._strength)[self._soft]
        self._force = self._force + self._share * (force - self._force)
        self._held = self._held + self._held_share * (-self._force - self._held)
        self._reached |= self._held * np.sign(self._wanted) >= HELD * np.abs(self._wanted)
        excess = self._wanted + self._force - self._stiffness * self._offset
        idle = np.where(self._wanted == 0.0, DEAD_BAND, 0.0)
        excess = excess - np.clip(excess, -idle, idle)
        speed = np.clip(excess / DAMPING, -self._fastest, self._fastest)
        # Free to press on, it is slow; pushed, it goes along.
        sought = np.sign(self._wanted) * np.minimum(np.abs(speed), PRESSING_SPEED)
        speed = np.where(speed * self._wanted > 0.0, sought, speed)
        waits = (np.abs(lead) > AHEAD) & (lead * speed > 0.0)
        if any(not c.wrench_known and c.link not in self._hand for c in contacts):
            # What it presses with is not told from what leans on the arm elsewhere.
            waits |= speed * self._wanted > 0.0
        return np.where(waits, 0.0, speed)


def _check(
    compliance: np.ndarray, force: np.ndarray, travel: np.ndarray, speed: float, duration: float
) -> None:
    """Check the numbers of a move."""
    for name, values in (("force", force), ("travel", travel)):
        if not np.isfinite(values).all():
            raise TrajectoryError(f"the {name} of a compliant move is {values} (valid: finite)")
    soft = (compliance >= STIFFEST) & np.isfinite(compliance)
    if not (soft | (compliance == 0.0)).all():
        raise TrajectoryError(
            f"the compliance of a compliant move is {compliance} m/N (valid: 0, or at least "
            f"{STIFFEST:g})"
        )
    if force[compliance == 0.0].any():
        raise TrajectoryError(f"a force of {force} N needs a compliance along its axes")
    if travel.any() and not (np.isfinite(speed) and speed > 0.0):
        raise TrajectoryError(f"the speed of a compliant move is {speed:g} (valid: > 0)")
    if not (np.isfinite(duration) and duration >= 0.0):
        raise TrajectoryError(f"the duration of a compliant move is {duration:g} (valid: >= 0)")
