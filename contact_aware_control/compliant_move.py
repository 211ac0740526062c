"""Compliant moves: the tool presses, or gives way, along some axes, and moves along the others.

How forces lead it is that of a :class:`LedTool`. The controller follows this reference as it
follows any other, and bounds every contact force meanwhile, also where the rest of the arm is
touched.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from contact_aware_control.contact import ContactEstimate
from contact_aware_control.led_tool import BEHIND, HELD, LedTool
from contact_aware_control.reference import PoseStream
from contact_aware_control.reference.stream import MotionBounds
from contact_core.base.errors import TrajectoryError
from contact_core.base.low_pass import followed_share
from contact_core.robot.robot import Robot

STIFFEST = 1e-4
"""Least compliance, other than none: stiffer springs need more than one step per tick [m/N]."""

HEADROOM = 1.2
"""So many times the force may press the hand."""

HELD_TIME = 0.2
"""A force is held in the mean over about this time [s]."""


class CompliantMove:
    """A motion of the tool that forces lead away from its way.

    Attributes:
        reference: What the tool follows next, without forces.
        force_limits: Of the links beyond the last joint, so that they may press so hard [N].
        duration: How long it takes [s].
        time: How much of that has passed [s]; it waits while something holds the tool back, or what
            the tool feels is not known.
        held: For how long something has done so [s].
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
        self._tool = tool = LedTool(robot, command, axes, bounds, period)
        tool.compliance, tool.wanted = compliance, force
        self._soft = compliance > 0.0
        self._way = PoseStream.straight(tool.start, axes.T @ travel, speed, bounds)
        self.reference = self._way
        self.duration = max(duration, self._way.duration)
        most = max(force_limit, HEADROOM * float(np.linalg.norm(force)))
        self.force_limits = dict.fromkeys(tool.hand, most) if most > 0.0 else {}
        self.time = self.held = 0.0
        self._held = np.zeros(3)
        self._held_share = followed_share(period, HELD_TIME)
        self._reached = np.zeros(3, dtype=bool)

    @property
    def force(self) -> np.ndarray:
        """What the tool presses with (3) [N]; 0 along rigid axes."""
        return np.where(self._soft, self._tool.pressing, 0.0)

    @property
    def offset(self) -> np.ndarray:
        """How far forces have led the reference from its way (3) [m]."""
        return self._tool.offset

    @property
    def shortfall(self) -> str:
        """What the tool should press with and does not; empty if that is nothing."""
        texts = []
        for name, wanted, held, reached in zip(
            "xyz", self._tool.wanted, self._held, self._reached, strict=True
        ):
            if held * np.sign(wanted) < HELD * abs(wanted):
                how = "was lost" if reached else "was never reached"
                texts.append(f"{wanted:g} N along {name} {how}: it presses with {held:.1f} N")
        return ", ".join(texts)

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
        self._tool.feel(position, torque, contacts)
        if torque is None:
            return self._tool.lead(self._way.sample(self.time), passed, command)
        if passed > 0.0:
            self._held = self._held + self._held_share * (self.force - self._held)
            wanted = self._tool.wanted
            self._reached |= self._held * np.sign(wanted) >= HELD * np.abs(wanted)
        way = self._way.sample(self.time)
        if self._tool.behind(way) > BEHIND:
            self.held += passed
        else:
            self.held = 0.0
            self.time += passed
            way = self._way.sample(self.time)
        return self._tool.lead(way, passed, command)


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
